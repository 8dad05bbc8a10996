"""Entries of the metric dictionary are added and never changed, since frozen documents stand on their version; what an
installation may set otherwise is said in both languages."""

from django.db import migrations, models

FORWARD = """
CREATE TRIGGER metric_definition_append_only BEFORE UPDATE OR DELETE ON metric_definition
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER metric_definition_not_emptied BEFORE TRUNCATE ON metric_definition
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""
BACKWARD = """
DROP TRIGGER metric_definition_not_emptied ON metric_definition;
DROP TRIGGER metric_definition_append_only ON metric_definition;
DELETE FROM metric_definition; -- half of each text is about to go; the release puts them back whole when it comes again
"""


class Migration(migrations.Migration):
    dependencies = [("usage", "0002_runs"), ("audit", "0002_append_only")]
    operations = [
        migrations.RenameField("metricdefinition", "option", "option_zh"),
        migrations.AddField("metricdefinition", "option_en", models.TextField(blank=True, default=""), preserve_default=False),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
