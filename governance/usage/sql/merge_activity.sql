-- The later observation wins, then the one with more samples, then by content: a maximum, so that the order of calls does not matter.
-- Days whose content changed are marked for metering. Answers (new, changed, same content).
WITH best AS (
    SELECT DISTINCT ON (day, job_id, submit_at, node) * FROM staged_activity
    ORDER BY day, job_id, submit_at, node, observed_at DESC, samples DESC, measured_milligpu_seconds DESC, idle_milligpu_seconds DESC,
        busy_milligpu_seconds DESC, coalesce(memory_max_mib, -1) DESC, coalesce(energy_joules, -1) DESC
), judged AS (
    SELECT b.*, a.day IS NULL AS is_new,
        (a.cards, a.active_milligpu_seconds, a.idle_milligpu_seconds, a.measured_milligpu_seconds, a.busy_milligpu_seconds,
            a.memory_max_mib, a.energy_joules, a.samples, a.clamped, a.first_at, a.last_at)
        IS DISTINCT FROM (b.cards, b.active_milligpu_seconds, b.idle_milligpu_seconds, b.measured_milligpu_seconds,
            b.busy_milligpu_seconds, b.memory_max_mib, b.energy_joules, b.samples, b.clamped, b.first_at, b.last_at) AS differs,
        a.day IS NULL OR (b.observed_at, b.samples, b.measured_milligpu_seconds, b.idle_milligpu_seconds, b.busy_milligpu_seconds,
            coalesce(b.memory_max_mib, -1), coalesce(b.energy_joules, -1))
        > (a.observed_at, a.samples, a.measured_milligpu_seconds, a.idle_milligpu_seconds, a.busy_milligpu_seconds,
            coalesce(a.memory_max_mib, -1), coalesce(a.energy_joules, -1)) AS wins
    FROM best AS b
    LEFT JOIN LATERAL (
        SELECT * FROM run_activity AS a
        WHERE a.cluster_id = %(cluster)s AND a.day = b.day AND a.job_id = b.job_id AND a.submit_at = b.submit_at AND a.node = b.node
        OFFSET 0  -- by the primary key, whatever the planner thinks of a fresh table
    ) AS a ON true
), written AS (
    INSERT INTO run_activity AS a (cluster_id, day, job_id, submit_at, node, cards, active_milligpu_seconds, idle_milligpu_seconds,
        measured_milligpu_seconds, busy_milligpu_seconds, memory_max_mib, energy_joules, samples, clamped, first_at, last_at, observed_at)
    SELECT %(cluster)s, day, job_id, submit_at, node, cards, active_milligpu_seconds, idle_milligpu_seconds,
        measured_milligpu_seconds, busy_milligpu_seconds, memory_max_mib, energy_joules, samples, clamped, first_at, last_at, observed_at
    FROM judged WHERE wins
    ORDER BY day, job_id, submit_at, node  -- in one order, so that two calls at once do not wait for each other in a ring
    ON CONFLICT (cluster_id, day, job_id, submit_at, node) DO UPDATE
    SET cards = excluded.cards, active_milligpu_seconds = excluded.active_milligpu_seconds,
        idle_milligpu_seconds = excluded.idle_milligpu_seconds, measured_milligpu_seconds = excluded.measured_milligpu_seconds,
        busy_milligpu_seconds = excluded.busy_milligpu_seconds, memory_max_mib = excluded.memory_max_mib,
        energy_joules = excluded.energy_joules, samples = excluded.samples, clamped = excluded.clamped, first_at = excluded.first_at,
        last_at = excluded.last_at, observed_at = excluded.observed_at
    WHERE excluded.observed_at >= a.observed_at
), marked AS (
    INSERT INTO dirty_day (cluster_id, day) SELECT DISTINCT %(cluster)s, day FROM judged WHERE wins AND differs
)
SELECT count(*) FILTER (WHERE is_new), count(*) FILTER (WHERE wins AND differs AND NOT is_new), count(*) FILTER (WHERE NOT (wins AND differs))
FROM judged
