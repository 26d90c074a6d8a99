-- Partitions and other inheritance children count with the size of their family, of what the query reads of it.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA partitions;
SET search_path = partitions, public;
\set ECHO none
\i :helpers
\set ECHO all
-- What is disabled costs so much before 18 that everything would be compiled.
SET jit = off;

-- 400 rows of 4 a page: 100 pages in all, 25 for each of four partitions
SELECT make_table('src', 400);
CREATE TABLE range (id int, grp int, pad text) PARTITION BY RANGE (id);
CREATE TABLE range_1 PARTITION OF range FOR VALUES FROM (1) TO (101) WITH (fillfactor = 10);
CREATE TABLE range_2 PARTITION OF range FOR VALUES FROM (101) TO (201) WITH (fillfactor = 10);
CREATE TABLE range_3 PARTITION OF range FOR VALUES FROM (201) TO (301) WITH (fillfactor = 10);
CREATE TABLE range_4 PARTITION OF range FOR VALUES FROM (301) TO (1001) WITH (fillfactor = 10);
CREATE INDEX range_grp ON range (grp);
CREATE INDEX range_id ON range (id);
CREATE TABLE hash (id int, grp int, pad text) PARTITION BY HASH (grp);
CREATE TABLE hash_1 PARTITION OF hash FOR VALUES WITH (MODULUS 2, REMAINDER 0) WITH (fillfactor = 10);
CREATE TABLE hash_2 PARTITION OF hash FOR VALUES WITH (MODULUS 2, REMAINDER 1) WITH (fillfactor = 10);
-- Partitions of partitions
CREATE TABLE list (id int, grp int, pad text) PARTITION BY LIST (grp);
CREATE TABLE list_1 PARTITION OF list FOR VALUES IN (0, 1, 2, 3, 4) PARTITION BY RANGE (id);
CREATE TABLE list_1_1 PARTITION OF list_1 FOR VALUES FROM (1) TO (201) WITH (fillfactor = 10);
CREATE TABLE list_1_2 PARTITION OF list_1 DEFAULT WITH (fillfactor = 10);
CREATE TABLE list_2 PARTITION OF list DEFAULT WITH (fillfactor = 10);
-- Plain inheritance, of two levels; the parent has rows as well
CREATE TABLE parent (id int, grp int, pad text) WITH (fillfactor = 10);
CREATE TABLE child (CHECK (id > 200)) INHERITS (parent) WITH (fillfactor = 10);
CREATE TABLE grandchild () INHERITS (child) WITH (fillfactor = 10);
INSERT INTO range TABLE src;
INSERT INTO hash TABLE src;
INSERT INTO list TABLE src;
INSERT INTO parent SELECT * FROM src WHERE id <= 200;
INSERT INTO child SELECT * FROM src WHERE id > 200 AND id <= 300;
INSERT INTO grandchild SELECT * FROM src WHERE id > 300;
ANALYZE;
SELECT relname, pg_relation_size(oid) / 8192 AS blocks FROM pg_class
WHERE relnamespace = 'partitions'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'hash%' ORDER BY relname;

-- Which policies have the same rows as the query has with cscan.enabled = off
CREATE FUNCTION check_query(query text, OUT scans text, OUT nrows bigint, OUT agreeing text) LANGUAGE plpgsql AS $$
BEGIN
    scans := scans(query);
    SELECT max(d.nrows), string_agg(left(d.policy, 1), '' ORDER BY d.policy) FILTER (WHERE d.missing = 0 AND d.extra = 0)
    FROM differences(query) d INTO nrows, agreeing;
END $$;
CREATE TABLE query (n int, query text);
INSERT INTO query VALUES
    (1, 'SELECT * FROM range'),
    (2, 'SELECT * FROM hash'),
    (3, 'SELECT * FROM list'),
    (4, 'SELECT * FROM parent'),
    (5, 'SELECT * FROM child');

