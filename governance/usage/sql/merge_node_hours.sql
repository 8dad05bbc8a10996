-- The later observation of a node's hour wins, then the one with more samples, then by content.
INSERT INTO node_hour AS h (cluster_id, node, hour_at, power_watts_mean, power_watts_max, temperature_max, samples, observed_at)
SELECT DISTINCT ON (node, hour_at) %(cluster)s, * FROM staged_hour
ORDER BY node, hour_at, observed_at DESC, samples DESC, coalesce(power_watts_mean, -1) DESC, coalesce(power_watts_max, -1) DESC,
    coalesce(temperature_max, -1) DESC
ON CONFLICT (cluster_id, node, hour_at) DO UPDATE
SET power_watts_mean = excluded.power_watts_mean, power_watts_max = excluded.power_watts_max,
    temperature_max = excluded.temperature_max, samples = excluded.samples, observed_at = excluded.observed_at
WHERE (excluded.observed_at, excluded.samples, coalesce(excluded.power_watts_mean, -1), coalesce(excluded.power_watts_max, -1),
        coalesce(excluded.temperature_max, -1))
    > (h.observed_at, h.samples, coalesce(h.power_watts_mean, -1), coalesce(h.power_watts_max, -1), coalesce(h.temperature_max, -1))
