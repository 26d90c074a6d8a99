-- A CScan that an index bitmap drives has the rows of a Bitmap Heap Scan, whatever the index, the bitmap and the policy.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
-- It is about scans; vectors.sql has the node that aggregates their rows.
SET cscan.vectors = off;
CREATE SCHEMA bitmaps;
SET search_path = bitmaps, public;
\set ECHO none
\i :helpers
\set ECHO all
-- What is disabled costs so much before 18 that everything would be compiled.
SET jit = off;

-- What is scanned, and the bitmaps that drive it, in the plan's order
CREATE FUNCTION bitmap_scans(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT string_agg(CASE WHEN (n->>'Parallel Aware')::bool THEN 'Parallel ' ELSE '' END ||
                              CASE n->>'Node Type' WHEN 'Bitmap Index Scan' THEN n->>'Index Name' WHEN 'BitmapAnd' THEN 'And'
                                   WHEN 'BitmapOr' THEN 'Or' ELSE coalesce(n->>'Custom Plan Provider', n->>'Node Type') END,
                              ' ' ORDER BY i)
            FROM jsonb_path_query(plan, 'strict $.** ? (@."Relation Name" != "" || @."Node Type" starts with "Bitmap")')
                 WITH ORDINALITY AS p(n, i)
            WHERE n->>'Node Type' <> 'ModifyTable');
END $$;
-- Which policies have the same rows as the query has with cscan.enabled = off
CREATE FUNCTION check_query(query text, OUT scans text, OUT nrows bigint, OUT agreeing text) LANGUAGE plpgsql AS $$
BEGIN
    scans := bitmap_scans(query);
    SELECT max(d.nrows), string_agg(left(d.policy, 1), '' ORDER BY d.policy) FILTER (WHERE d.missing = 0 AND d.extra = 0)
    FROM differences(query) d INTO nrows, agreeing;
END $$;
-- What EXPLAIN ANALYZE says of each CScan: pages, lossy ones, chunks, and those that did not come in one of the three ways
CREATE FUNCTION counted(query text, OUT pages int, OUT lossy int, OUT chunks int, OUT unaccounted int, OUT rechecked int)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT (n->>'CScan Pages')::int, (n->>'CScan Pages Lossy')::int, (n->>'CScan Chunks')::int,
            (n->>'CScan Chunks')::int - (n->>'CScan Chunks Resident')::int - (n->>'CScan Chunks Loaded')::int -
            (n->>'CScan Chunks Self-Read')::int, (n->>'Rows Removed by Index Recheck')::numeric::int
        FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "CScan")') n;
