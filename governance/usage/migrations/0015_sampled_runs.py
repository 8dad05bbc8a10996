"""The runs of one job in 64, by a digest of its id: what waits and starts are told from where there are many."""

from django.db import migrations

MAKE = "CREATE INDEX run_sampled ON run (start_at) WHERE mod(abs(hashtext(job_id)::bigint), 64) = 0"


class Migration(migrations.Migration):
    dependencies = [("usage", "0014_month_sums_by_user")]
    operations = [migrations.RunSQL(MAKE, "DROP INDEX run_sampled")]
