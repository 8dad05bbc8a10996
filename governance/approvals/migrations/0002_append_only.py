"""Decisions and moves are added and never changed: the database refuses UPDATE, DELETE and TRUNCATE, as it does for the trail."""

from django.db import migrations

TABLES = ("ask_decision", "ask_move")
FORWARD = "".join(
    f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_change();"
    f"CREATE TRIGGER {table}_not_emptied BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();"
    for table in TABLES
)
BACKWARD = "".join(
    f"DROP TRIGGER {table}_append_only ON {table}; DROP TRIGGER {table}_not_emptied ON {table};" for table in TABLES
)


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_asks"), ("audit", "0002_append_only")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
