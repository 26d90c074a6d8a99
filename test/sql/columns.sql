-- An index of columns stores what everybody sees, and forgets a block when that changes.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA columns;
SET search_path = columns, public;
\set ECHO none
\i :helpers
\set ECHO all
-- What is covered, stale and wrong
CREATE FUNCTION state(index regclass, OUT blocks bigint, OUT covered bigint, OUT stale bigint, OUT groups bigint, OUT wrong bigint)
LANGUAGE sql AS $$
SELECT s.blocks, s.covered, s.stale, s.groups, (SELECT count(*) FROM cscan_columns_verify(index)) FROM cscan_columns_state(index) s
$$;

-- Values of all kinds come back bit by bit.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN price AS numeric(12,2);
CREATE TYPE pair AS (x int, y text);
CREATE TABLE kinds (
    b bool, c "char", i2 int2, i4 int4, i8 int8, o oid, f4 float4, f8 float8, m money, d date, t time, ttz timetz,
    ts timestamp, tstz timestamptz, iv interval, n numeric, n2 numeric(12,2), nm name, u uuid, p point, tx text, vc varchar(9),
    ch char(9), by bytea, j jsonb, a int[], r int4range, e mood, pos positive, pr price, co pair, v bit varying);
INSERT INTO kinds SELECT
    i % 2 = 0, chr(65 + i % 26)::"char", (i * 17 % 65536 - 32768), i * 7919 - 4000000, i::int8 << 40, i, i / 3.0, i / 7.0, i::money,
    '0044-03-15 BC'::date + i, '0:00'::time + i * interval '1 s', '0:00+05'::timetz, '1970-01-01'::timestamp + i * interval '1 us',
    '2026-01-01'::timestamptz - i * interval '1 hour', i * interval '1 day 1 s',
    CASE i % 8 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN i WHEN 3 THEN -i / 7.0 WHEN 4 THEN 1e40 + i WHEN 5 THEN 1e-40
               WHEN 6 THEN 0.00 ELSE 1.50 END,
    i / 100.0 - 3, 'name ' || i, md5(i::text)::uuid, point(i, -i), repeat('text', i % 50), 'v' || i % 1000, 'c' || i % 10,
    decode(md5(i::text), 'hex'), jsonb_build_object('i', i), ARRAY[i, NULL, -i], int4range(i, i + 5),
    (ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood, i, 0.01 * i, (i, 'y' || i)::pair, (i % 8)::bit(3)
FROM generate_series(1, 3000) i;
INSERT INTO kinds (i4) SELECT i FROM generate_series(1, 3000) i;
INSERT INTO kinds (n, n2, pr, f8, f4, d, ts, i8, i4, i2) VALUES
    (0, 0, 0, '-0', '-0', 'infinity', '-infinity', -9223372036854775808, -2147483648, -32768),
    (-0.000, -0.01, 9999999999.99, 'NaN', 'NaN', '-infinity', 'infinity', 9223372036854775807, 2147483647, 32767),
    (9223372036854775807, 0.10, -9999999999.99, 'Infinity', 1e-45, '5874897-12-31', '294276-12-31', 0, 0, 0);
CREATE INDEX kinds_columns ON kinds USING cscan_columns (
    b, c, i2, i4, i8, o, f4, f8, m, d, t, ttz, ts, tstz, iv, n, n2, nm, u, p, tx, vc, ch, by, j, a, r, e, pos, pr, co, v)
WITH (row_group_blocks = 64);
-- Nothing has been vacuumed yet.
SELECT covered, stale, groups, wrong FROM state('kinds_columns');
SELECT why_not FROM cscan_columns_state('kinds_columns');
VACUUM (FREEZE) kinds;
SELECT cscan_columns_fill('kinds_columns') > 0 AS built;
SELECT covered = blocks AS all, stale, groups > 3 AS some, wrong FROM state('kinds_columns');
SELECT why_not FROM cscan_columns_state('kinds_columns');

-- Numerics of one scale are integers, those that are not are strings.
CREATE TABLE numerics (id int, n numeric);
CREATE INDEX numerics_columns ON numerics USING cscan_columns (n) WITH (row_group_blocks = 64);
CREATE FUNCTION try_numerics(numeric[]) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE numerics;
    INSERT INTO numerics SELECT i, n FROM unnest($1) WITH ORDINALITY u(n, i);
    RETURN count(*) FROM numerics;
END $$;
\set fill 'VACUUM (FREEZE) numerics; SELECT cscan_columns_fill(''numerics_columns'') > 0 AS built; SELECT covered = blocks AS all, wrong FROM state(''numerics_columns'');'
SELECT try_numerics(array_agg(sign * power(10.0, e)::numeric(60,20)::numeric)) FROM generate_series(-18, 20) e, (VALUES (1), (-1)) s(sign);
:fill
-- A column for each scale, with its largest and smallest integers, and one digit more and less
DO $$
BEGIN
    EXECUTE (SELECT format('CREATE TABLE scales (%s)', string_agg(format('n%s numeric', i), ', ' ORDER BY i)) FROM generate_series(0, 20) i);
    EXECUTE (SELECT format('CREATE INDEX scales_columns ON scales USING cscan_columns (%s) WITH (row_group_blocks = 64)',
                           string_agg('n' || i, ', ' ORDER BY i)) FROM generate_series(0, 20) i);
    EXECUTE (SELECT format('INSERT INTO scales SELECT %s FROM generate_series(1, 5000) i, LATERAL (VALUES ((i * 7919 %% 20011 - 10000)::numeric)) v(v)',
                           string_agg(format('(v / 10::numeric(40)^%s)::numeric(60,%s)::numeric', scale, scale), ', ' ORDER BY scale))
             FROM generate_series(0, 20) scale);
    EXECUTE (SELECT format('INSERT INTO scales SELECT %s FROM (VALUES (9223372036854775807), (-9223372036854775807), (1), (0), (9999), (10000)) v(v)',
                           string_agg(format('(v / 10::numeric(40)^%s)::numeric(60,%s)::numeric', scale, scale), ', ' ORDER BY scale))
             FROM generate_series(0, 20) scale);
    -- beyond 64 bits, in a row group of its own
    INSERT INTO scales (n0) SELECT NULL FROM generate_series(1, 100000);
    INSERT INTO scales (n0, n2) VALUES (9223372036854775808, 92233720368547758.08);
END $$;
SELECT count(DISTINCT scale(n)) AS scales FROM scales, LATERAL (VALUES (n0), (n1), (n2), (n3), (n4), (n17), (n18), (n19), (n20)) v(n) WHERE n0 = 1;
VACUUM (FREEZE) scales;
SELECT cscan_columns_fill('scales_columns') > 0 AS built;
SELECT covered = blocks AS all, wrong FROM state('scales_columns');
-- They take the room of integers.
CREATE TABLE same AS SELECT i, i / 100.0::numeric(12,2) AS n, round(i / 100.0, 2 + i % 2) AS mixed FROM generate_series(1, 20000) i;
UPDATE same SET n = round(n, 2);
VACUUM FULL same;
VACUUM (FREEZE) same;
CREATE INDEX same_i ON same USING cscan_columns (i);
CREATE INDEX same_n ON same USING cscan_columns (n);
CREATE INDEX same_mixed ON same USING cscan_columns (mixed) WITH (compression = none);
SELECT n.pages = i.pages AS as_integers, mixed.pages > 2 * i.pages AS as_strings
FROM cscan_columns_state('same_i') i, cscan_columns_state('same_n') n, cscan_columns_state('same_mixed') mixed;

SELECT try_numerics(array_agg(round((i * 123456789.987654321 * power(10, i % 9))::numeric, 2))) FROM generate_series(-500, 500) i;
:fill

-- A group of strings, and a larger one of integers
SELECT try_numerics(array_agg(CASE WHEN i = 5 THEN 'NaN'::numeric ELSE i END)) FROM generate_series(1, 60000) i;
:fill

-- What cannot have such an index
CREATE INDEX ON kinds USING cscan_columns (i4) WHERE i4 > 0;
CREATE INDEX ON kinds USING cscan_columns ((i4 + 1));
CREATE INDEX ON kinds USING cscan_columns (i4, i4);
CREATE UNIQUE INDEX ON kinds USING cscan_columns (i4);
CREATE INDEX ON kinds USING cscan_columns (i4) INCLUDE (i8);
-- 19 says where.
\set VERBOSITY sqlstate
CREATE INDEX ON kinds USING cscan_columns (i4 DESC);
\set VERBOSITY default
CREATE INDEX ON kinds USING cscan_columns (i4) WITH (row_group_blocks = 65);
CREATE INDEX ON kinds USING cscan_columns (i4) WITH (row_group_blocks = 32);
CREATE INDEX ON kinds USING cscan_columns (i4) WITH (compression = gzip);
-- What copies a table's indexes to a temporary one must go on.
CREATE TABLE permanent (i int);
CREATE INDEX permanent_i ON permanent USING cscan_columns (i);
CREATE TEMP TABLE temporary (LIKE permanent INCLUDING ALL);
INSERT INTO temporary SELECT i FROM generate_series(1, 30000) i;
VACUUM (INDEX_CLEANUP on) temporary;
UPDATE temporary SET i = -i WHERE i % 7 = 0;
DELETE FROM temporary WHERE i % 5 = 0;
VACUUM (FULL) temporary;
SET enable_seqscan = off;
SELECT count(*), sum(i) FROM temporary;
RESET enable_seqscan;
SELECT covered, why_not FROM cscan_columns_status WHERE relation = 'temporary'::regclass;
SELECT cscan_columns_fill('temporary_i_idx');
SELECT * FROM cscan_columns_verify('temporary_i_idx');
CREATE MATERIALIZED VIEW matview AS SELECT i FROM generate_series(1, 1000) i;
CREATE INDEX matview_columns ON matview USING cscan_columns (i);
CREATE TABLE other_index (i int PRIMARY KEY);
SELECT cscan_columns_fill('other_index_pkey');
SELECT cscan_columns_fill('kinds');
SELECT * FROM cscan_columns_verify('other_index_pkey');
-- A plan may ask for the state of any index, before a join leaves these only.
SELECT count(*) FROM pg_index i, cscan_columns_state(i.indexrelid);
SELECT count(*) FROM cscan_columns_state('kinds');
SELECT count(*) FROM cscan_columns_state(0);
DROP OPERATOR CLASS cscan_columns_ops USING cscan_columns;

-- The planner never scans it as an index.
SET enable_seqscan = off;
SET cscan.enabled = off;
SET jit = off;
DO $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT i4 FROM kinds WHERE i4 = 1 ORDER BY i4' LOOP
        RAISE NOTICE '%', line;
        EXIT;
    END LOOP;
END $$;
RESET enable_seqscan;
RESET cscan.enabled;

-- What changes becomes stale: each test begins with all blocks covered.
CREATE TABLE t (id int, v int, w int) WITH (fillfactor = 50);
INSERT INTO t SELECT i, i, 0 FROM generate_series(1, 20000) i;
VACUUM (FREEZE, INDEX_CLEANUP on) t;
CREATE INDEX t_columns ON t USING cscan_columns (id, v) WITH (row_group_blocks = 64);
SELECT * FROM state('t_columns');
-- an update of a column that is stored, of another one, and what is inserted
UPDATE t SET v = -v WHERE id = 1;
UPDATE t SET w = 1 WHERE id = 5000;
SELECT ctid FROM t WHERE id IN (1, 5000) ORDER BY id;
SELECT * FROM state('t_columns');
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT * FROM state('t_columns');
SELECT cscan_columns_fill('t_columns');
SELECT * FROM state('t_columns');
-- aborted and in a subtransaction
BEGIN;
INSERT INTO t VALUES (0, 0, 0);
SAVEPOINT s;
DELETE FROM t WHERE id < 300;
ROLLBACK TO s;
ROLLBACK;
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT cscan_columns_fill('t_columns');
SELECT * FROM state('t_columns');
-- a row whose root is a redirected line pointer goes
UPDATE t SET w = w + 1 WHERE id = 7000;
UPDATE t SET w = w + 1 WHERE id = 7000;
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT cscan_columns_fill('t_columns');
SELECT * FROM state('t_columns');
DELETE FROM t WHERE id = 7000;
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT * FROM state('t_columns');
SELECT cscan_columns_fill('t_columns');
-- many rows, and a block that is empty
DELETE FROM t WHERE id BETWEEN 8000 AND 9000;
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT * FROM state('t_columns');
SELECT cscan_columns_fill('t_columns');
SELECT * FROM state('t_columns');
-- their places are taken by other rows
INSERT INTO t SELECT i, i, 1 FROM generate_series(8000, 9000) i;
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT * FROM state('t_columns');
-- dead line pointers that stay
DELETE FROM t WHERE id = 300;
VACUUM (INDEX_CLEANUP off) t;
SELECT cscan_columns_fill('t_columns');
SELECT * FROM state('t_columns');
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT cscan_columns_fill('t_columns');
SELECT * FROM state('t_columns');
-- the table's end is cut off, and comes again
DELETE FROM t WHERE id > 15000;
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT * FROM state('t_columns');
INSERT INTO t SELECT i, i, 2 FROM generate_series(15001, 20000) i;
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT * FROM state('t_columns');
SELECT cscan_columns_fill('t_columns');
SELECT * FROM state('t_columns');
-- a group that is built in vain goes on serving, with what was marked
UPDATE t SET v = 1 WHERE id = 42;
SELECT stale > 0 AS stale FROM state('t_columns');
SET cscan.debug_fault = 'store-begun error';
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT cscan_columns_fill('t_columns');
UPDATE t SET v = 2 WHERE id = 4200;
SET cscan.debug_fault = 'store-written error';
SELECT cscan_columns_fill('t_columns');
RESET cscan.debug_fault;
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT stale, wrong FROM state('t_columns');
SELECT cscan_columns_fill('t_columns');
SELECT * FROM state('t_columns');
-- the backend that has looked up a group that is not built looks again
CREATE TABLE later (id int);
CREATE INDEX later_columns ON later USING cscan_columns (id) WITH (row_group_blocks = 64);
INSERT INTO later SELECT generate_series(1, 1000);
VACUUM (FREEZE, INDEX_CLEANUP on) later;
SELECT cscan_columns_fill('later_columns');
UPDATE later SET id = -id WHERE id = 1000;
SELECT * FROM state('later_columns');

-- the last row of a block goes
CREATE TABLE fresh AS SELECT i AS id FROM generate_series(1, 1000) i;
VACUUM (FREEZE, INDEX_CLEANUP on) fresh;
CREATE INDEX fresh_columns ON fresh USING cscan_columns (id);
DELETE FROM fresh WHERE id = (SELECT max(id) FROM fresh WHERE ctid < '(1,0)');
VACUUM (FREEZE, INDEX_CLEANUP on) fresh;
SELECT * FROM state('fresh_columns');

-- Space is used again.
SELECT pages AS pages_before FROM cscan_columns_state('t_columns') \gset
\set again 'UPDATE t SET v = v + 1 WHERE id % 100 = 1; VACUUM (INDEX_CLEANUP on) t; SELECT FROM cscan_columns_fill(''t_columns'');'
:again :again :again :again
SELECT pages < 1.75 * :pages_before AS bounded, unused_pages < 0.75 * :pages_before AS used FROM cscan_columns_state('t_columns');

-- Concurrently it is built empty, and nothing is marked that is not there.
CREATE INDEX CONCURRENTLY t_concurrently ON t USING cscan_columns (v) WITH (row_group_blocks = 64);
SELECT * FROM state('t_concurrently');
SELECT cscan_columns_fill('t_concurrently') > 0 AS built;
SELECT * FROM state('t_concurrently');
REINDEX INDEX t_columns;
SELECT * FROM state('t_columns');
REINDEX INDEX CONCURRENTLY t_columns;
SELECT * FROM state('t_columns');
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT covered > 0 AS covered, wrong FROM state('t_columns');

-- A rewritten table has an empty visibility map.
VACUUM FULL t;
SELECT * FROM state('t_columns');
SELECT why_not FROM cscan_columns_state('t_columns');
ALTER TABLE t ALTER v TYPE bigint;
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT cscan_columns_fill('t_columns') >= 0 AS filled;
SELECT covered = blocks AS all, wrong FROM state('t_columns');
TRUNCATE t;
SELECT * FROM state('t_columns');
INSERT INTO t VALUES (1, 1, 1);
VACUUM (FREEZE, INDEX_CLEANUP on) t;
SELECT cscan_columns_fill('t_columns');
SELECT * FROM state('t_columns');

-- Columns that were added with a default, or dropped
ALTER TABLE later ADD COLUMN added int DEFAULT 7, ADD COLUMN gone text;
ALTER TABLE later DROP COLUMN gone;
VACUUM (FREEZE, INDEX_CLEANUP on) later;
CREATE INDEX later_added ON later USING cscan_columns (added, id);
SELECT * FROM state('later_added');
ALTER TABLE later DROP COLUMN added;
SELECT count(*) FROM cscan_columns_status WHERE relation = 'later'::regclass;

-- VACUUM does not fetch values from the TOAST table, the function does. Both leave out values that are too long.
CREATE TABLE toasted (id int, x text);
ALTER TABLE toasted ALTER x SET STORAGE external;
CREATE INDEX toasted_columns ON toasted USING cscan_columns (x) WITH (row_group_blocks = 64);
INSERT INTO toasted SELECT i, repeat('x', CASE WHEN i <= 10000 THEN 3 WHEN i < 15000 THEN 2500 ELSE 3 END) FROM generate_series(1, 20000) i;
VACUUM (FREEZE, INDEX_CLEANUP on) toasted;
SELECT covered > 0 AS covered, stale > 0 AS stale, wrong FROM state('toasted_columns');
SELECT cscan_columns_fill('toasted_columns') > 0 AS built;
SELECT covered = blocks AS all, stale, wrong FROM state('toasted_columns');
UPDATE toasted SET x = repeat('y', 1048577) WHERE id = 1;
VACUUM (FREEZE, INDEX_CLEANUP on) toasted;
SELECT cscan_columns_fill('toasted_columns') > 0 AS built;
SELECT blocks - covered AS not_covered, stale, wrong FROM state('toasted_columns');
SELECT why_not FROM cscan_columns_state('toasted_columns');
-- Nor does it try again and again.
SELECT cscan_columns_fill('toasted_columns');

-- VACUUM leaves alone what has values that it could not read.
SELECT last_built AS before FROM cscan_columns_state('toasted_columns') \gset
UPDATE toasted SET x = x || 'z' WHERE id % 150 = 1;
VACUUM (FREEZE, INDEX_CLEANUP on) toasted;
SELECT last_built = :'before' AS as_before FROM cscan_columns_state('toasted_columns');
SELECT cscan_columns_fill('toasted_columns') > 0 AS built;
-- A block that has more bytes of strings than a row group may have is left out, and tried once.
CREATE TABLE wide (id int, x text);
CREATE INDEX wide_columns ON wide USING cscan_columns (id, x);
INSERT INTO wide SELECT i, repeat('x', CASE WHEN i <= 100 THEN 1000000 ELSE 3 END) FROM generate_series(1, 5000) i;
VACUUM (FREEZE, INDEX_CLEANUP on) wide;
SELECT cscan_columns_fill('wide_columns');
SELECT cscan_columns_fill('wide_columns');
SELECT blocks - covered AS not_covered, stale, wrong FROM state('wide_columns');
SELECT why_not FROM cscan_columns_state('wide_columns');

-- A group that cannot be built does not end VACUUM.
CREATE TABLE goes_on (i int, filler text);
CREATE INDEX goes_on_columns ON goes_on USING cscan_columns (i) WITH (row_group_blocks = 64);
INSERT INTO goes_on SELECT i, repeat('x', 500) FROM generate_series(1, 5000) i;
SET cscan.debug_fault = 'store-written error';
VACUUM (INDEX_CLEANUP on) goes_on;
RESET cscan.debug_fault;
SELECT relallvisible = relpages AND relpages > 64 AS vacuumed FROM pg_class WHERE relname = 'goes_on';
SELECT covered, wrong FROM state('goes_on_columns');
-- Whoever cancels it ends it, and its transaction.
SET cscan.debug_fault = 'store-block delay';
SET statement_timeout = '300ms';
\set VERBOSITY sqlstate
VACUUM (INDEX_CLEANUP on) goes_on;
\set VERBOSITY default
RESET statement_timeout;
RESET cscan.debug_fault;
SELECT count(*) AS locks FROM pg_locks WHERE relation = 'goes_on'::regclass;
VACUUM (INDEX_CLEANUP on) goes_on;
SELECT covered > 64 AS covered, wrong FROM state('goes_on_columns');

-- Unlogged tables, and partitions
CREATE UNLOGGED TABLE unlogged AS SELECT i FROM generate_series(1, 10000) i;
VACUUM (FREEZE) unlogged;
CREATE INDEX unlogged_columns ON unlogged USING cscan_columns (i);
SELECT * FROM state('unlogged_columns');
CREATE TABLE parent (i int, x text) PARTITION BY RANGE (i);
CREATE INDEX parent_columns ON parent USING cscan_columns (i, x);
CREATE TABLE child PARTITION OF parent FOR VALUES FROM (0) TO (100000);
INSERT INTO parent SELECT i, i FROM generate_series(1, 10000) i;
VACUUM (FREEZE) parent;
SELECT cscan_columns_fill('child_i_x_idx');
SELECT * FROM state('child_i_x_idx');
SELECT cscan_columns_fill('parent_columns');
SELECT index, relation, covered FROM cscan_columns_status WHERE relation = 'child'::regclass;

-- Rows of two row groups that are dropped on vectors cost less than the pages of the others
CREATE TABLE ordered AS SELECT i, i % 10 AS kind, (i % 100)::numeric(8,2) AS n, repeat('x', 50) AS filler FROM generate_series(1, 60000) i;
CREATE INDEX ordered_brin ON ordered USING brin (i) WITH (pages_per_range = 8);
CREATE INDEX ordered_columns ON ordered USING cscan_columns (i, kind, n) WITH (row_group_blocks = 64);
VACUUM ANALYZE ordered;
-- A filter whose scan begins anew in another time zone
SET enable_seqscan = off;
SET enable_bitmapscan = off;
BEGIN;
EXPLAIN (COSTS OFF) SELECT i > 1 FROM ordered WHERE i > 1 LIMIT 1;
SELECT set_config('timezone', z, true) = z AS zone, (SELECT i > k FROM ordered WHERE i > k LIMIT 1) AS found
    FROM (VALUES ('UTC', 1), ('Europe/Berlin', 2), ('UTC', 3)) o (z, k);
COMMIT;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT cscan_columns_fill('ordered_columns') > 0 AS filled;
EXPLAIN (COSTS OFF) SELECT kind, count(*), sum(n) FROM ordered WHERE i BETWEEN 24000 AND 30000 GROUP BY kind;
EXPLAIN (COSTS OFF) SELECT i, kind, n FROM ordered WHERE i BETWEEN 24000 AND 30000 AND n < 50;

-- Strings have to be decompressed, and a row group has to be read before its first row.  Numbers alone are cheap.
CREATE TABLE texts AS SELECT i, (i * 7919) % 60000 AS r, i % 10 AS kind, md5(i::text) AS a, md5(i || 'a') AS b, md5(i || 'b') AS c FROM generate_series(1, 60000) i;
CREATE INDEX texts_r ON texts (r);
CREATE INDEX texts_columns ON texts USING cscan_columns (i, r, kind, a, b, c) WITH (row_group_blocks = 256);
VACUUM ANALYZE texts;
SELECT cscan_columns_fill('texts_columns') > 0 AS filled;
EXPLAIN (COSTS OFF) SELECT * FROM texts WHERE r < 600 AND kind <> 3;
EXPLAIN (COSTS OFF) SELECT i, kind FROM texts WHERE r < 600 AND kind <> 3;
EXPLAIN (COSTS OFF) SELECT i, kind FROM texts WHERE r < 30000 AND kind = 5 LIMIT 20;
EXPLAIN (COSTS OFF) SELECT sum(length(a || b || c)) FROM texts WHERE r < 600;
EXPLAIN (COSTS OFF) SELECT sum(i) FROM texts WHERE r < 600;

-- Only who may maintain the table fills and verifies.
CREATE ROLE regress_cscan_columns;
GRANT USAGE ON SCHEMA columns TO regress_cscan_columns;
GRANT SELECT ON later TO regress_cscan_columns;
SET ROLE regress_cscan_columns;
SELECT cscan_columns_fill('columns.later_columns');
SELECT * FROM cscan_columns_verify('columns.later_columns');
SELECT blocks > 0 AS blocks FROM cscan_columns_state('columns.later_columns');
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA columns CASCADE;
DROP ROLE regress_cscan_columns;
