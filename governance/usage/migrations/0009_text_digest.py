"""What tells a run's own text and the way it was read: so that a pull that brings the same text again need not weigh it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("usage", "0008_matching_revision")]
    operations = [
        # Empty for the runs that are there: they are weighed as before.
        migrations.RunSQL("ALTER TABLE run ADD COLUMN text_digest uuid", "ALTER TABLE run DROP COLUMN text_digest")
    ]
