-- Runs seen for the first time.
INSERT INTO run
SELECT cluster_id, job_id, submit_at, submit_known, label, eligible_at, start_at, end_at, stop_at, state, outcome, exit_code, reason,
    account, "user", partition, qos, job_name, nodes, node_list, cpus, memory_mib, gpu_milli, gpu_type, asked_gpu_milli, elapsed_s,
    suspended_s, limit_s, restarts, db_index, sluid, flags, observed_at, digest, raw, source
FROM candidate WHERE verdict = 'new';
