-- Every day a new or changed run touches or touched; a run that ends marks all its days, since its outcome changed on them.
-- Most runs share their days with many others: the spans are made one of before they are spread.
INSERT INTO dirty_day (cluster_id, day)
SELECT DISTINCT %(cluster)s, d::date
FROM (
    SELECT (start_at AT TIME ZONE %(zone)s)::date AS from_on, (stop_at AT TIME ZONE %(zone)s)::date AS to_on
    FROM candidate WHERE verdict IN ('new', 'changed') AND start_at IS NOT NULL
    UNION
    SELECT (old_start_at AT TIME ZONE %(zone)s)::date, (old_stop_at AT TIME ZONE %(zone)s)::date
    FROM candidate WHERE verdict = 'changed' AND old_start_at IS NOT NULL
) AS touched,
    generate_series(from_on, to_on, interval '1 day') AS d;
