-- Same content, seen later: noted beside the run.
INSERT INTO run_seen (cluster_id, job_id, submit_at, digest, last_seen_at)
SELECT %(cluster)s, job_id, submit_at, digest, observed_at FROM candidate WHERE verdict = 'seen'
ON CONFLICT (cluster_id, job_id, submit_at) DO UPDATE SET digest = excluded.digest, last_seen_at = excluded.last_seen_at;
