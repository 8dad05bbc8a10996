-- The best record a run key of the chunk. The digest is over the natural content: not the key, the text or the observation.
INSERT INTO candidate
SELECT DISTINCT ON (job_id, submit_at) w.*, count(*) OVER (PARTITION BY job_id, submit_at), NULL, NULL, NULL
FROM (
    SELECT
        %(cluster)s AS cluster_id, job_id, to_timestamp(coalesce(submit_s, start_s)) AS submit_at, submit_s IS NOT NULL AS submit_known,
        label, to_timestamp(eligible_s) AS eligible_at, to_timestamp(start_s) AS start_at, to_timestamp(end_s) AS end_at,
        CASE WHEN start_s IS NOT NULL THEN to_timestamp(coalesce(end_s, greatest(observed_s, start_s))) END AS stop_at,
        state, outcome, exit_code, reason, account, "user", partition, qos, job_name, nodes, node_list, cpus, memory_mib, gpu_milli,
        gpu_type, asked_gpu_milli, elapsed_s, suspended_s, limit_s, restarts, db_index, sluid, flags,
        to_timestamp(observed_s) AS observed_at,
        md5(ROW(label, eligible_s, start_s, end_s, state, exit_code, reason, account, "user", partition, qos, job_name, nodes, node_list,
            cpus, memory_mib, gpu_milli, gpu_type, asked_gpu_milli, elapsed_s, suspended_s, limit_s, restarts, db_index, sluid)::text)::uuid
            AS digest,
        raw, %(source)s AS source, end_s IS NOT NULL AS is_ended
    FROM staged
) AS w
ORDER BY job_id, submit_at, observed_at DESC, is_ended DESC, digest DESC;
