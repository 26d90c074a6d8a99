-- The views, seen from a session that has scans open, and from another role.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA views;
SET search_path = views, public;
\set ECHO none
\i :helpers
\set ECHO all

SELECT make_table('t', 1000), make_table('u', 400, 'UNLOGGED');
-- Nothing of them is in shared buffers: of what is there a scan may take several chunks at once, if another process had the scheduler's lock.
VACUUM FULL t, u;
SELECT pg_backend_pid() AS me, (SELECT oid FROM pg_database WHERE datname = current_database()) AS db \gset
SELECT * FROM cscan_scans;
SELECT * FROM cscan_relations;
SELECT * FROM cscan_chunks;
SELECT policy FROM cscan_stat ORDER BY policy;

-- normal goes in block order. The first chunk of a cursor comes before it registers; 250 rows are 7 chunks and a part.
SET cscan.policy = normal;
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t;
SELECT * FROM cscan_scans;
MOVE 32 FROM c;
SELECT * FROM cscan_scans;
-- After 250 ms without a page the scan is taken for stalled, and does not count. A busy machine may be slower than that, or have the next
-- chunk later. Then this begins again.
CREATE TEMP TABLE scans (LIKE cscan_scans);
CREATE TEMP TABLE chunks (LIKE cscan_chunks);
CREATE FUNCTION move_and_look(c refcursor, n int, rows_of_page int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    page timestamptz;
BEGIN
    FOR attempt IN 1..100 LOOP
        CLOSE c;
        EXECUTE format('DECLARE %I NO SCROLL CURSOR FOR SELECT * FROM t', c);
        MOVE FORWARD n - rows_of_page FROM c;
        page := clock_timestamp();
        MOVE FORWARD rows_of_page FROM c;
        LOOP
            DELETE FROM scans;
            DELETE FROM chunks;
            INSERT INTO scans SELECT * FROM cscan_scans;
            INSERT INTO chunks SELECT * FROM cscan_chunks;
            EXIT WHEN clock_timestamp() > page + interval '200 ms';
            IF EXISTS (SELECT FROM scans WHERE chunks_available > 0) THEN RETURN; END IF;
        END LOOP;
    END LOOP;
END $$;
SELECT move_and_look('c', 250, 4);
SELECT pid = :me AS pid, datid = :db AS datid, relid::regclass, policy, chunks_total, chunks_done, chunks_available > 0 AS available, blocked_since, idle
FROM scans;
SELECT datid = :db AS datid, relid::regclass, scans, chunks_delivered, chunks_loaded >= chunks_delivered AS loaded, blocks_read >= 0 AS read
FROM cscan_relations;
-- The chunk in use is there, and is not wanted any more. What is there is there once, and lies within the table.
SELECT chunk, state, interested, users FROM chunks WHERE users > 0;
SELECT count(*) > 0 AS some, count(*) = count(DISTINCT chunk) AS once, bool_and(datid = :db AND relid = 't'::regclass AND chunk BETWEEN 0 AND 31
    AND state IN ('ready', 'loading') AND interested BETWEEN 0 AND 1 AND starved BETWEEN 0 AND interested AND users BETWEEN 0 AND 1) AS well_formed
FROM chunks;
-- Another table, and another scan of the same one
SET LOCAL cscan.policy = relevance;
DECLARE d NO SCROLL CURSOR FOR SELECT * FROM t;
DECLARE e NO SCROLL CURSOR FOR SELECT * FROM u;
MOVE 40 FROM d;
MOVE 40 FROM e;
SELECT relid::regclass, policy, chunks_total, chunks_done FROM cscan_scans ORDER BY relid::regclass::text, policy;
SELECT relid::regclass, scans FROM cscan_relations ORDER BY relid::regclass::text;
-- The scheduler's lock is taken anew for each scan that is shown. A view that copied all at once would take it 100 times or a few more.
CREATE FUNCTION locks_of(query text, times int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before bigint := (SELECT locks FROM cscan_stat_scheduler);
BEGIN
    FOR i IN 1..times LOOP EXECUTE query; END LOOP;
    RETURN (SELECT locks FROM cscan_stat_scheduler) - before;
END $$;
SELECT locks_of('SELECT FROM cscan_scans', 100) >= (SELECT 100 * count(*) FROM cscan_scans) AS one_by_one;
-- Nobody fetches from them.
DO $$ BEGIN FOR i IN 1..1000 LOOP EXIT WHEN (SELECT bool_and(idle) FROM cscan_scans); PERFORM pg_sleep(0.01); END LOOP; END $$;
SELECT count(*), bool_and(idle) AS idle FROM cscan_scans;
CLOSE d;
SELECT relid::regclass, scans FROM cscan_relations ORDER BY relid::regclass::text;
MOVE ALL FROM c;
SELECT relid::regclass, policy FROM cscan_scans;
SELECT relid::regclass, scans FROM cscan_relations;
COMMIT;
SELECT * FROM left_behind();

-- Other roles see the scans of roles that they are members of, those who may read all statistics see all.
CREATE ROLE regress_cscan_one;
CREATE ROLE regress_cscan_two;
CREATE ROLE regress_cscan_stats;
GRANT pg_read_all_stats TO regress_cscan_stats;
GRANT USAGE ON SCHEMA views TO regress_cscan_one, regress_cscan_two, regress_cscan_stats;
GRANT SELECT ON t, u TO regress_cscan_one, regress_cscan_two;
CREATE FUNCTION visible() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(relid::regclass::text, ' ' ORDER BY relid::regclass::text) FROM public.cscan_scans
$$;
BEGIN;
SET LOCAL ROLE regress_cscan_one;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t;
MOVE 40 FROM c;
SELECT visible() AS one;
SET LOCAL ROLE regress_cscan_two;
SELECT visible() AS two;
DECLARE d NO SCROLL CURSOR FOR SELECT * FROM u;
MOVE 40 FROM d;
SELECT visible() AS two;
SET LOCAL ROLE regress_cscan_stats;
SELECT visible() AS stats;
SET LOCAL ROLE regress_cscan_one;
SELECT visible() AS one;
-- Of tables and chunks one sees those that one scans oneself.
SELECT relid::regclass, scans FROM cscan_relations ORDER BY relid::regclass::text;
SELECT count(*) >= 0 AS may FROM cscan_chunks;
SELECT count(*) FROM cscan_stat;
SELECT count(*), bool_and(locks > 0) AS locks FROM cscan_stat_scheduler;
RESET ROLE;
SELECT visible() AS superuser;
GRANT regress_cscan_two TO regress_cscan_one;
SET LOCAL ROLE regress_cscan_one;
SELECT visible() AS one;
COMMIT;
SET ROLE regress_cscan_stats;
SELECT cscan_stat_reset();
RESET ROLE;
GRANT EXECUTE ON FUNCTION cscan_stat_reset() TO regress_cscan_stats;
SET ROLE regress_cscan_stats;
SELECT cscan_stat_reset();
RESET ROLE;
REVOKE EXECUTE ON FUNCTION cscan_stat_reset() FROM regress_cscan_stats;
SET client_min_messages = warning;
DROP OWNED BY regress_cscan_one, regress_cscan_two, regress_cscan_stats;
DROP ROLE regress_cscan_one, regress_cscan_two, regress_cscan_stats;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA views CASCADE;
