"""Where it is noted that many runs were seen again at once: one row for all of them, laid out run by run only when that matters."""

from typing import Any

from django.db import migrations

from governance.usage import sql


def lay_out(apps: Any, schema_editor: Any) -> None:
    """Nothing that was noted is lost on the way back."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT cluster_id FROM run_seen_together")
        for (cluster,) in cursor.fetchall():
            cursor.execute(sql.text("lay_out_seen"), {"cluster": cluster})


class Migration(migrations.Migration):
    dependencies = [("usage", "0010_runs_in_order")]
    operations = [
        migrations.RunSQL(sql.text("run_seen_together"), "DROP TABLE run_seen_together"),
        migrations.RunPython(migrations.RunPython.noop, lay_out),
    ]
