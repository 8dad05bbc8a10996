"""Audit lines are added and never changed: the database refuses UPDATE, DELETE and TRUNCATE.

The owner's path for tests and a demo that starts over is `SET steelyard.maintenance = 'on'`.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('steelyard.maintenance', true) = 'on' THEN
        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'rows of % are added and never changed', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_line_append_only BEFORE UPDATE OR DELETE ON audit_line FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_line_not_emptied BEFORE TRUNCATE ON audit_line FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""
BACKWARD = """
DROP TRIGGER audit_line_append_only ON audit_line;
DROP TRIGGER audit_line_not_emptied ON audit_line;
DROP FUNCTION refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_audit_lines")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