-- Each is smaller than 60 pages, the family larger; "child" has a family of its own.
SET cscan.min_table_size = '480kB';
SELECT n, c.* FROM query, check_query(query) c ORDER BY n;
SELECT reason, count(*) FROM cscan_why_not('SELECT * FROM range, hash') GROUP BY reason;
SELECT * FROM cscan_why_not('SELECT * FROM child') ORDER BY relation::text;
-- All of them are smaller than 100 pages and one more.
SET cscan.min_table_size = '808kB';
SELECT n, scans(query) FROM query ORDER BY n;
SELECT * FROM cscan_why_not('SELECT * FROM range') ORDER BY relation::text;
SELECT DISTINCT reason FROM cscan_why_not('SELECT * FROM parent');
-- Exactly as large is not larger.
SET cscan.min_table_size = '800kB';
SELECT scans('SELECT * FROM range');
SET cscan.min_table_size = '799kB';
SELECT scans('SELECT * FROM range');

-- What is read of it counts, as far as the planner knows.
SET cscan.min_table_size = '480kB';
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT * FROM range WHERE id < 301 AND pad <> ''x'''),
    (2, 'SELECT * FROM range WHERE id < 201 AND pad <> ''x'''),
    (3, 'SELECT * FROM range WHERE id BETWEEN 1 AND 100 AND pad <> ''x'''),
    (4, 'SELECT * FROM list WHERE grp < 5'),
    (5, 'SELECT * FROM list_1'),
    (6, 'SELECT * FROM ONLY parent'),
    (7, 'SELECT * FROM range_1'),
    (8, 'SELECT * FROM ONLY range'),
    -- The same family twice, and two of them
    (9, 'SELECT x.id, y.grp FROM range x JOIN range y ON x.id = y.id + 300 AND y.id < 101 AND y.pad <> '''''),
    (10, 'SELECT id FROM range UNION ALL SELECT id FROM hash'),
    -- No family
    (11, 'SELECT id FROM range_1 UNION ALL SELECT id FROM range_2 UNION ALL SELECT id FROM range_3'),
    (12, 'SELECT id FROM range_1 UNION ALL SELECT id FROM range'),
    (13, 'SELECT x.id FROM range_1 x, range_2 y, range_3 z WHERE x.grp = y.id AND y.grp = z.id')
) AS q(n, query), check_query(query) c ORDER BY n;
SELECT DISTINCT reason FROM cscan_why_not('SELECT * FROM range WHERE id < 201 AND pad <> ''x''');
SELECT DISTINCT reason FROM cscan_why_not('SELECT id FROM range_1 UNION ALL SELECT id FROM range_2 UNION ALL SELECT id FROM range_3');
SELECT * FROM cscan_why_not('SELECT * FROM ONLY parent');

-- A child that only its CHECK constraint excludes is still of the family.
SET cscan.min_table_size = '560kB';
SELECT * FROM check_query('SELECT * FROM parent WHERE id <= 200 AND pad <> ''x''');
SELECT * FROM check_query('SELECT * FROM ONLY parent WHERE id <= 200 AND pad <> ''x''');
-- By default a family is larger than a quarter of shared_buffers.
SET cscan.min_table_size = -1;
SHOW shared_buffers;
SELECT * FROM check_query('SELECT * FROM parent');
SELECT * FROM check_query('SELECT * FROM ONLY parent');
SET cscan.min_table_size = '480kB';

-- Bitmaps: a family that is large enough, one that is not
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT * FROM range WHERE id BETWEEN 50 AND 350'),
    (2, 'SELECT * FROM range WHERE id BETWEEN 5 AND 60'),
    (3, 'SELECT * FROM range_1 WHERE id BETWEEN 5 AND 60')
) AS q(n, query), check_query(query) c ORDER BY n;
-- (some children as a whole, of some the beginning or the end; others are pruned when it is planned, or when it runs)
CREATE FUNCTION bitmaps(query text, OUT bitmaps bigint, OUT cscans bigint, OUT removed text) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
    SELECT string_agg(n::text, ' ') FROM jsonb_path_query(plan, 'strict $.**."Subplans Removed"') n INTO removed;
    SELECT count(*) FILTER (WHERE n->>'Node Type' = 'Bitmap Index Scan'), count(*) FILTER (WHERE n->>'Custom Plan Provider' = 'CScan')
    FROM jsonb_path_query(plan, 'strict $.** ? (@."Node Type" != "")') n INTO bitmaps, cscans;