END $$;
-- How often a query registers
CREATE FUNCTION registered(query text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM cscan_stat_reset();
    EXECUTE 'CREATE TEMP TABLE got AS ' || query;
    DROP TABLE got;
    RETURN (SELECT sum(s.scans) FROM cscan_stat s);
END $$;

-- 500 pages, 63 chunks. id follows the table's order, grp and rnd do not.
SELECT make_table('t', 1000), make_table('s', 20);
ALTER TABLE t ADD COLUMN rnd int, ADD COLUMN tags int[], ADD COLUMN span int4range, ADD COLUMN word text;
UPDATE t SET rnd = id * 7919 % 1000, tags = ARRAY[grp, id % 7 + 10], span = int4range(id, id + 5), word = md5(id::text);
VACUUM FULL t;
CREATE INDEX t_id ON t (id);
CREATE INDEX t_grp ON t (grp);
CREATE INDEX t_rnd ON t (rnd);
ANALYZE t;

-- PostgreSQL's choice, and what is said of it
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id < 300 AND grp = 3;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id + 1 FROM t x WHERE id < 300 AND grp = 3;
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE id < 300');
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id = 300;
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE id = 300');
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE id > 300 ORDER BY id LIMIT 5;
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE id > 300 ORDER BY id LIMIT 5');
-- Few rows, strewn over the table
SELECT bitmap_scans('SELECT * FROM t WHERE rnd < 8');
SET enable_indexscan = off;
SELECT bitmap_scans('SELECT * FROM t WHERE rnd < 8');
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE rnd < 8');
SELECT bitmap_scans('SELECT * FROM s JOIN t ON t.id = s.id * 10 WHERE s.id < 3');
SELECT * FROM cscan_why_not('SELECT * FROM s JOIN t ON t.id = s.id * 10 WHERE s.id < 3') ORDER BY relation::text;
RESET enable_indexscan;
-- Where one page in five is wanted, PostgreSQL's price meets that of a CScan of all; storage that does not mind, about one in two.
SELECT q.percent, bitmap_scans('SELECT * FROM t WHERE rnd < ' || q.percent * 10) LIKE 'CScan%' AS cscan
FROM (VALUES (2), (5), (20), (40)) AS q(percent) ORDER BY q.percent;
SET random_page_cost = 1.1;
SELECT q.percent, bitmap_scans('SELECT * FROM t WHERE rnd < ' || q.percent * 10) LIKE 'CScan%' AS cscan
FROM (VALUES (2), (5), (20), (40)) AS q(percent) ORDER BY q.percent;
RESET random_page_cost;
-- An index that has all of it
VACUUM t;
SELECT bitmap_scans('SELECT count(*) FROM t WHERE id < 300');
VACUUM (FULL, ANALYZE) t;
-- Bitmaps that PostgreSQL has dropped, since an index scan costs it less
CREATE TABLE d AS SELECT i AS id, i * 7919 % 20000 AS rnd, i % 10 AS grp, repeat('x', 200) AS pad FROM generate_series(1, 20000) i;
CREATE INDEX d_id ON d (id);
CREATE INDEX d_brin ON d USING brin (id) WITH (pages_per_range = 4);
CREATE INDEX d_rnd ON d (rnd);
CREATE INDEX d_expr ON d ((id + grp));
CREATE INDEX d_expr_brin ON d USING brin ((id + grp)) WITH (pages_per_range = 4);
CREATE INDEX d_part ON d ((id - 1)) WHERE grp <> 3;
CREATE INDEX d_part_brin ON d USING brin (id) WITH (pages_per_range = 2) WHERE grp <> 3;
VACUUM ANALYZE d;
SELECT q.n, bitmap_scans(q.query) FROM (VALUES
    (1, 'SELECT * FROM d WHERE id < 3000'),
    (2, 'SELECT * FROM d WHERE id < 3000 AND rnd < 10000'),
    (3, 'SELECT * FROM d WHERE id < 3000 OR id > 19000'),
    (4, 'SELECT * FROM d WHERE id < 3000 ORDER BY grp'),
    (5, 'SELECT * FROM d JOIN s ON s.id = d.rnd WHERE d.id < 3000'),
    (6, 'SELECT * FROM d WHERE id + grp < 3000'),
    (7, 'SELECT * FROM d WHERE id - 1 < 3000 AND id < 3000 AND grp <> 3'),
    (8, 'SELECT * FROM d WHERE id < 3000 AND (id > 2000 AND grp <> 3 OR id < 200 AND grp <> 3)')
) AS q(n, query) ORDER BY q.n;
DROP TABLE d;
-- What disables bitmap scans, and what disables CScans
SET enable_bitmapscan = off;
SELECT bitmap_scans('SELECT * FROM t WHERE id < 300');
RESET enable_bitmapscan;
SET cscan.enabled = off;
SELECT bitmap_scans('SELECT * FROM t WHERE id < 300');
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE id < 300');
RESET cscan.enabled;
SET cscan.min_table_size = '100MB';
SELECT bitmap_scans('SELECT * FROM t WHERE id < 300');
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE id < 300');
RESET cscan.min_table_size;
SET cscan.page_cost = 10;
SELECT bitmap_scans('SELECT * FROM t WHERE id < 300');
RESET cscan.page_cost;

-- From here on a CScan wherever there can be a bitmap. (To find the start of a page run costs no more than to read on.)
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET cscan.page_cost = 0;
SET seq_page_cost = 10;
SET random_page_cost = 10;
SET cpu_tuple_cost = 0.0001;

-- B-trees: in the table's order and out of it, all of it, one chunk, one page, none
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT * FROM t WHERE id < 300'),
    (2, 'SELECT * FROM t WHERE id BETWEEN 100 AND 700 AND pad <> '''' AND grp > 4'),
    (3, 'SELECT * FROM t WHERE rnd < 300'),
    (4, 'SELECT * FROM t WHERE rnd > 900 AND id % 2 = 0'),
    (5, 'SELECT * FROM t WHERE grp = 3'),
    (6, 'SELECT * FROM t WHERE id > 0'),
    (7, 'SELECT * FROM t WHERE id BETWEEN 40 AND 50'),
    (8, 'SELECT * FROM t WHERE id = 17'),
    (9, 'SELECT * FROM t WHERE id = 1000'),
    (10, 'SELECT * FROM t WHERE id < 0'),
    (11, 'SELECT * FROM t WHERE id = ANY (''{1, 2, 3, 400, 500, 501, 1000, NULL}'')'),
    (12, 'SELECT * FROM t WHERE id < (SELECT NULL::int)'),
    (13, 'SELECT * FROM t WHERE id IS NULL'),
    (14, 'SELECT * FROM t WHERE id IS NOT NULL'),
    (15, 'SELECT ctid AS c, xmin AS x1, xmax AS x2, cmin AS c1, tableoid AS o, t FROM t WHERE id > 900'),
    (16, 'SELECT count(*) FROM t WHERE rnd < 500'),
    (17, 'SELECT * FROM t WHERE id < 200 AND random() < 2')
) AS q(n, query), check_query(query) c ORDER BY n;
-- Several at once
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT * FROM t WHERE id < 200 OR id > 900'),
    (2, 'SELECT * FROM t WHERE id < 200 OR rnd < 200 OR grp = 7'),
    (3, 'SELECT * FROM t WHERE id < 500 AND rnd < 300'),
    (4, 'SELECT * FROM t WHERE id < 600 AND rnd < 500 AND grp = 7'),
    (5, 'SELECT * FROM t WHERE (id < 400 OR id > 950) AND (rnd < 300 OR grp = 5)'),
    (6, 'SELECT * FROM t WHERE id < 100 OR (rnd < 500 AND grp = 5)'),
    (7, 'SELECT * FROM t WHERE id < 0 OR rnd < 0'),
    (8, 'SELECT * FROM t WHERE id < 100 AND id > 50 AND rnd IS NOT NULL OR grp = NULL')
) AS q(n, query), check_query(query) c ORDER BY n;
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT * FROM t WHERE id < 300'),
    (2, 'SELECT * FROM t WHERE id <= 4'),
    (3, 'SELECT * FROM t WHERE id < (SELECT 0)'),
    (4, 'SELECT * FROM t WHERE id < 200 OR id > 900'),
    (5, 'SELECT * FROM t WHERE id < 20 OR id > 980'),
    (6, 'SELECT * FROM t WHERE grp = 3')
) AS q(n, query), counted(query) c ORDER BY n;

-- Other indexes
DROP INDEX t_grp, t_rnd;
CREATE INDEX t_brin ON t USING brin (id) WITH (pages_per_range = 4);
CREATE INDEX t_hash ON t USING hash (grp);
CREATE INDEX t_gin ON t USING gin (tags);
CREATE INDEX t_gist ON t USING gist (span);
CREATE INDEX t_spgist ON t USING spgist (word);
CREATE INDEX t_partial ON t (rnd) WHERE grp < 5;
CREATE INDEX t_expr ON t ((id % 100));
ANALYZE t;
DROP INDEX t_id;
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT * FROM t WHERE id < 300'),
    (2, 'SELECT * FROM t WHERE id BETWEEN 501 AND 503'),
    (3, 'SELECT * FROM t WHERE id > 5000'),
    (4, 'SELECT * FROM t WHERE grp = 3'),
    (5, 'SELECT * FROM t WHERE tags @> ''{3, 11}'''),
    (6, 'SELECT * FROM t WHERE tags && ''{3, 11}'''),
    (7, 'SELECT * FROM t WHERE span && int4range(100, 400)'),
    (8, 'SELECT * FROM t WHERE span @> 500'),
    (9, 'SELECT * FROM t WHERE word < ''7'''),
    (10, 'SELECT * FROM t WHERE rnd < 500 AND grp < 5'),
    (11, 'SELECT * FROM t WHERE grp < 5 AND rnd > 900 AND id > 10'),
    (12, 'SELECT * FROM t WHERE id % 100 < 30'),
    (13, 'SELECT * FROM t WHERE tags @> ''{3, 11}'' AND span && int4range(100, 900)'),
    (14, 'SELECT * FROM t WHERE grp = 3 OR span && int4range(100, 200) OR id % 100 = 7'),
    (15, 'SELECT * FROM t WHERE id < 500 OR span << int4range(20, 30)'),
    (16, 'SELECT * FROM t WHERE tags @> ''{}'' AND id < 100')
) AS q(n, query), check_query(query) c ORDER BY n;
-- A BRIN bitmap has whole pages, 4 at a time.
SELECT * FROM counted('SELECT * FROM t WHERE id BETWEEN 501 AND 503');
SELECT * FROM counted('SELECT * FROM t WHERE id < 300');

