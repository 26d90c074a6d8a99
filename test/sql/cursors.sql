-- Cursors: a scan that is left in the middle, goes on later, or never.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA cursors;
SET search_path = cursors, public;
\set ECHO none
\i :helpers
\set ECHO all

SELECT make_table('t', 1000);
CREATE TABLE fetched (id int);
-- Are the fetched rows those of t, each once?
CREATE FUNCTION all_fetched(OUT fetched bigint, OUT missing bigint, OUT extra bigint) LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM fetched), (SELECT count(*) FROM (SELECT id FROM t EXCEPT ALL TABLE fetched) m),
           (SELECT count(*) FROM (TABLE fetched EXCEPT ALL SELECT id FROM t) e)
$$;

-- In pieces, with other scans of the table between them
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t;
SELECT fetch_into('c', 1);
SELECT fetch_into('c', 33);
SELECT count(*) FROM t;
SELECT fetch_into('c', 500), (SELECT count(*) FROM t);
SELECT policy, chunks_total FROM cscan_scans;
SELECT fetch_into('c', 1000);
SELECT fetch_into('c', 1);
SELECT * FROM all_fetched();
SELECT * FROM left_behind();
COMMIT;
TRUNCATE fetched;

-- Two cursors in step, of different policies; each keeps the one under which it was opened
BEGIN;
SET LOCAL cscan.policy = normal;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t;
SET LOCAL cscan.policy = elevator;
DECLARE d NO SCROLL CURSOR FOR SELECT * FROM t;
SET LOCAL cscan.policy = attach;
SET LOCAL cscan.enabled = off;
SELECT fetch_into('c', 50), fetch_into('d', 70);
SELECT policy, pid = pg_backend_pid() AS mine, relid::regclass FROM cscan_scans ORDER BY policy;
SELECT relid::regclass, scans FROM cscan_relations;
DO $$
BEGIN
    WHILE fetch_into('c', 37) + fetch_into('d', 41) > 0 LOOP END LOOP;
END $$;
SELECT count(*), count(DISTINCT id), min(n), max(n) FROM (SELECT id, count(*) AS n FROM fetched GROUP BY id) x;
SELECT * FROM left_behind();
COMMIT;
TRUNCATE fetched;

-- It sees what there was when it was opened, whatever its own transaction does meanwhile.
BEGIN;
CREATE TABLE before AS SELECT id FROM t;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t;
SELECT fetch_into('c', 100);
UPDATE t SET id = id + 10000;
DELETE FROM t WHERE id % 2 = 0;
INSERT INTO t SELECT 1, 1, 'new' FROM generate_series(1, 500);
SELECT fetch_into('c', 10000);
SELECT count(*) FROM ((TABLE before EXCEPT ALL TABLE fetched) UNION ALL (TABLE fetched EXCEPT ALL TABLE before)) x;
ROLLBACK;

-- WITH HOLD: the rest is read when its transaction commits
BEGIN;
DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT * FROM t;
SELECT fetch_into('c', 100);
SELECT count(*) FROM cscan_scans;
COMMIT;
SELECT * FROM left_behind();
DELETE FROM t WHERE id = 1000;
SELECT fetch_into('c', 10000);
INSERT INTO t VALUES (1000, 0, repeat('x', 150));
SELECT * FROM all_fetched();
CLOSE c;
TRUNCATE fetched;

-- Closed in the middle
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
SELECT fetch_into('c', 100), (SELECT count(*) FROM cscan_scans);
CLOSE c;
SELECT * FROM left_behind();
COMMIT;
-- Left open at the end of the transaction
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
SELECT fetch_into('c', 100);
COMMIT;
SELECT * FROM left_behind();
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
SELECT fetch_into('c', 100);
SELECT 1 / 0;
ROLLBACK;
SELECT * FROM left_behind();
TRUNCATE fetched;

-- Opened within a savepoint that is rolled back: no registration, and no lock of the ABM, outlives it.
BEGIN;
SAVEPOINT a;
DECLARE c CURSOR FOR SELECT * FROM t;
SELECT fetch_into('c', 100);
SELECT count(*) FROM cscan_scans;
ROLLBACK TO a;
SELECT * FROM left_behind();
LOCK TABLE t IN ACCESS EXCLUSIVE MODE NOWAIT;
COMMIT;
-- Nor an error that a savepoint catches
BEGIN;
SAVEPOINT a;
SELECT 1 / (id - 500) FROM t;
ROLLBACK TO a;
SELECT * FROM left_behind();
-- Released: then it belongs to the transaction
SAVEPOINT a;
DECLARE c CURSOR FOR SELECT * FROM t;
SELECT fetch_into('c', 100);
RELEASE a;
SELECT fetch_into('c', 10000);
SELECT * FROM all_fetched();
COMMIT;
TRUNCATE fetched;
-- Opened before it, and first fetched from, or fetched from again, within: it goes on.
CREATE FUNCTION fetch_ids(c refcursor, n int) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
    r record;
    ids int[] := '{}';
