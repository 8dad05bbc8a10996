-- Joules of a card with a job by day and hour: a counter's growth, where it falls it was reset and counts from zero; else power times step.
WITH counter AS (
    SELECT node, card, job, at, max(value) AS value FROM telemetry_sample WHERE kind = 4 AND job <> '' GROUP BY node, card, job, at
), grown AS (
    SELECT node, card, job, at, CASE WHEN value >= before THEN value - before ELSE value END AS joules
    FROM (SELECT *, lag(value) OVER (PARTITION BY node, card, job ORDER BY at) AS before FROM counter) AS c
    WHERE before IS NOT NULL
), powered AS (
    SELECT node, card, job, at, max(value) * %(step)s AS joules
    FROM telemetry_sample AS s
    WHERE kind = 2 AND job <> '' AND NOT EXISTS (SELECT 1 FROM (SELECT DISTINCT node, card, job FROM counter) AS c
        WHERE (c.node, c.card, c.job) = (s.node, s.card, s.job))
    GROUP BY node, card, job, at
)
SELECT node, card, job, day, hour, sum(joules)
FROM (
    SELECT *, floor((at - %(step)s / 2.0 - (%(bounds)s::bigint[])[day + 1]) / 3600)::int AS hour
    FROM (
        SELECT *, width_bucket((at - %(step)s / 2.0)::bigint, %(bounds)s::bigint[]) - 1 AS day
        FROM (SELECT * FROM grown UNION ALL SELECT * FROM powered) AS e
    ) AS d
    WHERE day >= 0
) AS h
GROUP BY node, card, job, day, hour