-- BRIN, the table having grown since: what is not summarized is always read
INSERT INTO t SELECT i, i % 10, repeat('x', 150), i FROM generate_series(1001, 1100) i;
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT id, pad FROM t WHERE id < 100'),
    (2, 'SELECT id, pad FROM t WHERE id > 1050'),
    (3, 'SELECT id, pad FROM t WHERE id > 5000')
) AS q(n, query), check_query(query) c ORDER BY n;
SELECT pages = lossy AS all_lossy, pages, rechecked FROM counted('SELECT * FROM t WHERE id > 5000');
SELECT brin_summarize_new_values('t_brin') > 0 AS summarized;
SELECT pages, rechecked FROM counted('SELECT * FROM t WHERE id > 5000');
SELECT * FROM check_query('SELECT id, pad FROM t WHERE id > 1050');
-- The table is shorter than the index knows.
DELETE FROM t WHERE id > 800;
VACUUM t;
SELECT * FROM check_query('SELECT id, pad FROM t WHERE id > 700');
SELECT * FROM check_query('SELECT id, pad FROM t WHERE id > 900');
INSERT INTO t SELECT i, i % 10, repeat('x', 150), i FROM generate_series(801, 1000) i;
SELECT * FROM check_query('SELECT id, pad FROM t WHERE id > 700');
DROP INDEX t_brin;

