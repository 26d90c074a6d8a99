-- The cumulative statistics count a CScan as they count a sequential scan.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA statistics;
SET search_path = statistics, public;
\set ECHO none
\i :helpers
\set ECHO all

SELECT make_table('t', 400), make_table('s', 40);
CREATE TABLE empty (id int);
-- Scans and rows read by one statement, without and with CScan
CREATE FUNCTION counted(query text, OUT scans bigint, OUT nrows bigint) LANGUAGE plpgsql AS $$
DECLARE
    before record;
    after record;
    r record;
BEGIN
    SELECT sum(seq_scan) AS scans, sum(seq_tup_read) AS nrows FROM pg_stat_xact_user_tables WHERE relname IN ('t', 's', 'empty') INTO before;
    FOR r IN EXECUTE query LOOP END LOOP;
    SELECT sum(seq_scan) AS scans, sum(seq_tup_read) AS nrows FROM pg_stat_xact_user_tables WHERE relname IN ('t', 's', 'empty') INTO after;
    scans := after.scans - before.scans;
    nrows := after.nrows - before.nrows;
END $$;
CREATE FUNCTION compare_counts(query text, OUT scans bigint, OUT nrows bigint, OUT without record) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('cscan.enabled', 'off', true);
    without := counted(query);
    PERFORM set_config('cscan.enabled', 'on', true);
    SELECT * FROM counted(query) INTO scans, nrows;
END $$;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT query, (compare_counts(query)).*
FROM (VALUES
    (1, 'SELECT count(*) FROM t'),
    (2, 'SELECT * FROM t WHERE grp = 3'),
    (3, 'SELECT * FROM t WHERE false'),
    (4, 'SELECT * FROM t LIMIT 1'),
    (5, 'SELECT count(*) FROM (SELECT FROM t LIMIT 150) x'),
    (6, 'SELECT * FROM t LIMIT 0'),
    (7, 'SELECT * FROM empty'),
    (8, 'SELECT * FROM s WHERE id < 0 AND EXISTS (SELECT FROM t WHERE t.id < s.id OFFSET 0)'),
    (9, 'SELECT * FROM s JOIN t ON s.id = t.id WHERE s.id <= 5'),
    (10, 'SELECT * FROM s WHERE EXISTS (SELECT FROM t WHERE t.id = s.id OFFSET 0)'),
    (11, 'SELECT (SELECT count(*) FROM s WHERE s.id < t.grp) FROM t WHERE t.id <= 20'),
    (12, 'UPDATE t SET grp = grp RETURNING 1'),
    (13, 'SELECT * FROM s FOR UPDATE'),
    (14, 'DELETE FROM s WHERE false RETURNING 1')
) AS q(n, query) ORDER BY n;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;

-- As the view shows it afterwards
SELECT pg_stat_force_next_flush();
SELECT pg_stat_reset_single_table_counters('t'::regclass);
SELECT count(*), sum(id) FROM t;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_clear_snapshot();
SELECT seq_scan, seq_tup_read, idx_scan FROM pg_stat_user_tables WHERE relid = 't'::regclass;
SELECT count(*) FROM t WHERE grp = 1;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_clear_snapshot();
SELECT seq_scan, seq_tup_read FROM pg_stat_user_tables WHERE relid = 't'::regclass;
-- Blocks as well: each is asked for once, as without CScan. (Some versions read the visibility map, too.)
VACUUM t;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_reset_single_table_counters('t'::regclass);
SET cscan.enabled = off;
SELECT count(*) FROM t WHERE grp = 1;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_clear_snapshot();
SELECT heap_blks_read + heap_blks_hit AS without FROM pg_statio_user_tables WHERE relid = 't'::regclass \gset
SELECT pg_stat_reset_single_table_counters('t'::regclass);
SET cscan.enabled = on;
SELECT count(*) FROM t WHERE grp = 1;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_clear_snapshot();
SELECT heap_blks_read + heap_blks_hit - :without AS more FROM pg_statio_user_tables WHERE relid = 't'::regclass;

-- cscan's own: scans, and chunks of 32 rows. A table of one chunk is nothing to share.
SELECT make_table('big', 4000), make_table('chunk', 32);
CREATE FUNCTION changed(OUT policy text, OUT scans bigint, OUT chunks_delivered bigint, OUT loads boolean, OUT reads boolean, OUT evicts boolean)
RETURNS SETOF record LANGUAGE sql AS $$
    SELECT policy, scans, chunks_delivered, chunks_loaded > 0, blocks_read > 0, CASE policy WHEN 'relevance' THEN evictions > 0 END FROM cscan_stat ORDER BY policy
$$;
SELECT cscan_stat_reset();
SELECT policy, scans, chunks_delivered, chunks_loaded, blocks_read, evictions, self_reads, waits, wait_time,
    stats_reset BETWEEN statement_timestamp() - interval '1 day' AND statement_timestamp() AS stats_reset FROM cscan_stat ORDER BY policy;
SELECT count(*) FROM chunk;
SELECT * FROM changed();
SET cscan.policy = normal;
VACUUM FULL t;
SELECT count(*) FROM t;
SET cscan.policy = elevator;
VACUUM FULL t;
SELECT count(*) FROM t UNION ALL SELECT count(*) FROM t;
-- 1000 blocks through a pool of 128: something must go. (What else goes depends on how fast the disk is.)
SET cscan.policy = relevance;
SELECT count(*) FROM big;
SELECT * FROM changed();
SELECT cscan_stat_reset();
SELECT * FROM changed();

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA statistics CASCADE;
