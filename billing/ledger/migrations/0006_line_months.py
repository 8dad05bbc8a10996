"""Amounts summed by month, kept by triggers: statements of whole months read these."""

from django.db import migrations

from billing.ledger import sql

BACK = """
DROP TRIGGER line_month_grows ON line;
DROP TRIGGER line_month_shrinks ON line;
DROP TRIGGER line_month_empties ON line;
DROP FUNCTION line_month_follows();
DROP TABLE line_month;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0005_lines_in_order")]
    operations = [migrations.RunSQL(sql.text("line_months"), BACK)]