-- Rows that have changed since: HOT chains, moved rows, deleted ones, line pointers in use again
CREATE TABLE changed (id int, n int, pad text) WITH (fillfactor = 50);
INSERT INTO changed SELECT i, 0, repeat('x', 150) FROM generate_series(1, 2000) i;
CREATE INDEX changed_id ON changed (id);
ANALYZE changed;
UPDATE changed SET n = n + 1 WHERE id % 3 = 0;
UPDATE changed SET n = n + 1 WHERE id % 9 = 0;
UPDATE changed SET n = n + 1 WHERE id % 9 = 0;
DELETE FROM changed WHERE id % 50 = 0;
UPDATE changed SET id = id + 10000 WHERE id % 20 = 1;
BEGIN;
UPDATE changed SET n = -1 WHERE id % 7 = 0;
DELETE FROM changed WHERE id % 7 = 1;
INSERT INTO changed SELECT id, -2, '' FROM generate_series(1, 100) id;
SELECT * FROM check_query('SELECT ctid AS c, * FROM changed WHERE id < 900');
ROLLBACK;
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT ctid AS c, * FROM changed WHERE id < 900'),
    (2, 'SELECT ctid AS c, * FROM changed WHERE id > 1500'),
    (3, 'SELECT ctid AS c, * FROM changed WHERE id < 500 AND n = 3')
) AS q(n, query), check_query(query) c ORDER BY n;
VACUUM changed;
INSERT INTO changed SELECT i, 5, repeat('y', 100) FROM generate_series(1, 300) i;
SELECT * FROM check_query('SELECT ctid AS c, * FROM changed WHERE id < 900');
-- A snapshot from before
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM changed WHERE id < 900;
MOVE 10 FROM c;
UPDATE changed SET n = n + 1 WHERE id < 900;
DELETE FROM changed WHERE id < 100;
MOVE ALL FROM c;
SELECT count(*) FROM changed WHERE id < 900;
ROLLBACK;
SELECT count(*) FROM changed WHERE id < 900;

