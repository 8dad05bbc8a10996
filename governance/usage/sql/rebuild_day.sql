-- The day's facts as they should be, against the facts that stand: only differences are written.
WITH place AS MATERIALIZED (
    -- Where a run used several models, telemetry is shared out by the cards of each.
    SELECT *, sum(milli) OVER (shape ORDER BY is_first DESC, pool, model)::bigint AS upto, sum(milli) OVER shape::bigint AS whole
    FROM meter_place WINDOW shape AS (PARTITION BY partition, gpu_type, node_list, has_gpu, gpu_unknown)
), target AS MATERIALIZED (
    SELECT
        s.band, p.pool, p.model, s.account, s."user", o.project, s.qos, s.outcome,
        sum(CASE WHEN p.milli IS NULL THEN s.milligpu_seconds ELSE p.milli * s.wall_seconds END)::bigint AS milligpu_seconds,
        -- What is not of one card is counted once, with the first part of a run that used several models.
        sum(CASE WHEN p.is_first THEN s.cpu_seconds ELSE 0 END)::bigint AS cpu_seconds,
        sum(CASE WHEN p.is_first AND NOT s.has_gpu AND NOT s.gpu_unknown THEN s.cpu_seconds ELSE 0 END)::bigint AS cpu_only_cpu_seconds,
        sum(CASE WHEN p.is_first AND NOT s.has_gpu AND NOT s.gpu_unknown THEN s.memory_mib_seconds ELSE 0 END)::bigint
            AS cpu_only_memory_mib_seconds,
        sum(CASE WHEN p.is_first THEN s.node_seconds ELSE 0 END)::bigint AS node_seconds,
        sum(CASE WHEN p.is_first THEN s.wall_seconds ELSE 0 END)::bigint AS wall_seconds,
        sum(CASE WHEN p.is_first THEN s.memory_mib_seconds ELSE 0 END)::bigint AS memory_mib_seconds,
        sum(CASE WHEN p.is_first THEN s.runs_started ELSE 0 END)::bigint AS runs_started,
        sum(CASE WHEN p.is_first THEN s.runs_ended ELSE 0 END)::bigint AS runs_ended,
        sum(CASE WHEN p.is_first THEN s.unknown_gpu_runs ELSE 0 END)::bigint AS unknown_gpu_runs,
        sum(CASE WHEN p.is_first THEN s.wait_quota_seconds ELSE 0 END)::bigint AS wait_quota_seconds,
        sum(CASE WHEN p.is_first THEN s.wait_capacity_seconds ELSE 0 END)::bigint AS wait_capacity_seconds,
        sum(CASE WHEN p.is_first THEN s.wait_other_seconds ELSE 0 END)::bigint AS wait_other_seconds,
        sum(CASE WHEN p.is_first THEN s.wait_unknown_seconds ELSE 0 END)::bigint AS wait_unknown_seconds,
        sum(t.active)::bigint AS active_milligpu_seconds,
        sum(t.idle)::bigint AS idle_milligpu_seconds,
        sum(t.measured)::bigint AS measured_milligpu_seconds,
        sum(t.busy)::bigint AS busy_milligpu_seconds,
        sum(t.energy)::bigint AS energy_joules
    FROM meter_sum AS s
    JOIN place AS p USING (partition, gpu_type, node_list, has_gpu, gpu_unknown)
    CROSS JOIN LATERAL (
        SELECT s.active_milligpu_seconds AS active, s.idle_milligpu_seconds AS idle, s.measured_milligpu_seconds AS measured,
            s.busy_milligpu_seconds AS busy, s.energy_joules AS energy
        WHERE p.milli IS NULL
        UNION ALL
        SELECT
            share_upto(c.active, p.upto, p.whole) - share_upto(c.active, p.upto - p.milli, p.whole),
            share_upto(c.idle, p.upto * s.wall_seconds - share_upto(c.active, p.upto, p.whole), c.held - c.active)
                - share_upto(c.idle, (p.upto - p.milli) * s.wall_seconds - share_upto(c.active, p.upto - p.milli, p.whole), c.held - c.active),
            m.upto - m.since,
            share_upto(c.busy, m.upto, c.measured) - share_upto(c.busy, m.since, c.measured),
            share_upto(s.energy_joules, p.upto, p.whole) - share_upto(s.energy_joules, p.upto - p.milli, p.whole)
        FROM (SELECT p.whole * s.wall_seconds AS held) AS h
        CROSS JOIN LATERAL (
            SELECT h.held, least(s.active_milligpu_seconds, h.held) AS active,
                least(s.idle_milligpu_seconds, h.held - least(s.active_milligpu_seconds, h.held)) AS idle,
                least(s.measured_milligpu_seconds, h.held) AS measured, least(s.busy_milligpu_seconds, h.held) AS busy
        ) AS c
        CROSS JOIN LATERAL (
            SELECT share_upto(c.measured, p.upto - p.milli, p.whole) AS since, share_upto(c.measured, p.upto, p.whole) AS upto
        ) AS m
        WHERE p.milli IS NOT NULL
    ) AS t
    JOIN meter_owner AS o USING (account, "user", qos)
    GROUP BY s.band, p.pool, p.model, s.account, s."user", o.project, s.qos, s.outcome
), gone AS (
    DELETE FROM usage_day AS u
    -- NOT IN (no part of a key is ever null) is looked up in a hash; for NOT EXISTS a planner without statistics of a new
    -- table compares every fact with every other.
    WHERE u.day = %(day)s AND u.cluster = %(code)s
        AND (u.band, u.pool, u.model, u.account, u."user", u.project, u.qos, u.outcome)
            NOT IN (SELECT t.band, t.pool, t.model, t.account, t."user", t.project, t.qos, t.outcome FROM target AS t)
    RETURNING 1
), written AS (
    INSERT INTO usage_day AS u (day, cluster, band, pool, model, account, "user", project, qos, outcome, milligpu_seconds, cpu_seconds,
        cpu_only_cpu_seconds, cpu_only_memory_mib_seconds, node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended,
        unknown_gpu_runs, wait_quota_seconds, wait_capacity_seconds, wait_other_seconds, wait_unknown_seconds, active_milligpu_seconds,
        idle_milligpu_seconds, measured_milligpu_seconds, busy_milligpu_seconds, energy_joules)
    SELECT %(day)s, %(code)s, t.* FROM target AS t
    ON CONFLICT (day, band, cluster, pool, model, account, "user", project, qos, outcome) DO UPDATE
    SET milligpu_seconds = excluded.milligpu_seconds, cpu_seconds = excluded.cpu_seconds,
        cpu_only_cpu_seconds = excluded.cpu_only_cpu_seconds, cpu_only_memory_mib_seconds = excluded.cpu_only_memory_mib_seconds,
        node_seconds = excluded.node_seconds, wall_seconds = excluded.wall_seconds, memory_mib_seconds = excluded.memory_mib_seconds,
        runs_started = excluded.runs_started, runs_ended = excluded.runs_ended, unknown_gpu_runs = excluded.unknown_gpu_runs,
        wait_quota_seconds = excluded.wait_quota_seconds, wait_capacity_seconds = excluded.wait_capacity_seconds,
        wait_other_seconds = excluded.wait_other_seconds, wait_unknown_seconds = excluded.wait_unknown_seconds,
        active_milligpu_seconds = excluded.active_milligpu_seconds, idle_milligpu_seconds = excluded.idle_milligpu_seconds,
        measured_milligpu_seconds = excluded.measured_milligpu_seconds, busy_milligpu_seconds = excluded.busy_milligpu_seconds,
        energy_joules = excluded.energy_joules
    WHERE (u.milligpu_seconds, u.cpu_seconds, u.cpu_only_cpu_seconds, u.cpu_only_memory_mib_seconds, u.node_seconds, u.wall_seconds,
            u.memory_mib_seconds, u.runs_started, u.runs_ended, u.unknown_gpu_runs, u.wait_quota_seconds, u.wait_capacity_seconds,
            u.wait_other_seconds, u.wait_unknown_seconds, u.active_milligpu_seconds, u.idle_milligpu_seconds,
            u.measured_milligpu_seconds, u.busy_milligpu_seconds, u.energy_joules)
        IS DISTINCT FROM (excluded.milligpu_seconds, excluded.cpu_seconds, excluded.cpu_only_cpu_seconds,
            excluded.cpu_only_memory_mib_seconds, excluded.node_seconds, excluded.wall_seconds, excluded.memory_mib_seconds,
            excluded.runs_started, excluded.runs_ended, excluded.unknown_gpu_runs, excluded.wait_quota_seconds,
            excluded.wait_capacity_seconds, excluded.wait_other_seconds, excluded.wait_unknown_seconds,
            excluded.active_milligpu_seconds, excluded.idle_milligpu_seconds, excluded.measured_milligpu_seconds,
            excluded.busy_milligpu_seconds, excluded.energy_joules)
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM written);
