"""Indexes that pages of journal lines are read by: of everybody, and of one project, in the order of their days."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ledger", "0004_terms_row")]
    operations = [
        migrations.AddIndex(
            model_name="line",
            index=models.Index(
                name="line_in_order", fields=["used_on", "id"], condition=models.Q(account_kind="department")
            ),
        ),
        migrations.AddIndex(
            model_name="line",
            index=models.Index(name="line_project_day", fields=["project", "used_on"]),
        ),
    ]
