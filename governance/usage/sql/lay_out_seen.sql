-- What was noted of many runs at once, noted beside each of them: the latest time each was seen.
WITH noted AS (
    DELETE FROM run_seen_together WHERE cluster_id = %(cluster)s RETURNING seen_at, job_ids, submit_ats
), latest AS (
    SELECT g.job_id COLLATE "C" AS job_id, g.submit_at, max(n.seen_at) AS seen_at
    FROM noted AS n CROSS JOIN LATERAL unnest(n.job_ids, n.submit_ats) AS g (job_id, submit_at)
    GROUP BY 1, 2
)
INSERT INTO run_seen AS s (cluster_id, job_id, submit_at, digest, last_seen_at)
SELECT %(cluster)s, l.job_id, l.submit_at, r.digest, l.seen_at
FROM latest AS l
CROSS JOIN LATERAL (
    SELECT r.digest, r.observed_at FROM run AS r
    WHERE r.cluster_id = %(cluster)s AND r.job_id = l.job_id AND r.submit_at = l.submit_at
    OFFSET 0
) AS r
WHERE l.seen_at > r.observed_at
ON CONFLICT (cluster_id, job_id, submit_at) DO UPDATE SET digest = excluded.digest, last_seen_at = excluded.last_seen_at
WHERE s.digest <> excluded.digest OR s.last_seen_at < excluded.last_seen_at;
