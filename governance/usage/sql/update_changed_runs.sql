-- Runs of which a better record came.
UPDATE run AS r
SET submit_known = c.submit_known, label = c.label, eligible_at = c.eligible_at, start_at = c.start_at, end_at = c.end_at,
    stop_at = c.stop_at, state = c.state, outcome = c.outcome, exit_code = c.exit_code, reason = c.reason, account = c.account,
    "user" = c."user", partition = c.partition, qos = c.qos, job_name = c.job_name, nodes = c.nodes, node_list = c.node_list,
    cpus = c.cpus, memory_mib = c.memory_mib, gpu_milli = c.gpu_milli, gpu_type = c.gpu_type, asked_gpu_milli = c.asked_gpu_milli,
    elapsed_s = c.elapsed_s, suspended_s = c.suspended_s, limit_s = c.limit_s, restarts = c.restarts, db_index = c.db_index,
    sluid = c.sluid, flags = c.flags, observed_at = c.observed_at, digest = c.digest, raw = c.raw, source = c.source
FROM candidate AS c
WHERE c.verdict = 'changed' AND r.cluster_id = %(cluster)s AND r.job_id = c.job_id AND r.submit_at = c.submit_at;
