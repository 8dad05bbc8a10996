-- What departments owe, summed by month of use, without the user: what most statements ask for.
-- Triggers keep it to the journal, which only grows; what the owner's path takes away goes from here too.
CREATE TABLE line_month (
    month date NOT NULL,
    project text NOT NULL, department text NOT NULL, pool text NOT NULL, model text NOT NULL, qos text NOT NULL, band text NOT NULL, cluster text NOT NULL,
    lines bigint NOT NULL,
    amount numeric(30, 6) NOT NULL,
    PRIMARY KEY (month, project, department, pool, model, qos, band, cluster)
) WITH (fillfactor = 80);

CREATE FUNCTION line_month_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM line_month;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO line_month AS m
        SELECT date_trunc('month', used_on)::date, project, department, pool, model, qos, band, cluster, count(*), sum(amount)
        FROM added WHERE account_kind = 'department' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
        ON CONFLICT (month, project, department, pool, model, qos, band, cluster) DO UPDATE SET lines = m.lines + excluded.lines, amount = m.amount + excluded.amount;
    ELSE
        INSERT INTO line_month AS m
        SELECT date_trunc('month', used_on)::date, project, department, pool, model, qos, band, cluster, -count(*), -sum(amount)
        FROM removed WHERE account_kind = 'department' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
        ON CONFLICT (month, project, department, pool, model, qos, band, cluster) DO UPDATE SET lines = m.lines + excluded.lines, amount = m.amount + excluded.amount;
        DELETE FROM line_month WHERE lines = 0;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER line_month_grows AFTER INSERT ON line REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION line_month_follows();
CREATE TRIGGER line_month_shrinks AFTER DELETE ON line REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION line_month_follows();
CREATE TRIGGER line_month_empties AFTER TRUNCATE ON line FOR EACH STATEMENT EXECUTE FUNCTION line_month_follows();

INSERT INTO line_month
SELECT date_trunc('month', used_on)::date, project, department, pool, model, qos, band, cluster, count(*), sum(amount)
FROM line WHERE account_kind = 'department' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;
