-- What departments owe, summed by month of use; and both sides of the journal, by the month that they are booked in.
-- Triggers keep it to the journal, which only grows; what the owner's path takes away goes from here too.
CREATE TABLE line_month (
    month date NOT NULL,
    project text NOT NULL, department text NOT NULL, pool text NOT NULL, model text NOT NULL, qos text NOT NULL, band text NOT NULL, cluster text NOT NULL, "user" text NOT NULL,
    lines bigint NOT NULL,
    amount numeric(30, 6) NOT NULL,
    PRIMARY KEY (month, project, department, "user", pool, model, qos, band, cluster)
) WITH (fillfactor = 80);

CREATE TABLE booked_month (
    period text NOT NULL,
    account_kind text NOT NULL,
    code text NOT NULL,
    lines bigint NOT NULL,
    amount numeric(30, 6) NOT NULL,
    PRIMARY KEY (period, account_kind, code)
);

CREATE FUNCTION line_month_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM line_month;
        DELETE FROM booked_month;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO line_month AS m
        SELECT date_trunc('month', used_on)::date, project, department, pool, model, qos, band, cluster, "user", count(*), sum(amount)
        FROM added WHERE account_kind = 'department' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9
        ON CONFLICT (month, project, department, pool, model, qos, band, cluster, "user") DO UPDATE SET lines = m.lines + excluded.lines, amount = m.amount + excluded.amount;
        INSERT INTO booked_month AS b
        SELECT e.period_id, l.account_kind, CASE l.account_kind WHEN 'department' THEN l.department ELSE l.pool END, count(*), sum(l.amount)
        FROM added AS l JOIN entry AS e ON e.id = l.entry_id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        ON CONFLICT (period, account_kind, code) DO UPDATE SET lines = b.lines + excluded.lines, amount = b.amount + excluded.amount;
    ELSE
        INSERT INTO line_month AS m
        SELECT date_trunc('month', used_on)::date, project, department, pool, model, qos, band, cluster, "user", -count(*), -sum(amount)
        FROM removed WHERE account_kind = 'department' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9
        ON CONFLICT (month, project, department, pool, model, qos, band, cluster, "user") DO UPDATE SET lines = m.lines + excluded.lines, amount = m.amount + excluded.amount;
        INSERT INTO booked_month AS b
        SELECT e.period_id, l.account_kind, CASE l.account_kind WHEN 'department' THEN l.department ELSE l.pool END, -count(*), -sum(l.amount)
        FROM removed AS l JOIN entry AS e ON e.id = l.entry_id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        ON CONFLICT (period, account_kind, code) DO UPDATE SET lines = b.lines + excluded.lines, amount = b.amount + excluded.amount;
        DELETE FROM line_month WHERE lines = 0;
        DELETE FROM booked_month WHERE lines = 0;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER line_month_grows AFTER INSERT ON line REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION line_month_follows();
CREATE TRIGGER line_month_shrinks AFTER DELETE ON line REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION line_month_follows();
CREATE TRIGGER line_month_empties AFTER TRUNCATE ON line FOR EACH STATEMENT EXECUTE FUNCTION line_month_follows();

INSERT INTO line_month
SELECT date_trunc('month', used_on)::date, project, department, pool, model, qos, band, cluster, "user", count(*), sum(amount)
FROM line WHERE account_kind = 'department' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9;

INSERT INTO booked_month
SELECT e.period_id, l.account_kind, CASE l.account_kind WHEN 'department' THEN l.department ELSE l.pool END, count(*), sum(l.amount)
FROM line AS l JOIN entry AS e ON e.id = l.entry_id GROUP BY 1, 2, 3;