-- More pages than work_mem has room for: conditions are checked again where tuples are not known
SELECT make_table('wide', 7200);
ALTER TABLE wide RENAME grp TO rnd;
UPDATE wide SET rnd = id * 7919 % 7200;
VACUUM FULL wide;
CREATE INDEX wide_rnd ON wide (rnd);
CREATE INDEX wide_id ON wide (id);
ANALYZE wide;
SELECT pg_relation_size('wide') / 8192 AS blocks;
SET work_mem = '64kB';
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT * FROM wide WHERE rnd < 3000'),
    (2, 'SELECT * FROM wide WHERE rnd < 5000 AND id < 6000'),
    (3, 'SELECT id FROM wide WHERE (rnd < 3000 OR id > 6000) AND id % 2 = 0')
) AS q(n, query), check_query(query) c ORDER BY n;
SELECT lossy > 0 AS lossy, lossy < pages AS not_all, unaccounted, rechecked > 0 AS rechecked
FROM counted('SELECT * FROM wide WHERE rnd < 3000');
-- Together they are all rows of the pages that are lossy, and those listed of the others.
CREATE FUNCTION visited(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN (plan #>> '{0,Plan,Actual Rows}')::numeric + (plan #>> '{0,Plan,Rows Removed by Index Recheck}')::numeric;
END $$;
SELECT visited('SELECT * FROM wide WHERE rnd < 3000') AS with_cscan \gset
SET cscan.enabled = off;
SELECT visited('SELECT * FROM wide WHERE rnd < 3000') = :with_cscan AS same_visited;
RESET cscan.enabled;
RESET work_mem;
SELECT * FROM counted('SELECT * FROM wide WHERE rnd < 3000');

-- More runs of pages than a scan can have ranges: gaps of more than 16 pages, 1024 and more of them
CREATE TABLE long (id int, pad text) WITH (fillfactor = 10);
ALTER TABLE long ALTER pad SET STORAGE PLAIN;
INSERT INTO long SELECT i, repeat('x', 800) FROM generate_series(1, 19800) i;
SELECT pg_relation_size('long') / 8192 AS blocks;
CREATE INDEX long_id ON long (id) WHERE id % 18 = 0;
ANALYZE long;
SELECT count(*), sum(id), count(DISTINCT id) FROM long WHERE id % 18 = 0;
SET cscan.policy = elevator;
SELECT count(*), sum(id), count(DISTINCT id) FROM long WHERE id % 18 = 0;
RESET cscan.policy;
SELECT * FROM counted('SELECT * FROM long WHERE id % 18 = 0');
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT id FROM long WHERE id % 18 = 0 AND id > 18000;
MOVE 50 FROM c;
SELECT (SELECT count(*) FROM unnest(ranges)), lower(ranges), upper(ranges) FROM cscan_scans;
DECLARE d NO SCROLL CURSOR FOR SELECT id FROM long WHERE id % 18 = 0;
MOVE 50 FROM d;
SELECT (SELECT count(*) FROM unnest(ranges)), lower(ranges), upper(ranges) FROM cscan_scans ORDER BY lower(ranges);
MOVE ALL FROM c;
MOVE ALL FROM d;
COMMIT;
DROP TABLE long;

-- Scans that may stop early: the head is read before anything is registered
CREATE INDEX t_id ON t (id);
CREATE INDEX t_rnd ON t (rnd);
ANALYZE t;
SELECT q.stop, c.* FROM (VALUES (1), (2), (32), (33), (100), (1000)) AS q(stop),
    LATERAL (SELECT count(*), count(DISTINCT id), bool_and(id < 500) AS real
             FROM (SELECT id FROM t WHERE id < 500 AND grp >= 0 LIMIT q.stop) x) c ORDER BY stop;
SELECT registered('SELECT * FROM t WHERE id < 500 LIMIT 10') AS one, registered('SELECT * FROM t WHERE id < 500 LIMIT 33') AS two,
    registered('SELECT * FROM t WHERE id < 16') AS one_chunk, registered('SELECT * FROM t WHERE id < (SELECT 0)') AS nothing;
SELECT * FROM counted('SELECT * FROM t WHERE id < 500 LIMIT 10');
SELECT * FROM counted('SELECT * FROM t WHERE id < 500 LIMIT 1000');
SELECT bitmap_scans('SELECT EXISTS (SELECT FROM t WHERE id < 500 AND grp = 4)'), EXISTS (SELECT FROM t WHERE id < 500 AND grp = 4),
    EXISTS (SELECT FROM t WHERE id < 500 AND grp = 14) AS none;

-- Cursors
CREATE TABLE fetched (id int);
CREATE FUNCTION all_fetched(OUT fetched bigint, OUT missing bigint, OUT extra bigint) LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM fetched),
           (SELECT count(*) FROM (SELECT id FROM t WHERE rnd < 600 AND id > 5 EXCEPT ALL TABLE fetched) m),
           (SELECT count(*) FROM (TABLE fetched EXCEPT ALL SELECT id FROM t WHERE rnd < 600 AND id > 5) e)
$$;
BEGIN;
SELECT bitmap_scans('DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t WHERE rnd < 600');
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t WHERE rnd < 600 AND id > 5;
SELECT fetch_into('c', 1);
SELECT fetch_into('c', 60);
SELECT count(*) FROM t WHERE rnd < 300;
SELECT policy, scans FROM cscan_scans s JOIN cscan_relations USING (relid);
SELECT fetch_into('c', 200), (SELECT count(*) FROM t WHERE id < 400);
SELECT fetch_into('c', 1000), fetch_into('c', 1);
SELECT * FROM all_fetched();
SELECT * FROM left_behind();
COMMIT;
TRUNCATE fetched;
BEGIN;
DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT * FROM t WHERE rnd < 600 AND id > 5;
SELECT fetch_into('c', 100);
COMMIT;
SELECT * FROM left_behind();
SELECT fetch_into('c', 1000);
SELECT * FROM all_fetched();
CLOSE c;
TRUNCATE fetched;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t WHERE rnd < 600;
SELECT fetch_into('c', 100);
FETCH BACKWARD 1 FROM c;
ROLLBACK;
SELECT * FROM left_behind();
SELECT bitmap_scans('DECLARE c SCROLL CURSOR FOR SELECT * FROM t WHERE rnd < 600');
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t WHERE rnd < 600 FOR UPDATE;
MOVE 3 FROM c;
UPDATE t SET grp = -1 WHERE CURRENT OF c;
MOVE ALL FROM c;
SELECT count(*) FILTER (WHERE grp = -1), count(*) FROM t WHERE rnd < 600;
ROLLBACK;

-- Prepared: one plan, another bitmap each time
SET plan_cache_mode = force_generic_plan;
PREPARE q(int, int) AS SELECT id, pad FROM t WHERE id >= $1 AND id < $2;
SELECT q.n, c.* FROM (VALUES
    (1, 'EXECUTE q(1, 300)'),
    (2, 'EXECUTE q(700, 2000)'),
    (3, 'EXECUTE q(30, 31)'),
    (4, 'EXECUTE q(31, 30)'),
    (5, 'EXECUTE q(NULL, 30)'),
    (6, 'EXECUTE q(1, 300)')
) AS q(n, query), check_query(query) c ORDER BY n;
EXPLAIN (COSTS OFF) EXECUTE q(1, 300);
SET cscan.enabled = off;
SELECT bitmap_scans('EXECUTE q(1, 300)');
RESET cscan.enabled;
DEALLOCATE q;
RESET plan_cache_mode;

-- Rescans, with bounds that change and bounds that do not
SET enable_material = off;
SET enable_memoize = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT s.id, x.n FROM s, LATERAL (SELECT count(*) AS n, sum(t.id) FROM t WHERE t.id < s.id * 50) x'),
    (2, 'SELECT s.id, x.n FROM s, LATERAL (SELECT count(*) AS n FROM t WHERE t.id BETWEEN 500 - s.id * 10 AND 510 - s.id * 9) x'),
    (3, 'SELECT s.id, (SELECT sum(t.id) FROM t WHERE t.rnd > s.id * 40 AND t.grp < 7) FROM s'),
    (4, 'SELECT s.id, x.id AS y FROM s, LATERAL (SELECT t.id FROM t WHERE t.id < s.id * 30 ORDER BY t.id DESC LIMIT 2) x'),
    (5, 'SELECT s.id, (SELECT count(*) FROM (SELECT FROM t WHERE t.id > s.id * 40 LIMIT 50) y) FROM s'),
    (6, 'SELECT s.id, (SELECT count(*) FROM t WHERE t.id < (SELECT max(y.id) * 30 FROM s y WHERE y.id < s.id)) FROM s'),
    (7, 'SELECT s.id, x.id AS y FROM s LEFT JOIN (SELECT * FROM t WHERE rnd < 400 OFFSET 0) x ON x.id % 20 = s.id'),
    (8, 'SELECT s.id FROM s WHERE EXISTS (SELECT FROM t WHERE t.id < s.id * 20 AND t.grp = s.id % 10 AND t.rnd > 500 OFFSET 0)'),
    (9, 'SELECT * FROM t WHERE id > (SELECT max(id) * 30 FROM s) AND grp = (SELECT 3)'),
    (10, 'SELECT s.id, (SELECT count(*) FROM t WHERE t.id = ANY (ARRAY[s.id, s.id * 2, s.id * 37, NULL])) FROM s')
) AS q(n, query), check_query(query) c ORDER BY n;
-- All passes together
SELECT * FROM counted('SELECT g, (SELECT count(*) FROM t WHERE id <= g) FROM unnest(''{400, 800, 1000, 16, 0}''::int[]) g');
RESET enable_material;
RESET enable_memoize;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- Statements that write, and rows that are locked
BEGIN;
SELECT bitmap_scans('UPDATE t SET grp = -grp WHERE id < 400'), bitmap_scans('DELETE FROM t WHERE rnd > 300 AND id > 20'),
    bitmap_scans('SELECT * FROM t WHERE rnd < 300 FOR UPDATE');
