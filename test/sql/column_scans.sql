-- Scans over row groups: rows from column runs where these count, and from the heap where not.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
-- It is about scans; vectors.sql has the node that aggregates their rows.
SET cscan.vectors = off;
CREATE SCHEMA column_scans;
SET search_path = column_scans, public;
\set ECHO none
\i :helpers
\set ECHO all
-- The scans of a plan, with what they have read.
CREATE FUNCTION reads(query text) RETURNS TABLE (scan text, groups int, skipped int, columnar int, not_stored int, hidden int, stale int, isolation int)
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT coalesce(n->>'CScan Index', n->>'Custom Plan Provider', n->>'Node Type') || coalesce(' ' || (n->>'CScan Columns'), ''),
        (n->>'CScan Row Groups')::int, (n->>'CScan Row Groups Skipped')::int, (n->>'CScan Blocks Columnar')::int,
        (n->>'CScan Heap Blocks Not Stored')::int, (n->>'CScan Heap Blocks Not All-Visible')::int, (n->>'CScan Heap Blocks Stale')::int,
        (n->>'CScan Heap Blocks by Isolation')::int
    FROM jsonb_path_query(plan, 'strict $.** ? (@."Relation Name" != "")') WITH ORDINALITY AS p(n, i)
    WHERE n->>'Node Type' <> 'ModifyTable' ORDER BY i;
