-- What is not scanned cooperatively stays a Seq Scan, and cscan_why_not says why.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA eligible;
SET search_path = eligible, public;
\set ECHO none
\i :helpers
\set ECHO all

SELECT make_table('t', 400), make_table('temporary', 400, 'TEMP');
CREATE TABLE empty (x int);
CREATE FUNCTION why_not(query text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(': ', relation, coalesce(reason, CASE WHEN is_cscan THEN 'CScan' END)), '; ') FROM cscan_why_not(query)
$$;

-- Tables that never are
SELECT query, scans(query), why_not(query) FROM (VALUES
    (1, 'SELECT * FROM t'),
    (2, 'SELECT * FROM temporary'),
    (3, 'UPDATE temporary SET grp = 1'),
    (4, 'SELECT oid, relname FROM pg_class'),
    (5, 'SELECT count(*) FROM information_schema.sql_features'),
    (6, 'SELECT * FROM t TABLESAMPLE SYSTEM (50)'),
    (7, 'SELECT * FROM t JOIN temporary USING (id)')
) AS q(n, query) ORDER BY n;
CREATE SEQUENCE seq;
SELECT scans('SELECT * FROM seq');
SELECT * FROM cscan_why_not('SELECT * FROM seq');

-- A table of another access method, which happens to be heap's handler
CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE of_other (id int) USING other;
SELECT scans('SELECT * FROM of_other'), why_not('SELECT * FROM of_other');
DROP TABLE of_other;
DROP ACCESS METHOD other;

-- SCROLL cursors, and those that say nothing of it
SELECT scans('DECLARE c SCROLL CURSOR FOR SELECT * FROM t');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM t;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH ABSOLUTE 3 FROM c;
SELECT count(*) FROM cscan_scans;
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t;
-- chunks come in any order: the row must be the one that came here before
MOVE 38 FROM c;
FETCH 1 FROM c \gset ahead_
MOVE 1 FROM c;
SELECT count(*) FROM cscan_scans;
FETCH BACKWARD 1 FROM c \gset back_
SELECT :ahead_id = :back_id AS the_same;
ROLLBACK;

-- CURRENT OF, of a cursor that is a CScan
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t WHERE id % 50 = 0;
MOVE 1 FROM c;
SELECT scans('UPDATE t SET grp = -1 WHERE CURRENT OF c');
UPDATE t SET grp = -1 WHERE CURRENT OF c;
MOVE 1 FROM c;
DELETE FROM t WHERE CURRENT OF c;
MOVE ALL FROM c;
SELECT count(*), count(*) FILTER (WHERE grp = -1), min(id % 50) FILTER (WHERE grp = -1) FROM t;
ROLLBACK;

-- Up to 17 all but the TID scan costs too much for it, from 18 on there is nothing else: however small the table, alone or among partitions.
CREATE TABLE tiny (id int, x int) PARTITION BY LIST (id);
CREATE TABLE tiny_1 PARTITION OF tiny FOR VALUES IN (1);
CREATE TABLE tiny_2 PARTITION OF tiny FOR VALUES IN (2);
INSERT INTO tiny VALUES (1, 1), (2, 1);
VACUUM ANALYZE tiny;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM tiny_1;
FETCH c;
SELECT scans('UPDATE tiny_1 SET x = 2 WHERE CURRENT OF c');
UPDATE tiny_1 SET x = 2 WHERE CURRENT OF c;
DECLARE d CURSOR FOR SELECT * FROM tiny;
MOVE 2 FROM d;
SELECT scans('UPDATE tiny SET x = 2 WHERE CURRENT OF d');
UPDATE tiny SET x = 2 WHERE CURRENT OF d;
SELECT * FROM tiny ORDER BY id;
ROLLBACK;
DROP TABLE tiny;

