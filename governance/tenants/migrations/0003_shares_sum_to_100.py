"""The payer shares of a placement sum to 100: checked when the transaction commits, so that they may be written one by one."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION payer_shares_sum_to_100() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    placement bigint := coalesce(NEW.placement_id, OLD.placement_id);
    total numeric;
BEGIN
    SELECT sum(percent) INTO total FROM payer_share WHERE placement_id = placement;
    IF total <> 100 THEN
        RAISE EXCEPTION 'payer shares of placement % sum to %', placement, total USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER payer_shares_complete AFTER INSERT OR UPDATE OR DELETE ON payer_share
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION payer_shares_sum_to_100();
"""
BACKWARD = "DROP TRIGGER payer_shares_complete ON payer_share; DROP FUNCTION payer_shares_sum_to_100();"


class Migration(migrations.Migration):
    dependencies = [("tenants", "0002_reserved_rows")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
