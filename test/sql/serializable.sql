-- Predicate locks are taken as for a sequential scan: one on the whole table.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA serializable;
SET search_path = serializable, public;
\set ECHO none
\i :helpers
\set ECHO all

SELECT make_table('t', 400), make_table('s', 40);
CREATE INDEX t_id ON t (id);
CREATE FUNCTION predicate_locks() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', relation::regclass, locktype), ', ' ORDER BY relation::regclass::text)
    FROM pg_locks WHERE mode = 'SIReadLock' AND pid = pg_backend_pid()
$$;

BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL cscan.enabled = off;
SELECT count(*) FROM t WHERE grp = 1;
SELECT predicate_locks();
COMMIT;

BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT scans('SELECT count(*) FROM t WHERE grp = 1');
SELECT predicate_locks();
SELECT count(*) FROM t WHERE grp = 1;
SELECT predicate_locks();
SELECT count(*) FROM s JOIN t USING (grp);
SELECT predicate_locks();
COMMIT;
-- From the first row on, and for those who write
BEGIN ISOLATION LEVEL SERIALIZABLE;
DECLARE c CURSOR FOR SELECT * FROM t;
SELECT predicate_locks();
MOVE 1 FROM c;
SELECT predicate_locks();
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE s SET grp = 1;
SELECT predicate_locks();
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM (SELECT * FROM s FOR UPDATE) x;
SELECT predicate_locks();
ROLLBACK;
-- Not where nothing can go wrong
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM t;
SELECT predicate_locks();
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT count(*) FROM t;
SELECT predicate_locks();
COMMIT;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA serializable CASCADE;
