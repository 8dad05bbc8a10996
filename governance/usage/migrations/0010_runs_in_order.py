"""Indexes that lists of runs are read by: newest submit first, of everybody or of one user, a partition after the other."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("usage", "0009_text_digest")]
    operations = [
        migrations.RunSQL("CREATE INDEX run_submit ON run (submit_at, cluster_id, job_id)", "DROP INDEX run_submit"),
        migrations.RunSQL('CREATE INDEX run_user ON run ("user", submit_at)', "DROP INDEX run_user"),
    ]
