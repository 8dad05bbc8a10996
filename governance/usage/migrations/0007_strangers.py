"""An index of the runs that stand under their start because their submit time is unknown: mostly empty, so that an import
learns for nothing that there is none to adopt."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("usage", "0006_activity_of_day_facts")]
    operations = [
        migrations.RunSQL(
            "CREATE INDEX run_stranger ON run (cluster_id) WHERE NOT submit_known", "DROP INDEX run_stranger"
        )
    ]
