-- What EXPLAIN ANALYZE says of a CScan.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
-- It is about scans; vectors.sql has the node that aggregates their rows.
SET cscan.vectors = off;
CREATE SCHEMA explain;
SET search_path = explain, public;
\set ECHO none
\i :helpers
\set ECHO all

SELECT make_table('t', 1000), make_table('s', 32);
-- Rows without the decimals of 18; chunks were found or loaded as it happened.
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        RETURN NEXT regexp_replace(regexp_replace(line, '(rows=\d+)\.00', '\1'), '(Chunks (Resident|Loaded)): \d+', '\1: N');
    END LOOP;
END $$;
-- The first CScan of a plan
CREATE FUNCTION analyzed(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
    RETURN jsonb_path_query_first(plan, 'strict $.** ? (@."Relation Name" == "t")');
END $$;
CREATE FUNCTION n(node jsonb, key text) RETURNS int LANGUAGE sql AS 'SELECT (node->>key)::int';

SELECT explain('SELECT * FROM t WHERE grp = 3');
SET cscan.policy = elevator;
SELECT explain('SELECT count(*) FROM t');
RESET cscan.policy;
SELECT explain('SELECT * FROM t LIMIT 1');
SELECT explain('SELECT * FROM t LIMIT 32');
SELECT explain('SELECT * FROM t LIMIT 33');
SELECT explain('SELECT * FROM s');
-- Never executed; then rescans, which add up
SELECT line FROM explain('SELECT * FROM s WHERE id < 0 AND EXISTS (SELECT FROM t WHERE t.id < s.id OFFSET 0)') line WHERE line ~ 'CScan';
SELECT line FROM explain('SELECT g, (SELECT count(*) FROM t WHERE grp >= g) FROM generate_series(1, 3) g') line WHERE line ~ 'CScan';

-- With each policy every chunk (1000 rows are 31.25 of them) came in one of three ways, and the ABM loaded some of a table
-- that was not in memory. All blocks count as hit or as read, once, as without it.
CREATE FUNCTION summary(policy text, OUT shown text, OUT chunks int, OUT unaccounted int, OUT loaded boolean, OUT wait_time boolean,
    OUT blocks int) LANGUAGE plpgsql AS $$
DECLARE
    p jsonb;
BEGIN
    PERFORM set_config('cscan.enabled', (policy <> 'off')::text, true);
    IF policy <> 'off' THEN PERFORM set_config('cscan.policy', policy, true); END IF;
    p := analyzed('SELECT count(pad) FROM t');
    shown := p->>'CScan Policy';
    chunks := n(p, 'CScan Chunks');
    unaccounted := n(p, 'CScan Chunks Resident') + n(p, 'CScan Chunks Loaded') + n(p, 'CScan Chunks Self-Read') - chunks;
    loaded := n(p, 'CScan Chunks Loaded') > 0;
    wait_time := (p->>'CScan Wait Time')::float8 >= 0;
    blocks := n(p, 'Shared Hit Blocks') + n(p, 'Shared Read Blocks');
END $$;
SELECT * FROM summary('off');
VACUUM FULL t;
SELECT * FROM summary('normal');
VACUUM FULL t;
SELECT * FROM summary('attach');
VACUUM FULL t;
SELECT * FROM summary('elevator');
VACUUM FULL t;
SELECT * FROM summary('relevance');

-- All keys, without and with ANALYZE
CREATE FUNCTION keys(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE query INTO plan;
    RETURN (SELECT string_agg(key, ', ' ORDER BY key) FROM jsonb_object_keys(plan #> '{0,Plan}') key WHERE key ~ 'CScan|Custom');
END $$;
SELECT keys('EXPLAIN (FORMAT JSON) SELECT * FROM t'), keys('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM t') AS without_timing,
    keys('EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM t') AS all;

-- The settings that shape a plan
SET cscan.policy = attach;
SET cscan.min_table_size = 8;
CREATE FUNCTION plan_settings(query text, OUT setting text, OUT value text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (SETTINGS, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT * FROM jsonb_each_text(plan #> '{0,Settings}') s WHERE s.key ~ 'cscan' ORDER BY s.key;
END $$;
SELECT * FROM plan_settings('SELECT * FROM t');

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA explain CASCADE;
