-- Rows of the sums by month and of the whole site's days that differ from the sums of the day facts, either way.
WITH month AS (
    SELECT date_trunc('month', day)::date AS month, project, pool, model, qos, band, cluster, account, "user",
        count(*) AS facts, sum(milligpu_seconds)::bigint AS milli, sum(cpu_seconds)::bigint AS cpu, sum(node_seconds)::bigint AS node,
        sum(wall_seconds)::bigint AS wall, sum(memory_mib_seconds)::bigint AS memory, sum(runs_started)::bigint AS started,
        sum(runs_ended)::bigint AS ended, sum(unknown_gpu_runs)::bigint AS unknown
    FROM usage_day GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
), site AS (
    SELECT day, cluster, pool, model, qos, band, outcome,
        count(*) AS facts, sum(milligpu_seconds)::bigint AS milli, sum(cpu_seconds)::bigint AS cpu, sum(node_seconds)::bigint AS node,
        sum(wall_seconds)::bigint AS wall, sum(memory_mib_seconds)::bigint AS memory, sum(runs_started)::bigint AS started,
        sum(runs_ended)::bigint AS ended, sum(unknown_gpu_runs)::bigint AS unknown
    FROM usage_day GROUP BY 1, 2, 3, 4, 5, 6, 7
)
SELECT
    (SELECT count(*) FROM month AS s FULL JOIN usage_month AS k USING (month, project, pool, model, qos, band, cluster, account, "user")
        WHERE (s.facts, milli, cpu, node, wall, memory, started, ended, unknown) IS DISTINCT FROM (k.facts, milligpu_seconds, cpu_seconds,
            node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended, unknown_gpu_runs))
    + (SELECT count(*) FROM site AS s FULL JOIN usage_site_day AS k USING (day, cluster, pool, model, qos, band, outcome)
        WHERE (s.facts, milli, cpu, node, wall, memory, started, ended, unknown) IS DISTINCT FROM (k.facts, milligpu_seconds, cpu_seconds,
            node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended, unknown_gpu_runs))
