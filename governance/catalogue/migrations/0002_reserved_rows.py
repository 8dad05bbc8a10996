"""The rows that what cannot be told belongs to: models *none* and *unknown*, the pool *unassigned*, and the one installation."""

from django.db import migrations


def add(apps, schema_editor):
    apps.get_model("catalogue", "Installation").objects.get_or_create(pk=1)
    model = apps.get_model("catalogue", "AcceleratorModel")
    model.objects.get_or_create(code="none", defaults={"name": ""})
    model.objects.get_or_create(code="unknown", defaults={"name": ""})
    apps.get_model("catalogue", "Pool").objects.get_or_create(
        code="unassigned", defaults={"cluster": None, "name_zh": "未归池", "name_en": "Unassigned"}
    )


def remove(apps, schema_editor):
    apps.get_model("catalogue", "AcceleratorModel").objects.filter(code__in=["none", "unknown"]).delete()
    apps.get_model("catalogue", "Pool").objects.filter(code="unassigned").delete()
    apps.get_model("catalogue", "Installation").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("catalogue", "0001_catalogue")]
    operations = [migrations.RunPython(add, remove)]
