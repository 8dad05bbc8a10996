"""The one row of terms: there must be something to hold while a day is posted."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ledger", "0003_accruals")]
    operations = [
        migrations.RunSQL("INSERT INTO terms (id, revision) VALUES (1, 0) ON CONFLICT DO NOTHING", migrations.RunSQL.noop)
    ]
