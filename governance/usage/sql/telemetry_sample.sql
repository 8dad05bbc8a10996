-- Samples of a call's files. `kind` counts in labels.KINDS: 0 activity, 1 memory, 2 power, 3 temperature, 4 energy; `rank` 0 is preferred.
DROP TABLE IF EXISTS pg_temp.telemetry_sample;
CREATE TEMP TABLE telemetry_sample (
    node text COLLATE "C", card text COLLATE "C", job text COLLATE "C", kind int2, rank int2, at float8, value float8
) ON COMMIT DROP;
