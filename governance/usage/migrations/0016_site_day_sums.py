"""Day facts of the whole site summed over projects, accounts and users, kept by triggers: what asks for days of everything reads these."""

from django.db import migrations

from governance.usage import sql

BACK = """
DROP TRIGGER usage_site_day_grows ON usage_day;
DROP TRIGGER usage_site_day_changes ON usage_day;
DROP TRIGGER usage_site_day_shrinks ON usage_day;
DROP TRIGGER usage_site_day_empties ON usage_day;
DROP FUNCTION usage_site_day_follows();
DROP TABLE usage_site_day;
"""


class Migration(migrations.Migration):
    dependencies = [("usage", "0015_sampled_runs")]
    operations = [migrations.RunSQL(sql.text("site_day_sums"), BACK)]
