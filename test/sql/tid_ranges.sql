-- A range of TIDs is scanned cooperatively, and has the rows of PostgreSQL's own TID range scan.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA tid_ranges;
SET search_path = tid_ranges, public;
\set ECHO none
\i :helpers
\set ECHO all
-- What is disabled costs so much before 18 that everything would be compiled.
SET jit = off;

-- 4 rows a page, 8 pages a chunk: 250 pages, 32 chunks
SELECT make_table('t', 1000), make_table('s', 8);
ALTER TABLE s ADD COLUMN lower tid, ADD COLUMN upper tid;
UPDATE s SET lower = format('(%s,2)', id * 20)::tid, upper = format('(%s,3)', id * id * 4)::tid;
-- A query's scans, ranges marked
CREATE FUNCTION tid_scans(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT string_agg(concat(coalesce(n->>'Custom Plan Provider', n->>'Node Type'), ' ', n->>'Relation Name',
                                     CASE WHEN n ? 'TID Cond' THEN ' range' END), ', ' ORDER BY i)
            FROM jsonb_path_query(plan, 'strict $.** ? (@."Relation Name" != "")') WITH ORDINALITY AS p(n, i)
            WHERE n->>'Node Type' <> 'ModifyTable');
END $$;
-- Which policies have the same rows as the query has with cscan.enabled = off
CREATE FUNCTION check_query(query text, OUT scans text, OUT nrows bigint, OUT agreeing text) LANGUAGE plpgsql AS $$
BEGIN
    scans := tid_scans(query);
    SELECT max(d.nrows), string_agg(left(d.policy, 1), '' ORDER BY d.policy) FILTER (WHERE d.missing = 0 AND d.extra = 0)
    FROM differences(query) d INTO nrows, agreeing;
END $$;
-- What EXPLAIN ANALYZE says of each CScan of a range
CREATE FUNCTION counted(query text, OUT pages int, OUT chunks int, OUT unaccounted int) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT (n->>'CScan Pages')::int, (n->>'CScan Chunks')::int,
            (n->>'CScan Chunks')::int - (n->>'CScan Chunks Resident')::int - (n->>'CScan Chunks Loaded')::int -
            (n->>'CScan Chunks Self-Read')::int
        FROM jsonb_path_query(plan, 'strict $.** ? (@."CScan Pages" >= 0)') n;
END $$;

EXPLAIN (COSTS OFF) SELECT * FROM t WHERE ctid >= '(10,0)' AND ctid < '(100,3)' AND grp = 3;
-- Most of the table, too
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE ctid >= '(20,0)' AND ctid < '(200,3)';
-- From here on a TID range scan wherever there can be one
SET enable_seqscan = off;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM t x WHERE '(10,0)' < ctid;
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE ctid > ''(10,0)''');
SELECT q.n, c.* FROM (VALUES
    (1, 'ctid >= ''(100,2)'''),
    (2, 'ctid > ''(100,2)'''),
    (3, 'ctid < ''(100,2)'''),
    (4, 'ctid <= ''(100,2)'''),
    (5, 'ctid >= ''(10,2)'' AND ctid <= ''(200,3)'''),
    (6, 'ctid > ''(10,2)'' AND ctid < ''(200,3)'''),
    (7, '''(100,2)'' <= ctid'),
    (8, '''(100,2)'' > ctid'),
    (9, '''(10,4)'' < ctid AND ''(20,1)'' >= ctid'),
    (10, 'ctid > ''(10,4)'' AND ctid > ''(30,2)'' AND ctid < ''(200,1)'' AND ctid <= ''(150,4)'''),
    -- Edges within a page, and of the table
    (11, 'ctid >= ''(50,2)'' AND ctid <= ''(50,3)'''),
    (12, 'ctid > ''(50,2)'' AND ctid < ''(50,3)'''),
    (13, 'ctid >= ''(50,2)'' AND ctid <= ''(50,2)'''),
    (14, 'ctid > ''(7,4)'' AND ctid < ''(8,1)'''),
    (15, 'ctid >= ''(7,4)'' AND ctid <= ''(8,1)'''),
    (16, 'ctid >= ''(0,0)'''),
    (17, 'ctid > ''(0,1)'''),
    (18, 'ctid < ''(0,0)'''),
    (19, 'ctid <= ''(0,0)'''),
    (20, 'ctid <= ''(0,1)'''),
    (21, 'ctid < ''(249,4)'''),
    (22, 'ctid >= ''(249,4)'''),
    (23, 'ctid > ''(249,4)'''),
    (24, 'ctid >= ''(250,0)'''),
    (25, 'ctid > ''(1000,1)'' AND ctid < ''(2000,1)'''),
    (26, 'ctid < ''(4294967295,65535)'''),
    (27, 'ctid > ''(4294967295,65535)'''),
    (28, 'ctid >= ''(100,65535)'' AND ctid <= ''(101,0)'''),
    -- Nothing
    (29, 'ctid > ''(100,1)'' AND ctid < ''(50,1)'''),
    (30, 'ctid > ''(100,1)'' AND ctid <= ''(100,1)'''),
    (31, 'ctid > (SELECT NULL::tid)'),
    (32, 'ctid < NULL'),
    -- More than the range
    (33, 'ctid > ''(100,2)'' AND grp = 3 AND pad <> '''''),
    (34, 'ctid > (SELECT min(lower) FROM s) AND ctid <= (SELECT max(upper) FROM s)'),
    (35, 'ctid > ''(100,2)'' AND ctid <> ''(110,1)'' AND random() < 2'),
    (36, 'ctid > ''(200,2)'' OR ctid < ''(10,2)''')
) AS q(n, cond), check_query('SELECT ctid AS c, xmin AS x1, tableoid AS o, t FROM t WHERE ' || cond) c ORDER BY n;
-- Pages and chunks
SELECT q.n, c.* FROM (VALUES
    (1, 'ctid >= ''(8,0)'' AND ctid < ''(24,0)'''),
    (2, 'ctid >= ''(8,0)'' AND ctid <= ''(24,0)'''),
    (3, 'ctid >= ''(15,4)'' AND ctid < ''(17,0)'''),
    (4, 'ctid >= ''(8,1)'' AND ctid < ''(16,0)'''),
    (5, 'ctid >= ''(0,0)'''),
    (6, 'ctid >= ''(250,0)'''),
    (7, 'ctid < ''(0,0)'''),
    (8, 'ctid > ''(100,1)'' AND ctid < ''(50,1)''')
) AS q(n, cond), counted('SELECT * FROM t WHERE ' || cond) c ORDER BY n;

