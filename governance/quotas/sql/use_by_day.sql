-- Use against lines of quota by day, in milligpu_seconds, from the day facts.
-- %(lines)s ids of lines, %(first)s .. %(last)s days, both inclusive. A day without facts has no row.
-- A line counts the use of its project, pool and model under its own level's QoS; normal takes all that no other level claims,
-- judged by what is offered on %(levels_on)s. Days before a line's own count too: what it replaced was held for the same use.
WITH line AS (
    SELECT q.id, q.level, j.code AS project, p.code AS pool, m.code AS model,
        coalesce(own.qos, q.level) AS qos,
        ARRAY(
            SELECT o.qos FROM offering AS o WHERE o.pool_id = q.pool_id AND o.level <> 'normal'
                AND (o.from_on IS NULL OR o.from_on <= %(levels_on)s) AND (o.to_on IS NULL OR o.to_on > %(levels_on)s)
        ) AS others
    FROM quota AS q
    JOIN project AS j ON j.id = q.project_id
    JOIN pool AS p ON p.id = q.pool_id
    LEFT JOIN accelerator_model AS m ON m.id = q.model_id
    LEFT JOIN offering AS own ON own.pool_id = q.pool_id AND own.level = q.level
        AND (own.from_on IS NULL OR own.from_on <= %(levels_on)s) AND (own.to_on IS NULL OR own.to_on > %(levels_on)s)
    WHERE q.id = ANY(%(lines)s)
)
SELECT l.id, u.day, sum(u.milligpu_seconds), sum(u.active_milligpu_seconds), sum(u.idle_milligpu_seconds)
FROM line AS l
JOIN usage_day AS u ON u.project = l.project AND u.pool = l.pool AND u.day BETWEEN %(first)s AND %(last)s
    AND (l.model IS NULL OR u.model = l.model)
    -- The fourth part of the QOS that carries a line in the scheduler is its level: sy.project.pool.level.
    AND CASE WHEN l.level = 'normal' THEN u.qos <> ALL (l.others) AND u.qos !~ '^sy\.[^.]+\.[^.]+\.(urgent|elastic)(\.|$)'
        ELSE u.qos = l.qos OR u.qos ~ ('^sy\.[^.]+\.[^.]+\.' || l.level || '(\.|$)') END
GROUP BY l.id, u.day HAVING sum(u.milligpu_seconds) > 0
ORDER BY l.id, u.day
