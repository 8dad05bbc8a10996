"""The sums of amounts by month tell users apart, and the trial balance has its own, by the month of booking."""

from importlib import import_module

from django.db import migrations

from billing.ledger import sql

BACK = import_module("billing.ledger.migrations.0006_line_months").BACK


class Migration(migrations.Migration):
    dependencies = [("ledger", "0006_line_months")]
    operations = [
        migrations.RunSQL(
            BACK + sql.text("line_months_by_user"), BACK + "DROP TABLE booked_month;" + sql.text("line_months")
        )
    ]
