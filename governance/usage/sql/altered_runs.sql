-- Runs whose stored content does not give the digest it was merged with.
SELECT count(*) FROM run
WHERE digest <> md5(ROW(label, extract(epoch FROM eligible_at)::bigint, extract(epoch FROM start_at)::bigint,
    extract(epoch FROM end_at)::bigint, state, exit_code, reason, account, "user", partition, qos, job_name, nodes, node_list, cpus,
    memory_mib, gpu_milli, gpu_type, asked_gpu_milli, elapsed_s, suspended_s, limit_s, restarts, db_index, sluid)::text)::uuid
