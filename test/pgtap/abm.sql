-- The Active Buffer Manager as others see it.
-- Committed before, as of a table that its own transaction made the ABM gets no lock; and not in memory.
CREATE TABLE t (id int, pad text) WITH (fillfactor = 10);
INSERT INTO t SELECT i, repeat('x', 700) FROM generate_series(1, 100) i;
VACUUM FULL t;

BEGIN;
SELECT plan(11);

SELECT is((SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan abm'), 1::bigint, 'there is one for all databases');
SELECT is((SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan abm' AND datid IS NULL AND xact_start IS NULL
    AND backend_xmin IS NULL AND query = ''), 1::bigint, 'it is in no database, and in no transaction');
SELECT is_empty($$ SELECT * FROM pg_locks WHERE pid = (SELECT pid FROM pg_stat_activity WHERE backend_type = 'cscan abm') $$,
    'it holds no lock when nothing is scanned');

-- Looked at in the same moment, and if need be again: a scan that takes no page for 250 ms counts as stalled, and nothing is held for it.
CREATE TEMP TABLE locks (LIKE pg_locks);
CREATE FUNCTION move_and_look(n int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    c refcursor := 'c';
BEGIN
    FOR i IN 1 .. 20 LOOP
        OPEN c NO SCROLL FOR SELECT * FROM t;
        MOVE FORWARD n FROM c;
        INSERT INTO locks SELECT l.* FROM pg_locks l JOIN pg_stat_activity USING (pid) WHERE backend_type = 'cscan abm';
        IF FOUND THEN
            EXIT;
        END IF;
        CLOSE c;
    END LOOP;
    RETURN (SELECT chunks_loaded FROM cscan_relations);
END $$;
-- It took its lock before it loaded the chunks that were fetched.
SELECT cmp_ok(move_and_look(20), '>=', 2::bigint, 'it has loaded chunks');
SELECT set_eq('SELECT locktype, mode, granted FROM locks',
    $$ VALUES ('relation', 'AccessShareLock', true), ('object', 'AccessShareLock', true) $$,
    'and the weakest lock on the table, and on its database');
SELECT results_eq($$ SELECT relation, database FROM locks WHERE locktype = 'relation' $$,
    $$ SELECT 't'::regclass::oid, (SELECT oid FROM pg_database WHERE datname = current_database()) $$, 'that is t''s');
CLOSE c;
SELECT is_empty($$ SELECT * FROM pg_locks WHERE pid = (SELECT pid FROM pg_stat_activity WHERE backend_type = 'cscan abm') $$,
    'and lets go when the scan ends');
SELECT lives_ok('LOCK TABLE t IN ACCESS EXCLUSIVE MODE NOWAIT', 'so that the table can be locked at once');

-- Now it cannot have a lock, and no other scan can read the table: there is nobody to share with.
SELECT cscan_stat_reset();
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t;
MOVE 20 FROM c;
SELECT is((SELECT count(*) FROM cscan_scans), 0::bigint, 'a scan of a table that its transaction has locked is not registered');
SELECT is_empty('SELECT * FROM cscan_chunks', 'nor has it chunks');
SELECT is_empty('SELECT * FROM cscan_stat WHERE scans > 0', 'nor does it count');
CLOSE c;

SELECT * FROM finish();
ROLLBACK;
DROP TABLE t;
