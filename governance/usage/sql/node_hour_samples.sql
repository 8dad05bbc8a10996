-- A node's power (its cards together, a card with slices or several exporters once) and its hottest card, by day and hour.
WITH placed AS (
    SELECT *, floor((at - %(step)s / 2.0 - (%(bounds)s::bigint[])[day + 1]) / 3600)::int AS hour
    FROM (
        SELECT node, split_part(card, '/', 1) AS card, kind, at, value, floor(at / %(step)s) AS slot,
            width_bucket((at - %(step)s / 2.0)::bigint, %(bounds)s::bigint[]) - 1 AS day
        FROM telemetry_sample WHERE kind IN (2, 3)
    ) AS d
    WHERE day >= 0
), power AS (
    SELECT node, day, hour, avg(watts) AS mean, max(watts) AS most, count(*) AS samples
    FROM (
        SELECT node, day, hour, slot, sum(watts) AS watts
        FROM (SELECT node, card, day, hour, slot, max(value) AS watts FROM placed WHERE kind = 2 GROUP BY 1, 2, 3, 4, 5) AS c
        GROUP BY node, day, hour, slot
    ) AS n
    GROUP BY node, day, hour
), heat AS (
    SELECT node, day, hour, max(value) AS most, count(DISTINCT slot) AS samples FROM placed WHERE kind = 3 GROUP BY node, day, hour
)
SELECT node, day, hour, p.mean, p.most, h.most, greatest(p.samples, h.samples)::int
FROM power AS p FULL JOIN heat AS h USING (node, day, hour)
ORDER BY 1, 2, 3
