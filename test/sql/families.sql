-- The CScans of an Append are one scan of all of its tables.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA families;
SET search_path = families, public;
\set ECHO none
\i :helpers
\set ECHO all
-- What is disabled costs so much before 18 that everything would be compiled.
SET jit = off;
SET cscan.min_table_size = 0;
SET max_parallel_workers_per_gather = 0;

SELECT make_table('src', 1200);
CREATE TABLE f (id int, grp int, pad text) PARTITION BY RANGE (id);
CREATE TABLE f_1 PARTITION OF f FOR VALUES FROM (0) TO (300) WITH (fillfactor = 10);
CREATE TABLE f_2 PARTITION OF f FOR VALUES FROM (300) TO (900) PARTITION BY LIST (grp);
CREATE TABLE f_2_even PARTITION OF f_2 FOR VALUES IN (0, 2, 4, 6, 8) WITH (fillfactor = 10);
CREATE TABLE f_2_odd PARTITION OF f_2 DEFAULT WITH (fillfactor = 10);
CREATE TABLE f_3 PARTITION OF f DEFAULT WITH (fillfactor = 10);
CREATE TABLE f_empty PARTITION OF f FOR VALUES FROM (5000) TO (6000);
CREATE TABLE f_small PARTITION OF f FOR VALUES FROM (6000) TO (7000);
INSERT INTO f TABLE src;
INSERT INTO f SELECT i, i % 10, 'small' FROM generate_series(6000, 6004) i;
ANALYZE f;

-- What a statement registers: scans, and tables in all of them.
CREATE FUNCTION registered(query text, OUT scans bigint, OUT nrows bigint) LANGUAGE plpgsql AS $$
DECLARE
    before bigint := (SELECT sum(s.scans) FROM cscan_stat s);
BEGIN
    EXECUTE 'SELECT count(*) FROM (' || query || ') q' INTO nrows;
    scans := (SELECT sum(s.scans) FROM cscan_stat s) - before;
END $$;

-- Chunks of each table that EXPLAIN ANALYZE shows, and whether each of them came to the scan.
CREATE FUNCTION chunks(query text) RETURNS TABLE (relation text, nrows numeric, chunks int, complete boolean) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT n->>'Relation Name', round((n->>'Actual Rows')::numeric * (n->>'Actual Loops')::numeric), (n->>'CScan Chunks')::int,
            (n->>'CScan Chunks')::int = (n->>'CScan Chunks Resident')::int + (n->>'CScan Chunks Loaded')::int + (n->>'CScan Chunks Self-Read')::int
        FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "CScan")') n ORDER BY 1;
END $$;

-- All of it is one scan.
SELECT * FROM registered('SELECT * FROM f');
SELECT * FROM chunks('SELECT count(*) FROM f');
-- Not so where only the first rows are wanted, or rows are locked: there the order stays PostgreSQL's.
SELECT * FROM registered('SELECT * FROM f LIMIT 2000');
SELECT count(*), count(*) FILTER (WHERE part <> before) AS changes_of_partition
    FROM (SELECT part, lag(part, 1, part) OVER (ORDER BY n) AS before
          FROM (SELECT tableoid AS part, row_number() OVER () AS n FROM (SELECT tableoid FROM f LIMIT 2000) w) x) y;
BEGIN;
SELECT sum(scans) AS before FROM cscan_stat \gset
SELECT count(*) FROM (SELECT * FROM f FOR UPDATE) x;
UPDATE f SET pad = pad;
DELETE FROM f;
SELECT sum(scans) - :before AS scans FROM cscan_stat;
ROLLBACK;
-- An INSERT takes its rows as they come.
BEGIN;
SELECT sum(scans) AS before FROM cscan_stat \gset
CREATE TABLE copy AS SELECT * FROM f;
INSERT INTO copy SELECT * FROM f;
SELECT sum(scans) - :before AS scans FROM cscan_stat;
SELECT count(*), count(DISTINCT id) FROM copy;
ROLLBACK;
-- In order, where that was asked for.
CREATE INDEX ON f (id);
SELECT bool_and(id > before) FROM (SELECT id, lag(id, 1, 0) OVER () AS before FROM (SELECT id FROM f WHERE id < 300 ORDER BY id) x) y;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT scans('SELECT id FROM f WHERE id < 900 ORDER BY id');
RESET enable_seqscan;
RESET enable_bitmapscan;

