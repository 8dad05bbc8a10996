-- Every day a new or changed run touches or touched; a run that ends marks all its days, since its outcome changed on them.
UPDATE candidate SET verdict = 'new' WHERE verdict IS NULL;
INSERT INTO dirty_day (cluster_id, day)
SELECT DISTINCT %(cluster)s, d::date
FROM (
    SELECT start_at AS from_at, stop_at AS to_at FROM candidate WHERE verdict IN ('new', 'changed') AND start_at IS NOT NULL
    UNION ALL
    SELECT old_start_at, old_stop_at FROM candidate WHERE verdict = 'changed' AND old_start_at IS NOT NULL
) AS touched,
    generate_series((from_at AT TIME ZONE %(zone)s)::date, (to_at AT TIME ZONE %(zone)s)::date, interval '1 day') AS d;
