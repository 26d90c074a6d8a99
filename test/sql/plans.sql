-- A plan has a CScan where PostgreSQL's own has a Seq Scan of a table that can be scanned cooperatively.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
-- It is about scans; vectors.sql has the node that aggregates their rows.
SET cscan.vectors = off;
CREATE SCHEMA plans;
SET search_path = plans, public;
\set ECHO none
\i :helpers
\set ECHO all

SELECT make_table('t', 400), make_table('s', 40), make_table('u', 100, 'UNLOGGED');
CREATE INDEX t_id ON t (id);
CREATE UNIQUE INDEX s_id ON s (id);
CREATE MATERIALIZED VIEW m AS SELECT * FROM t WHERE id <= 100;
CREATE VIEW v AS SELECT id, grp FROM t WHERE grp > 2;
CREATE TABLE part (id int, grp int) PARTITION BY LIST (grp);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF part FOR VALUES IN (2);
INSERT INTO part SELECT i, i % 2 + 1 FROM generate_series(1, 100) i;
CREATE TABLE child () INHERITS (s);
CREATE TABLE copy (LIKE t);

-- As EXPLAIN shows it
EXPLAIN (COSTS OFF) SELECT * FROM t;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE grp = 3 AND pad <> '';
EXPLAIN (COSTS OFF, VERBOSE) SELECT pad, id + 1 FROM t x WHERE grp = 3;
EXPLAIN (COSTS OFF) UPDATE t SET grp = 0;
EXPLAIN (COSTS OFF) DELETE FROM t WHERE grp = 3;
EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY grp LIMIT 3;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE grp = 1 FOR UPDATE;
-- The costs are those of the Seq Scan, but for what cscan.page_cost takes off a page.
CREATE FUNCTION costs(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN concat_ws(' ', plan #>> '{0,Plan,Startup Cost}', plan #>> '{0,Plan,Total Cost}', plan #>> '{0,Plan,Plan Rows}',
                     plan #>> '{0,Plan,Plan Width}');
END $$;
SET cscan.page_cost = 1;
CREATE TEMP TABLE cost AS SELECT costs('SELECT * FROM t WHERE grp = 3');
RESET cscan.page_cost;
CREATE TEMP TABLE lower_cost AS SELECT costs('SELECT * FROM t WHERE grp = 3');
SELECT split_part(c.costs, ' ', 2)::numeric - split_part(l.costs, ' ', 2)::numeric = 0.5 * relpages AS half_of_seq_page_cost
FROM cost c, lower_cost l, pg_class WHERE oid = 't'::regclass;
-- By default a page costs what it costs PostgreSQL, if no other scan shares it (006_neighbours.pl has one that does).
SELECT make_table('shared', 20000);
CREATE FUNCTION scan_cost(rel regclass, query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN jsonb_path_query(plan, 'strict $.** ? (@."Relation Name" == $rel)', jsonb_build_object('rel', rel))->>'Total Cost';
END $$;
CREATE FUNCTION page_cost(rel regclass, parent text DEFAULT NULL) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    query text := 'SELECT * FROM ' || coalesce(parent, rel::text);
    cscan numeric := scan_cost(rel, query);
    own numeric;
BEGIN
    SET LOCAL cscan.enabled = off;
    own := scan_cost(rel, query);
    SET LOCAL cscan.enabled = on;
    RETURN 1 - round((own - cscan) / (SELECT relpages FROM pg_class WHERE oid = rel), 2);
END $$;
SET cscan.page_cost = auto;
SELECT page_cost('shared'), page_cost('t');
SET cscan.page_cost = 0.25;
SELECT page_cost('shared');
-- A table of one chunk of 64 kB shares nothing.  So its pages cost what they cost PostgreSQL, in an Append as well (021_families.pl has
-- larger ones, which are members of a family).
CREATE TABLE chunk PARTITION OF part FOR VALUES IN (3);
CREATE TABLE chunks PARTITION OF part FOR VALUES IN (4);
INSERT INTO part SELECT i, 3 + (i % 20 > 0)::int FROM generate_series(1, 20000) i;
ANALYZE part;
SELECT relname, relpages <= 8 AS one_chunk, page_cost(oid) FROM pg_class WHERE relname IN ('chunk', 'chunks') AND relnamespace = 'plans'::regnamespace ORDER BY relname;
SELECT relname, page_cost(oid, 'part') FROM pg_class WHERE relname IN ('chunk', 'chunks') AND relnamespace = 'plans'::regnamespace ORDER BY relname;
DROP TABLE chunk, chunks;
RESET cscan.page_cost;
DROP TABLE shared;
SET cscan.enabled = off;
SELECT costs = costs('SELECT * FROM t WHERE grp = 3') AS same_costs FROM cost;
RESET cscan.enabled;

-- Queries of all kinds
SELECT query, (compare_plans(query)).* FROM (VALUES
    (1, 'SELECT * FROM t'),
    (2, 'SELECT * FROM ONLY t WHERE pad LIKE ''%y%'''),
    (3, 'SELECT grp, count(*) FROM t GROUP BY grp'),
    (4, 'SELECT DISTINCT grp FROM t'),
    (5, 'SELECT id, rank() OVER (ORDER BY grp) FROM t'),
    (6, 'SELECT * FROM t LIMIT 1'),
    (7, 'SELECT ctid, xmin, tableoid, t FROM t'),
    (8, 'SELECT * FROM u'),
    (9, 'SELECT * FROM m'),
    (10, 'SELECT * FROM v'),
    (11, 'SELECT * FROM part'),
    (12, 'SELECT * FROM part WHERE grp = 2'),
    (13, 'SELECT * FROM s'),
    (14, 'SELECT grp FROM t UNION ALL SELECT grp FROM u'),
    (15, 'SELECT grp FROM t EXCEPT SELECT grp FROM u'),
    (16, 'SELECT * FROM t JOIN u USING (grp)'),
    (17, 'SELECT * FROM t, LATERAL (SELECT * FROM u WHERE u.grp < t.grp OFFSET 0) x'),
    (18, 'WITH c AS MATERIALIZED (SELECT * FROM t) SELECT * FROM c JOIN c d USING (id)'),
    (19, 'WITH c AS NOT MATERIALIZED (SELECT * FROM t) SELECT count(*) FROM c'),
    (20, 'WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT u.id FROM u, r WHERE u.grp = r.id + 1) SELECT * FROM r'),
    (21, 'SELECT (SELECT max(grp) FROM u) FROM t'),
    (22, 'SELECT (SELECT count(*) FROM u WHERE u.grp = t.grp) FROM t'),
    (23, 'SELECT * FROM t WHERE grp IN (SELECT grp FROM u)'),
    (24, 'SELECT * FROM t WHERE grp NOT IN (SELECT grp FROM u)'),
    (25, 'SELECT * FROM t WHERE EXISTS (SELECT FROM u WHERE u.grp = t.grp)'),
    (26, 'SELECT * FROM t WHERE NOT EXISTS (SELECT FROM u WHERE u.grp > t.grp)'),
    (27, 'SELECT EXISTS (SELECT FROM t WHERE pad = '''')'),
    (28, 'SELECT ARRAY(SELECT id FROM t)'),
    (29, 'SELECT * FROM generate_series(1, 3) g JOIN t ON t.grp = g'),
    (30, 'SELECT * FROM t FOR UPDATE'),
    (31, 'SELECT * FROM t FOR KEY SHARE SKIP LOCKED'),
    (32, 'INSERT INTO copy SELECT * FROM t'),
    (33, 'INSERT INTO s SELECT * FROM t ON CONFLICT (id) DO UPDATE SET grp = excluded.grp'),
    (34, 'UPDATE t SET grp = grp + 1'),
    (35, 'UPDATE t SET grp = u.grp FROM u WHERE t.grp = u.id'),
    (36, 'UPDATE part SET grp = 3 - grp'),
    (37, 'DELETE FROM t'),
    (38, 'DELETE FROM t USING u WHERE t.grp = u.grp RETURNING *'),
    (39, 'MERGE INTO t USING u ON t.grp = u.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN DO NOTHING'),
    (40, 'WITH d AS (DELETE FROM t RETURNING *) SELECT count(*) FROM d'),
    (41, 'CREATE TABLE no AS SELECT * FROM t'),
    (42, 'DECLARE c CURSOR FOR SELECT * FROM t'),
    (43, 'DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT * FROM t'),
    -- Where PostgreSQL has another plan, so has cscan.
    (44, 'SELECT * FROM t WHERE id = 1'),
    (45, 'SELECT * FROM t WHERE ctid = ''(0,1)''')
) AS q(n, query) ORDER BY n;

-- Row security
CREATE TABLE own (owner name, x int);
INSERT INTO own SELECT CASE WHEN i % 2 = 0 THEN 'regress_cscan_reader' ELSE 'other' END, i FROM generate_series(1, 100) i;
CREATE ROLE regress_cscan_reader;
GRANT USAGE ON SCHEMA plans TO regress_cscan_reader;
GRANT SELECT ON own TO regress_cscan_reader;
ALTER TABLE own ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON own USING (owner = current_user AND x > 10);
SET ROLE regress_cscan_reader;
EXPLAIN (COSTS OFF) SELECT * FROM own WHERE x < 50;
SELECT count(*), min(x), max(x) FROM own WHERE x < 50;
RESET ROLE;
SELECT count(*) FROM own;

-- What disables PostgreSQL's scans disables CScans.
SET enable_seqscan = off;
SELECT scans('SELECT * FROM t WHERE id > 0'), scans('SELECT * FROM t');
SET enable_bitmapscan = off;
SELECT scans('SELECT * FROM t WHERE id > 0');
RESET enable_seqscan;
RESET enable_bitmapscan;

-- Prepared statements keep their plans, as with enable_seqscan.  What they share follows cscan.enabled (eligible.sql).
SET plan_cache_mode = force_generic_plan;
PREPARE q(int) AS SELECT count(*) FROM t WHERE grp = $1;
CREATE FUNCTION in_function() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXPLAIN (COSTS OFF) SELECT * FROM t LOOP RETURN line; END LOOP;
END $$;
SELECT scans('EXECUTE q(1)'), in_function();
EXECUTE q(1);
SET cscan.enabled = off;
SELECT scans('EXECUTE q(1)'), in_function();
EXECUTE q(1);
SET cscan.enabled = on;
SELECT scans('EXECUTE q(1)'), in_function();
EXECUTE q(1);
SET cscan.min_table_size = '100GB';
SELECT scans('EXECUTE q(1)'), in_function();
RESET cscan.min_table_size;
SELECT scans('EXECUTE q(1)'), in_function();
BEGIN;
SET LOCAL cscan.enabled = off;
SELECT scans('EXECUTE q(1)');
ROLLBACK;
SELECT scans('EXECUTE q(1)');
DEALLOCATE q;
RESET plan_cache_mode;

-- A plan in a parallel worker
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET max_parallel_workers_per_gather = 1;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id), min(tableoid::regclass::text) FROM t;
SELECT count(*), sum(id), min(tableoid::regclass::text) FROM t;
-- A parallel scan is a CScan, too: see parallel.sql.
SELECT count(set_config(name, reset_val, false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t;
SELECT count(*), sum(id) FROM t;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA plans CASCADE;
DROP ROLE regress_cscan_reader;
