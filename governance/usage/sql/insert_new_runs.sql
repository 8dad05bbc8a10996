-- Runs seen for the first time.
INSERT INTO run
SELECT %(cluster)s, c.job_id, c.submit_at, c.submit_known, s.label, to_timestamp(s.eligible_s), c.start_at, to_timestamp(s.end_s), c.stop_at,
    s.state, s.outcome, s.exit_code, s.reason, s.account, s."user", s.partition, s.qos, s.job_name, s.nodes, s.node_list, s.cpus,
    s.memory_mib, s.gpu_milli, s.gpu_type, s.asked_gpu_milli, s.elapsed_s, s.suspended_s, s.limit_s, s.restarts, s.db_index, s.sluid,
    s.flags, c.observed_at, c.digest, s.raw, %(source)s,
    CASE WHEN %(reading)s <> '' AND NOT s.is_adopted THEN md5(%(reading)s || s.raw)::uuid END
FROM candidate AS c
JOIN staged AS s ON s.ctid = c.staged_row
WHERE c.verdict = 'new';
