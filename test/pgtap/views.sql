-- The contracts of the views: columns, their order and types; what each view says of a scan.
-- Committed before, as of a table that its own transaction made the ABM gets no lock; and not in memory.
CREATE TABLE t (id int, pad text) WITH (fillfactor = 10);
INSERT INTO t SELECT i, repeat('x', 700) FROM generate_series(1, 100) i;
VACUUM FULL t;

BEGIN;
SELECT plan(21);

CREATE FUNCTION columns_of(rel regclass) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = rel AND attnum > 0 AND NOT attisdropped
$$;
SELECT is(columns_of('cscan_scans'), 'pid integer, datid oid, relid oid, policy text, tables integer, chunks_total integer, chunks_done integer, '
    'chunks_available integer, blocked_since timestamp with time zone, idle boolean, ranges int8multirange', 'cscan_scans');
SELECT is(columns_of('cscan_chunks'), 'datid oid, relid oid, chunk integer, state text, interested integer, starved integer, users integer',
    'cscan_chunks');
SELECT is(columns_of('cscan_relations'), 'datid oid, relid oid, scans integer, chunks_delivered bigint, chunks_loaded bigint, blocks_read bigint',
    'cscan_relations');
SELECT is(columns_of('cscan_stat'), 'policy text, scans bigint, chunks_delivered bigint, chunks_loaded bigint, blocks_read bigint, '
    'evictions bigint, self_reads bigint, waits bigint, wait_time double precision, wakeups bigint, stats_reset timestamp with time zone', 'cscan_stat');
SELECT is(columns_of('cscan_stat_scheduler'), 'locks bigint, lock_waits bigint, lock_time double precision, max_lock_time double precision, '
    'stats_reset timestamp with time zone, buffer_share double precision, others_taken bigint, scans_lost bigint', 'cscan_stat_scheduler');

-- A scan that stops in its third chunk; the first of a cursor is read before it registers.
SELECT is(pg_relation_size('t'), 100 * 8192::bigint, 'a table of 100 blocks, 13 chunks');
SET LOCAL cscan.policy = normal;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t;
SELECT is_empty('SELECT * FROM cscan_scans', 'nothing is registered before the first fetch');
-- Looked at in the same moment: after 250 ms without a page the scan is taken for stalled, and does not count.
CREATE TEMP TABLE chunks (LIKE cscan_chunks);
CREATE FUNCTION move_and_look(n int) RETURNS SETOF cscan_scans LANGUAGE plpgsql AS $$
DECLARE
    c refcursor := 'c';
BEGIN
    MOVE FORWARD n FROM c;
    INSERT INTO chunks SELECT * FROM cscan_chunks;
    RETURN QUERY SELECT * FROM cscan_scans;
END $$;
CREATE TEMP TABLE scans AS SELECT * FROM move_and_look(20);
SELECT results_eq('SELECT pid, datid, relid, policy, chunks_total, chunks_done, blocked_since, ranges FROM scans',
    $$ SELECT pg_backend_pid(), (SELECT oid FROM pg_database WHERE datname = current_database()), 't'::regclass::oid, 'normal'::text,
       13, 2, NULL::timestamptz, '{[8,100)}'::int8multirange $$, 'cscan_scans shows the scan');
SELECT cmp_ok((SELECT chunks_available FROM scans), '>=', 1, 'at least the chunk in use is available');
SELECT results_eq('SELECT datid, relid, scans, chunks_delivered FROM cscan_relations',
    $$ SELECT (SELECT oid FROM pg_database WHERE datname = current_database()), 't'::regclass::oid, 1, 2::bigint $$,
    'cscan_relations shows the table');
SELECT cmp_ok((SELECT chunks_loaded FROM cscan_relations), '>=', 2::bigint, 'and the chunks loaded for it');
SELECT results_eq('SELECT relid, chunk, state, interested, starved, users FROM chunks WHERE chunk = 2',
    $$ SELECT 't'::regclass::oid, 2, 'ready'::text, 0, 0, 1 $$, 'cscan_chunks shows the chunk in use');
SELECT is_empty($$ SELECT * FROM chunks WHERE state NOT IN ('ready', 'loading', 'failed') OR relid <> 't'::regclass
    OR chunk NOT BETWEEN 0 AND 12 $$, 'and no other chunks than of this table');
CLOSE c;
SELECT is_empty('SELECT 1 FROM cscan_scans UNION ALL SELECT 1 FROM cscan_relations UNION ALL SELECT 1 FROM cscan_chunks',
    'it is gone at once when the cursor is closed');

-- Counters
SELECT results_eq('SELECT policy FROM cscan_stat ORDER BY 1', $$ SELECT unnest(enumvals) FROM pg_settings WHERE name = 'cscan.policy' ORDER BY 1 $$,
    'cscan_stat has a row for each policy');
SELECT cscan_stat_reset();
SET LOCAL cscan.policy = attach;
SELECT count(*) FROM t;
SELECT results_eq('SELECT policy, scans, chunks_delivered FROM cscan_stat WHERE scans <> 0 OR chunks_delivered <> 0',
    $$ VALUES ('attach'::text, 1::bigint, 13::bigint) $$, 'a scan counts for its policy');
SELECT cmp_ok((SELECT min(stats_reset) FROM cscan_stat), '>=', now(), 'since the reset');
SELECT cmp_ok((SELECT wakeups FROM cscan_stat WHERE policy = 'attach'), '<=', (SELECT chunks_loaded FROM cscan_stat WHERE policy = 'attach'),
    'a scan alone is woken once for each chunk that is loaded, at most');
SELECT ok((SELECT count(*) = 1 AND bool_and(locks >= 13 AND lock_waits BETWEEN 0 AND locks AND max_lock_time > 0 AND lock_time >= max_lock_time
    AND stats_reset = (SELECT min(stats_reset) FROM cscan_stat)) FROM cscan_stat_scheduler), 'the lock was taken for each of them, and it has taken time');
CREATE TEMP TABLE scheduler AS SELECT * FROM cscan_stat_scheduler;
SELECT cscan_stat_reset();
SELECT is_empty('SELECT * FROM cscan_stat WHERE scans <> 0 OR chunks_delivered <> 0 OR chunks_loaded <> 0 OR blocks_read <> 0
    OR evictions <> 0 OR self_reads <> 0 OR waits <> 0 OR wait_time <> 0 OR wakeups <> 0', 'which sets all to 0');
-- The ABM goes on taking its lock.
SELECT ok((SELECT s.stats_reset > t.stats_reset AND s.locks < t.locks FROM cscan_stat_scheduler s, scheduler t), 'the lock''s, too');

SELECT * FROM finish();
ROLLBACK;
DROP TABLE t;
