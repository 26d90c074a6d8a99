-- Statements that write what a CScan reads: each row once, and no row of their own.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA dml;
SET search_path = dml, public;
\set ECHO none
\i :helpers
\set ECHO all

CREATE TABLE log (id int);
-- A volatile function that scans the table while it is being written
CREATE FUNCTION rows_now() RETURNS bigint LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN (SELECT count(*) FROM t); END';
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log SELECT count(*) FROM t WHERE grp = 1000;
    RETURN NEW;
END $$;

-- Runs a statement on a new table of 600 rows; how many rows it touched, and what the table is then.
CREATE FUNCTION run(statement text, OUT touched bigint, OUT nrows bigint, OUT ids bigint, OUT groups bigint) LANGUAGE plpgsql AS $$
BEGIN
    DROP TABLE IF EXISTS t, part;
    PERFORM make_table('t', 600);
    IF statement ~ 'CONFLICT' THEN ALTER TABLE t ADD UNIQUE (id, grp); END IF;
    CREATE TABLE part (id int, grp int) PARTITION BY RANGE (id);
    CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (1000) WITH (fillfactor = 10);
    CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (1000) TO (MAXVALUE);
    INSERT INTO part SELECT id, grp FROM t;
    EXECUTE statement;
    GET DIAGNOSTICS touched = ROW_COUNT;
    IF statement ~ 'UPDATE part' THEN
        SELECT count(*), sum(id), sum(grp) FROM part INTO nrows, ids, groups;
    ELSE
        SELECT count(*), sum(id), sum(grp) FROM t INTO nrows, ids, groups;
    END IF;
END $$;
CREATE FUNCTION run_with_all(statement text) RETURNS TABLE (how text, cscan boolean, touched bigint, nrows bigint, ids bigint, groups bigint)
LANGUAGE plpgsql AS $$
BEGIN
    FOREACH how IN ARRAY '{off,normal,attach,elevator,relevance,demand}'::text[] LOOP
        PERFORM set_config('cscan.enabled', (how <> 'off')::text, true);
        IF how <> 'off' THEN PERFORM set_config('cscan.policy', how, true); END IF;
        SELECT * FROM run(statement) INTO touched, nrows, ids, groups;
        cscan := scans(statement) ~ 'CScan';
        RETURN NEXT;
    END LOOP;
END $$;

-- Two equal lines for each, for PostgreSQL's own scan and for all policies
SET client_min_messages = warning;
SELECT statement, string_agg(how, ' ' ORDER BY how) AS how, cscan, touched, nrows, ids, groups
FROM (VALUES
    (1, 'INSERT INTO t SELECT id + 1000, grp, pad FROM t'),
    (2, 'INSERT INTO t SELECT id, grp, pad FROM t WHERE id > 100 ON CONFLICT (id, grp) DO UPDATE SET grp = t.grp + 1'),
    (3, 'UPDATE t SET grp = grp + 1'),
    (4, 'UPDATE t SET grp = grp + 1, pad = pad || pad || pad || pad WHERE id % 3 > 0'),
    (5, 'UPDATE t SET grp = t.grp + x.grp FROM t x WHERE x.id = t.id + 1'),
    (6, 'UPDATE t SET grp = (SELECT count(*) FROM t x WHERE x.grp = t.grp)'),
    (7, 'UPDATE part SET id = id + 500'),
    (8, 'DELETE FROM t'),
    (9, 'DELETE FROM t WHERE grp IN (SELECT grp FROM t WHERE id < 5)'),
    (10, 'DELETE FROM t USING t x WHERE x.id = t.id + 1 AND x.grp = 3'),
    (11, 'MERGE INTO t USING t x ON t.id = x.id + 300 WHEN MATCHED AND t.grp = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET grp = -1 WHEN NOT MATCHED THEN INSERT VALUES (x.id + 300, x.grp, x.pad)'),
    (12, 'WITH d AS (DELETE FROM t RETURNING *), i AS (INSERT INTO t SELECT id + 1000, grp, pad FROM d RETURNING *) SELECT count(*) FROM i'),
    (13, 'WITH u AS (UPDATE t SET grp = 1000 WHERE id <= 100 RETURNING *) SELECT count(*) FROM t, u WHERE t.grp = 1000'),
    (14, 'INSERT INTO t SELECT id + 1000, rows_now(), pad FROM t WHERE id <= 40')
) AS q(n, statement), run_with_all(statement)
GROUP BY n, statement, cscan, touched, nrows, ids, groups ORDER BY n, cscan;
DROP TABLE t, part;
RESET client_min_messages;

-- Row locks: on all rows, or on those that are left
SELECT make_table('t', 600);
BEGIN;
SELECT count(*) FROM (SELECT * FROM t WHERE id > 40 FOR NO KEY UPDATE SKIP LOCKED) x;
SELECT count(*) FILTER (WHERE xmax = pg_current_xact_id()::xid) AS locked, count(*) FROM t;
COMMIT;

-- Row triggers that scan the table see the rows changed so far.
CREATE TRIGGER note BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
UPDATE t SET grp = 1000 WHERE id % 20 = 0;
SELECT count(*), min(id), max(id), sum(id) FROM log;

-- Where the rows are
SELECT count(*), count(DISTINCT ctid) AS ctids, count(DISTINCT tableoid) AS tables, min(tableoid::regclass::text),
    count(DISTINCT xmin::text) AS transactions, count(*) FILTER (WHERE grp = 1000) AS written FROM t;
SELECT count(*) FROM t x JOIN t y ON x.ctid = y.ctid AND x.id = y.id;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA dml CASCADE;
