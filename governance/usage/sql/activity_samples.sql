-- A card's activity with a job, in the order of time: the preferred metric that speaks, the busiest where several series do.
SELECT DISTINCT ON (node, card, job, at) node, card, job, at, value
FROM telemetry_sample WHERE kind = 0 AND job <> ''
ORDER BY node, card, job, at, rank, value DESC
