-- Runs of which a better record came.
UPDATE run AS r
SET submit_known = c.submit_known, label = s.label, eligible_at = to_timestamp(s.eligible_s), start_at = c.start_at,
    end_at = to_timestamp(s.end_s), stop_at = c.stop_at, state = s.state, outcome = s.outcome, exit_code = s.exit_code, reason = s.reason,
    account = s.account, "user" = s."user", partition = s.partition, qos = s.qos, job_name = s.job_name, nodes = s.nodes,
    node_list = s.node_list, cpus = s.cpus, memory_mib = s.memory_mib, gpu_milli = s.gpu_milli, gpu_type = s.gpu_type,
    asked_gpu_milli = s.asked_gpu_milli, elapsed_s = s.elapsed_s, suspended_s = s.suspended_s, limit_s = s.limit_s, restarts = s.restarts,
    db_index = s.db_index, sluid = s.sluid, flags = s.flags, observed_at = c.observed_at, digest = c.digest, raw = s.raw,
    source = %(source)s, text_digest = CASE WHEN %(reading)s <> '' AND NOT s.is_adopted THEN md5(%(reading)s || s.raw)::uuid END
FROM candidate AS c
JOIN staged AS s ON s.ctid = c.staged_row
WHERE c.verdict = 'changed' AND r.cluster_id = %(cluster)s AND r.job_id = c.job_id AND r.submit_at = c.submit_at;
