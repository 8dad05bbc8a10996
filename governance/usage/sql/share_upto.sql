-- What of an amount that is spread over `whole` units lies in the first `upto` of them, in whole numbers: differences of it add up to the
-- amount, and no share is more than its units where the amount is no more than all units.
CREATE FUNCTION share_upto(amount bigint, upto bigint, whole bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT CASE WHEN upto >= whole THEN amount WHEN upto <= 0 THEN 0 ELSE div(amount::numeric * upto, whole::numeric)::bigint END $$;
