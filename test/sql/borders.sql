-- Ordered aggregation with borders: groups that are complete go out before all rows have been read.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA borders;
SET search_path = borders, public;
\i :helpers
CREATE FUNCTION fetched(c refcursor, n int) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
    FOR i IN 1 .. n LOOP
        FETCH c INTO r;
        EXIT WHEN NOT FOUND;
        RETURN NEXT r;
    END LOOP;
END $$;
CREATE TABLE t (k int, at timestamp, name text, n numeric, price numeric(10,2), f float8, v int);
INSERT INTO t SELECT i / 4, timestamp '2020-01-01' + (i / 4) * interval '1 minute', 'customer number ' || i / 400, (i % 13) / 10.0 + (i % 3) * 1e15,
        CASE WHEN i % 500 = 0 THEN 'NaN' ELSE i % 1000 / 100.0 END, i % 4, i FROM generate_series(0, 39999) i;
CREATE TABLE c (LIKE t) WITH (fillfactor = 30);
INSERT INTO c SELECT * FROM t ORDER BY v;
CREATE INDEX t_brin ON t USING brin (v, at, k) WITH (pages_per_range = 4);
VACUUM (FREEZE, ANALYZE) t, c;
CREATE INDEX c_columns ON c USING cscan_columns (k, at, name, n, price, f, v) WITH (row_group_blocks = 64);
VACUUM (FREEZE) c;

