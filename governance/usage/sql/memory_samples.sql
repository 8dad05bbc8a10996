-- The most memory of a card with a job by day and hour of it.
SELECT node, card, job, day, hour, max(value)
FROM (
    SELECT *, floor((at - %(step)s / 2.0 - (%(bounds)s::bigint[])[day + 1]) / 3600)::int AS hour
    FROM (SELECT *, width_bucket((at - %(step)s / 2.0)::bigint, %(bounds)s::bigint[]) - 1 AS day FROM telemetry_sample WHERE kind = 1 AND job <> '') AS d
    WHERE day >= 0
) AS h
GROUP BY node, card, job, day, hour