UPDATE t SET grp = -grp - 1 WHERE id < 400;
SELECT count(*), min(id), max(id) FROM t WHERE grp < 0;
UPDATE t SET id = id + 400 WHERE id < 400;
SELECT count(*), count(DISTINCT id) FROM t;
DELETE FROM t WHERE rnd > 300 AND id > 20;
SELECT count(*), max(rnd) FROM t;
INSERT INTO t SELECT * FROM t WHERE rnd < 200;
SELECT count(*), count(DISTINCT rnd) FROM t;
SELECT count(*) FROM (SELECT * FROM t WHERE rnd < 250 FOR UPDATE) x;
SELECT count(*) FROM t WHERE xmax = pg_current_xact_id()::xid;
ROLLBACK;
SELECT bitmap_scans('MERGE INTO t USING (SELECT id AS key, grp AS g FROM t WHERE id BETWEEN 300 AND 600) x ON t.id = x.key AND t.id < 500
    WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, grp) VALUES (key, 78)');
BEGIN;
MERGE INTO t USING (SELECT id AS key, grp AS g FROM t WHERE id BETWEEN 300 AND 600) x ON t.id = x.key AND t.id < 500
    WHEN MATCHED AND g = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET grp = 77
    WHEN NOT MATCHED THEN INSERT (id, grp) VALUES (key, 78);
SELECT count(*), count(*) FILTER (WHERE grp = 77) AS updated, count(*) FILTER (WHERE grp = 78) AS inserted FROM t;
ROLLBACK;
SELECT count(*), sum(grp) FROM t;
SELECT * FROM left_behind();