END $$;
SET enable_seqscan = off;
SET cscan.page_cost = 0;
SET seq_page_cost = 10;
SET random_page_cost = 10;
SET cpu_tuple_cost = 0.0001;
SELECT q.n, c.nrows, c.agreeing, b.* FROM (VALUES
    (1, 'SELECT * FROM range WHERE id BETWEEN 50 AND 350'),
    (2, 'SELECT * FROM range WHERE id BETWEEN 150 AND 320'),
    -- (two children with 50 pages are not large enough together)
    (3, 'SELECT * FROM range WHERE id BETWEEN 150 AND 270'),
    (4, 'SELECT count(*) FROM range x JOIN range y USING (id) WHERE x.id BETWEEN 80 AND 230 AND y.id BETWEEN 90 AND 330'),
    (5, 'SELECT tableoid::regclass AS child, ctid AS c, id FROM range WHERE ctid >= ''(5,0)'' AND ctid < ''(22,0)''')
) AS q(n, query), check_query(query) c, bitmaps(query) b ORDER BY n;
SET plan_cache_mode = force_generic_plan;
PREPARE part(int) AS SELECT count(*), sum(id) FROM range WHERE id >= $1;
SELECT * FROM bitmaps('EXECUTE part(150)');
EXECUTE part(150);
SELECT * FROM bitmaps('EXECUTE part(310)');
EXECUTE part(310);
DEALLOCATE part;
RESET plan_cache_mode;
RESET enable_seqscan;
RESET cscan.page_cost;
RESET seq_page_cost;
RESET random_page_cost;
RESET cpu_tuple_cost;
-- A table that nobody has analyzed is as large as it is, however large the planner takes it for.
CREATE TABLE fresh (id int);
INSERT INTO fresh SELECT i FROM generate_series(1, 300) i;
CREATE INDEX fresh_id ON fresh (id);
SET cscan.min_table_size = '40kB';
SET enable_seqscan = off;
SET cscan.page_cost = 0;
SET seq_page_cost = 10;
SET random_page_cost = 10;
SET cpu_tuple_cost = 0.0001;
SELECT pg_relation_size('fresh') / 8192 AS blocks, scans('SELECT * FROM fresh WHERE id < 100'), scans('SELECT * FROM fresh');
RESET enable_seqscan;
RESET cscan.page_cost;
RESET seq_page_cost;
RESET random_page_cost;
RESET cpu_tuple_cost;
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET cscan.min_table_size = '480kB';