-- Deleted and moved rows
DELETE FROM t WHERE id % 7 = 0;
UPDATE t SET grp = grp + 100 WHERE id % 5 = 0;
UPDATE t SET pad = repeat('y', 3000) WHERE id % 100 = 1;
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT ctid AS c, * FROM t WHERE ctid >= ''(10,2)'' AND ctid <= ''(200,7)'''),
    (2, 'SELECT ctid AS c, * FROM t WHERE ctid >= ''(240,2)''')
) AS q(n, query), check_query(query) c ORDER BY n;
VACUUM FULL t;

-- Scans that may stop early
SELECT q.stop, c.* FROM (VALUES (1), (32), (33), (100), (1000)) AS q(stop),
    LATERAL (SELECT count(*), count(DISTINCT ctid), bool_and(ctid > '(20,2)') AS real
             FROM (SELECT ctid FROM t WHERE ctid > '(20,2)' LIMIT q.stop) x) c ORDER BY stop;
SELECT * FROM counted('SELECT * FROM t WHERE ctid > ''(20,2)'' LIMIT 1');
SELECT * FROM counted('SELECT * FROM t WHERE ctid >= ''(20,2)'' AND ctid < ''(22,0)'' LIMIT 100');
SELECT EXISTS (SELECT FROM t WHERE ctid > '(20,2)' AND grp = 4), EXISTS (SELECT FROM t WHERE ctid > '(20,2)' AND grp = 44) AS none;
SELECT min(ctid), max(ctid), count(*) FROM t WHERE ctid > '(20,2)' AND ctid < '(50,1)';

-- Cursors
CREATE TABLE fetched (id int);
CREATE FUNCTION all_fetched(OUT fetched bigint, OUT missing bigint, OUT extra bigint) LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM fetched),
           (SELECT count(*) FROM (SELECT id FROM t WHERE ctid > '(20,2)' EXCEPT ALL TABLE fetched) m),
           (SELECT count(*) FROM (TABLE fetched EXCEPT ALL SELECT id FROM t WHERE ctid > '(20,2)') e)
$$;
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t WHERE ctid > '(20,2)';
SELECT fetch_into('c', 1);
SELECT fetch_into('c', 100), (SELECT count(*) FROM t WHERE ctid < '(50,1)');
SELECT relid::regclass, ranges FROM cscan_scans;
SELECT fetch_into('c', 1000), fetch_into('c', 1);
SELECT * FROM all_fetched();
SELECT * FROM left_behind();
COMMIT;
TRUNCATE fetched;
BEGIN;
DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT * FROM t WHERE ctid > '(20,2)';
SELECT fetch_into('c', 100);
COMMIT;
SELECT fetch_into('c', 1000);
SELECT * FROM all_fetched();
CLOSE c;
SELECT scans('DECLARE c SCROLL CURSOR FOR SELECT * FROM t WHERE ctid > ''(20,2)''');

-- Prepared: one plan, another range each time
SET plan_cache_mode = force_generic_plan;
PREPARE q(tid, tid) AS SELECT id, grp FROM t WHERE ctid >= $1 AND ctid < $2;
SELECT q.n, c.* FROM (VALUES
    (1, 'EXECUTE q(''(0,0)'', ''(100,2)'')'),
    (2, 'EXECUTE q(''(100,2)'', ''(1000,0)'')'),
    (3, 'EXECUTE q(''(100,2)'', ''(100,4)'')'),
    (4, 'EXECUTE q(''(100,2)'', ''(10,4)'')'),
    (5, 'EXECUTE q(NULL, ''(10,4)'')'),
    (6, 'EXECUTE q(''(0,0)'', ''(100,2)'')')
) AS q(n, query), check_query(query) c ORDER BY n;
EXPLAIN (COSTS OFF) EXECUTE q('(0,0)', '(1,0)');
DEALLOCATE q;
RESET plan_cache_mode;

