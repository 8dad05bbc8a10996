-- What the rules answered for the day: the price of each kind of use, and who pays for each project.
-- `paid_before` and `paid_to` are running sums of percent, so that rounded shares add up to the whole.
DROP TABLE IF EXISTS pg_temp.tariff, pg_temp.payer;
CREATE TEMP TABLE tariff (pool text, model text, qos text, band text, measure text, unit_price numeric) ON COMMIT DROP;
CREATE TEMP TABLE payer (project text, department text, percent numeric, paid_before numeric, paid_to numeric) ON COMMIT DROP;