-- Pruned when the statement is planned, when it begins, and while it runs
SELECT * FROM chunks('SELECT count(*) FROM f WHERE id < 900');
PREPARE below(int) AS SELECT count(*), sum(id) FROM f WHERE id < $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE below(300);
EXECUTE below(900);
EXECUTE below(10000);
SELECT * FROM chunks('EXECUTE below(900)');
RESET plan_cache_mode;
SELECT * FROM chunks('SELECT count(*) FROM f WHERE id < (SELECT 900)');

-- Each member may have conditions of its own.
CREATE INDEX ON f_2_even USING brin (id) WITH (pages_per_range = 1);
SET enable_indexscan = off;
SELECT * FROM chunks('SELECT count(*) FROM f WHERE id BETWEEN 100 AND 400') WHERE chunks > 0;
RESET enable_indexscan;

-- Under each policy
CREATE TABLE query (n int, query text);
INSERT INTO query VALUES
    (1, 'SELECT * FROM f'),
    (2, 'SELECT * FROM f WHERE id BETWEEN 50 AND 1000'),
    (3, 'SELECT grp, count(*), sum(id) FROM f GROUP BY grp'),
    (4, 'SELECT a.id FROM f a JOIN f b ON a.id = b.id + 1'),
    (5, 'SELECT * FROM src UNION ALL SELECT * FROM f_1 UNION ALL SELECT * FROM src'),
    (6, 'SELECT x, (SELECT count(*) FROM f WHERE id < x * 300) FROM generate_series(1, 5) x'),
    (7, 'SELECT x, y.* FROM generate_series(1, 3) x, LATERAL (SELECT sum(id + x) FROM f WHERE id > x * 200 AND id < 900) y'),
    (8, 'SELECT f.id FROM f JOIN (VALUES (10), (400), (1100)) v(i) ON f.id BETWEEN v.i AND v.i + 5'),
    (9, 'SELECT count(*) FROM f_2 UNION ALL SELECT count(*) FROM f UNION ALL SELECT count(*) FROM f_2_odd'),
    (10, 'SELECT tableoid::regclass::text AS part, ctid::text AS tid, id FROM f WHERE grp IN (1, 2)');
SELECT n, cscans, nrows, missing, extra, string_agg(policy, ' ' ORDER BY policy) AS policies
    FROM query, differences(query) GROUP BY 1, 2, 3, 4, 5 ORDER BY n;
-- Nested loops begin their inner side again and again: what is pruned changes.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SET enable_material = off;
SELECT n, cscans, nrows, missing, extra, count(*) AS policies FROM query, differences(query) WHERE n IN (4, 7, 8) GROUP BY 1, 2, 3, 4, 5 ORDER BY n;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_memoize;
RESET enable_material;
SELECT * FROM left_behind();

-- The first member may be left out as small, in parallel plans too, and a Gather may begin again and again.
CREATE TABLE h (id int, grp int, pad text) PARTITION BY RANGE (id);
CREATE TABLE h_0 PARTITION OF h FOR VALUES FROM (0) TO (10) WITH (fillfactor = 10);
CREATE TABLE h_1 PARTITION OF h FOR VALUES FROM (10) TO (600) WITH (fillfactor = 10);
CREATE TABLE h_2 PARTITION OF h FOR VALUES FROM (600) TO (2000) WITH (fillfactor = 10);
INSERT INTO h TABLE src;
CREATE INDEX ON h USING hash (grp);
ANALYZE h;
CREATE TABLE small_first (n int, query text);
INSERT INTO small_first VALUES
    (1, 'SELECT * FROM h'),
    (2, 'SELECT g.x, (SELECT count(*) + g.x * 0 FROM h WHERE id >= 10 AND grp >= 0 HAVING count(*) > g.x * 0) FROM (VALUES (100), (200), (300)) g(x)'),
    (3, 'SELECT g.x, c.* FROM (VALUES (1), (2), (3), (4)) g(x), LATERAL (SELECT count(*), sum(id) FROM '
        '(SELECT id FROM src WHERE id > x UNION ALL SELECT id FROM src WHERE id > x - 100 UNION ALL SELECT id FROM h_1 WHERE id > x '
        'UNION ALL SELECT id FROM h_2 WHERE id > x) u) c'),
    (4, 'SELECT g.x, c.* FROM (VALUES (5), (400), (1100), (5), (900)) g(x), LATERAL (SELECT count(*), sum(id) FROM h WHERE id < g.x) c');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SELECT n, nrows, missing, extra, count(*) AS policies FROM small_first, differences(query) GROUP BY 1, 2, 3, 4 ORDER BY n;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT n, nrows, missing, extra, count(*) AS policies FROM small_first, differences(query) GROUP BY 1, 2, 3, 4 ORDER BY n;
