"""What the journal promises, kept by the database: entries balance, are never changed, grow only in the transaction
that made them, and a period that is not open takes none."""

from django.db import migrations

FORWARD = """
ALTER TABLE entry ADD COLUMN made_in bigint NOT NULL DEFAULT (pg_current_xact_id()::text)::bigint;

CREATE FUNCTION line_belongs_to_this_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM (SELECT DISTINCT entry_id FROM added) AS a JOIN entry AS e ON e.id = a.entry_id
        WHERE e.made_in <> (pg_current_xact_id()::text)::bigint
    ) THEN
        RAISE EXCEPTION 'lines are added in the transaction that makes their entry' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER line_with_its_entry AFTER INSERT ON line REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION line_belongs_to_this_transaction();

CREATE FUNCTION entry_balances() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    total numeric;
    legs bigint;
BEGIN
    SELECT coalesce(sum(amount), 0), count(*) INTO total, legs FROM line WHERE entry_id = NEW.id;
    IF total <> 0 OR legs = 0 THEN
        RAISE EXCEPTION 'entry % has % lines that sum to %', NEW.id, legs, total USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER entry_in_balance AFTER INSERT ON entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION entry_balances();

CREATE FUNCTION entry_period_is_open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM period WHERE code = NEW.period_id AND state = 'open' FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'period % is not open', NEW.period_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER entry_into_open_period BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION entry_period_is_open();

CREATE TRIGGER entry_append_only BEFORE UPDATE OR DELETE ON entry FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER entry_not_emptied BEFORE TRUNCATE ON entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER line_append_only BEFORE UPDATE OR DELETE ON line FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER line_not_emptied BEFORE TRUNCATE ON line FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""
BACKWARD = """
DROP TRIGGER line_not_emptied ON line;
DROP TRIGGER line_append_only ON line;
DROP TRIGGER entry_not_emptied ON entry;
DROP TRIGGER entry_append_only ON entry;
DROP TRIGGER entry_into_open_period ON entry;
DROP FUNCTION entry_period_is_open();
DROP TRIGGER entry_in_balance ON entry;
DROP FUNCTION entry_balances();
DROP TRIGGER line_with_its_entry ON line;
DROP FUNCTION line_belongs_to_this_transaction();
ALTER TABLE entry DROP COLUMN made_in;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_journal"), ("audit", "0002_append_only")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
