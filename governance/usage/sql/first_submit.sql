-- The earliest submit of a cluster's runs: it lies in the first month that has any.
SELECT min(submit_at) FROM run
WHERE cluster_id = %(cluster)s
    AND submit_at < (SELECT (min(month) + interval '1 month') AT TIME ZONE 'UTC' FROM run_span WHERE cluster_id = %(cluster)s)
