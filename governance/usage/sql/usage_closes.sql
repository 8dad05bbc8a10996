-- Runs cut at the days of the billing zone against the facts, day by day and cluster by cluster; days that wait for metering are left out.
WITH through AS (
    SELECT w.cluster_id, c.code, w.until_at FROM watermark AS w JOIN cluster AS c ON c.id = w.cluster_id WHERE w.stage = 'metered'
), cut AS (
    SELECT t.code, d::date AS day, sum(r.gpu_milli * greatest(0, extract(epoch FROM
        least(r.stop_at, t.until_at, (d + interval '1 day') AT TIME ZONE %(zone)s) - greatest(r.start_at, d AT TIME ZONE %(zone)s))::bigint))
        AS milli
    FROM run AS r
    JOIN through AS t ON t.cluster_id = r.cluster_id
    CROSS JOIN generate_series((r.start_at AT TIME ZONE %(zone)s)::date::timestamp,
        (least(r.stop_at, t.until_at) AT TIME ZONE %(zone)s)::date::timestamp, interval '1 day') AS d
    WHERE r.start_at IS NOT NULL AND r.gpu_milli > 0 AND r.start_at < t.until_at
    GROUP BY 1, 2
), fact AS (
    SELECT cluster AS code, day, sum(milligpu_seconds) AS milli FROM usage_day WHERE cluster IN (SELECT code FROM through) GROUP BY 1, 2
), both_sides AS (
    SELECT code, day, coalesce(cut.milli, 0) AS runs, coalesce(fact.milli, 0) AS facts
    FROM cut FULL JOIN fact USING (code, day)
    WHERE NOT EXISTS (
        SELECT 1 FROM dirty_day AS m JOIN cluster AS c ON c.id = m.cluster_id WHERE c.code = coalesce(cut.code, fact.code)
            AND m.day = coalesce(cut.day, fact.day)
    )
)
SELECT count(*), count(*) FILTER (WHERE runs <> facts), sum(facts - runs) FROM both_sides
