"""The sums by month tell accounts and users apart: they are hardly more rows for it, and statements by user need no days."""

from importlib import import_module

from django.db import migrations

from governance.usage import sql

BACK = import_module("governance.usage.migrations.0012_month_sums").BACK


class Migration(migrations.Migration):
    dependencies = [("usage", "0013_rare_outcomes")]
    operations = [migrations.RunSQL(BACK + sql.text("month_sums_by_user"), BACK + sql.text("month_sums"))]
