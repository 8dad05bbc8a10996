-- Capacity rows whose parts do not sum, or whose allocated time is not that of the facts.
WITH fact AS (
    SELECT day, cluster, pool, model, sum(milligpu_seconds) AS milli FROM usage_day GROUP BY 1, 2, 3, 4
)
SELECT count(*),
    count(*) FILTER (WHERE c.day IS NULL OR c.installed + c.over <> c.allocated + c.free + c.reserved + c.drained + c.down
        OR c.allocated <> coalesce(f.milli, 0)),
    count(*) FILTER (WHERE c.over > 0)
FROM capacity_day AS c
FULL JOIN (SELECT * FROM fact WHERE milli > 0) AS f USING (day, cluster, pool, model)