-- Rows in physical order
SET synchronize_seqscans = off;
SELECT scans('SELECT * FROM t'), why_not('SELECT * FROM t');
RESET synchronize_seqscans;
-- A plan that was made before the wish keeps its CScan, which then shares nothing.
SET plan_cache_mode = force_generic_plan;
PREPARE q AS SELECT count(*) FROM t;
SELECT cscan_stat_reset();
EXECUTE q;
SELECT sum(scans) FROM cscan_stat;
SET synchronize_seqscans = off;
EXECUTE q;
SELECT sum(scans) FROM cscan_stat;
RESET synchronize_seqscans;
-- So does one that was made before cscan was turned off.  A function's SET clause throws no plan away.
CREATE FUNCTION counted_off() RETURNS bigint LANGUAGE sql SET cscan.enabled = off AS 'SELECT count(*) FROM t';
SELECT cscan_stat_reset();
SET cscan.enabled = off;
EXECUTE q;
SELECT sum(scans) FROM cscan_stat;
RESET cscan.enabled;
SELECT counted_off();
EXECUTE q;
SELECT sum(scans) FROM cscan_stat;
SET cscan.min_table_size = '1TB';
SELECT scans('EXECUTE q'), scans('SELECT count(*) FROM t');
RESET cscan.min_table_size;
RESET plan_cache_mode;
DEALLOCATE q;

-- Switched off
SET cscan.enabled = off;
SELECT scans('SELECT * FROM t'), why_not('SELECT * FROM t');
RESET cscan.enabled;

-- The size that makes a table large enough: t has 100 blocks, 800 kB
SELECT pg_relation_size('t') / 1024 AS kb;
SET cscan.min_table_size = '799kB';
SELECT scans('SELECT * FROM t'), why_not('SELECT * FROM t');
SET cscan.min_table_size = '800kB';
SELECT scans('SELECT * FROM t'), why_not('SELECT * FROM t');
SET cscan.min_table_size = 0;
SELECT scans('SELECT * FROM empty'), why_not('SELECT * FROM empty');
SET cscan.min_table_size = 1;
SELECT scans('SELECT * FROM empty'), why_not('SELECT * FROM empty');
-- A quarter of shared_buffers is 64 blocks.
SELECT make_table('quarter', 256), make_table('more', 257);
SET cscan.min_table_size = -1;
SELECT scans('SELECT * FROM quarter'), why_not('SELECT * FROM quarter'), scans('SELECT * FROM more');

-- Partitions count together, but for those whose rows are changed or locked: these are scanned in their order, by all sessions alike.
CREATE TABLE p (id int, v int, pad text) PARTITION BY RANGE (id);
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM (0) TO (500) WITH (fillfactor = 10);
CREATE TABLE p_2 PARTITION OF p FOR VALUES FROM (500) TO (1000) WITH (fillfactor = 10);
CREATE TABLE other (id int);
INSERT INTO p SELECT i, i, repeat('x', 150) FROM generate_series(0, 999) i;
INSERT INTO other SELECT generate_series(1, 20);
ANALYZE p, other;
SET cscan.min_table_size = '1500kB';
SELECT query, scans(query) FROM (VALUES
    (1, 'SELECT * FROM p'),
    (2, 'SELECT * FROM p FOR UPDATE'),
    (3, 'SELECT * FROM p FOR KEY SHARE'),
    (4, 'UPDATE p SET v = 0'),
    (5, 'DELETE FROM p WHERE v > 5'),
    (6, 'SELECT p.* FROM p JOIN other ON other.id = p.v FOR UPDATE OF other'),
    (7, 'SELECT p.* FROM p JOIN other ON other.id = p.v FOR UPDATE OF p'),
    (8, 'UPDATE other SET id = p.v FROM p WHERE p.v = other.id'),
    (9, 'UPDATE p SET v = 0 FROM p q WHERE p.v = q.v + 1'),
    (10, 'WITH q AS (SELECT * FROM p FOR SHARE) SELECT count(*) FROM q'),
    (11, 'UPDATE p_1 SET v = 0')
) AS q(n, query) ORDER BY n;
SELECT why_not('SELECT * FROM p FOR UPDATE');
SET cscan.min_table_size = '999kB';
SELECT scans('SELECT * FROM p FOR UPDATE'), scans('DELETE FROM p WHERE v > 5');
RESET cscan.min_table_size;
DROP TABLE p, other;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA eligible CASCADE;