END $$;
-- Rows that come too often or not often enough, against the heap's.
CREATE FUNCTION wrong(query text, OUT plan text, OUT nrows bigint, OUT missing bigint, OUT extra bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('cscan.enabled', 'off', true);
    EXECUTE 'CREATE TEMP TABLE wanted AS ' || query;
    PERFORM set_config('cscan.enabled', 'on', true);
    plan := (SELECT string_agg(DISTINCT r.scan, ', ') FROM reads(query) r);
    EXECUTE 'CREATE TEMP TABLE got AS ' || query;
    SELECT count(*) FROM got INTO nrows;
    SELECT count(*) FROM (SELECT w::text FROM wanted w EXCEPT ALL SELECT g::text FROM got g) x INTO missing;
    SELECT count(*) FROM (SELECT g::text FROM got g EXCEPT ALL SELECT w::text FROM wanted w) x INTO extra;
    DROP TABLE wanted, got;
END $$;

CREATE TABLE items (id int, day date, quantity numeric(12,2), price int8, flag "char", note text, pad text);
INSERT INTO items SELECT i, '2026-01-01'::date + i / 100, (i % 5000) / 100.0, i * 17 % 1000, chr(65 + i % 3)::"char",
    CASE WHEN i % 7 > 0 THEN 'note ' || i % 50 END, repeat('x', 100) FROM generate_series(1, 30000) i;
VACUUM (FREEZE, ANALYZE) items;
CREATE INDEX items_columns ON items USING cscan_columns (day, quantity, price, flag, note) WITH (row_group_blocks = 64);

-- The plan, and what ANALYZE adds
CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        RETURN NEXT regexp_replace(line, '(rows=\d+)\.00', '\1');
    END LOOP;
END $$;
EXPLAIN (COSTS OFF) SELECT sum(quantity) FROM items WHERE day < '2026-02-01';
SELECT explain('SELECT sum(quantity) FROM items WHERE day < ''2026-02-01''');
EXPLAIN (COSTS OFF, VERBOSE) SELECT flag, count(*) FROM items WHERE price % 2 = 0 GROUP BY flag;

-- Rows are those of the heap.
SELECT * FROM wrong('SELECT day, quantity, price, flag, note FROM items');
SELECT * FROM wrong('SELECT note, count(*), sum(quantity) FROM items WHERE day >= ''2026-05-01'' GROUP BY note');
SELECT * FROM wrong('SELECT quantity FROM items WHERE note IS NULL AND price > 500');
SELECT * FROM wrong('SELECT count(*) FROM items');
SELECT * FROM wrong('SELECT 1 FROM items WHERE flag = ''A''');

CREATE FUNCTION columnar(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN scans(query) || CASE WHEN plan::text ~ 'CScan Index' THEN ', by columns' ELSE '' END;
END $$;
SELECT columnar('SELECT day FROM items');
-- Columns that are not in the index, places, whole rows and system columns are read from the heap.
SELECT columnar('SELECT id FROM items');
SELECT columnar('SELECT day FROM items WHERE pad = ''y''');
SELECT columnar('SELECT ctid, day FROM items');
SELECT columnar('SELECT day FROM items WHERE ctid > ''(5,1)''');
SELECT columnar('SELECT tableoid, day FROM items');
SELECT columnar('SELECT items FROM items');
SELECT columnar('SELECT count(items) FROM items');
SELECT columnar('SELECT day FROM items FOR UPDATE');
SELECT columnar('SELECT day FROM items FOR KEY SHARE');
SELECT columnar('UPDATE items SET price = 1 WHERE day = ''2026-02-01''');
SELECT columnar('DELETE FROM items WHERE day = ''2026-02-01''');
SELECT columnar('SELECT day FROM items TABLESAMPLE SYSTEM (50)');
SELECT columnar('SELECT sum(i.price) FROM items i JOIN items j USING (id) WHERE j.day < ''2026-01-05''');
-- A cursor's rows have places, and may come again, if they are the scan's.
SELECT columnar('DECLARE c CURSOR FOR SELECT day FROM items');
SELECT columnar('DECLARE c SCROLL CURSOR FOR SELECT day FROM items LIMIT 30000');
SELECT columnar('DECLARE c CURSOR FOR SELECT day FROM (SELECT day, price FROM items WHERE price > 5 OFFSET 0) i');
SELECT columnar('DECLARE c CURSOR FOR SELECT day FROM items UNION ALL SELECT day FROM items');
SELECT columnar('DECLARE c CURSOR FOR SELECT day FROM items UNION ALL SELECT day::timestamp FROM items');
SELECT columnar('DECLARE c CURSOR FOR SELECT day FROM items UNION SELECT day::timestamp FROM items');
SELECT columnar('DECLARE c CURSOR FOR SELECT sum(price) FROM items');
SELECT columnar('DECLARE c SCROLL CURSOR FOR SELECT day FROM items ORDER BY price');
SELECT columnar('DECLARE c CURSOR FOR SELECT i.day FROM items i JOIN items j USING (price) WHERE j.day < ''2026-01-02''');
SELECT columnar('DECLARE c CURSOR FOR SELECT 1 WHERE 5 = ANY (ARRAY(SELECT price FROM items))');
SELECT columnar('DECLARE c CURSOR FOR WITH w AS MATERIALIZED (SELECT day FROM items) SELECT * FROM w');
CREATE TABLE places AS SELECT id, day, price FROM items;
VACUUM (FREEZE, ANALYZE) places;
CREATE INDEX ON places USING cscan_columns (id, day, price);
BEGIN;
DECLARE c CURSOR FOR SELECT day, price FROM places;
FETCH 2 FROM c;
UPDATE places SET price = -price WHERE CURRENT OF c;
DECLARE s SCROLL CURSOR FOR SELECT day, price FROM places;
MOVE 10 FROM s;
FETCH s;
DELETE FROM places WHERE CURRENT OF s;
SELECT id, price FROM places WHERE price < 0;
SELECT count(*) FROM places;
DECLARE b CURSOR FOR SELECT day, price FROM places;
MOVE 5000 FROM b;
MOVE BACKWARD ALL FROM b;
FETCH b;
DO $$
DECLARE
    mine CURSOR FOR SELECT price FROM places WHERE day < '2026-01-02';
    n int := 0;
    r record;
BEGIN
    FOR r IN mine LOOP
        UPDATE places SET price = 0 WHERE CURRENT OF mine;
        n := n + 1;
    END LOOP;
    OPEN mine;
    FETCH mine INTO r;
    FETCH mine INTO r;
    FETCH PRIOR FROM mine INTO r;
    RAISE NOTICE '% rows changed, and one of % fetched again', n, r.price;
END $$;
ROLLBACK;
DROP TABLE places;
-- The settings that turn it off
SET cscan.columns = off;
SELECT columnar('SELECT day FROM items');
RESET cscan.columns;
SET cscan.enabled = off;
SELECT columnar('SELECT day FROM items');
RESET cscan.enabled;
SET synchronize_seqscans = off;
SELECT columnar('SELECT day FROM items');
RESET synchronize_seqscans;

-- Row groups whose minima and maxima exclude them are skipped.
SELECT groups, skipped, columnar FROM reads('SELECT 1 FROM items WHERE day < ''2026-02-01''');
SELECT skipped > 0 AS some FROM reads('SELECT 1 FROM items WHERE day <= ''2025-12-31''');
SELECT groups = skipped AS "all" FROM reads('SELECT 1 FROM items WHERE day < ''2026-01-01''');
SELECT groups = skipped AS "all" FROM reads('SELECT 1 FROM items WHERE day > ''2026-10-28''');
SELECT groups - skipped AS read FROM reads('SELECT 1 FROM items WHERE day >= ''2026-10-28''');
SELECT groups - skipped AS read FROM reads('SELECT 1 FROM items WHERE ''2026-10-28'' <= day');
SELECT groups - skipped AS read FROM reads('SELECT 1 FROM items WHERE day = ''2026-03-03''');
SELECT groups - skipped AS read FROM reads('SELECT 1 FROM items WHERE day BETWEEN ''2026-03-03'' AND ''2026-03-05''');
-- operators of other types, numerics, NULL
SELECT groups - skipped AS read FROM reads('SELECT 1 FROM items WHERE day < ''2026-01-20 12:00''::timestamp');
SELECT groups - skipped AS read FROM reads('SELECT 1 FROM items WHERE day < ''2026-01-20 12:00+00''::timestamptz');
SELECT groups = skipped AS "all" FROM reads('SELECT 1 FROM items WHERE quantity < 0.00');
SELECT groups = skipped AS "all" FROM reads('SELECT 1 FROM items WHERE quantity <= 0');
SELECT groups = skipped AS "all" FROM reads('SELECT 1 FROM items WHERE quantity > 49.99');
SELECT groups = skipped AS "all" FROM reads('SELECT 1 FROM items WHERE quantity >= ''NaN''');
SELECT groups = skipped AS "all" FROM reads('SELECT 1 FROM items WHERE price > 999::int2');
SELECT groups = skipped AS "all" FROM reads('SELECT 1 FROM items WHERE price = 1000::int4');
SELECT groups = skipped AS "all" FROM reads('SELECT 1 FROM items WHERE price IS NULL');
SELECT groups = skipped AS "all" FROM reads('SELECT 1 FROM items WHERE note IS NULL');
-- A local time that does not exist is later than some after it.
CREATE TABLE clock AS SELECT t, repeat('x', 200) AS pad FROM generate_series('2026-03-08 02:30'::timestamp, '2026-03-08 03:00', '1 minute') t, generate_series(1, 100);
VACUUM (FREEZE, ANALYZE) clock;
CREATE INDEX ON clock USING cscan_columns (t);
SET timezone = 'America/New_York';
SELECT * FROM wrong('SELECT t FROM clock WHERE t > ''2026-03-08 03:15''::timestamptz');
SELECT * FROM wrong('SELECT t FROM clock WHERE t::timestamptz > ''2026-03-08 03:15''');
RESET timezone;
DROP TABLE clock;
-- what tells nothing
SELECT skipped FROM reads('SELECT 1 FROM items WHERE note < ''a''');
SELECT skipped FROM reads('SELECT 1 FROM items WHERE price <> 0 AND price + 0 > 5000');
SELECT skipped FROM reads('SELECT 1 FROM items WHERE price > random() * 0 + 5000');
SELECT skipped FROM reads('SELECT 1 FROM items WHERE day < ''2026-01-01'' OR price < 0');
-- values that come late: parameters, subqueries, stable functions
SET plan_cache_mode = force_generic_plan;
PREPARE of_day(date) AS SELECT 1 FROM items WHERE day = $1;
SELECT groups - skipped AS read FROM reads('EXECUTE of_day(''2026-03-03'')');
SELECT groups - skipped AS read FROM reads('EXECUTE of_day(NULL)');
RESET plan_cache_mode;
SELECT groups - skipped AS read FROM reads('SELECT 1 FROM items WHERE day = (SELECT ''2026-03-03''::date)') WHERE groups > 0;
SELECT groups - skipped AS read FROM reads('SELECT 1 FROM items WHERE day < now() - interval ''100 years''');
-- a new value for each pass
SELECT * FROM wrong('SELECT d, (SELECT count(*) FROM items WHERE day = d) FROM generate_series(''2026-02-01''::date, ''2026-12-01'', ''1 month'') d');
SELECT * FROM wrong('SELECT v, s FROM (VALUES (1), (500), (2000)) v(v) CROSS JOIN LATERAL (SELECT sum(price) AS s FROM items WHERE price < v OFFSET 0) l');

-- What changes is read from the heap until it is stored again.
DELETE FROM items WHERE id = 3000;
SELECT hidden, stale FROM reads('SELECT price FROM items');
SELECT * FROM wrong('SELECT day, quantity, price, flag, note FROM items');
UPDATE items SET price = -1 WHERE id IN (6000, 6001);
INSERT INTO items SELECT 40000 + i, '2027-01-01', 1.5, -2, 'Z', 'new', repeat('y', 100) FROM generate_series(1, 1000) i;
SELECT hidden, stale, not_stored > 0 AS beyond FROM reads('SELECT price FROM items');
SELECT * FROM wrong('SELECT day, quantity, price, flag, note FROM items');
SELECT * FROM wrong('SELECT count(*) FROM items WHERE price < 0');
-- Skipping a group does not skip its blocks in the heap.
SELECT count(*) FROM items WHERE price = -1;
SELECT groups - skipped AS read, hidden FROM reads('SELECT 1 FROM items WHERE price = -1');
VACUUM (FREEZE, INDEX_CLEANUP on) items;
SELECT hidden, stale > 0 AS stale FROM reads('SELECT price FROM items');
SELECT * FROM wrong('SELECT day, quantity, price, flag, note FROM items');
SELECT cscan_columns_fill('items_columns') > 0 AS built;
SELECT hidden, stale, not_stored FROM reads('SELECT price FROM items');
SELECT * FROM wrong('SELECT day, quantity, price, flag, note FROM items');

-- One's own changes, and what a savepoint takes back
BEGIN;
UPDATE items SET note = 'mine' WHERE id = 9000;
SELECT count(*) FROM items WHERE note = 'mine';
SAVEPOINT s;
DELETE FROM items WHERE day < '2026-02-01';
SELECT count(*) FROM items WHERE day < '2026-02-01';
ROLLBACK TO s;
SELECT count(*) FROM items WHERE day < '2026-02-01';
SELECT * FROM wrong('SELECT day, quantity, price, flag, note FROM items');
ROLLBACK;
SELECT count(*) FROM items WHERE note = 'mine';
VACUUM (FREEZE, INDEX_CLEANUP on) items;
SELECT cscan_columns_fill('items_columns') > 0 AS built;

-- A cursor sees what was there when it was opened.
BEGIN;
DECLARE c CURSOR FOR SELECT price FROM items WHERE price >= 0;
FETCH 2 FROM c;
UPDATE items SET price = -5;
MOVE FORWARD ALL FROM c;
CLOSE c;
ROLLBACK;
VACUUM (FREEZE, INDEX_CLEANUP on) items;
SELECT cscan_columns_fill('items_columns') > 0 AS built;

-- Serializable transactions read the heap.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT columnar, isolation > 0 AS isolation FROM reads('SELECT price FROM items');
SELECT * FROM wrong('SELECT day, quantity, price, flag, note FROM items');
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT columnar > 0 AS columnar, isolation FROM reads('SELECT price FROM items');
COMMIT;

-- So does a transaction that has given the table a new file: COPY FREEZE marks pages before the index knows of their rows.
CREATE TABLE frozen (a int);
CREATE INDEX frozen_columns ON frozen USING cscan_columns (a) WITH (row_group_blocks = 64);
INSERT INTO frozen SELECT generate_series(1, 50000);
BEGIN;
TRUNCATE frozen;
COPY frozen FROM PROGRAM 'seq 1 50000' WITH (FREEZE);
SELECT cscan_columns_fill('frozen_columns') > 0 AS built;
SELECT columnar, isolation > 0 AS isolation FROM reads('SELECT a FROM frozen');
SELECT count(*), sum(a) FROM frozen;
COMMIT;
SELECT columnar, isolation FROM reads('SELECT a FROM frozen');
DROP TABLE frozen;

-- Blocks without rows
DELETE FROM items WHERE id BETWEEN 1000 AND 8000;
VACUUM (FREEZE, INDEX_CLEANUP on) items;
SELECT cscan_columns_fill('items_columns') > 0 AS built;
SELECT * FROM wrong('SELECT day, quantity, price, flag, note FROM items');
DELETE FROM items;
VACUUM (FREEZE, TRUNCATE off) items;
SELECT cscan_columns_fill('items_columns') > 0 AS built;
SELECT * FROM wrong('SELECT price FROM items');
DROP TABLE items;

-- Values of all kinds, nulls, a dropped column, columns that were added
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TABLE kinds (gone int, b bool, c "char", i2 int2, f8 float8, t timetz, iv interval, n numeric, nm name, u uuid, p point, ch char(9),
    by bytea, j jsonb, a int[], e mood, pos positive, v bit varying);
ALTER TABLE kinds DROP COLUMN gone;
INSERT INTO kinds SELECT i % 2 = 0, chr(65 + i % 26)::"char", i * 17 % 65536 - 32768, CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE i / 7.0 END,
    '0:00+05'::timetz, i * interval '1 day 1 s', CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN -i / 7.0 WHEN 2 THEN 0.00 ELSE 1.50 END,
    'name ' || i, md5(i::text)::uuid, point(i, -i), 'c' || i % 10, decode(md5(i::text), 'hex'), jsonb_build_object('i', i), ARRAY[i, NULL, -i],
    (ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood, i, (i % 8)::bit(3)
FROM generate_series(1, 5000) i;
INSERT INTO kinds (n) SELECT NULL FROM generate_series(1, 2000) i;
ALTER TABLE kinds ADD COLUMN late text DEFAULT 'was added', ADD COLUMN empty int;
VACUUM (FREEZE, ANALYZE) kinds;
CREATE INDEX kinds_columns ON kinds USING cscan_columns (v, b, c, i2, f8, t, iv, n, nm, u, p, ch, by, j, a, e, pos, late, empty) WITH (row_group_blocks = 64);
-- Strings that have to be decompressed may be dearer than their pages.
SET enable_seqscan = off;
SELECT * FROM wrong('SELECT b, c, i2, f8, t, iv, n, nm, u, p::text, ch, by, j, a, e, pos, v, late, empty FROM kinds');
RESET enable_seqscan;
SELECT * FROM wrong('SELECT n FROM kinds WHERE n > 1.49');
SELECT * FROM wrong('SELECT pos FROM kinds WHERE pos > 4000');
SELECT groups - skipped AS read FROM reads('SELECT pos FROM kinds WHERE pos > 4999');
SELECT * FROM wrong('SELECT e, max(nm) FROM kinds WHERE e >= ''ok'' GROUP BY e');
SELECT * FROM wrong('SELECT i2 FROM kinds WHERE i2 IS NOT NULL AND empty IS NULL');
SELECT * FROM wrong('SELECT late FROM kinds WHERE empty > 0');
-- values that are toasted in the table
ALTER TABLE kinds ALTER COLUMN late SET STORAGE EXTERNAL;
UPDATE kinds SET late = repeat(pos::text, 2000) WHERE pos % 100 = 0;
VACUUM (FREEZE) kinds;
SELECT cscan_columns_fill('kinds_columns') > 0 AS built;
SELECT * FROM wrong('SELECT late FROM kinds');
SELECT * FROM wrong('SELECT count(*) FROM kinds k1 JOIN kinds k2 USING (late) WHERE k1.pos % 300 = 0');
DROP TABLE kinds;

-- The cheapest of several indexes, partitions, inheritance
CREATE TABLE parts (id int, day date, price int, pad text) PARTITION BY RANGE (day);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE parts_2 (pad text, price int, id int, day date);
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO parts SELECT i, '2026-01-01'::date + i % 59, i, md5(i::text) || repeat('x', 48) FROM generate_series(1, 20000) i;
CREATE INDEX parts_all ON parts USING cscan_columns (day, id, price, pad) WITH (row_group_blocks = 64);
CREATE INDEX parts_few ON parts USING cscan_columns (price, day) WITH (row_group_blocks = 64);
VACUUM (FREEZE, ANALYZE) parts;
SELECT sum(cscan_columns_fill(relid)) > 0 AS built FROM (SELECT relid FROM pg_partition_tree('parts_all') UNION ALL SELECT relid FROM pg_partition_tree('parts_few')) t
WHERE relid::regclass::text <> ALL (ARRAY['parts_all', 'parts_few']);
SELECT scan FROM reads('SELECT sum(price) FROM parts');
SELECT scan FROM reads('SELECT sum(price), max(id) FROM parts');
SELECT scan FROM reads('SELECT sum(price) FROM parts WHERE day = ''2026-02-07''');
SELECT * FROM wrong('SELECT id, price, day FROM parts');
SELECT * FROM wrong('SELECT day, sum(price) FROM parts WHERE price > 100 GROUP BY day');
-- A scan that has ended keeps no memory of its row groups.
SET enable_seqscan = off;
WITH ended AS MATERIALIZED (SELECT count(*) AS n, max(pad) FROM parts)
SELECT n, (SELECT count(*) > 1 AND max(used_bytes) < 2000 FROM pg_backend_memory_contexts WHERE name = 'cscan row group' AND n > 0) AS little FROM ended;
RESET enable_seqscan;
ALTER TABLE parts DETACH PARTITION parts_1;
ALTER TABLE parts DETACH PARTITION parts_2;
ALTER TABLE parts_2 INHERIT parts_1;
SELECT * FROM wrong('SELECT id, price, day FROM parts_1');
SELECT * FROM wrong('SELECT id, price, day FROM ONLY parts_1');

-- Row security and security barriers: no condition of the user's sees a row that it must not see.
CREATE ROLE cscan_reader;
GRANT USAGE ON SCHEMA column_scans TO cscan_reader;
GRANT SELECT ON parts_1 TO cscan_reader;
ALTER TABLE parts_1 ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON parts_1 USING (price < 10);
CREATE FUNCTION tell(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE NOTICE 'seen: %', $1; RETURN true; END $$;
CREATE FUNCTION cost(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan->0->'Plan'->'Plans'->0->>'Total Cost';
END $$;
SET ROLE cscan_reader;
EXPLAIN (COSTS OFF) SELECT price FROM ONLY parts_1 WHERE tell(price);
SELECT price FROM ONLY parts_1 WHERE tell(price);
-- nor do costs and counts tell of such rows
SELECT a.skipped = b.skipped AS same FROM reads('SELECT count(*) FROM ONLY parts_1 WHERE price > 1000000') a, reads('SELECT count(*) FROM ONLY parts_1') b;
SELECT cost('SELECT count(*) FROM ONLY parts_1 WHERE price > 19998') = cost('SELECT count(*) FROM ONLY parts_1 WHERE price > 1000000') AS same;
RESET ROLE;
SELECT skipped > 0 AS some FROM reads('SELECT count(*) FROM ONLY parts_1 WHERE price > 1000000');
DROP TABLE parts_1, parts_2, parts;
DROP OWNED BY cscan_reader;
DROP ROLE cscan_reader;

-- Several processes
CREATE TABLE shared_out (a int, b int, pad text);
INSERT INTO shared_out SELECT i, i % 100, repeat('x', 50) FROM generate_series(1, 100000) i;
VACUUM (FREEZE, ANALYZE) shared_out;
CREATE INDEX shared_out_columns ON shared_out USING cscan_columns (a, b) WITH (row_group_blocks = 64);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT sum(b) FROM shared_out;
SELECT groups, skipped, columnar FROM reads('SELECT sum(b) FROM shared_out WHERE a < 50000');
SELECT * FROM wrong('SELECT a, b FROM shared_out WHERE b < 50');
UPDATE shared_out SET b = 100 WHERE a % 10000 = 0;
SELECT * FROM wrong('SELECT a, b FROM shared_out');
SELECT * FROM wrong('SELECT x, s FROM generate_series(1, 3) x CROSS JOIN LATERAL (SELECT sum(a) AS s FROM shared_out WHERE b > x OFFSET 0) l');
-- Where an index finds a few rows, the planner does not look at row groups.
CREATE INDEX shared_out_a ON shared_out (a);
EXPLAIN (COSTS OFF) SELECT b FROM shared_out WHERE a = 5;
SELECT pg_stat_force_next_flush();
SELECT idx_blks_hit + idx_blks_read AS before FROM pg_statio_user_indexes WHERE indexrelname = 'shared_out_columns' \gset
EXPLAIN (COSTS OFF) SELECT b FROM shared_out WHERE a = 6;
SELECT pg_stat_force_next_flush();
SELECT idx_blks_hit + idx_blks_read - :before AS looked FROM pg_statio_user_indexes WHERE indexrelname = 'shared_out_columns';
EXPLAIN (COSTS OFF) SELECT b FROM shared_out WHERE a <> 6;
SELECT pg_stat_force_next_flush();
SELECT idx_blks_hit + idx_blks_read - :before > 0 AS looked FROM pg_statio_user_indexes WHERE indexrelname = 'shared_out_columns';
DROP INDEX shared_out_a;
-- A pass that ends early leaves nothing for the next one.  (Below a Gather, PostgreSQL does not bear limits that change.)
SELECT x, n, different FROM generate_series(1, 4) x
    CROSS JOIN LATERAL (SELECT count(*) AS n, count(DISTINCT a) AS different FROM (SELECT a FROM shared_out WHERE b >= x * 0 LIMIT 60000) s) l;
SET max_parallel_workers_per_gather = 0;
SELECT l, (SELECT count(*) FROM (SELECT a FROM shared_out LIMIT l) s) FROM (VALUES (10), (1000000), (5000), (1000000)) v(l);
SELECT x, n, different FROM generate_series(1, 4) x
    CROSS JOIN LATERAL (SELECT count(*) AS n, count(DISTINCT a) AS different FROM (SELECT a FROM shared_out WHERE b >= x * 0 LIMIT 60000) s) l;
SET max_parallel_workers_per_gather = 2;
-- Workers do not know that the table's file is new: there are none then.
BEGIN;
TRUNCATE shared_out;
COPY shared_out (a) FROM PROGRAM 'seq 1 50000' WITH (FREEZE);
SELECT cscan_columns_fill('shared_out_columns') > 0 AS built;
SELECT columnar('SELECT sum(a) FROM shared_out');
SET LOCAL max_parallel_workers_per_gather = 0;
SELECT columnar, isolation FROM reads('SELECT sum(a) FROM shared_out');
SELECT count(*), sum(a) FROM shared_out;
COMMIT;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

-- An index that has gone from under a plan
PREPARE gone AS SELECT sum(a) FROM shared_out;
VACUUM (FREEZE) shared_out;
SELECT cscan_columns_fill('shared_out_columns') > 0 AS built;
SELECT scan FROM reads('EXECUTE gone');
REINDEX INDEX shared_out_columns;
SELECT scan FROM reads('EXECUTE gone');
DROP INDEX shared_out_columns;
SELECT scan FROM reads('EXECUTE gone');
EXECUTE gone;

-- Of many partitions only the one that is being read has memory for columns.
CREATE TABLE many (k int, a int, b numeric, c text) PARTITION BY LIST (k);
DO $$ BEGIN FOR k IN 1 .. 50 LOOP EXECUTE format('CREATE TABLE many%s PARTITION OF many FOR VALUES IN (%s)', k, k); END LOOP; END $$;
INSERT INTO many SELECT i % 50 + 1, i, i, repeat('x', 200) FROM generate_series(1, 130000) i;
VACUUM (FREEZE) many;
CREATE INDEX ON many USING cscan_columns (k, a, b) WITH (row_group_blocks = 64);
ANALYZE many;
CREATE FUNCTION executor_memory() RETURNS bigint LANGUAGE sql AS $$
    SELECT max(used_bytes) FROM pg_backend_memory_contexts WHERE name = 'ExecutorState'
$$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
BEGIN;
DECLARE c CURSOR FOR SELECT k, sum(a), max(b) FROM many GROUP BY k ORDER BY k;
SELECT count(DISTINCT scan) FROM reads('SELECT k, sum(a), max(b) FROM many GROUP BY k ORDER BY k') WHERE scan ~ '_idx ';
SELECT executor_memory() < 1500000 AS little;
FETCH 2 FROM c;
SELECT executor_memory() < 1500000 AS little;
CLOSE c;
SET cscan.vectors = on;
DECLARE c CURSOR FOR SELECT k, sum(a), max(b) FROM many GROUP BY k ORDER BY k;
FETCH 2 FROM c;
SELECT executor_memory() < 1500000 AS little;
COMMIT;
SET cscan.vectors = off;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE many;

SET client_min_messages = warning;
DROP SCHEMA column_scans CASCADE;
