"""The run table, partitioned by month of submit, with its two companions. SQL, since Django has no words for partitions."""

from django.db import migrations

from governance.usage import sql


class Migration(migrations.Migration):
    dependencies = [("usage", "0001_facts")]
    operations = [migrations.RunSQL(sql.text("run_table"), "DROP TABLE run_span; DROP TABLE run_seen; DROP TABLE run;")]
