"""Runs whose record contradicts itself are few among many: an index has these alone, so that counting them reads no month of runs."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("usage", "0016_site_day_sums")]
    operations = [
        migrations.RunSQL("CREATE INDEX run_flagged ON run (submit_at) WHERE flags <> ''", "DROP INDEX run_flagged")
    ]
