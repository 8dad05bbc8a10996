-- The span of each month's partition grows with what came in; a month whose runs never started has no instants.
INSERT INTO run_span AS s (cluster_id, month, min_start_at, max_stop_at)
SELECT %(cluster)s, date_trunc('month', submit_at AT TIME ZONE 'UTC')::date, min(start_at), max(stop_at)
FROM candidate WHERE verdict IN ('new', 'changed')
GROUP BY 2
ON CONFLICT (cluster_id, month) DO UPDATE
SET min_start_at = least(s.min_start_at, excluded.min_start_at), max_stop_at = greatest(s.max_stop_at, excluded.max_stop_at)
WHERE excluded.min_start_at < coalesce(s.min_start_at, 'infinity') OR excluded.max_stop_at > coalesce(s.max_stop_at, '-infinity');
