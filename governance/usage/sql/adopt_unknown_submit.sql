-- A record that knows its submit time adopts the run that had stood under its start: the old row goes back into the staging table.
-- The lookups go row by row through the primary key: a join would read whole partitions to find that there is nothing.
WITH stranger AS MATERIALIZED (
    SELECT DISTINCT r.job_id, r.submit_at, s.submit_s
    FROM staged AS s
    CROSS JOIN LATERAL (
        SELECT r.job_id, r.submit_at, r.submit_known FROM run AS r
        WHERE r.cluster_id = %(cluster)s AND r.job_id = s.job_id AND r.submit_at = to_timestamp(s.start_s)
        OFFSET 0
    ) AS r
    WHERE s.submit_s <> s.start_s AND NOT r.submit_known
), orphan AS (
    DELETE FROM run AS r
    USING stranger AS s
    WHERE r.cluster_id = %(cluster)s AND r.job_id = s.job_id AND r.submit_at = s.submit_at
    RETURNING r.*, s.submit_s AS adopted_submit_s
), unseen AS (
    DELETE FROM run_seen AS n USING orphan AS o
    WHERE n.cluster_id = o.cluster_id AND n.job_id = o.job_id AND n.submit_at = o.submit_at
    RETURNING n.*
), marks AS (
    INSERT INTO dirty_day (cluster_id, day)
    SELECT DISTINCT %(cluster)s, d::date
    FROM orphan AS o,
        generate_series((o.start_at AT TIME ZONE %(zone)s)::date, (o.stop_at AT TIME ZONE %(zone)s)::date, interval '1 day') AS d
)
INSERT INTO staged
SELECT o.job_id, o.label, o.adopted_submit_s, extract(epoch FROM o.eligible_at)::bigint, extract(epoch FROM o.start_at)::bigint,
    extract(epoch FROM o.end_at)::bigint, o.state, o.outcome, o.exit_code, o.reason, o.account, o."user", o.partition, o.qos,
    o.job_name, o.nodes, o.node_list, o.cpus, o.memory_mib, o.gpu_milli, o.gpu_type, o.asked_gpu_milli, o.elapsed_s,
    o.suspended_s, o.limit_s, o.restarts, o.db_index, o.sluid, o.flags, o.raw,
    extract(epoch FROM greatest(o.observed_at, u.last_seen_at))::bigint, true
FROM orphan AS o
LEFT JOIN unseen AS u ON u.job_id = o.job_id AND u.submit_at = o.submit_at AND u.digest = o.digest;