-- Pruned when it is executed: those that are left are CScans, the plan having been made for all.
SET plan_cache_mode = force_generic_plan;
CREATE FUNCTION pruned(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        IF line ~ 'Removed:|CScan\)|Chunks:|never' THEN RETURN NEXT regexp_replace(line, '(rows=\d+)\.00', '\1'); END IF;
    END LOOP;
END $$;
PREPARE q(int, int) AS SELECT id, pad FROM range WHERE id >= $1 AND id <= $2 AND pad <> '';
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT pruned('EXECUTE q(150, 160)');
SELECT pruned('EXECUTE q(90, 290)');
SELECT q.n, c.* FROM (VALUES
    (1, 'EXECUTE q(150, 160)'),
    (2, 'EXECUTE q(90, 290)'),
    (3, 'EXECUTE q(1, 400)'),
    (4, 'EXECUTE q(30, 20)'),
    (5, 'EXECUTE q(NULL, 20)')
) AS q(n, query), check_query(query) c ORDER BY n;
RESET plan_cache_mode;
DEALLOCATE q;
SELECT pruned('SELECT * FROM range WHERE id = (SELECT 150) AND pad <> ''''');
SELECT * FROM check_query('SELECT v, x.* FROM (VALUES (5), (150), (150), (390), (500)) v(v), LATERAL (SELECT id, grp FROM range WHERE id = v OFFSET 0) x');
RESET enable_indexscan;
RESET enable_bitmapscan;

-- A partition that is temporary makes all of them temporary; a foreign one has no pages.
CREATE TEMP TABLE temporary (id int, grp int, pad text) PARTITION BY RANGE (id);
CREATE TEMP TABLE temporary_1 PARTITION OF temporary DEFAULT WITH (fillfactor = 10);
INSERT INTO temporary TABLE src;
CREATE TEMP TABLE of_parent () INHERITS (parent) WITH (fillfactor = 10);
INSERT INTO of_parent TABLE src;
ANALYZE temporary, of_parent;
SELECT * FROM check_query('SELECT * FROM temporary');
SELECT * FROM check_query('SELECT * FROM parent');
DROP TABLE temporary, of_parent;
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE TABLE mixed (id int, grp int, pad text) PARTITION BY RANGE (id);
CREATE TABLE mixed_1 PARTITION OF mixed FOR VALUES FROM (1) TO (1000) WITH (fillfactor = 10);
CREATE FOREIGN TABLE mixed_2 PARTITION OF mixed FOR VALUES FROM (1000) TO (2000) SERVER nowhere;
INSERT INTO mixed TABLE src;
ANALYZE mixed_1;
SELECT scans('SELECT * FROM mixed WHERE id < 1000'), scans('UPDATE mixed SET grp = 1 WHERE id < 1000');

-- Rows that move from one partition to another, in both directions, are read once.
BEGIN;
SET LOCAL cscan.min_table_size = 0;
SELECT scans('UPDATE range SET id = id + 100');
UPDATE range SET id = id + 100;
SELECT tableoid::regclass AS partition, count(*), min(id), max(id) FROM range GROUP BY tableoid ORDER BY tableoid;
UPDATE range SET id = 501 - id WHERE grp < 5;
SELECT tableoid::regclass AS partition, count(*), sum(id) FROM range GROUP BY tableoid ORDER BY tableoid;
DELETE FROM range USING hash WHERE range.grp = 3 AND hash.id = 3;
SELECT count(*), count(DISTINCT id) FROM range;
UPDATE list SET grp = 9 - grp;
SELECT tableoid::regclass AS partition, count(*), sum(grp), sum(id) FROM list GROUP BY tableoid ORDER BY tableoid;
UPDATE parent SET grp = -1 WHERE id % 2 = 0;
DELETE FROM parent WHERE grp = 3;
SELECT tableoid::regclass AS partition, count(*), sum(grp) FROM parent GROUP BY tableoid ORDER BY tableoid;
MERGE INTO range USING hash ON range.id = hash.id AND hash.grp < 3
    WHEN MATCHED THEN UPDATE SET id = 600 - hash.id WHEN NOT MATCHED AND hash.grp = 3 THEN INSERT VALUES (hash.id, 33, '');
SELECT count(*), count(DISTINCT id), sum(id), count(*) FILTER (WHERE grp = 33) AS inserted FROM range;
ROLLBACK;
SELECT n, count(*) FROM query, differences(query) WHERE missing = 0 AND extra = 0 GROUP BY n ORDER BY n;
SELECT * FROM left_behind();

-- A cursor over several of them
CREATE TABLE fetched (id int);
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM range;
SELECT fetch_into('c', 50), (SELECT relid::regclass FROM cscan_scans), fetch_into('c', 100), (SELECT relid::regclass FROM cscan_scans);
SELECT fetch_into('c', 1000);
COMMIT;
SELECT count(*), count(DISTINCT id), sum(id) FROM fetched;

-- In parallel
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM range;
SELECT n, c.* FROM query, check_query(query) c ORDER BY n;
SELECT * FROM check_query('SELECT grp, count(*), sum(id) AS ids FROM range GROUP BY grp');
SET enable_parallel_append = off;
SELECT n, c.* FROM query, check_query(query) c WHERE n IN (1, 3) ORDER BY n;
RESET enable_parallel_append;
SET parallel_leader_participation = off;
SELECT n, c.* FROM query, check_query(query) c WHERE n IN (1, 3) ORDER BY n;
SET cscan.min_table_size = '8MB';
SELECT scans('SELECT count(*) FROM range');
SELECT * FROM left_behind();

RESET ALL;

-- Small partitions that nobody has analyzed, of which core takes each for 10 pages: they have 3 together
CREATE TABLE fresh (id int) PARTITION BY RANGE (id);
CREATE TABLE fresh_1 PARTITION OF fresh FOR VALUES FROM (0) TO (10);
CREATE TABLE fresh_2 PARTITION OF fresh FOR VALUES FROM (10) TO (20);
CREATE TABLE fresh_3 PARTITION OF fresh FOR VALUES FROM (20) TO (30);
INSERT INTO fresh SELECT generate_series(0, 29);
SET cscan.min_table_size = '200kB';
SELECT relation, reason FROM cscan_why_not('SELECT * FROM fresh');
SET cscan.min_table_size = '16kB';
SELECT relation, is_cscan, family FROM cscan_why_not('SELECT * FROM fresh');

RESET ALL;
SET client_min_messages = warning;
DROP FOREIGN DATA WRAPPER nothing CASCADE;
DROP SCHEMA partitions CASCADE;
