-- The median distance of neighbouring samples of a card, from the cards of one node.
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY ahead)
FROM (
    SELECT at - lag(at) OVER (PARTITION BY card, job, kind, rank ORDER BY at) AS ahead
    FROM telemetry_sample WHERE node = (SELECT min(node) FROM telemetry_sample WHERE kind = 0) AND kind = 0
) AS d
WHERE ahead > 0
