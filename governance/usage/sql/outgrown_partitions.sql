-- Partitions of `run` that have grown to more than twice what the planner last saw of them, by names that can be put into a statement.
-- A first import fills them faster than autovacuum looks at them, and plans made for one row compare everything with everything.
SELECT c.oid::regclass::text
FROM pg_inherits AS i
JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = 'run'::regclass
    AND pg_relation_size(c.oid) / current_setting('block_size')::bigint > 2 * greatest(c.relpages, 0) + 100;
