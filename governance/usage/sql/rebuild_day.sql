-- The day's facts as they should be, against the facts that stand: only differences are written.
WITH target AS MATERIALIZED (
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
        sum(CASE WHEN p.is_first THEN s.wait_unknown_seconds ELSE 0 END)::bigint AS wait_unknown_seconds
    FROM meter_sum AS s
    JOIN meter_place AS p USING (partition, gpu_type, node_list, has_gpu, gpu_unknown)
    JOIN meter_owner AS o USING (account, "user", qos)
    GROUP BY s.band, p.pool, p.model, s.account, s."user", o.project, s.qos, s.outcome
), gone AS (
    DELETE FROM usage_day AS u
    WHERE u.day = %(day)s AND u.cluster = %(code)s AND NOT EXISTS (
        SELECT 1 FROM target AS t
        WHERE (t.band, t.pool, t.model, t.account, t."user", t.project, t.qos, t.outcome)
            = (u.band, u.pool, u.model, u.account, u."user", u.project, u.qos, u.outcome)
    )
    RETURNING 1
), written AS (
    INSERT INTO usage_day AS u (day, cluster, band, pool, model, account, "user", project, qos, outcome, milligpu_seconds, cpu_seconds,
        cpu_only_cpu_seconds, cpu_only_memory_mib_seconds, node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended,
        unknown_gpu_runs, wait_quota_seconds, wait_capacity_seconds, wait_other_seconds, wait_unknown_seconds)
    SELECT %(day)s, %(code)s, t.* FROM target AS t
    ON CONFLICT (day, band, cluster, pool, model, account, "user", project, qos, outcome) DO UPDATE
    SET milligpu_seconds = excluded.milligpu_seconds, cpu_seconds = excluded.cpu_seconds,
        cpu_only_cpu_seconds = excluded.cpu_only_cpu_seconds, cpu_only_memory_mib_seconds = excluded.cpu_only_memory_mib_seconds,
        node_seconds = excluded.node_seconds, wall_seconds = excluded.wall_seconds, memory_mib_seconds = excluded.memory_mib_seconds,
        runs_started = excluded.runs_started, runs_ended = excluded.runs_ended, unknown_gpu_runs = excluded.unknown_gpu_runs,
        wait_quota_seconds = excluded.wait_quota_seconds, wait_capacity_seconds = excluded.wait_capacity_seconds,
        wait_other_seconds = excluded.wait_other_seconds, wait_unknown_seconds = excluded.wait_unknown_seconds
    WHERE (u.milligpu_seconds, u.cpu_seconds, u.cpu_only_cpu_seconds, u.cpu_only_memory_mib_seconds, u.node_seconds, u.wall_seconds,
            u.memory_mib_seconds, u.runs_started, u.runs_ended, u.unknown_gpu_runs, u.wait_quota_seconds, u.wait_capacity_seconds,
            u.wait_other_seconds, u.wait_unknown_seconds)
        IS DISTINCT FROM (excluded.milligpu_seconds, excluded.cpu_seconds, excluded.cpu_only_cpu_seconds,
            excluded.cpu_only_memory_mib_seconds, excluded.node_seconds, excluded.wall_seconds, excluded.memory_mib_seconds,
            excluded.runs_started, excluded.runs_ended, excluded.unknown_gpu_runs, excluded.wait_quota_seconds,
            excluded.wait_capacity_seconds, excluded.wait_other_seconds, excluded.wait_unknown_seconds)
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM written);
