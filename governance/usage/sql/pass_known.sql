-- Ended runs of which the very text was read before in the same way: nothing of theirs changes but when they were last seen.
-- Answers how many of the records this settles, and their positions unless it is all of them; the others are weighed.
-- No run may be asked for twice. The bounds of submit leave the partitions alone that cannot hold them, before anything is looked up.
-- Where all were observed at once, no array of observations is given but `seen`.
WITH known AS MATERIALIZED (
    SELECT g.n, g.job_id, r.submit_at, r.observed_at, g.seen_at
    FROM (
        SELECT n, job_id COLLATE "C" AS job_id, to_timestamp(submit_s) AS submit_at, text_digest,
            to_timestamp(coalesce(observed_s, %(seen)s)) AS seen_at
        FROM unnest(%(jobs)s::text[], %(submits)s::bigint[], %(texts)s::uuid[], %(observed)s::bigint[])
            WITH ORDINALITY AS g (job_id, submit_s, text_digest, observed_s, n)
        OFFSET 0
    ) AS g
    CROSS JOIN LATERAL (
        SELECT r.submit_at, r.observed_at FROM run AS r
        WHERE r.cluster_id = %(cluster)s AND r.job_id = g.job_id AND r.submit_at = g.submit_at AND r.text_digest = g.text_digest
            AND r.end_at IS NOT NULL AND r.submit_at >= to_timestamp(%(low)s) AND r.submit_at <= to_timestamp(%(high)s)
        OFFSET 0
    ) AS r
), noted AS (
    INSERT INTO run_seen_together (cluster_id, seen_at, runs, job_ids, submit_ats)
    SELECT %(cluster)s, seen_at, count(*), array_agg(job_id), array_agg(submit_at) FROM known WHERE seen_at > observed_at GROUP BY seen_at
)
SELECT count(*), CASE WHEN count(*) < %(asked)s THEN array_agg(n) END FROM known;
