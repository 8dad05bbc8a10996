-- What telemetry knows of the day's runs, cut to what each had allocated and at the bands; before day_sum, which adds it up.
-- First the rows that came before their run: the run of that job that held cards in the row's time takes them.
-- Runs are looked up one by one through the primary key (hence OFFSET 0 and the scalar question), so that no partition is read whole.
WITH orphan AS (
    SELECT a.*, r.submit_at AS found_at
    FROM run_activity AS a
    CROSS JOIN LATERAL (
        SELECT r.submit_at FROM run AS r
        WHERE r.cluster_id = %(cluster)s AND r.job_id = a.job_id AND r.start_at <= a.last_at AND r.stop_at >= a.first_at
        ORDER BY r.start_at, r.submit_at LIMIT 1
    ) AS r
    WHERE a.cluster_id = %(cluster)s AND a.day = %(day)s AND (
        SELECT true FROM run AS k WHERE k.cluster_id = %(cluster)s AND k.job_id = a.job_id AND k.submit_at = a.submit_at LIMIT 1
    ) IS NULL
), gone AS (
    DELETE FROM run_activity AS a USING orphan AS o
    WHERE a.cluster_id = o.cluster_id AND a.day = o.day AND a.job_id = o.job_id AND a.submit_at = o.submit_at AND a.node = o.node
), best AS (
    SELECT DISTINCT ON (job_id, found_at, node) * FROM orphan
    ORDER BY job_id, found_at, node, observed_at DESC, samples DESC, measured_milligpu_seconds DESC, idle_milligpu_seconds DESC,
        busy_milligpu_seconds DESC, first_at
)
INSERT INTO run_activity AS a (cluster_id, day, job_id, submit_at, node, cards, active_milligpu_seconds, idle_milligpu_seconds,
    measured_milligpu_seconds, busy_milligpu_seconds, memory_max_mib, energy_joules, samples, clamped, first_at, last_at, observed_at)
SELECT cluster_id, day, job_id, found_at, node, cards, active_milligpu_seconds, idle_milligpu_seconds,
    measured_milligpu_seconds, busy_milligpu_seconds, memory_max_mib, energy_joules, samples, clamped, first_at, last_at, observed_at
FROM best
ON CONFLICT (cluster_id, day, job_id, submit_at, node) DO UPDATE
SET cards = excluded.cards, active_milligpu_seconds = excluded.active_milligpu_seconds,
    idle_milligpu_seconds = excluded.idle_milligpu_seconds, measured_milligpu_seconds = excluded.measured_milligpu_seconds,
    busy_milligpu_seconds = excluded.busy_milligpu_seconds, memory_max_mib = excluded.memory_max_mib,
    energy_joules = excluded.energy_joules, samples = excluded.samples, clamped = excluded.clamped, first_at = excluded.first_at,
    last_at = excluded.last_at, observed_at = excluded.observed_at
WHERE (excluded.observed_at, excluded.samples, excluded.measured_milligpu_seconds, excluded.idle_milligpu_seconds,
        excluded.busy_milligpu_seconds)
    > (a.observed_at, a.samples, a.measured_milligpu_seconds, a.idle_milligpu_seconds, a.busy_milligpu_seconds);

DROP TABLE IF EXISTS pg_temp.meter_activity;
CREATE TEMP TABLE meter_activity ON COMMIT DROP AS
SELECT
    job_id, submit_at, s.from_at,
    CASE WHEN c.is_whole THEN active ELSE share_upto(active, c.upto, held) - share_upto(active, c.since, held) END AS active,
    -- Idle is spread over the units that are not active, so that the two together never pass a band's units.
    CASE WHEN c.is_whole THEN idle ELSE share_upto(idle, c.upto - share_upto(active, c.upto, held), held - active)
        - share_upto(idle, c.since - share_upto(active, c.since, held), held - active) END AS idle,
    CASE WHEN c.is_whole THEN measured ELSE share_upto(measured, c.upto, held) - share_upto(measured, c.since, held) END AS measured,
    CASE WHEN c.is_whole THEN busy ELSE share_upto(busy, share_upto(measured, c.upto, held), measured)
        - share_upto(busy, share_upto(measured, c.since, held), measured) END AS busy,
    CASE WHEN c.is_whole THEN energy ELSE share_upto(energy, c.upto, held) - share_upto(energy, c.since, held) END AS energy
FROM (
    SELECT
        a.job_id, a.submit_at, r.milli, r.begun_at, r.held, a.energy,
        least(a.active, r.held) AS active,
        least(a.idle, r.held - least(a.active, r.held)) AS idle,
        least(a.measured, r.held) AS measured,
        least(a.busy, r.held) AS busy
    FROM (
        SELECT job_id, submit_at, sum(active_milligpu_seconds)::bigint AS active, sum(idle_milligpu_seconds)::bigint AS idle,
            sum(measured_milligpu_seconds)::bigint AS measured, sum(busy_milligpu_seconds)::bigint AS busy,
            coalesce(sum(energy_joules), 0)::bigint AS energy
        FROM run_activity WHERE cluster_id = %(cluster)s AND day = %(day)s GROUP BY job_id, submit_at
    ) AS a
    CROSS JOIN LATERAL (
        SELECT coalesce(r.gpu_milli, 0) AS milli, greatest(r.start_at, %(start_at)s) AS begun_at,
            coalesce(r.gpu_milli, 0) * greatest(extract(epoch FROM
                least(r.stop_at, %(end_at)s, %(through)s) - greatest(r.start_at, %(start_at)s))::bigint, 0) AS held
        FROM run AS r WHERE r.cluster_id = %(cluster)s AND r.job_id = a.job_id AND r.submit_at = a.submit_at
        OFFSET 0
    ) AS r
    WHERE r.held > 0
) AS k
CROSS JOIN unnest(%(from_at)s::timestamptz[], %(until_at_of_band)s::timestamptz[]) AS s (from_at, until_at)
CROSS JOIN LATERAL (
    SELECT since, upto, since = 0 AND upto >= held AS is_whole  -- one band holds all of it, as nearly always: nothing to share out
    FROM (
        SELECT milli * greatest(extract(epoch FROM s.from_at - begun_at)::bigint, 0) AS since,
            milli * greatest(extract(epoch FROM s.until_at - begun_at)::bigint, 0) AS upto
        OFFSET 0
    ) AS e
    OFFSET 0
) AS c
WHERE c.upto > 0 AND c.since < held;
ANALYZE meter_activity;
