-- Everything that a decision on some pools stands on, by one question, as one JSON object. All days are half-open.
--   %(pools)s       ids of the pools        %(project)s   id of the asking project
--   %(today)s       the day of today        %(zone)s      the billing time zone
--   %(below)s       ids of the departments whose projects count as the same department
--   %(days)s        length of the window of use, which ends with the last metered day
WITH wanted AS (  -- these pools, and those that something is offered of: they may be an alternative
    SELECT id, code, cluster_id FROM pool WHERE cluster_id IS NOT NULL AND (id = ANY(%(pools)s) OR id IN (
        SELECT pool_id FROM offering WHERE (from_on IS NULL OR from_on <= %(today)s) AND (to_on IS NULL OR to_on > %(today)s)))
),
metered AS (
    SELECT p.id AS pool, p.code, w.until_at,
        COALESCE((w.until_at AT TIME ZONE %(zone)s)::date, %(today)s::date) AS last_on
    FROM wanted AS p LEFT JOIN watermark AS w ON w.cluster_id = p.cluster_id AND w.stage = 'metered'
),
lines AS (
    SELECT q.id, q.pool_id, q.project_id, j.code AS project, h.department_id AS home, COALESCE(m.code, '') AS model, q.level,
        q.guaranteed_gpus, q.ceiling_gpus, q.from_on, q.to_on, q.ask
    FROM quota AS q JOIN project AS j ON j.id = q.project_id LEFT JOIN accelerator_model AS m ON m.id = q.model_id
    LEFT JOIN placement AS h ON h.project_id = q.project_id AND (h.from_on IS NULL OR h.from_on <= %(today)s)
        AND (h.to_on IS NULL OR h.to_on > %(today)s)
    WHERE NOT q.is_void AND q.pool_id IN (SELECT id FROM wanted)
        AND (q.to_on IS NULL OR q.to_on > %(today)s OR (q.project_id = %(project)s AND q.ask <> ''))
),
near AS (  -- projects of the same department, the asking one among them
    SELECT j.id, j.code FROM project AS j WHERE j.id = %(project)s
    UNION
    SELECT j.id, j.code FROM placement AS h JOIN project AS j ON j.id = h.project_id
    WHERE h.department_id = ANY(%(below)s) AND (h.from_on IS NULL OR h.from_on <= %(today)s) AND (h.to_on IS NULL OR h.to_on > %(today)s)
),
used AS (
    SELECT m.pool, n.id AS project, u.day, sum(u.milligpu_seconds) AS milli, sum(u.active_milligpu_seconds) AS active,
        sum(u.idle_milligpu_seconds) AS idle, sum(u.wait_capacity_seconds) AS waited, sum(u.runs_started) AS started,
        sum(u.milligpu_seconds) FILTER (WHERE u.outcome = 'node_failure') AS lost,
        sum(u.milligpu_seconds) FILTER (WHERE u.outcome NOT IN ('cancelled', 'preempted', 'running')) AS judged
    FROM metered AS m JOIN usage_day AS u ON u.pool = m.code AND u.day >= m.last_on - %(days)s::int AND u.day < m.last_on
    JOIN near AS n ON n.code = u.project
    GROUP BY m.pool, n.id, u.day
),
latest AS (
    SELECT DISTINCT c.cluster_id, (SELECT max(q.at) FROM queue_sample AS q WHERE q.cluster_id = c.cluster_id) AS at FROM wanted AS c
)
SELECT json_build_object(
    'metered', (SELECT json_object_agg(pool, json_build_array(until_at, last_on)) FROM metered),
    'capacity', (SELECT COALESCE(json_agg(json_build_array(pool_id, from_on, to_on, gpus, model)), '[]') FROM (
        SELECT t.pool_id, t.from_on, t.to_on, m.code AS model, sum(t.accelerators - LEAST(t.accelerators, COALESCE(s.lost, 0))) AS gpus
        FROM node_term AS t JOIN accelerator_model AS m ON m.id = t.model_id
        LEFT JOIN (
            SELECT node_id, max(COALESCE(cards, 2147483647)) AS lost FROM node_state
            WHERE from_at <= now() AND (to_at IS NULL OR to_at > now()) AND state <> 'in_service' GROUP BY node_id
        ) AS s ON s.node_id = t.node_id
        WHERE t.pool_id IN (SELECT id FROM wanted) AND (t.to_on IS NULL OR t.to_on > %(today)s)
        GROUP BY t.pool_id, t.from_on, t.to_on, m.code) AS c),
    'quotas', (SELECT COALESCE(json_agg(json_build_array(id, pool_id, project_id, project, home, model, level, guaranteed_gpus,
        ceiling_gpus, from_on, to_on, ask) ORDER BY id), '[]') FROM lines),
    'policies', (SELECT COALESCE(json_agg(json_build_array(pool_id, from_on, to_on, kind, factor)), '[]')
        FROM pool_policy WHERE pool_id IN (SELECT id FROM wanted)),
    'shares', (SELECT COALESCE(json_agg(json_build_array(s.pool_id, d.code, s.from_on, s.to_on, s.gpus)), '[]')
        FROM department_share AS s JOIN department AS d ON d.id = s.department_id WHERE s.pool_id IN (SELECT id FROM wanted)),
    'used', (SELECT COALESCE(json_agg(json_build_array(pool, project, p95, peak, milli, active, idle, waited, started, lost, judged)), '[]')
        FROM (SELECT pool, project, percentile_disc(0.95) WITHIN GROUP (ORDER BY milli) AS p95, max(milli) AS peak, sum(milli) AS milli,
            sum(active) AS active, sum(idle) AS idle, sum(waited) AS waited, sum(started) AS started, sum(lost) AS lost,
            sum(judged) AS judged FROM used GROUP BY pool, project) AS u),
    'own_days', (SELECT COALESCE(json_agg(json_build_array(pool, day, milli, active) ORDER BY day), '[]') FROM used
        WHERE project = %(project)s),
    'partitions', (SELECT COALESCE(json_agg(json_build_array(w.cluster_id, w.code, p.pattern, (SELECT COALESCE(json_agg(m.code), '[]')
            FROM pool_accelerator AS a JOIN accelerator_model AS m ON m.id = a.acceleratormodel_id WHERE a.pool_id = w.id))), '[]')
        FROM pool_partition AS p JOIN pool AS w ON w.id = p.pool_id
        WHERE w.cluster_id IN (SELECT cluster_id FROM wanted) AND (p.from_on IS NULL OR p.from_on <= %(today)s)
            AND (p.to_on IS NULL OR p.to_on > %(today)s)),
    'queue', (SELECT COALESCE(json_agg(json_build_array(q.cluster_id, q.at, q.partition, q.account, q.waits_for, q.jobs, q.milli)), '[]')
        FROM (SELECT q.cluster_id, q.at, q.partition, q.account, q.waits_for, sum(q.jobs) AS jobs, sum(q.asked_gpu_milli) AS milli
            FROM queue_sample AS q JOIN latest AS l ON l.cluster_id = q.cluster_id AND l.at = q.at
            GROUP BY q.cluster_id, q.at, q.partition, q.account, q.waits_for) AS q),
    'pools', (SELECT COALESCE(json_agg(json_build_array(id, code, cluster_id)), '[]') FROM wanted),
    'sampled', (SELECT COALESCE(json_agg(json_build_array(cluster_id, at)), '[]') FROM latest),
    'accounts', (SELECT COALESCE(json_agg(json_build_array(a.cluster_id, a.account, j.code, j.id, h.department_id)), '[]')
        FROM account_mapping AS a JOIN project AS j ON j.id = a.project_id
        LEFT JOIN placement AS h ON h.project_id = j.id AND (h.from_on IS NULL OR h.from_on <= %(today)s)
            AND (h.to_on IS NULL OR h.to_on > %(today)s)
        WHERE (a.cluster_id, a.account) IN (SELECT q.cluster_id, q.account FROM queue_sample AS q
                JOIN latest AS l ON l.cluster_id = q.cluster_id AND l.at = q.at)
            AND a."user" = '*' AND a.qos = '*' AND (a.from_on IS NULL OR a.from_on <= %(today)s) AND (a.to_on IS NULL OR a.to_on > %(today)s)),
    'others', (SELECT COALESCE(json_agg(json_build_array(o.pool_id, p.code, p.name_zh, p.name_en, o.level, o.code, o.name_zh, o.name_en, o.qos,
            (SELECT COALESCE(json_agg(d.code), '[]') FROM offering_department AS od JOIN department AS d ON d.id = od.department_id
                WHERE od.offering_id = o.id)) ORDER BY p.code, o.level), '[]')
        FROM offering AS o JOIN pool AS p ON p.id = o.pool_id
        WHERE (o.from_on IS NULL OR o.from_on <= %(today)s) AND (o.to_on IS NULL OR o.to_on > %(today)s))
)
