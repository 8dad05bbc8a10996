-- Whether a record of this chunk would change an ended run that may have been seen unchanged when that record was made, or later.
SELECT EXISTS (
    SELECT FROM candidate AS c
    CROSS JOIN LATERAL (
        SELECT FROM run AS r
        WHERE r.cluster_id = %(cluster)s AND r.job_id = c.job_id AND r.submit_at = c.submit_at AND r.end_at IS NOT NULL
        OFFSET 0
    ) AS r
    WHERE c.verdict = 'changed' AND c.observed_at <= to_timestamp(%(latest)s)
);