BEGIN
    FOR i IN 1..n LOOP
        FETCH c INTO r;
        EXIT WHEN NOT FOUND;
        ids := ids || r.id;
    END LOOP;
    RETURN ids;
END $$;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
DECLARE d CURSOR FOR SELECT * FROM t;
SELECT fetch_ids('d', 100) AS d1 \gset
SAVEPOINT a;
SELECT fetch_ids('c', 100) AS c1, fetch_ids('d', 100) AS d2 \gset
SELECT count(*) FROM cscan_scans;
ROLLBACK TO a;
SELECT count(*) FROM cscan_scans;
SELECT fetch_ids('c', 10000) AS c2, fetch_ids('d', 10000) AS d3 \gset
SELECT count(*), count(DISTINCT id) FROM unnest(:'c1'::int[] || :'c2'::int[]) AS id;
SELECT count(*), count(DISTINCT id) FROM unnest(:'d1'::int[] || :'d2'::int[] || :'d3'::int[]) AS id;
SELECT * FROM left_behind();
COMMIT;

-- A table whose scan is open is in use.
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t;
SELECT fetch_into('c', 100);
SAVEPOINT a;
TRUNCATE t;
ROLLBACK TO a;
DROP TABLE t;
ROLLBACK TO a;
ALTER TABLE t ALTER id TYPE bigint;
ROLLBACK TO a;
SELECT fetch_into('c', 10000);
SELECT * FROM all_fetched();
CLOSE c;
TRUNCATE t;
SELECT count(*) FROM t;
ROLLBACK;
SELECT count(*) FROM t;

-- FOR UPDATE locks as it goes, each row once.
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t FOR UPDATE;
SELECT fetch_into('c', 100);
SELECT count(*) FROM t WHERE xmax = pg_current_xact_id()::xid;
SELECT fetch_into('c', 10000);
SELECT count(*) FROM t WHERE xmax = pg_current_xact_id()::xid;
SELECT * FROM all_fetched();
COMMIT;
TRUNCATE fetched;