-- Row security
CREATE ROLE regress_cscan_reader;
GRANT USAGE ON SCHEMA bitmaps TO regress_cscan_reader;
GRANT ALL ON t, fetched TO regress_cscan_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY lower ON t USING (id < 400 AND grp <> 3);
CREATE FUNCTION leak(int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
    IF $1 >= 400 OR $1 % 10 = 3 THEN RAISE NOTICE 'leaked'; END IF;
    RETURN true;
END $$;
SET ROLE regress_cscan_reader;
EXPLAIN (COSTS OFF) SELECT * FROM t WHERE leak(id);
SELECT count(*), min(id), max(id) FROM t WHERE leak(id);
-- The current row of a cursor is one row, whatever else is asked of it.
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t WHERE grp = 5 FOR UPDATE;
MOVE 1 FROM c;
SELECT bitmap_scans('UPDATE t SET rnd = -5 WHERE CURRENT OF c');
UPDATE t SET rnd = -5 WHERE CURRENT OF c;
SELECT count(*) FROM t WHERE rnd = -5;
ROLLBACK;
RESET ROLE;
DROP POLICY lower ON t;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON t, fetched FROM regress_cscan_reader;
REVOKE ALL ON SCHEMA bitmaps FROM regress_cscan_reader;
DROP ROLE regress_cscan_reader;

-- Serializable: the locks are those of a bitmap heap scan, on the index and on rows, as long as there are not too many.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM (SELECT * FROM t WHERE id = ANY ('{3, 100, 200, 300, 400, 500, 600}') OFFSET 0) x;
CREATE TEMP TABLE locked ON COMMIT PRESERVE ROWS AS SELECT relation::regclass, locktype, page, tuple FROM pg_locks
    WHERE mode = 'SIReadLock' AND pid = pg_backend_pid();
COMMIT;
SET cscan.enabled = off;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM (SELECT * FROM t WHERE id = ANY ('{3, 100, 200, 300, 400, 500, 600}') OFFSET 0) x;
SELECT count(*) > 0 AS some FROM locked;
(SELECT relation::regclass, locktype, page, tuple FROM pg_locks
    WHERE mode = 'SIReadLock' AND pid = pg_backend_pid() AND relation IN ('t'::regclass, 't_id'::regclass) EXCEPT TABLE locked)
UNION ALL (TABLE locked EXCEPT SELECT relation::regclass, locktype, page, tuple FROM pg_locks
    WHERE mode = 'SIReadLock' AND pid = pg_backend_pid());
COMMIT;
RESET cscan.enabled;

-- As EXPLAIN ANALYZE shows it
CREATE FUNCTION explain(query text, options text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF' || options || ') ' || query LOOP
        CONTINUE WHEN line ~ 'Index Searches';
        -- An index also has entries of dead rows, for some time.
        RETURN NEXT regexp_replace(regexp_replace(regexp_replace(line, '(rows=\d+)\.00', '\1'), '(Chunks (Resident|Loaded)): \d+', '\1: N'),
            '(t_id \(actual rows)=\d+', '\1=N');
    END LOOP;
END $$;
SELECT explain('SELECT * FROM t WHERE id < 300 AND pad <> ''''');
SELECT explain('SELECT * FROM t WHERE id < 16');
SELECT line FROM explain('SELECT * FROM s WHERE id < 0 AND EXISTS (SELECT FROM t WHERE t.id < s.id OFFSET 0)') line WHERE line ~ 'CScan|Bitmap';
VACUUM FULL t;
CREATE INDEX t_brin ON t USING brin (id) WITH (pages_per_range = 4);
DROP INDEX t_id;
SELECT explain('SELECT * FROM t WHERE id < 300');
CREATE FUNCTION keys(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE query INTO plan;
    RETURN (SELECT string_agg(key, ', ' ORDER BY key) FROM jsonb_object_keys(plan #> '{0,Plan}') key
            WHERE key ~ 'CScan|Custom|Recheck|Cond|Filter');
END $$;
SELECT keys('EXPLAIN (FORMAT JSON) SELECT * FROM t WHERE id < 300'),
    keys('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM t WHERE id < 300') AS without_timing,
    keys('EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM t WHERE id < 300 AND grp = 3') AS all;
CREATE INDEX t_id ON t (id);
DROP INDEX t_brin;
ANALYZE t;

-- In parallel: the leader makes the bitmap, all read from it.
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET cpu_tuple_cost = 0.01;
ALTER TABLE s SET (parallel_workers = 0);
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM t WHERE id < 600 AND rnd < 800;
-- (one chunk, many, nothing; at once, from the head on, with a hash table of several processes)
SELECT 'SELECT q.n, c.* FROM (VALUES
    (1, ''SELECT grp, count(*), sum(id) AS ids FROM t WHERE id < 600 GROUP BY grp''),
    (2, ''SELECT id, pad FROM t WHERE rnd < 500''),
    (3, ''SELECT count(*), sum(id) AS ids FROM t WHERE id < 200 OR rnd > 700''),
    (4, ''SELECT count(*), sum(id) AS ids FROM t WHERE id < 15 + (SELECT 1)''),
    (5, ''SELECT count(*), sum(id) AS ids FROM t WHERE id < (SELECT 0)''),
    (6, ''SELECT count(*), sum(id) AS ids FROM (SELECT * FROM t WHERE id < 500 LIMIT 1000) x''),
    (7, ''SELECT count(*) AS n, sum(x.grp) AS g FROM t x JOIN wide y USING (id) WHERE x.id < 500 AND y.id < 4000''),
    (8, ''SELECT g, (SELECT count(*) FROM t WHERE id < (SELECT max(id) * 25 FROM s WHERE s.id <= g)) FROM generate_series(1, 8) g''),
    (9, ''SELECT * FROM (SELECT count(*), sum(id) AS ids FROM t WHERE id < 600) x RIGHT JOIN (VALUES (1), (2), (3)) v ON true''),
    (10, ''SELECT * FROM (SELECT count(*), sum(id) AS ids FROM t WHERE tags && ''''{3, 4, 5, 6, 11, 12}'''') x RIGHT JOIN (VALUES (1), (2)) v ON true''),
    (11, ''SELECT * FROM (SELECT count(*), sum(id) AS ids FROM t WHERE word < ''''7'''') x RIGHT JOIN (VALUES (1), (2)) v ON true''),
    (12, ''SELECT * FROM (SELECT count(*), sum(id) AS ids FROM t WHERE id = ANY (ARRAY(SELECT generate_series(1, 900, 3)))) x RIGHT JOIN (VALUES (1), (2)) v ON true''),
    (13, ''SELECT id, rnd FROM wide WHERE rnd < 3000''),
    (14, ''SELECT count(*), sum(id) AS ids FROM t WHERE id < 600 + extract(century FROM now() - now())::int'')
) AS q(n, query), check_query(query) c ORDER BY n' AS queries \gset
SET enable_material = off;
SET work_mem = '64kB';
:queries;
-- What the leader cannot know beforehand goes into no parallel CScan, but into PostgreSQL's own where that costs less.
SET seq_page_cost = 0;
SET random_page_cost = 0;
SELECT * FROM cscan_why_not('SELECT count(*) FROM t WHERE id < 15 + (SELECT 1)');
SELECT * FROM cscan_why_not('SELECT count(*) FROM t WHERE id < 600 + extract(century FROM now() - now())::int');
SELECT * FROM cscan_why_not('SELECT count(*) FROM t WHERE id < 600 OR rnd < (SELECT 1)');
SELECT * FROM cscan_why_not('SELECT count(*) FROM t WHERE id < 600');
SET seq_page_cost = 10;
SET random_page_cost = 10;
SELECT registered('SELECT count(*) FROM t WHERE id < 600') AS once, registered('SELECT count(*) FROM t WHERE id < 14') AS few;
SELECT * FROM counted('SELECT count(*) FROM t WHERE id <= 600');
SELECT * FROM counted('SELECT * FROM (SELECT count(*) FROM t WHERE id <= 600) x RIGHT JOIN (VALUES (1), (2), (3)) v ON true');
SELECT pages, lossy, unaccounted FROM counted('SELECT count(*) FROM t WHERE id < 14');
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM t WHERE rnd < 600 LIMIT 1) x;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM t WHERE rnd < 600 LIMIT 300) x;
-- Workers' shares
SELECT count(*) FROM explain('SELECT count(*) FROM t WHERE id < 600', ', VERBOSE') line WHERE line ~ '^ +CScan Worker [01]: resident=\d+ loaded=\d+ self-read=\d+$';
SET parallel_leader_participation = off;
CREATE FUNCTION shares(query text, OUT workers int, OUT of_workers int, OUT of_all int, OUT removed int) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    plan := jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "CScan")');
    of_all := plan->'CScan Chunks';
    removed := (plan->>'Rows Removed by Index Recheck')::numeric;
    SELECT count(*), sum((w->>'CScan Chunks Resident')::int + (w->>'CScan Chunks Loaded')::int + (w->>'CScan Chunks Self-Read')::int)
    FROM jsonb_array_elements(plan->'CScan Workers') w INTO workers, of_workers;
END $$;
SELECT workers, of_workers = of_all AS all_chunks, of_all, removed FROM shares('SELECT count(*) FROM t WHERE id < 600');
-- (more pages than there is room for: some tuples on them are not wanted)
SELECT workers, of_workers = of_all AS all_chunks, of_all > 0 AS some, removed > 0 AS removed FROM shares('SELECT count(*) FROM wide WHERE rnd < 3000');
:queries;
-- Planned, but there are no workers
SET max_parallel_workers = 0;
SELECT * FROM check_query('SELECT id, pad FROM t WHERE rnd < 500');
RESET parallel_leader_participation;
SELECT * FROM check_query('SELECT id, pad FROM t WHERE rnd < 500');
SELECT * FROM check_query('SELECT g, (SELECT count(*) FROM t WHERE id < (SELECT max(id) * 25 FROM s WHERE s.id <= g)) FROM generate_series(1, 8) g');
SELECT * FROM counted('SELECT count(*) FROM t WHERE id <= 600');
-- Nor shared memory for them: others have it all.
SET enable_seqscan = on;
CREATE TABLE few AS SELECT 1 AS x;
SET enable_indexscan = off;
SELECT 'SELECT ' || string_agg('(SELECT count(*) FROM few WHERE x < ' || g || ')', ' + ' ORDER BY g) AS many FROM generate_series(1, 500) g \gset
\set ECHO none
:many + (SELECT count(*) FROM t WHERE id < 600) AS sum;
\set ECHO all
SELECT * FROM left_behind();

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA bitmaps CASCADE;
