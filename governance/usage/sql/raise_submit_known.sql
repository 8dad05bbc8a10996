-- A record that knows its submit time says so of its run even where a better record of the run has the word on all else.
-- Runs that stand under their start are few, and an index holds them.
UPDATE run AS r
SET submit_known = true
FROM candidate AS c
WHERE c.submit_known AND c.verdict NOT IN ('new', 'changed') AND NOT r.submit_known
    AND r.cluster_id = %(cluster)s AND r.job_id = c.job_id AND r.submit_at = c.submit_at;
