-- The best record a run key of the chunk, and what it is to the run that is there:
-- new, changed, seen (same content, later observation, ended), same, or older.
-- The digest is over the natural content: not the key, the text or the observation.
-- The lookups go run by run through the primary key, so that only the partitions the chunk touches are read.
INSERT INTO candidate
SELECT b.staged_row, b.job_id, b.submit_at, b.submit_known OR coalesce(t.submit_known, false), b.start_at, b.stop_at, b.observed_at, b.digest,
    CASE
        WHEN t.digest IS NULL THEN 'new'
        WHEN b.digest = t.digest AND b.observed_at <= t.observed_at THEN 'same'
        WHEN b.digest = t.digest AND b.is_ended THEN 'seen'
        WHEN (b.observed_at, b.is_ended, b.digest) > (t.observed_at, t.is_ended, t.digest) THEN 'changed'
        ELSE 'older'
    END,
    t.start_at, t.stop_at
FROM (
    SELECT DISTINCT ON (job_id, submit_at) w.*
    FROM (
        SELECT
            ctid AS staged_row, job_id COLLATE "C" AS job_id, to_timestamp(coalesce(submit_s, start_s)) AS submit_at,
            submit_s IS NOT NULL AS submit_known, to_timestamp(start_s) AS start_at,
            CASE WHEN start_s IS NOT NULL THEN to_timestamp(coalesce(end_s, greatest(observed_s, start_s))) END AS stop_at,
            to_timestamp(observed_s) AS observed_at, end_s IS NOT NULL AS is_ended,
            md5(ROW(label, eligible_s, start_s, end_s, state, exit_code, reason, account, "user", partition, qos, job_name, nodes, node_list,
                cpus, memory_mib, gpu_milli, gpu_type, asked_gpu_milli, elapsed_s, suspended_s, limit_s, restarts, db_index,
                sluid)::text)::uuid AS digest
        FROM staged
    ) AS w
    ORDER BY job_id, submit_at, observed_at DESC, is_ended DESC, digest DESC
) AS b
LEFT JOIN LATERAL (
    SELECT r.digest, r.start_at, r.stop_at, r.end_at IS NOT NULL AS is_ended, r.submit_known,
        greatest(r.observed_at, n.last_seen_at) AS observed_at
    FROM run AS r
    LEFT JOIN run_seen AS n
        ON n.cluster_id = %(cluster)s AND n.job_id = b.job_id AND n.submit_at = b.submit_at AND n.digest = r.digest
    WHERE r.cluster_id = %(cluster)s AND r.job_id = b.job_id AND r.submit_at = b.submit_at
    OFFSET 0
) AS t ON true;
