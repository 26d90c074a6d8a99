-- Tables that are not what they were at the last scan, and those that go away behind one.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
-- It is about scans; vectors.sql has the node that aggregates their rows.
SET cscan.vectors = off;
CREATE SCHEMA changes;
SET search_path = changes, public;
\set ECHO none
\i :helpers
\set ECHO all

CREATE TABLE t (id int, grp int, pad text) WITH (fillfactor = 10);
CREATE FUNCTION grow(first int, last int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO t (id, grp, pad) SELECT i, i % 10, repeat('x', 150) FROM generate_series(first, last) i
$$;
CREATE FUNCTION blocks() RETURNS bigint LANGUAGE sql AS $$ SELECT pg_relation_size('t') / 8192 $$;
CREATE FUNCTION result(OUT n bigint, OUT s bigint) LANGUAGE sql AS 'SELECT count(*), sum(id) FROM t';
CREATE FUNCTION results() RETURNS TABLE (blocks bigint, policy text, n bigint, s bigint) LANGUAGE plpgsql AS $$
BEGIN
    FOREACH policy IN ARRAY '{normal,attach,elevator,relevance,demand}'::text[] LOOP
        PERFORM set_config('cscan.policy', policy, true);
        SELECT * FROM blocks(), result() INTO blocks, n, s;
        RETURN NEXT;
    END LOOP;
END $$;

-- Empty; one block; one chunk (8 blocks); a block more; many, the last one short; and a bit longer
SELECT * FROM results();
SELECT grow(1, 1);
SELECT * FROM results();
SELECT grow(2, 32);
SELECT * FROM results();
SELECT grow(33, 33);
SELECT * FROM results();
SELECT grow(34, 1001);
SELECT * FROM results();
SELECT grow(1002, 1009);
SELECT * FROM results();
-- Emptied in the middle; shortened at its end; rewritten
DELETE FROM t WHERE id BETWEEN 200 AND 600;
SELECT * FROM results();
DELETE FROM t WHERE id > 500;
VACUUM t;
SELECT * FROM results();
CREATE INDEX t_grp ON t (grp);
CLUSTER t USING t_grp;
SELECT * FROM results();
VACUUM FULL t;
SELECT * FROM results();
-- How long it is then depends on the version.
ALTER TABLE t ALTER id TYPE bigint;
ALTER TABLE t SET UNLOGGED;
SELECT policy, n, s FROM results();
ALTER TABLE t SET LOGGED;
ALTER TABLE t DROP COLUMN grp, ADD COLUMN grp int DEFAULT 3;
SELECT policy, n, s, (SELECT sum(grp) FROM t) FROM results();
TRUNCATE t;
SELECT * FROM results();
SELECT grow(1, 400);
SELECT * FROM results();

-- While a scan is open: later ones, which see more blocks than the first one knows, and the first one
CREATE TABLE fetched (id int);
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
SELECT fetch_into('c', 100);
SELECT grow(401, 500);
SELECT * FROM results();
DECLARE d CURSOR FOR SELECT * FROM t;
SELECT fetch_into('d', 100);
SELECT grow(501, 1000);
SELECT * FROM results();
SELECT fetch_into('c', 1000), fetch_into('d', 1000);
SELECT n, count(*), min(id), max(id) FROM (SELECT id, count(*) AS n FROM fetched GROUP BY id) x GROUP BY n ORDER BY n;
COMMIT;

-- In one transaction: created, filled, scanned, truncated, filled, scanned; then rolled back to what it was
BEGIN;
CREATE TABLE new WITH (fillfactor = 10) AS SELECT * FROM t;
SELECT count(*), sum(id) FROM new;
TRUNCATE new;
SELECT count(*) FROM new;
INSERT INTO new SELECT * FROM t WHERE id <= 500;
SELECT count(*), sum(id) FROM new;
SAVEPOINT a;
TRUNCATE t;
SELECT grow(1, 100);
SELECT * FROM result();
ROLLBACK TO a;
SELECT * FROM result();
ROLLBACK;
SELECT * FROM result();

-- Right after a query nothing stands in the way of what needs the table for itself, in its transaction or after it.
BEGIN;
SELECT count(*) FROM t;
LOCK TABLE t IN ACCESS EXCLUSIVE MODE NOWAIT;
COMMIT;
SELECT count(*) FROM t;
BEGIN;
LOCK TABLE t IN ACCESS EXCLUSIVE MODE NOWAIT;
SELECT count(*) FROM t;
COMMIT;
SET lock_timeout = 1;
DO $$
BEGIN
    FOR i IN 1..100 LOOP
        PERFORM count(*) FROM t;
        LOCK TABLE t IN ACCESS EXCLUSIVE MODE NOWAIT;
        PERFORM id FROM t LIMIT 40;
        LOCK TABLE t IN ACCESS EXCLUSIVE MODE NOWAIT;
        COMMIT;
        PERFORM count(*) FROM t;
        TRUNCATE t;
        ROLLBACK;
    END LOOP;
END $$;
SELECT * FROM result();
SELECT * FROM left_behind();
\c -
SET search_path = changes, public;
SET lock_timeout = 1;
SELECT count(*) FROM t;
\c -
SET search_path = changes, public;
SET lock_timeout = 1;
TRUNCATE t;
SELECT grow(1, 400);
SELECT count(*) FROM t;
DROP TABLE t;
RESET lock_timeout;

-- A database right after it was scanned
SELECT current_database() AS here \gset
CREATE DATABASE regress_cscan_other;
\c regress_cscan_other
CREATE TABLE t AS SELECT i AS id, repeat('x', 500) AS pad FROM generate_series(1, 1000) i;
SET cscan.policy = normal;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM t;
SELECT count(*), sum(id) FROM t;
\c :here
DROP DATABASE regress_cscan_other;
SET search_path = changes, public;
SELECT * FROM left_behind();

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA changes CASCADE;
