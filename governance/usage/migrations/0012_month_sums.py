"""Day facts summed by month, kept by triggers: statements of whole months read these."""

from django.db import migrations

from governance.usage import sql

BACK = """
DROP TRIGGER usage_month_grows ON usage_day;
DROP TRIGGER usage_month_changes ON usage_day;
DROP TRIGGER usage_month_shrinks ON usage_day;
DROP TRIGGER usage_month_empties ON usage_day;
DROP FUNCTION usage_month_follows();
DROP TABLE usage_month;
"""


class Migration(migrations.Migration):
    dependencies = [("usage", "0011_seen_together")]
    operations = [migrations.RunSQL(sql.text("month_sums"), BACK)]
