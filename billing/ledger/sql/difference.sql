-- A cluster's day as it should be charged, less what stands in the journal for it, by posting key.
-- Rounded to six places a key; shares are differences of rounded running sums.
WITH used AS (
    SELECT band, project, "user", pool, model, qos, 'gpu_hour' AS measure, sum(milligpu_seconds) AS quantity
    FROM usage_day WHERE day = %(day)s AND cluster = %(cluster)s AND milligpu_seconds > 0 GROUP BY 1, 2, 3, 4, 5, 6
    UNION ALL
    SELECT band, project, "user", pool, model, qos, 'cpu_core_hour', sum(cpu_only_cpu_seconds)
    FROM usage_day WHERE day = %(day)s AND cluster = %(cluster)s AND cpu_only_cpu_seconds > 0 GROUP BY 1, 2, 3, 4, 5, 6
    UNION ALL
    SELECT band, project, "user", pool, model, qos, 'memory_gib_hour', sum(cpu_only_memory_mib_seconds)
    FROM usage_day WHERE day = %(day)s AND cluster = %(cluster)s AND cpu_only_memory_mib_seconds > 0 GROUP BY 1, 2, 3, 4, 5, 6
), target AS (
    SELECT u.band, u.project, p.department, u."user", u.pool, u.model, u.qos, u.measure, u.quantity, p.percent, t.unit_price,
        round(w.whole * p.paid_to / 100, 6) - round(w.whole * p.paid_before / 100, 6) AS amount
    FROM used AS u
    JOIN tariff AS t USING (pool, model, qos, band, measure)
    JOIN payer AS p USING (project)
    CROSS JOIN LATERAL (
        SELECT round(u.quantity * t.unit_price
            / CASE u.measure WHEN 'gpu_hour' THEN 3600000 WHEN 'cpu_core_hour' THEN 3600 ELSE 3686400 END, 6) AS whole
    ) AS w
), posted AS (
    SELECT band, project, department, "user", pool, model, qos, measure, sum(quantity) AS quantity, sum(amount) AS amount
    FROM line
    WHERE account_kind = 'department' AND charge_kind = 'use' AND used_on = %(day)s AND cluster = %(cluster)s
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
)
SELECT band, project, department, "user", pool, model, qos, measure,
    coalesce(t.quantity, 0) - coalesce(p.quantity, 0) AS quantity,
    coalesce(t.percent, 0) AS percent,
    coalesce(t.unit_price, 0) AS unit_price,
    coalesce(t.amount, 0) - coalesce(p.amount, 0) AS amount
FROM target AS t
FULL JOIN posted AS p USING (band, project, department, "user", pool, model, qos, measure)
WHERE coalesce(t.quantity, 0) <> coalesce(p.quantity, 0) OR coalesce(t.amount, 0) <> coalesce(p.amount, 0)
ORDER BY project, department, pool, model, qos, "user", band, measure
