-- The day's capacity up to `until_at`, per pool and model: installed + over = allocated + free + reserved + drained + down.
-- Down, drained and reserved come from node states; of a draining or reserved node only the cards that are not in use are out.
WITH term AS (
    SELECT t.id, t.node_id, p.code AS pool, m.code AS model, t.accelerators * 1000::bigint AS milli
    FROM node_term AS t
    JOIN node AS n ON n.id = t.node_id
    JOIN pool AS p ON p.id = t.pool_id
    JOIN accelerator_model AS m ON m.id = t.model_id
    WHERE n.cluster_id = %(cluster)s AND t.accelerators > 0
        AND (t.from_on IS NULL OR t.from_on <= %(day)s) AND (t.to_on IS NULL OR t.to_on > %(day)s)
), supply AS (
    SELECT pool, model, sum(milli * extract(epoch FROM %(until_at)s - %(start_at)s)::bigint)::bigint AS installed FROM term GROUP BY 1, 2
), lost AS (
    SELECT term.pool, term.model,
        sum(CASE WHEN s.state IN ('down', 'repair') THEN out_milli * secs ELSE 0 END)::bigint AS down,
        sum(CASE WHEN s.state IN ('drained', 'burn_in', 'spare') THEN out_milli * secs ELSE 0 END)::bigint AS drained,
        sum(CASE WHEN s.state = 'reserved' THEN out_milli * secs ELSE 0 END)::bigint AS reserved
    FROM term
    JOIN node_state AS s ON s.node_id = term.node_id AND s.from_at < %(until_at)s AND (s.to_at IS NULL OR s.to_at > %(start_at)s)
    CROSS JOIN LATERAL (SELECT extract(epoch FROM least(s.to_at, %(until_at)s) - greatest(s.from_at, %(start_at)s))::bigint AS secs,
        least(s.cards * 1000::bigint, milli) AS out_milli) AS t
    GROUP BY 1, 2
), used AS (
    SELECT pool, model, sum(milligpu_seconds)::bigint AS allocated
    FROM usage_day WHERE day = %(day)s AND cluster = %(code)s AND milligpu_seconds > 0 GROUP BY 1, 2
), target AS (
    SELECT pool, model, coalesce(installed, 0) AS installed, coalesce(allocated, 0) AS allocated,
        greatest(coalesce(installed, 0) - coalesce(down, 0) - coalesce(drained, 0) - coalesce(reserved, 0) - coalesce(allocated, 0), 0)
            AS free,
        coalesce(reserved, 0) AS reserved, coalesce(drained, 0) AS drained, coalesce(down, 0) AS down,
        greatest(coalesce(allocated, 0) - (coalesce(installed, 0) - coalesce(down, 0) - coalesce(drained, 0) - coalesce(reserved, 0)), 0)
            AS over
    FROM supply FULL JOIN used USING (pool, model) LEFT JOIN lost USING (pool, model)
), gone AS (
    DELETE FROM capacity_day AS c
    WHERE c.day = %(day)s AND c.cluster = %(code)s
        AND NOT EXISTS (SELECT 1 FROM target AS t WHERE t.pool = c.pool AND t.model = c.model)
    RETURNING 1
), written AS (
    INSERT INTO capacity_day AS c (day, cluster, pool, model, installed, allocated, free, reserved, drained, down, over, cause)
    SELECT %(day)s, %(code)s, t.*,
        CASE WHEN over = 0 THEN '' WHEN installed = 0 THEN 'no_nodes' WHEN allocated > installed THEN 'more_allocated_than_installed'
            ELSE 'down_while_allocated' END
    FROM target AS t
    ON CONFLICT (day, cluster, pool, model) DO UPDATE
    SET installed = excluded.installed, allocated = excluded.allocated, free = excluded.free, reserved = excluded.reserved,
        drained = excluded.drained, down = excluded.down, over = excluded.over, cause = excluded.cause
    WHERE (c.installed, c.allocated, c.free, c.reserved, c.drained, c.down, c.over, c.cause)
        IS DISTINCT FROM (excluded.installed, excluded.allocated, excluded.free, excluded.reserved, excluded.drained, excluded.down,
            excluded.over, excluded.cause)
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM written);
