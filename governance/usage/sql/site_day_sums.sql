-- Day facts of the whole site, whoever used them: what stands in one of these rows is spread over many projects and users.
-- Triggers keep it to the facts in whatever way they are written; `facts` counts them, so that a row goes with its last one.
CREATE TABLE usage_site_day (
    day date NOT NULL,
    cluster text NOT NULL, pool text NOT NULL, model text NOT NULL, qos text NOT NULL, band text NOT NULL, outcome text NOT NULL,
    facts bigint NOT NULL,
    milligpu_seconds bigint NOT NULL, cpu_seconds bigint NOT NULL, node_seconds bigint NOT NULL, wall_seconds bigint NOT NULL, memory_mib_seconds bigint NOT NULL, runs_started bigint NOT NULL, runs_ended bigint NOT NULL, unknown_gpu_runs bigint NOT NULL,
    PRIMARY KEY (day, cluster, pool, model, qos, band, outcome)
) WITH (fillfactor = 80);

CREATE FUNCTION usage_site_day_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM usage_site_day;
        RETURN NULL;
    END IF;
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        INSERT INTO usage_site_day AS s (day, cluster, pool, model, qos, band, outcome, facts, milligpu_seconds, cpu_seconds, node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended, unknown_gpu_runs)
        SELECT day, cluster, pool, model, qos, band, outcome, -count(*), sum(-milligpu_seconds)::bigint, sum(-cpu_seconds)::bigint, sum(-node_seconds)::bigint, sum(-wall_seconds)::bigint, sum(-memory_mib_seconds)::bigint, sum(-runs_started)::bigint, sum(-runs_ended)::bigint, sum(-unknown_gpu_runs)::bigint
        FROM removed GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
        ON CONFLICT (day, cluster, pool, model, qos, band, outcome) DO UPDATE SET facts = s.facts + excluded.facts, milligpu_seconds = s.milligpu_seconds + excluded.milligpu_seconds, cpu_seconds = s.cpu_seconds + excluded.cpu_seconds, node_seconds = s.node_seconds + excluded.node_seconds, wall_seconds = s.wall_seconds + excluded.wall_seconds, memory_mib_seconds = s.memory_mib_seconds + excluded.memory_mib_seconds, runs_started = s.runs_started + excluded.runs_started, runs_ended = s.runs_ended + excluded.runs_ended, unknown_gpu_runs = s.unknown_gpu_runs + excluded.unknown_gpu_runs;
    END IF;
    IF TG_OP IN ('UPDATE', 'INSERT') THEN
        INSERT INTO usage_site_day AS s (day, cluster, pool, model, qos, band, outcome, facts, milligpu_seconds, cpu_seconds, node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended, unknown_gpu_runs)
        SELECT day, cluster, pool, model, qos, band, outcome, count(*), sum(milligpu_seconds)::bigint, sum(cpu_seconds)::bigint, sum(node_seconds)::bigint, sum(wall_seconds)::bigint, sum(memory_mib_seconds)::bigint, sum(runs_started)::bigint, sum(runs_ended)::bigint, sum(unknown_gpu_runs)::bigint
        FROM added GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
        ON CONFLICT (day, cluster, pool, model, qos, band, outcome) DO UPDATE SET facts = s.facts + excluded.facts, milligpu_seconds = s.milligpu_seconds + excluded.milligpu_seconds, cpu_seconds = s.cpu_seconds + excluded.cpu_seconds, node_seconds = s.node_seconds + excluded.node_seconds, wall_seconds = s.wall_seconds + excluded.wall_seconds, memory_mib_seconds = s.memory_mib_seconds + excluded.memory_mib_seconds, runs_started = s.runs_started + excluded.runs_started, runs_ended = s.runs_ended + excluded.runs_ended, unknown_gpu_runs = s.unknown_gpu_runs + excluded.unknown_gpu_runs;
    END IF;
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        DELETE FROM usage_site_day WHERE facts = 0 AND day IN (SELECT day FROM removed);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER usage_site_day_grows AFTER INSERT ON usage_day REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION usage_site_day_follows();
CREATE TRIGGER usage_site_day_changes AFTER UPDATE ON usage_day REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION usage_site_day_follows();
CREATE TRIGGER usage_site_day_shrinks AFTER DELETE ON usage_day REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION usage_site_day_follows();
CREATE TRIGGER usage_site_day_empties AFTER TRUNCATE ON usage_day FOR EACH STATEMENT EXECUTE FUNCTION usage_site_day_follows();

INSERT INTO usage_site_day (day, cluster, pool, model, qos, band, outcome, facts, milligpu_seconds, cpu_seconds, node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended, unknown_gpu_runs)
SELECT day, cluster, pool, model, qos, band, outcome, count(*), sum(milligpu_seconds)::bigint, sum(cpu_seconds)::bigint, sum(node_seconds)::bigint, sum(wall_seconds)::bigint, sum(memory_mib_seconds)::bigint, sum(runs_started)::bigint, sum(runs_ended)::bigint, sum(unknown_gpu_runs)::bigint
FROM usage_day GROUP BY 1, 2, 3, 4, 5, 6, 7;