-- Rescans, with bounds that change and bounds that do not
SET enable_material = off;
SET enable_memoize = off;
SET enable_seqscan = on;
EXPLAIN (COSTS OFF) SELECT s.id, x.* FROM s, LATERAL (SELECT count(*), sum(t.id) FROM t WHERE t.ctid >= s.lower AND s.upper > t.ctid) x;
SET enable_seqscan = off;
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT s.id, x.* FROM s, LATERAL (SELECT count(*), sum(t.id) FROM t WHERE t.ctid >= s.lower AND t.ctid < s.upper) x'),
    (2, 'SELECT s.id, x.* FROM s, LATERAL (SELECT count(*), sum(t.id) FROM t WHERE t.ctid <= s.upper) x'),
    (3, 'SELECT s.id, (SELECT count(*) FROM (SELECT FROM t WHERE t.ctid > s.lower LIMIT 40) x) FROM s'),
    (4, 'SELECT s.id, (SELECT sum(t.id) FROM t WHERE t.ctid < (SELECT max(upper) FROM s y WHERE y.id < s.id)) FROM s'),
    (5, 'SELECT s.id, x.id AS y FROM s LEFT JOIN (SELECT * FROM t WHERE ctid > ''(150,2)'' OFFSET 0) x ON x.id % 8 = s.id'),
    (6, 'SELECT s.id FROM s WHERE EXISTS (SELECT FROM t WHERE t.ctid > s.lower AND t.grp = s.id OFFSET 0)')
) AS q(n, query), check_query(query) c ORDER BY n;
-- 16, 1, 1, 16 and 16 chunks; and three times one, each too small to be shared
SELECT * FROM counted('SELECT c, (SELECT count(*) FROM t WHERE ctid < c) FROM unnest(''{"(128,0)","(8,0)","(0,0)","(128,0)","(127,1)"}''::tid[]) c');
SELECT * FROM counted('SELECT c, (SELECT count(*) FROM t WHERE ctid < c) FROM unnest(''{"(8,0)","(4,0)","(0,0)"}''::tid[]) c');
RESET enable_material;
RESET enable_memoize;

-- Statements that write, and rows that are locked
BEGIN;
SELECT tid_scans('UPDATE t SET grp = 0 WHERE ctid > ''(20,2)'''), tid_scans('DELETE FROM t WHERE ctid > ''(20,2)'''),
    tid_scans('SELECT * FROM t WHERE ctid > ''(20,2)'' FOR UPDATE');
UPDATE t SET grp = -1 WHERE ctid >= '(20,2)' AND ctid < '(120,2)';
SELECT count(*), count(*) FILTER (WHERE grp = -1) AS updated FROM t;
SELECT count(*) FROM (SELECT * FROM t WHERE ctid < '(10,1)' FOR UPDATE) x;
DELETE FROM t WHERE ctid < '(50,1)';
SELECT count(*), count(*) FILTER (WHERE grp = -1) AS updated, min(ctid) FROM t;
INSERT INTO t SELECT id + 5000, grp, pad FROM t WHERE ctid > '(70,1)';
SELECT count(*), count(*) FILTER (WHERE id > 5000) AS inserted FROM t;
ROLLBACK;
SELECT count(*), sum(grp) FROM t;

-- What disables TID scans, and what disables CScans
SET enable_tidscan = off;
SET enable_seqscan = on;
SELECT tid_scans('SELECT * FROM t WHERE ctid > ''(20,2)''');
SELECT * FROM check_query('SELECT ctid AS c, * FROM t WHERE ctid > ''(20,2)''');
RESET enable_tidscan;
SET enable_seqscan = off;
SET cscan.enabled = off;
SELECT tid_scans('SELECT * FROM t WHERE ctid > ''(20,2)''');
RESET cscan.enabled;
SET cscan.min_table_size = '100MB';
SELECT tid_scans('SELECT * FROM t WHERE ctid > ''(20,2)''');
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE ctid > ''(20,2)''');
RESET cscan.min_table_size;
-- Single rows are looked up.
SELECT scans('SELECT * FROM t WHERE ctid = ''(20,2)''');
SELECT * FROM left_behind();

-- Serializable: one lock on the table
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM t WHERE ctid > '(20,2)' AND ctid < '(30,1)';
SELECT relation::regclass, locktype FROM pg_locks WHERE mode = 'SIReadLock' AND pid = pg_backend_pid();
COMMIT;

CREATE FUNCTION explain(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
        RETURN NEXT regexp_replace(regexp_replace(line, '(rows=\d+)\.00', '\1'), '(Chunks (Resident|Loaded)): \d+', '\1: N');
    END LOOP;
END $$;
SELECT explain('SELECT * FROM t WHERE ctid >= ''(8,1)'' AND ctid < ''(24,0)'' AND grp >= 0');

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA tid_ranges CASCADE;
