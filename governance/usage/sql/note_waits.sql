-- Each waiting job's time since it was last seen waiting (else since it could first have started, but no further back than the gap)
-- goes to the class of its present reason. A snapshot that is not later than the last one adds nothing.
INSERT INTO wait_sample AS w (cluster_id, job_id, submit_at, quota_seconds, capacity_seconds, other_seconds, last_reason, last_at)
SELECT DISTINCT ON (q.job_id, q.submit_s) %(cluster)s, q.job_id, to_timestamp(q.submit_s),
    CASE WHEN q.waits_for = 'quota' THEN t.secs ELSE 0 END,
    CASE WHEN q.waits_for = 'capacity' THEN t.secs ELSE 0 END,
    CASE WHEN q.waits_for = 'other' THEN t.secs ELSE 0 END,
    q.reason, %(at)s
FROM waiting AS q
LEFT JOIN wait_sample AS b ON b.cluster_id = %(cluster)s AND b.job_id = q.job_id AND b.submit_at = to_timestamp(q.submit_s)
CROSS JOIN LATERAL (
    SELECT CASE WHEN q.eligible_s IS NULL OR to_timestamp(q.eligible_s) > %(at)s THEN 0 ELSE least(greatest(extract(epoch FROM
        %(at)s - greatest(b.last_at, to_timestamp(q.submit_s), to_timestamp(q.eligible_s)))::bigint, 0), %(gap)s) END AS secs
) AS t
ORDER BY q.job_id, q.submit_s, q.reason
ON CONFLICT (cluster_id, job_id, submit_at) DO UPDATE
SET quota_seconds = w.quota_seconds + excluded.quota_seconds, capacity_seconds = w.capacity_seconds + excluded.capacity_seconds,
    other_seconds = w.other_seconds + excluded.other_seconds, last_reason = excluded.last_reason, last_at = excluded.last_at
WHERE w.last_at < excluded.last_at;
