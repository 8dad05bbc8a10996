-- new, changed, seen (same content, later observation, ended), same, or older than what is there.
-- The lookups go run by run through the primary key, so that only the partitions the chunk touches are read.
WITH there AS MATERIALIZED (
    SELECT c.job_id, c.submit_at, r.digest, r.start_at, r.stop_at, r.end_at IS NOT NULL AS is_ended, r.submit_known,
        greatest(r.observed_at, n.last_seen_at) AS observed_at
    FROM candidate AS c
    CROSS JOIN LATERAL (
        SELECT * FROM run AS r
        WHERE r.cluster_id = %(cluster)s AND r.job_id = c.job_id AND r.submit_at = c.submit_at
        OFFSET 0
    ) AS r
    LEFT JOIN run_seen AS n
        ON n.cluster_id = %(cluster)s AND n.job_id = c.job_id AND n.submit_at = c.submit_at AND n.digest = r.digest
)
UPDATE candidate AS c
SET old_start_at = t.start_at,
    old_stop_at = t.stop_at,
    submit_known = c.submit_known OR t.submit_known,
    verdict = CASE
        WHEN c.digest = t.digest AND c.observed_at <= t.observed_at THEN 'same'
        WHEN c.digest = t.digest AND c.is_ended THEN 'seen'
        WHEN (c.observed_at, c.is_ended, c.digest) > (t.observed_at, t.is_ended, t.digest) THEN 'changed'
        ELSE 'older'
    END
FROM there AS t
WHERE t.job_id = c.job_id AND t.submit_at = c.submit_at;