-- A loop in a function, left in the middle
CREATE FUNCTION first_after(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    i int := 0;
    r record;
BEGIN
    FOR r IN SELECT * FROM t LOOP
        i := i + 1;
        IF i = n THEN RETURN i; END IF;
    END LOOP;
    RETURN -i;
END $$;
SELECT first_after(1), first_after(400), first_after(2000);
SELECT * FROM left_behind();

-- Backward and forward again: a row keeps its place for as long as the cursor is open, whatever its scan is
CREATE TABLE range_of_t (LIKE t) PARTITION BY RANGE (id);
CREATE TABLE range_1 PARTITION OF range_of_t FOR VALUES FROM (1) TO (400);
CREATE TABLE range_2 PARTITION OF range_of_t FOR VALUES FROM (400) TO (450);
CREATE TABLE range_3 PARTITION OF range_of_t FOR VALUES FROM (450) TO (2000);
INSERT INTO range_of_t SELECT * FROM t;
VACUUM ANALYZE range_of_t;
-- Moves at random, by all the forms that PL/pgSQL has, each against what was there before.  Returns what differed.
CREATE FUNCTION scrolled(query text, c refcursor, moves int = 300, OUT nrows int, OUT distinct_ids bigint, OUT differ int)
LANGUAGE plpgsql AS $$
DECLARE
    ids int[] := '{}';
    id int;
    at int;
    n int;
BEGIN
    EXECUTE format('DECLARE %I %s', c, query);
    -- some rows forward, all of them backward, and forward to the end
    FOR i IN 1..100 LOOP
        FETCH c INTO id;
        EXIT WHEN NOT FOUND;
        ids := ids || id;
    END LOOP;
    differ := 0;
    n := cardinality(ids);
    IF n = 100 THEN
        FOR i IN REVERSE 99..0 LOOP
            FETCH PRIOR FROM c INTO id;
            differ := differ + (id IS DISTINCT FROM ids[i])::int;
        END LOOP;
        FOR i IN 1..100 LOOP
            FETCH c INTO id;
            differ := differ + (id IS DISTINCT FROM ids[i])::int;
        END LOOP;
    END IF;
    LOOP
        FETCH c INTO id;
        EXIT WHEN NOT FOUND;
        ids := ids || id;
    END LOOP;
    nrows := cardinality(ids);
    at := nrows + 1;
    PERFORM setseed(.5);
    FOR i IN 1..moves LOOP
        n := floor(random() * (nrows + 2));
        CASE floor(random() * 8)
            WHEN 0 THEN FETCH FIRST FROM c INTO id; at := 1;
            WHEN 1 THEN FETCH LAST FROM c INTO id; at := nrows;
            WHEN 2 THEN FETCH ABSOLUTE n FROM c INTO id; at := n;
            WHEN 3 THEN FETCH RELATIVE n - at FROM c INTO id; at := n;
            WHEN 4 THEN MOVE BACKWARD ALL FROM c; FETCH NEXT FROM c INTO id; at := 1;
            WHEN 5 THEN MOVE FORWARD ALL FROM c; FETCH PRIOR FROM c INTO id; at := nrows;
            WHEN 6 THEN FETCH PRIOR FROM c INTO id; at := greatest(at - 1, 0);
            ELSE FETCH NEXT FROM c INTO id; at := least(at + 1, nrows + 1);
        END CASE;
        differ := differ + (id IS DISTINCT FROM ids[at])::int;
    END LOOP;
    distinct_ids := (SELECT count(DISTINCT i) FROM unnest(ids) i);
END $$;
BEGIN;
SELECT q.n, s.* FROM (VALUES
    (1, 'CURSOR FOR SELECT id FROM t'),
    (2, 'SCROLL CURSOR FOR SELECT id FROM t'),
    (3, 'CURSOR FOR SELECT id FROM t WHERE grp = 3 AND id % 7 < 5'),
    (4, 'CURSOR FOR SELECT id FROM t WHERE ctid > ''(3,2)'' AND ctid < ''(20,4)'''),
    (5, 'CURSOR FOR SELECT id FROM range_of_t'),
    (6, 'SCROLL CURSOR FOR SELECT id FROM range_of_t WHERE grp < 5'),
    (7, 'CURSOR FOR SELECT id FROM t UNION ALL SELECT id FROM range_of_t WHERE id > 390'),
    (8, 'CURSOR FOR SELECT id FROM t LIMIT 70 OFFSET 12'),
    (9, 'CURSOR FOR SELECT id FROM t WHERE id < 0'),
    (10, 'SCROLL CURSOR FOR SELECT t.id FROM t JOIN range_of_t r USING (id)')
) AS q(n, query), scrolled(query, ('s' || n)::refcursor) s ORDER BY n;
SELECT scans('DECLARE c CURSOR FOR SELECT id FROM t'), scans('DECLARE c SCROLL CURSOR FOR SELECT id FROM range_of_t');
COMMIT;
SELECT * FROM left_behind();
-- Other versions of the rows, and a policy under which chunks come in another order each time
BEGIN;
SET LOCAL cscan.policy = elevator;
DECLARE c CURSOR FOR SELECT id FROM t;
MOVE 400 FROM c;
CREATE TABLE before AS SELECT fetch_into('c', 3);
SELECT count(*) FROM t;
UPDATE t SET id = id + 10000;
MOVE BACKWARD 3 FROM c;
SELECT fetch_into('c', 3);
MOVE FORWARD ALL FROM c;
MOVE ABSOLUTE 400 FROM c;
SELECT fetch_into('c', 3);
SELECT count(*), min(n), max(n), max(id) < 10000 AS old FROM (SELECT id, count(*) AS n FROM fetched GROUP BY id) x;
ROLLBACK;
-- WITH HOLD goes over all rows once more when its transaction commits, and remembers its place
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT id FROM t;
SELECT fetch_into('c', 100);
COMMIT;
SELECT * FROM left_behind();
SELECT fetch_into('c', 10000);
SELECT * FROM all_fetched();
MOVE ABSOLUTE 99 FROM c;
SELECT fetch_into('c', 1);
SELECT id = (SELECT min(id) FROM (SELECT id FROM fetched GROUP BY id HAVING count(*) = 2) x) AS again FROM fetched OFFSET 99 LIMIT 1;
CLOSE c;
TRUNCATE fetched;

-- Many at once, more than cscan.max_scans (32): the others read for themselves
SHOW cscan.max_scans;
BEGIN;
DO $$
DECLARE
    c refcursor;
BEGIN
    FOR i IN 1..40 LOOP
        c := 'c' || i;
        OPEN c NO SCROLL FOR SELECT * FROM t;
        PERFORM fetch_into(c, 40);
    END LOOP;
END $$;
SELECT count(*), sum((SELECT scans FROM cscan_relations)) / count(*) AS of_t FROM cscan_scans;
SELECT count(*), sum(id) FROM t;
DO $$
BEGIN
    FOR i IN 1..40 LOOP
        PERFORM fetch_into(('c' || i)::refcursor, 10000);
    END LOOP;
END $$;
SELECT count(*), min(n), max(n) FROM (SELECT id, count(*) AS n FROM fetched GROUP BY id) x;
COMMIT;
SELECT * FROM left_behind();

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA cursors CASCADE;
