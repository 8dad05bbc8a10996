-- Day facts summed by month, without the outcome: what most statements ask for, in a fortieth of the rows.
-- Triggers keep it to the facts in whatever way they are written; `facts` counts them, so that a row goes with its last one.
CREATE TABLE usage_month (
    month date NOT NULL,
    project text NOT NULL, pool text NOT NULL, model text NOT NULL, qos text NOT NULL, band text NOT NULL, cluster text NOT NULL,
    account text NOT NULL, "user" text NOT NULL,
    facts bigint NOT NULL,
    milligpu_seconds bigint NOT NULL, cpu_seconds bigint NOT NULL, node_seconds bigint NOT NULL, wall_seconds bigint NOT NULL, memory_mib_seconds bigint NOT NULL, runs_started bigint NOT NULL, runs_ended bigint NOT NULL, unknown_gpu_runs bigint NOT NULL,
    PRIMARY KEY (month, project, "user", account, pool, model, qos, band, cluster)
) WITH (fillfactor = 80);

CREATE FUNCTION usage_month_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM usage_month;
        RETURN NULL;
    END IF;
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        INSERT INTO usage_month AS m
        SELECT date_trunc('month', day)::date, project, pool, model, qos, band, cluster, account, "user", -count(*), sum(-milligpu_seconds)::bigint, sum(-cpu_seconds)::bigint, sum(-node_seconds)::bigint, sum(-wall_seconds)::bigint, sum(-memory_mib_seconds)::bigint, sum(-runs_started)::bigint, sum(-runs_ended)::bigint, sum(-unknown_gpu_runs)::bigint
        FROM removed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9
        ON CONFLICT (month, project, pool, model, qos, band, cluster, account, "user") DO UPDATE SET facts = m.facts + excluded.facts,
            milligpu_seconds = m.milligpu_seconds + excluded.milligpu_seconds, cpu_seconds = m.cpu_seconds + excluded.cpu_seconds, node_seconds = m.node_seconds + excluded.node_seconds, wall_seconds = m.wall_seconds + excluded.wall_seconds, memory_mib_seconds = m.memory_mib_seconds + excluded.memory_mib_seconds, runs_started = m.runs_started + excluded.runs_started, runs_ended = m.runs_ended + excluded.runs_ended, unknown_gpu_runs = m.unknown_gpu_runs + excluded.unknown_gpu_runs;
    END IF;
    IF TG_OP IN ('UPDATE', 'INSERT') THEN
        INSERT INTO usage_month AS m
        SELECT date_trunc('month', day)::date, project, pool, model, qos, band, cluster, account, "user", count(*), sum(milligpu_seconds)::bigint, sum(cpu_seconds)::bigint, sum(node_seconds)::bigint, sum(wall_seconds)::bigint, sum(memory_mib_seconds)::bigint, sum(runs_started)::bigint, sum(runs_ended)::bigint, sum(unknown_gpu_runs)::bigint
        FROM added GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9
        ON CONFLICT (month, project, pool, model, qos, band, cluster, account, "user") DO UPDATE SET facts = m.facts + excluded.facts,
            milligpu_seconds = m.milligpu_seconds + excluded.milligpu_seconds, cpu_seconds = m.cpu_seconds + excluded.cpu_seconds, node_seconds = m.node_seconds + excluded.node_seconds, wall_seconds = m.wall_seconds + excluded.wall_seconds, memory_mib_seconds = m.memory_mib_seconds + excluded.memory_mib_seconds, runs_started = m.runs_started + excluded.runs_started, runs_ended = m.runs_ended + excluded.runs_ended, unknown_gpu_runs = m.unknown_gpu_runs + excluded.unknown_gpu_runs;
    END IF;
    IF TG_OP = 'DELETE' THEN
        DELETE FROM usage_month WHERE facts = 0 AND month IN (SELECT date_trunc('month', day)::date FROM removed);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER usage_month_grows AFTER INSERT ON usage_day REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION usage_month_follows();
CREATE TRIGGER usage_month_changes AFTER UPDATE ON usage_day REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION usage_month_follows();
CREATE TRIGGER usage_month_shrinks AFTER DELETE ON usage_day REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION usage_month_follows();
CREATE TRIGGER usage_month_empties AFTER TRUNCATE ON usage_day FOR EACH STATEMENT EXECUTE FUNCTION usage_month_follows();

INSERT INTO usage_month
SELECT date_trunc('month', day)::date, project, pool, model, qos, band, cluster, account, "user", count(*), sum(milligpu_seconds)::bigint, sum(cpu_seconds)::bigint, sum(node_seconds)::bigint, sum(wall_seconds)::bigint, sum(memory_mib_seconds)::bigint, sum(runs_started)::bigint, sum(runs_ended)::bigint, sum(unknown_gpu_runs)::bigint
FROM usage_day GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9;
