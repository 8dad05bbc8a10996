-- A record without a submit time belongs to the run of its job that started when it did, known from the chunk or from before;
-- if there is none, to the one submitted at that second, of which nobody has told the start yet.
UPDATE staged AS s
SET submit_s = known.submit_s
FROM (
    SELECT job_id, start_s, min(submit_s) AS submit_s
    FROM (
        SELECT job_id, start_s, submit_s FROM staged WHERE submit_s IS NOT NULL AND start_s IS NOT NULL
        UNION ALL
        SELECT job_id, submit_s, submit_s FROM staged WHERE submit_s IS NOT NULL
        UNION ALL
        SELECT r.job_id, extract(epoch FROM r.start_at)::bigint, extract(epoch FROM r.submit_at)::bigint
        FROM run AS r
        JOIN (SELECT DISTINCT job_id, start_s FROM staged WHERE submit_s IS NULL) AS u
            ON r.cluster_id = %(cluster)s AND r.job_id = u.job_id AND r.start_at = to_timestamp(u.start_s)
        WHERE r.submit_known
    ) AS k
    GROUP BY job_id, start_s
) AS known
WHERE s.submit_s IS NULL AND s.job_id = known.job_id AND s.start_s = known.start_s;
