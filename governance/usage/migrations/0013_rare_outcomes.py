"""Runs that ended in a rare way, and those that have not ended, in the order of lists."""

from django.db import migrations

MAKE = """
CREATE INDEX run_rare_outcome ON run (outcome, submit_at)
WHERE outcome IN ('timeout', 'out_of_memory', 'node_failure', 'preempted', 'running', 'pending')
"""


class Migration(migrations.Migration):
    dependencies = [("usage", "0012_month_sums")]
    operations = [migrations.RunSQL(MAKE, "DROP INDEX run_rare_outcome")]