SET min_parallel_table_scan_size = 0;
SELECT n, nrows, missing, extra, count(*) AS policies FROM small_first, differences(query) GROUP BY 1, 2, 3, 4 ORDER BY n;
SET enable_parallel_append = off;
SELECT n, nrows, missing, extra, count(*) AS policies FROM small_first, differences(query) GROUP BY 1, 2, 3, 4 ORDER BY n;
RESET enable_parallel_append;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
SET max_parallel_workers_per_gather = 0;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;
-- A bitmap is made once: a hash index walks through an array of keys as its bitmap is made.
SET cscan.page_cost = 0;
SET enable_seqscan = off;
SET enable_indexscan = off;
SELECT n, nrows, missing, extra, count(*) AS policies
    FROM (VALUES (1, 'SELECT id FROM h WHERE grp IN (3, 4)'), (2, 'SELECT id FROM h WHERE grp IN (3, 4) AND id < 600')) q(n, query), differences(query)
    GROUP BY 1, 2, 3, 4 ORDER BY n;
-- What a UNION ALL begins with may be a header, and comes first: in each pass, beside a family, and whatever its arms are.
CREATE FUNCTION places(query text) RETURNS TABLE (kind text, first bigint, last bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'SELECT kind, min(n), max(n) FROM (SELECT row_number() OVER () AS n, kind FROM (' || query || ') u(kind)) r GROUP BY 1 ORDER BY 2';
END $$;
SELECT * FROM chunks('SELECT ''id'' UNION ALL SELECT id::text FROM h_1 UNION ALL SELECT id::text FROM h_2') WHERE chunks > 0;
SELECT * FROM places('SELECT ''header'' UNION ALL SELECT CASE WHEN id > 0 THEN ''row'' END FROM h_1 UNION ALL SELECT CASE WHEN id > 0 THEN ''row'' END FROM h_2 UNION ALL SELECT ''footer''');
SELECT * FROM places('SELECT ''header'' UNION ALL SELECT count(*)::text || '' in all'' FROM h_1 UNION ALL SELECT CASE WHEN id > 0 THEN ''row'' END FROM h_1 UNION ALL SELECT CASE WHEN id > 0 THEN ''row'' END FROM h_2');
SELECT x, y.kind, count(*) FROM generate_series(1, 3) x, LATERAL (SELECT kind, row_number() OVER () AS n FROM
    (SELECT 'header ' || x UNION ALL SELECT 'row' FROM h_1 WHERE id > x * 0 UNION ALL SELECT 'row' FROM h_2 WHERE id > x * 0) u(kind)) y
    WHERE y.n = 1 GROUP BY 1, 2 ORDER BY 1;
-- One table twice is no family, or not all of one: the workers have what they need all the same.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET parallel_leader_participation = off;
CREATE TABLE twice (n int, query text);
INSERT INTO twice VALUES
    (1, 'SELECT id, count(*) FROM (SELECT id FROM h_1 WHERE grp = 3 UNION ALL SELECT id FROM h_1 WHERE grp = 4) u GROUP BY id'),
    (2, 'SELECT id, count(*) FROM (SELECT id FROM h_1 WHERE grp = 3 UNION ALL SELECT id FROM h_2 WHERE grp = 4 UNION ALL SELECT id FROM h_1 WHERE grp = 5) u GROUP BY id');
EXPLAIN (COSTS OFF) SELECT id, count(*) FROM (SELECT id FROM h_1 WHERE grp = 3 UNION ALL SELECT id FROM h_1 WHERE grp = 4) u GROUP BY id;
SELECT n, nrows, missing, extra, count(*) AS policies FROM twice, differences(query) GROUP BY 1, 2, 3, 4 ORDER BY n;
SET synchronize_seqscans = off;
SELECT n, nrows, missing, extra, count(*) AS policies FROM twice, differences(query) GROUP BY 1, 2, 3, 4 ORDER BY n;
RESET synchronize_seqscans;
RESET parallel_leader_participation;
RESET min_parallel_index_scan_size;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
SET max_parallel_workers_per_gather = 0;
RESET cscan.page_cost;
RESET enable_seqscan;
RESET enable_indexscan;
-- What a loop has alone in one pass and in a family in the next, it gives back.
SELECT * FROM left_behind();

-- Bitmaps are made of what run-time pruning leaves, below a Gather, too; PostgreSQL's own scans make as many.
CREATE TABLE b (id int, grp int, pad text) PARTITION BY RANGE (id);
CREATE TABLE b_1 PARTITION OF b FOR VALUES FROM (0) TO (400) WITH (fillfactor = 10);
CREATE TABLE b_2 PARTITION OF b FOR VALUES FROM (400) TO (800) WITH (fillfactor = 10);
CREATE TABLE b_3 PARTITION OF b FOR VALUES FROM (800) TO (1201) WITH (fillfactor = 10);
INSERT INTO b TABLE src;
CREATE INDEX ON b (grp);
VACUUM ANALYZE b;
CREATE FUNCTION plan_of(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN plan;
END $$;
CREATE FUNCTION bitmaps(query text) RETURNS TABLE (workers int, cscans int, bitmaps bigint, nrows numeric) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb := plan_of(query);
BEGIN
    RETURN QUERY SELECT (jsonb_path_query_first(plan, 'strict $.**."Workers Planned"'))::int,
        (SELECT count(*)::int FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "CScan")')),
        (SELECT sum((n->>'Actual Loops')::numeric)::bigint FROM jsonb_path_query(plan, 'strict $.** ? (@."Node Type" == "Bitmap Index Scan")') n),
        (SELECT sum(round((n->>'Actual Rows')::numeric * (n->>'Actual Loops')::numeric))
         FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "CScan")') n);
END $$;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET cscan.page_cost = 0;
SELECT * FROM bitmaps('SELECT count(*) FROM b WHERE grp < 5 AND id < (SELECT 300 OFFSET 0)');
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT cscans, bitmaps, workers FROM bitmaps('SELECT count(*) FROM b WHERE grp < 5 AND id < (SELECT 300 OFFSET 0)');
SELECT cscans, bitmaps, workers FROM bitmaps('SELECT count(*) FROM b WHERE grp < 5 AND id < (SELECT 2000 OFFSET 0)');
SELECT n, nrows, missing, extra, count(*) AS policies FROM
    (VALUES (1, 'SELECT id FROM b WHERE grp < 5 AND id < (SELECT 300 OFFSET 0)'), (2, 'SELECT id FROM b WHERE grp < 5 AND id < (SELECT 700 OFFSET 0)'),
            (3, 'SELECT id FROM b WHERE grp < 5 AND id > (SELECT 900 OFFSET 0)'), (4, 'SELECT id FROM b WHERE grp < 5 AND id > (SELECT 9000 OFFSET 0)')) v(n, query),
    differences(query) GROUP BY 1, 2, 3, 4 ORDER BY n;
-- From 17 on a subquery's own parameter is known to each process only once it has begun: what it prunes is taken back.
CREATE VIEW barrier WITH (security_barrier) AS SELECT id FROM b WHERE id < (SELECT 300 OFFSET 0);
RESET enable_seqscan;
SET enable_bitmapscan = off;
SELECT sum(chunks_delivered) AS before FROM cscan_stat \gset
SELECT count(*) FROM barrier;
SELECT sum(chunks_delivered) - :before = (pg_relation_size('b_1') / 8192 + 7) / 8 AS only_of_one FROM cscan_stat;
SET enable_seqscan = off;
RESET enable_bitmapscan;
RESET max_parallel_workers_per_gather;
-- All of a family's bitmaps have the memory of one hash table. What does not fit is known as runs of pages.
CREATE TABLE wide (id int, grp int, pad text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE wide_%s PARTITION OF wide FOR VALUES FROM (%s) TO (%s) WITH (fillfactor = 10)', i, i * 640, (i + 1) * 640) FROM generate_series(0, 7) i \gexec
INSERT INTO wide SELECT i, i % 10, repeat('x', 1000) FROM generate_series(0, 8 * 640 - 1) i;
CREATE INDEX ON wide (grp);
VACUUM ANALYZE wide;
SET work_mem = '64kB';
SET hash_mem_multiplier = 2;
SELECT count(*), min((n->>'CScan Pages')::int) AS pages, sum((n->>'CScan Pages Lossy')::int) AS lossy
    FROM plan_of('SELECT count(*) FROM wide WHERE grp < 8') p, jsonb_path_query(p, 'strict $.** ? (@."Custom Plan Provider" == "CScan")') n;
SET hash_mem_multiplier = 1;
SELECT count(*), min((n->>'CScan Pages')::int) AS pages, sum((n->>'CScan Pages Lossy')::int) > 0 AS lossy
    FROM plan_of('SELECT count(*) FROM wide WHERE grp < 8') p, jsonb_path_query(p, 'strict $.** ? (@."Custom Plan Provider" == "CScan")') n;
SELECT nrows, missing, extra, count(*) AS policies FROM differences('SELECT id FROM wide WHERE grp < 8') GROUP BY 1, 2, 3;
RESET work_mem;
RESET hash_mem_multiplier;
RESET enable_seqscan;
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET cscan.page_cost;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;

-- Its tables come and go meanwhile.
BEGIN;
CREATE TABLE f_new (id int, grp int, pad text) WITH (fillfactor = 10);
INSERT INTO f_new SELECT i, i % 10, repeat('x', 150) FROM generate_series(8000, 8199) i;
ALTER TABLE f ATTACH PARTITION f_new FOR VALUES FROM (8000) TO (9000);
SELECT count(*), sum(id) FROM f;
ALTER TABLE f DETACH PARTITION f_1;
SELECT count(*), sum(id) FROM f;
TRUNCATE f_3;
SELECT count(*), sum(id) FROM f;
ALTER TABLE f ALTER COLUMN pad TYPE varchar;
SELECT count(*), sum(id) FROM f;
ROLLBACK;
SELECT count(*), sum(id) FROM f;
-- A dropped column, and another order of columns
CREATE TABLE f_other (pad text, gone int, grp int, id int) WITH (fillfactor = 10);
ALTER TABLE f_other DROP COLUMN gone;
INSERT INTO f_other SELECT repeat('y', 150), i % 10, i FROM generate_series(9000, 9099) i;
ALTER TABLE f ATTACH PARTITION f_other FOR VALUES FROM (9000) TO (9100);
SELECT count(*), sum(id), sum(length(pad)) FROM f WHERE grp < 5;
-- An inheritance parent has rows of its own.
CREATE TABLE p (id int) WITH (fillfactor = 10);
CREATE TABLE p_1 (x text) INHERITS (p) WITH (fillfactor = 10);
CREATE TABLE p_2 (y text) INHERITS (p) WITH (fillfactor = 10);
INSERT INTO p SELECT generate_series(1, 20000);
INSERT INTO p_1 SELECT i FROM generate_series(20001, 40000) i;
INSERT INTO p_2 SELECT i FROM generate_series(40001, 60000) i;
ANALYZE p, p_1, p_2;
SELECT * FROM registered('SELECT * FROM p');
SELECT count(*), count(DISTINCT id), sum(id) FROM p;

-- In parallel all processes read for it, whatever PostgreSQL would give to one of them alone.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM f;
SELECT n, cscans, nrows, missing, extra, count(*) AS policies FROM query, differences(query) GROUP BY 1, 2, 3, 4, 5 ORDER BY n;
SET min_parallel_table_scan_size = 0;
SELECT n, cscans, nrows, missing, extra, count(*) AS policies FROM query, differences(query) GROUP BY 1, 2, 3, 4, 5 ORDER BY n;
SELECT * FROM registered('SELECT * FROM f');
-- One that is large enough, beside an empty or a small one, is announced, too.
EXPLAIN (COSTS OFF) SELECT count(*) FROM h WHERE id < 300;
SELECT * FROM registered('SELECT * FROM h WHERE id < 300');
SET parallel_leader_participation = off;
SELECT n, cscans, nrows, missing, extra, count(*) AS policies FROM query, differences(query) WHERE n IN (1, 3) GROUP BY 1, 2, 3, 4, 5 ORDER BY n;
SET enable_parallel_append = off;
SELECT n, cscans, nrows, missing, extra, count(*) AS policies FROM query, differences(query) WHERE n IN (1, 3) GROUP BY 1, 2, 3, 4, 5 ORDER BY n;
RESET parallel_leader_participation;
-- No worker is to be had.
SET max_parallel_workers = 0;
SELECT n, cscans, nrows, missing, extra, count(*) AS policies FROM query, differences(query) WHERE n IN (1, 3) GROUP BY 1, 2, 3, 4, 5 ORDER BY n;
SELECT * FROM left_behind();

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA families CASCADE;
