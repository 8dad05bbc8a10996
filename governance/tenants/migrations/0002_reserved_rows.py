"""The project *unattributed*: use that no mapping claims."""

from django.db import migrations


def add(apps, schema_editor):
    apps.get_model("tenants", "Project").objects.get_or_create(
        code="unattributed", defaults={"name_zh": "未归属", "name_en": "Unattributed"}
    )


def remove(apps, schema_editor):
    apps.get_model("tenants", "Project").objects.filter(code="unattributed").delete()


class Migration(migrations.Migration):
    dependencies = [("tenants", "0001_tenants")]
    operations = [migrations.RunPython(add, remove)]
