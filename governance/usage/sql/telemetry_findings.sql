-- Runs of the last days with more known card time than they held, and jobs whose run is in no record although records have come that far.
-- A minute a card and two in a hundred are the samples' own coarseness.
WITH recent AS (
    SELECT job_id, submit_at, day, sum(active_milligpu_seconds + idle_milligpu_seconds) AS known, sum(measured_milligpu_seconds) AS measured,
        sum(cards) AS cards, max(last_at) AS last_at
    FROM run_activity WHERE cluster_id = %(cluster)s AND day >= %(since)s GROUP BY job_id, submit_at, day
)
SELECT CASE WHEN r.job_id IS NULL THEN 'telemetry_without_run' ELSE 'telemetry_excess' END, a.job_id, a.day,
    greatest(a.known, a.measured)::bigint, h.held, a.cards::bigint
FROM recent AS a
LEFT JOIN LATERAL (
    SELECT * FROM run AS r WHERE r.cluster_id = %(cluster)s AND r.job_id = a.job_id AND r.submit_at = a.submit_at OFFSET 0
) AS r ON true
CROSS JOIN LATERAL (
    SELECT coalesce(r.gpu_milli, 0) * greatest(coalesce(extract(epoch FROM
        least(coalesce(r.end_at, greatest(r.stop_at, a.last_at)), (a.day + 1)::timestamp AT TIME ZONE %(zone)s)
            - greatest(r.start_at, a.day::timestamp AT TIME ZONE %(zone)s))::bigint, 0), 0) AS held
) AS h
WHERE (r.job_id IS NULL AND a.last_at < (SELECT until_at FROM watermark WHERE cluster_id = %(cluster)s AND stage = 'ingested'))
    OR (r.job_id IS NOT NULL AND greatest(a.known, a.measured) > h.held * 1.02 + 60000 * a.cards)
ORDER BY a.day DESC, a.job_id
LIMIT %(most)s
