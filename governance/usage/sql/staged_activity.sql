-- Where a call's findings wait to be merged.
CREATE TEMP TABLE IF NOT EXISTS staged_activity (
    day date, job_id text COLLATE "C", submit_at timestamptz, node text, cards int4, active_milligpu_seconds int8,
    idle_milligpu_seconds int8, measured_milligpu_seconds int8, busy_milligpu_seconds int8, memory_max_mib int8, energy_joules int8,
    samples int8, clamped int8, first_at timestamptz, last_at timestamptz, observed_at timestamptz
) ON COMMIT DROP;
CREATE TEMP TABLE IF NOT EXISTS staged_hour (
    node text, hour_at timestamptz, power_watts_mean int4, power_watts_max int4, temperature_max int4, samples int4,
    observed_at timestamptz
) ON COMMIT DROP;
TRUNCATE staged_activity, staged_hour;