-- The key that has borders, and whether most groups are closed early; the answer is that without vectors.
CREATE FUNCTION ask(query text, OUT border_key text, OUT most_early boolean, OUT spilled bigint, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
    wanted text;
    got text;
BEGIN
    -- How many groups are open depends on the order of chunks, which other policies leave to chance.
    PERFORM set_config('cscan.policy', 'normal', true);
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
    PERFORM set_config('cscan.policy', 'relevance', true);
    WITH RECURSIVE nodes AS (
        SELECT plan #> '{0,Plan}' AS node
        UNION ALL SELECT json_array_elements(node -> 'Plans') FROM nodes)
    SELECT node ->> 'CScan Border Key', (node ->> 'CScan Groups Closed Early')::bigint > (node ->> 'Actual Rows')::numeric / 2,
        (node ->> 'CScan Rows Spilled')::bigint
        INTO border_key, most_early, spilled FROM nodes WHERE node ->> 'Custom Plan Provider' = 'CScan Aggregate';
    EXECUTE 'SELECT md5(string_agg(x::text, '' '' ORDER BY x::text)) || count(*) FROM (' || query || ') x' INTO got;
    PERFORM set_config('cscan.vectors', 'off', true);
    EXECUTE 'SELECT md5(string_agg(x::text, '' '' ORDER BY x::text)) || count(*) FROM (' || query || ') x' INTO wanted;
    PERFORM set_config('cscan.vectors', 'on', true);
    same := got IS NOT DISTINCT FROM wanted;
END $$;
-- What other plans cost does not matter here.
SET enable_sort = off;
SET work_mem = '64kB';
SET hash_mem_multiplier = 8;
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM t GROUP BY k;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT name, k, sum(v) FROM c GROUP BY name, k;
RESET enable_seqscan;

-- Of pages, with the bounds of a BRIN index
SELECT * FROM ask('SELECT k, count(*), sum(v), min(price), avg(f) FROM t GROUP BY k');
SELECT * FROM ask('SELECT at, count(*) FROM t GROUP BY at HAVING sum(v) % 3 = 0');
SELECT * FROM ask('SELECT k, name, sum(price), max(price), max(n), min(name), max(f), count(*) FILTER (WHERE v % 2 = 0) FROM t GROUP BY name, k');
SELECT * FROM ask('SELECT k, n, count(*) FROM t WHERE v % 5 <> 3 GROUP BY k, n');
-- Of column runs
SET enable_seqscan = off;
SELECT * FROM ask('SELECT k, count(*), sum(v), min(price), avg(f) FROM c GROUP BY k');
SELECT * FROM ask('SELECT at, count(*) FROM c GROUP BY at HAVING sum(v) % 3 = 0');
SELECT * FROM ask('SELECT k, name, sum(price), max(price), max(n), min(name), max(f), count(*) FILTER (WHERE v % 2 = 0) FROM c GROUP BY name, k');
SELECT * FROM ask('SELECT k, n, count(*) FROM c WHERE k > 3000 GROUP BY k, n');
RESET enable_seqscan;

-- Of the pages of a bitmap
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT k, count(*), sum(v) FROM t WHERE k BETWEEN 1000 AND 8000 GROUP BY k;
SELECT * FROM ask('SELECT k, count(*), sum(v) FROM t WHERE k BETWEEN 1000 AND 8000 GROUP BY k');
SELECT * FROM ask('SELECT k, count(*), sum(v) FROM t WHERE k BETWEEN 1000 AND 2500 OR k BETWEEN 6000 AND 8000 GROUP BY k');
CREATE INDEX t_f ON t (f);
SELECT * FROM ask('SELECT k, count(*), sum(v) FROM t WHERE f = 1 GROUP BY k');
DROP INDEX t_f;
SELECT x, y.* FROM generate_series(1000, 4000, 1000) x,
    LATERAL (SELECT sum(n), count(*), count(DISTINCT k) FROM (SELECT k, count(*) AS n FROM t WHERE k BETWEEN x AND x + 4000 GROUP BY k OFFSET 0) z) y;
RESET enable_seqscan;

-- Beside a scan that is in the middle of the table, and takes the chunks of that part along
BEGIN;
DECLARE middle CURSOR FOR SELECT k FROM t;
MOVE 20000 IN middle;
SELECT * FROM ask('SELECT k, count(*), sum(v) FROM t GROUP BY k');
COMMIT;
-- Few rows only: another plan has them sooner, where there is one.
CREATE INDEX t_k ON t (k);
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM t GROUP BY k LIMIT 10;
DROP INDEX t_k;
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM t GROUP BY k LIMIT 10;

-- Few groups have none, nor has a key without bounds, or a state that only its function can free
SELECT * FROM ask('SELECT name, count(*) FROM t GROUP BY name');
SELECT * FROM ask('SELECT f, v % 3000, count(*) FROM t WHERE f IS NULL GROUP BY f, v % 3000');
SELECT border_key, most_early, same FROM ask('SELECT k, sum(f), stddev(v) FROM t GROUP BY k');

-- The end of a table that grows has no bounds in any index; few blocks are looked at
INSERT INTO t SELECT i / 4, timestamp '2020-01-01' + (i / 4) * interval '1 minute', 'customer number ' || i / 400, 1, 1, 1, i FROM generate_series(40000, 40999) i;
INSERT INTO c SELECT i / 4, timestamp '2020-01-01' + (i / 4) * interval '1 minute', 'customer number ' || i / 400, 1, 1, 1, i FROM generate_series(40000, 40999) i;
SELECT * FROM ask('SELECT k, count(*), sum(v) FROM t GROUP BY k');
SET enable_seqscan = off;
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM c GROUP BY k');
RESET enable_seqscan;

-- Keys that are null, and keys all over the table, stay until the end
INSERT INTO t SELECT NULL, NULL, NULL, 1, 1, 1, i FROM generate_series(1, 10) i;
INSERT INTO t SELECT i * 100, NULL, NULL, 1, 1, 1, i FROM generate_series(1, 100) i;
INSERT INTO c SELECT NULL, NULL, NULL, 1, 1, 1, i FROM generate_series(1, 10) i;
INSERT INTO c SELECT i * 100, NULL, NULL, 1, 1, 1, i FROM generate_series(1, 100) i;
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM t GROUP BY k');
SET enable_seqscan = off;
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM c GROUP BY k');
RESET enable_seqscan;
DELETE FROM t WHERE at IS NULL;
DELETE FROM c WHERE at IS NULL;

-- Rows that have gone elsewhere since the statistics were made, in an order that no index is in
UPDATE t SET v = -v WHERE k % 7 = 0;
UPDATE c SET v = -v WHERE k % 7 = 0;
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM t GROUP BY k');
SET enable_seqscan = off;
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM c GROUP BY k');
RESET enable_seqscan;
-- Of this transaction, and of a snapshot from before
VACUUM FREEZE t, c;
BEGIN;
DELETE FROM t WHERE k BETWEEN 5000 AND 5999;
INSERT INTO t SELECT k, at, name, n, price, f, 0 FROM t WHERE k BETWEEN 100 AND 199;
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM t GROUP BY k');
DECLARE early CURSOR FOR SELECT k, count(*), sum(v) FROM t GROUP BY k;
CREATE TEMP TABLE got AS SELECT * FROM fetched('early', 100) AS x(k int, n bigint, v bigint);
UPDATE t SET k = -k, v = 1;
INSERT INTO got SELECT * FROM fetched('early', 100000) AS x(k int, n bigint, v bigint);
SELECT count(*), count(DISTINCT k), sum(k), sum(n), sum(v) FROM got;
ROLLBACK;

-- Again and again, with another parameter
SELECT x, (SELECT sum(n) FROM (SELECT k, count(*) AS n FROM t WHERE v > x GROUP BY k OFFSET 0) y) FROM generate_series(0, 30000, 10000) x;

SELECT x, y.* FROM generate_series(0, 3) x,
    LATERAL (SELECT sum(n), count(*), count(DISTINCT k) FROM (SELECT k, count(*) AS n FROM t WHERE v >= x GROUP BY k OFFSET 0) z) y;
SET enable_seqscan = off;
SELECT x, y.* FROM generate_series(0, 3) x,
    LATERAL (SELECT sum(n), count(*), count(DISTINCT k) FROM (SELECT k, count(*) AS n FROM c WHERE v >= x GROUP BY k OFFSET 0) z) y;
RESET enable_seqscan;
-- With its end in the middle of a group
CREATE TABLE r (k int, v int, pad text) WITH (fillfactor = 30);
INSERT INTO r SELECT i / 4, i, repeat('x', 50) FROM generate_series(0, 19999) i;
CREATE INDEX r_columns ON r USING cscan_columns (k, v) WITH (row_group_blocks = 64);
VACUUM (FREEZE, ANALYZE) r;
INSERT INTO r SELECT CASE WHEN i < 500 THEN 5000 + i ELSE i - 500 END, 1000000 + i, repeat('x', 50) FROM generate_series(0, 999) i;
SET enable_seqscan = off;
SELECT x, y.* FROM generate_series(0, 5) x,
    LATERAL (SELECT sum(n), count(*), count(DISTINCT k) FROM (SELECT k, count(*) AS n FROM r WHERE v >= x GROUP BY k OFFSET 0) z) y;
RESET enable_seqscan;

-- A summary may leave out what a snapshot still sees: updates on the page, and a summary or an index that is made after them
CREATE TABLE h (k int, v int, pad text) WITH (fillfactor = 20);
INSERT INTO h SELECT CASE WHEN i < 19000 THEN i / 4 ELSE 10 END, i, repeat('x', 50) FROM generate_series(0, 19999) i;
CREATE INDEX h_brin ON h USING brin (k) WITH (pages_per_range = 4);
VACUUM (FREEZE, ANALYZE) h;
BEGIN;
DECLARE h CURSOR FOR SELECT k, count(*), sum(v) FROM h GROUP BY k;
UPDATE h SET k = 30000 WHERE v >= 19000;
REINDEX INDEX h_brin;
SELECT count(*), count(DISTINCT k), sum(n) FROM fetched('h', 100000) AS x(k int, n bigint, v bigint);
ROLLBACK;
INSERT INTO h SELECT CASE WHEN i <= 50 THEN 20000 ELSE 10 END, 100000 + i, repeat('x', 50) FROM generate_series(1, 500) i;
BEGIN;
DECLARE h CURSOR FOR SELECT k, count(*), sum(v) FROM h GROUP BY k;
UPDATE h SET k = 20001 WHERE v > 100000 AND k = 10;
SELECT brin_summarize_new_values('h_brin') > 0;
SELECT count(*), count(DISTINCT k), sum(n) FROM fetched('h', 100000) AS x(k int, n bigint, v bigint);
ROLLBACK;
-- An index may have the column twice.
DROP INDEX h_brin;
CREATE INDEX h_twice ON h USING brin (k int4_bloom_ops, k int4_minmax_ops) WITH (pages_per_range = 4);
VACUUM h;
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM h GROUP BY k');
-- Strings that many open groups share
CREATE TABLE s (k int, j int, v text);
INSERT INTO s SELECT CASE WHEN i % 5 = 0 THEN NULL ELSE i END, i, 'a string that many groups have, ' || i % 3 FROM generate_series(1, 9999) i;
CREATE INDEX s_brin ON s USING brin (k) WITH (pages_per_range = 1);
VACUUM (FREEZE, ANALYZE) s;
SELECT * FROM ask('SELECT k, j, v, count(*) FROM s GROUP BY k, j, v');

-- A partial index has not the bounds of all rows
DROP INDEX t_brin;
CREATE INDEX t_some ON t USING brin (k) WHERE v > 0;
SELECT border_key, same FROM ask('SELECT k, count(*) FROM t GROUP BY k');
DROP INDEX t_some;
CREATE INDEX t_bloom ON t USING brin (k int4_bloom_ops);
CREATE INDEX t_multi ON t USING brin (k int4_minmax_multi_ops);
SELECT border_key, same FROM ask('SELECT k, count(*) FROM t GROUP BY k');
CREATE INDEX t_range ON t USING brin (k);
SELECT border_key, same FROM ask('SELECT k, count(*) FROM t GROUP BY k');

-- Of partitions: one has its columns in other places, one is empty, and one so small that it is not announced
CREATE TABLE p (k int, v int, pad text) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (2500);
CREATE TABLE p2 (gone int, pad text, v int, k int);
ALTER TABLE p2 DROP gone;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (2500) TO (5000);
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (5000) TO (7500) PARTITION BY RANGE (k);
CREATE TABLE p31 PARTITION OF p3 FOR VALUES FROM (5000) TO (7490);
CREATE TABLE p32 PARTITION OF p3 FOR VALUES FROM (7490) TO (7500);
CREATE TABLE p4 PARTITION OF p FOR VALUES FROM (7500) TO (10000);
INSERT INTO p SELECT i / 4, i, repeat('x', 50) FROM generate_series(0, 29999) i;
CREATE INDEX p_brin ON p USING brin (k) WITH (pages_per_range = 4);
VACUUM (FREEZE, ANALYZE) p;
EXPLAIN (COSTS OFF) SELECT k, count(*) FROM p GROUP BY k;
SELECT * FROM ask('SELECT k, count(*), sum(v) FROM p GROUP BY k');
SELECT * FROM ask('SELECT k, count(*), sum(v) FROM p WHERE k BETWEEN 2000 AND 6000 GROUP BY k');
-- Pruned when the query begins, and in the middle of it, again and again
PREPARE part AS SELECT count(*), count(DISTINCT k), sum(n) FROM (SELECT k, count(*) AS n FROM p WHERE k >= $1 GROUP BY k OFFSET 0) x;
SET plan_cache_mode = force_generic_plan;
EXECUTE part (2600);
EXECUTE part (0);
-- Without a family each table is read by itself, by PostgreSQL's own scan.
SET synchronize_seqscans = off;
EXECUTE part (2600);
RESET synchronize_seqscans;
RESET plan_cache_mode;
SELECT x, y.* FROM generate_series(0, 8000, 2000) x,
    LATERAL (SELECT sum(n), count(*), count(DISTINCT k) FROM (SELECT k, count(*) AS n FROM p WHERE k >= x GROUP BY k OFFSET 0) z) y;
SELECT x, y.* FROM generate_series(0, 3) x,
    LATERAL (SELECT sum(n), count(*), count(DISTINCT k) FROM (SELECT k, count(*) AS n FROM p WHERE v >= x GROUP BY k OFFSET 0) z) y;
-- Each table by itself, as locked rows keep their order, by bitmaps of other values in each pass.  Each index scan keeps memory of its own.
CREATE TABLE b (k int, v int, pad text) PARTITION BY RANGE (k);
CREATE TABLE b1 PARTITION OF b FOR VALUES FROM (0) TO (2500);
CREATE TABLE b2 PARTITION OF b FOR VALUES FROM (2500) TO (5000);
CREATE TABLE b3 PARTITION OF b FOR VALUES FROM (5000) TO (7500);
INSERT INTO b SELECT i / 4, i, repeat('x', 50) FROM generate_series(0, 29999) i;
CREATE INDEX b_brin ON b USING brin (k) WITH (pages_per_range = 4);
CREATE INDEX b_v ON b ((v % 10));
VACUUM (FREEZE, ANALYZE) b;
CREATE TABLE arrays AS SELECT x, ARRAY[x, x + 1, x + 3] AS a FROM generate_series(0, 6) x;
ANALYZE arrays;
CREATE VIEW by_arrays AS SELECT x, y.* FROM arrays,
    LATERAL (SELECT count(*) AS groups, sum(n) AS rows FROM (SELECT k, count(*) AS n FROM b WHERE v % 10 = ANY (a) GROUP BY k OFFSET 0) z) y FOR UPDATE OF arrays;
SET enable_seqscan = off;
SET enable_indexscan = off;
BEGIN;
DECLARE by_arrays CURSOR FOR SELECT * FROM by_arrays;
FETCH 2 by_arrays;
SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'BTree array context';
FETCH ALL by_arrays;
COMMIT;
SELECT border_key, same FROM ask('SELECT * FROM by_arrays');
RESET enable_seqscan;
RESET enable_indexscan;
-- Rows that have gone to other places since the statistics were made, and to other partitions since the query has begun
INSERT INTO p SELECT i, -1, repeat('y', 50) FROM generate_series(0, 7499, 10) i;
UPDATE p SET v = -v WHERE k % 7 = 0;
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM p GROUP BY k');
BEGIN;
DECLARE early CURSOR FOR SELECT k, count(*), sum(v) FROM p GROUP BY k;
CREATE TEMP TABLE got AS SELECT * FROM fetched('early', 100) AS x(k int, n bigint, v bigint);
UPDATE p SET k = 7499 - k;
INSERT INTO got SELECT * FROM fetched('early', 100000) AS x(k int, n bigint, v bigint);
SELECT count(*), count(DISTINCT k), sum(k), sum(n), sum(v) FROM got;
ROLLBACK;
-- Over column runs, beside a partition without such an index
CREATE INDEX p1_columns ON p1 USING cscan_columns (k, v) WITH (row_group_blocks = 64);
CREATE INDEX p2_columns ON p2 USING cscan_columns (k, v) WITH (row_group_blocks = 64);
CREATE INDEX p32_columns ON p32 USING cscan_columns (k, v) WITH (row_group_blocks = 64);
VACUUM (FREEZE) p;
SET enable_seqscan = off;
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM p GROUP BY k');
SELECT x, y.* FROM generate_series(0, 3) x,
    LATERAL (SELECT sum(n), count(*), count(DISTINCT k) FROM (SELECT k, count(*) AS n FROM p WHERE v >= x GROUP BY k OFFSET 0) z) y;
RESET enable_seqscan;
-- Not if one of them has no bounds; if each has all keys, groups wait for the last one
DROP INDEX p_brin;
CREATE INDEX ON p1 USING brin (k);
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM p GROUP BY k');
CREATE TABLE q (k int, v int, pad text) PARTITION BY HASH (v);
CREATE TABLE q1 PARTITION OF q FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE q2 PARTITION OF q FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO q SELECT i / 4, i, repeat('x', 50) FROM generate_series(0, 19999) i;
CREATE INDEX q_brin ON q USING brin (k) WITH (pages_per_range = 4);
VACUUM (FREEZE, ANALYZE) q;
SELECT border_key, same FROM ask('SELECT k, count(*), sum(v) FROM q GROUP BY k');
-- Tables that inherit; their parent has rows, too
CREATE TABLE i (k int, v int, pad text);
CREATE TABLE i1 () INHERITS (i);
INSERT INTO i SELECT i / 4, i, repeat('x', 50) FROM generate_series(0, 9999) i;
INSERT INTO i1 SELECT i / 4, i, repeat('x', 50) FROM generate_series(10000, 19999) i;
CREATE INDEX i_brin ON i USING brin (k) WITH (pages_per_range = 4);
CREATE INDEX i1_brin ON i1 USING brin (k) WITH (pages_per_range = 4);
VACUUM (FREEZE, ANALYZE) i, i1;
SELECT * FROM ask('SELECT k, count(*), sum(v) FROM i GROUP BY k');

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA borders CASCADE;
