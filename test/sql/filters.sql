-- Conditions of a CScan that hands out rows, asked of whole batches on vectors.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA filters;
SET search_path = filters, public;
\i :helpers
CREATE TABLE t (id int, grp int, n numeric(10,2), d date, c char(1), v text, f float8, big bigint, b bytea, name name) WITH (fillfactor = 30);
INSERT INTO t SELECT i, i % 10, i / 100.0, date '2020-01-01' + i / 100, substr('ABC', 1 + i % 3, 1), 'value ' || i % 7, i % 4, i * 1000000007::bigint,
    decode(repeat('ab', i % 9), 'hex'), 'name' || i % 1500 FROM generate_series(1, 5000) i;
INSERT INTO t (id) VALUES (NULL), (6000);
CREATE TABLE r (LIKE t) WITH (fillfactor = 30);
INSERT INTO r TABLE t;
VACUUM (FREEZE, ANALYZE) t, r;
CREATE INDEX r_columns ON r USING cscan_columns (id, grp, n, d, c, v, f, big, b, name) WITH (row_group_blocks = 64);
VACUUM (FREEZE) r;
-- The heap has the last word on a part of it.
UPDATE r SET grp = grp WHERE id BETWEEN 1000 AND 1100;

-- What is asked of batches
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE d < date '2020-02-01' AND v LIKE '%3' AND grp IN (1, 2, NULL) AND id + 1 > 5 AND big < 0;
CREATE FUNCTION vector_filters(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Vector Filter' THEN
            RETURN NEXT regexp_replace(trim(line), '\$0|\(InitPlan \w+\)\.col1', 'its value');
        END IF;
    END LOOP;
END $$;
SELECT vector_filters('SELECT id FROM t WHERE 10 / id > 5 AND d < date ''2020-02-01''');
SELECT vector_filters('SELECT id FROM t WHERE length(v) > 3');
SELECT vector_filters('SELECT id FROM t WHERE id < 10 AND random() < 2');
SELECT vector_filters('SELECT id FROM t WHERE id < 10 AND (grp = 3 OR grp IN (SELECT grp FROM r WHERE id < 3))');
SELECT vector_filters('SELECT id FROM t WHERE id < (SELECT max(id) FROM r)');
SELECT vector_filters('SELECT count(*) FROM t WHERE id < 10');
SELECT vector_filters('SELECT t FROM t WHERE t IS NOT NULL AND id < 10');
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM r WHERE v LIKE '%3' AND n < 5 AND f > 2;
RESET enable_seqscan;
SET cscan.vectors = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE id < 10;
RESET cscan.vectors;
-- Rows that are removed count, whoever has removed them.
CREATE FUNCTION removed(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN format('%s, %s removed', (plan->0->'Plan'->>'Actual Rows')::numeric::int, plan->0->'Plan'->>'Rows Removed by Filter');
END $$;
SELECT removed('SELECT * FROM t WHERE grp = 3 AND f = 1');

-- The same rows from pages, from column runs, and without vectors
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    got text;
    wanted text;
    n text;
BEGIN
    FOR i IN 1 .. 3 LOOP
        PERFORM set_config('cscan.vectors', CASE WHEN i = 1 THEN 'off' ELSE 'on' END, true);
        PERFORM set_config('enable_seqscan', CASE WHEN i = 3 THEN 'off' ELSE 'on' END, true);
        EXECUTE 'SELECT count(*), string_agg(x::text, '' '' ORDER BY x::text) FROM (' ||
            replace(query, 'TABLE', CASE WHEN i = 3 THEN 'r' ELSE 't' END) || ' OFFSET 0) x' INTO n, got;
        wanted := coalesce(wanted, got, 'null');
        IF coalesce(got, 'null') <> wanted THEN
            RETURN format('%s: %s, and not %s', i, left(got, 1000), left(wanted, 1000));
        END IF;
    END LOOP;
    RETURN n || ' rows';
END $$;
SELECT same('SELECT * FROM TABLE');
SELECT same('SELECT * FROM TABLE WHERE grp = 3');
SELECT same('SELECT * FROM TABLE WHERE id % 100 = 7 AND grp = 7');
SELECT same('SELECT name, b, n FROM TABLE WHERE big BETWEEN 3000000021 AND 40000000280');
SELECT same('SELECT name, b, n, v, d, f, c FROM TABLE WHERE grp <> 3');
SELECT same('SELECT v, b FROM TABLE WHERE n < 10.005 OR d = ''2020-01-20'' OR grp IS NULL');
SELECT same('SELECT id FROM TABLE WHERE v LIKE ''%3'' AND c IN (''A'', ''B'') AND f > 1 AND n <> 10');
SELECT same('SELECT id + 1, n * 2 FROM TABLE WHERE id * 2 > 100 AND grp = 1 AND b > ''\xabab''');
SELECT same('SELECT 1 FROM TABLE WHERE id < 0');
SELECT same('SELECT FROM TABLE WHERE grp < 5');
SELECT same('SELECT id FROM TABLE WHERE grp = 3 AND v IN (SELECT v FROM t WHERE id < 3)');
SELECT same('SELECT id FROM TABLE x WHERE grp = 3 AND EXISTS (SELECT FROM t WHERE t.id = x.id + 1 AND c = ''B'')');
SELECT same('SELECT a.id, b.n FROM TABLE a JOIN TABLE b ON a.id = b.id WHERE a.grp = 3 AND b.c = ''A'' AND b.n < 20');
SELECT same('SELECT x, y.id FROM generate_series(100, 500, 100) x, LATERAL (SELECT id FROM TABLE WHERE id = x AND grp < 5 OFFSET 0) y');
SELECT same('SELECT x, y.n FROM generate_series(0, 3) x LEFT JOIN LATERAL (SELECT n FROM TABLE WHERE id < 100 AND grp < x LIMIT 3) y ON true');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT same('SELECT a.id FROM TABLE a, TABLE b WHERE a.id < 30 AND b.id < 40 AND a.id = b.id AND b.grp < a.grp + 1');
RESET enable_hashjoin;
RESET enable_mergejoin;

-- Of a bitmap whose pages are lossy
CREATE INDEX ON t (id);
CREATE INDEX ON r (id);
SET enable_indexscan = off;
SET work_mem = '64kB';
SET enable_seqscan = off;
SET cscan.columns = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE id BETWEEN 100 AND 4000 AND grp = 3;
SELECT same('SELECT * FROM TABLE WHERE id BETWEEN 100 AND 4000 AND grp = 3');
SELECT same('SELECT * FROM TABLE WHERE (id < 100 OR id > 4900) AND n IS NOT NULL AND c = ''A''');
RESET enable_seqscan;
RESET enable_indexscan;
RESET cscan.columns;
RESET work_mem;

-- Whoever stops early sees no error of a later row.
SELECT id FROM t WHERE grp >= 0 AND 10 / (id - 7) > -100 AND id IS NOT NULL LIMIT 3;
SELECT id FROM t WHERE grp >= 0 AND 2147483640 + id > 0 LIMIT 3;
SELECT id FROM t WHERE 10 / (id - 2) > -100 AND grp >= 0;
SELECT EXISTS (SELECT FROM t WHERE id + 2147483640 > 0 AND grp >= 0);
-- A value is computed once some row needs it, and not before.
SET plan_cache_mode = force_generic_plan;
PREPARE p(int) AS SELECT id FROM t WHERE id < 0 AND grp < 10 / $1;
EXECUTE p(0);
PREPARE q(int) AS SELECT id FROM t WHERE id < 9 AND grp < 10 / $1;
EXECUTE q(0);
EXECUTE q(3);
PREPARE s(numeric, timestamp) AS SELECT id FROM t WHERE n < $1 AND d >= $2 ORDER BY id LIMIT 2;
EXECUTE s(30.005, '2020-01-03 12:00');
EXECUTE s('NaN', '-infinity');
EXECUTE s(1e40, NULL);
RESET plan_cache_mode;

-- Nor for rows that a bitmap's page has beside those that it means.
CREATE TABLE ranges (id int, grp int, n numeric(10,2)) WITH (fillfactor = 30);
INSERT INTO ranges SELECT i, i % 10, i / 100.0 FROM generate_series(1, 5000) i;
CREATE INDEX ON ranges USING brin (id) WITH (pages_per_range = 2);
VACUUM ANALYZE ranges;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM ranges WHERE id = 13 AND grp = 7;
SELECT id FROM ranges WHERE id = 13 AND grp = 7 AND n < (SELECT max(10 / (id - id)) FROM ranges);
SELECT id FROM ranges WHERE id = 13 AND grp = 3 AND n < (SELECT max(10 / (id - id)) FROM ranges);
SELECT id FROM ranges WHERE id BETWEEN 10 AND 20 AND grp > 5 AND n < (SELECT max(n) FROM ranges);

-- Index conditions are checked again on vectors, if all of them have some.
CREATE TABLE lossy (id int, grp int, n numeric(10,2), v text, d date) WITH (fillfactor = 30);
INSERT INTO lossy SELECT i, nullif(i % 10, 9), i / 100.0, 'value ' || i % 7, date '2020-01-01' + i / 100 FROM generate_series(1, 5000) i;
CREATE INDEX ON lossy USING brin (id, grp, n, d, v) WITH (pages_per_range = 8);
VACUUM (FREEZE, ANALYZE) lossy;
UPDATE lossy SET grp = grp + 1 WHERE id % 3 = 0;
CREATE FUNCTION rechecked(conditions text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
    n text;
    got text;
    wanted text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM lossy WHERE ' || conditions LOOP
        IF line ~ 'Cond|Filter|Removed' AND line !~ 'Index Cond' THEN
            RETURN NEXT regexp_replace(trim(line), '\$0|\(InitPlan \w+\)\.col1|\(SubPlan \w+\)', 'its value');
        END IF;
    END LOOP;
    FOR i IN 1 .. 3 LOOP
        PERFORM set_config('cscan.vectors', CASE WHEN i = 1 THEN 'off' ELSE 'on' END, true);
        IF i < 3 THEN
            EXECUTE 'SELECT count(*), string_agg(x::text, '' '' ORDER BY id) FROM (SELECT * FROM lossy WHERE ' || conditions ||
                ' OFFSET 0) x' INTO n, got;
        ELSE
            EXECUTE 'SELECT count(*), string_agg(lossy::text, '' '' ORDER BY id) FROM lossy WHERE ' || conditions INTO n, got;
        END IF;
        wanted := coalesce(wanted, got, 'null');
        IF coalesce(got, 'null') <> wanted THEN
            RETURN NEXT format('%s: %s, and not %s', i, left(got, 1000), left(wanted, 1000));
        END IF;
    END LOOP;
    RETURN NEXT n || ' rows';
END $$;
SELECT rechecked('id < 100');
SELECT rechecked('id BETWEEN 1000 AND 1200 AND v LIKE ''%3''');
SELECT rechecked('id > 4900 AND grp <= 3 AND n <> 49.99');
SELECT rechecked('n < 1.005 OR d = ''2020-01-20''');
SELECT rechecked('grp IS NULL AND id < 1000');
SELECT rechecked('id < (SELECT 20 + max(id) - 5000 FROM lossy)');
-- The order of text has no vectors; then all are checked row by row.
SELECT rechecked('v < ''value 1'' AND id < 100');
-- Nor is there one for a subplan, which is there only once.
SELECT rechecked('id < 100 AND grp = (SELECT max(x) FROM generate_series(1, 3) x WHERE x < n)');
-- Each pass has its values.
PREPARE passes AS SELECT x, y.id FROM generate_series(1, 4) x, LATERAL (SELECT id FROM lossy WHERE id BETWEEN x * 1000 AND x * 1000 + x OFFSET 0) y ORDER BY 1, 2;
EXECUTE passes;
-- A column that was added later has its value in no page.
ALTER TABLE lossy ADD later int DEFAULT 7;
CREATE INDEX ON lossy USING brin (later);
SELECT rechecked('later = 7 AND id < 50');
SELECT rechecked('later < 7');
RESET enable_seqscan;

-- Variables of PL/pgSQL are computed when they are needed.
SET plan_cache_mode = force_generic_plan;
CREATE FUNCTION variable(assign bool) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r record; n bigint;
BEGIN
    IF assign THEN SELECT 5 AS x INTO r; END IF;
    SELECT count(*) INTO n FROM (SELECT id FROM t WHERE id < 5900 AND (grp = 3 OR (grp > 100 AND id < r.x)) OFFSET 0) q;
    RETURN n;
END $$;
SELECT variable(true);
SELECT variable(true);
SELECT variable(false);
RESET plan_cache_mode;
-- What no number can be
SELECT count(*) FROM (SELECT id FROM t WHERE n < ('1' || repeat('0', 131071))::numeric OFFSET 0) x;
SELECT count(*) FROM (SELECT id FROM t WHERE n <> ALL (ARRAY[1, -('1' || repeat('0', 131071))::numeric]) OFFSET 0) x;
SELECT count(*) FROM (SELECT id FROM t WHERE n > 92233720368547758.07 OR n < -92233720368547758.08 OR n >= 49.995 OFFSET 0) x;
-- Conditions of any length
SELECT 'SELECT count(*) FROM (SELECT id FROM t WHERE ' || string_agg('id = ' || i, ' OR ') || ' OFFSET 0) x' AS long FROM generate_series(1, 1000) i \gset
:long;
-- Who stops early counts no row behind.
CREATE FUNCTION removed_by_limit(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN plan->0->'Plan'->'Plans'->0->>'Rows Removed by Filter';
END $$;
SELECT removed_by_limit('SELECT id FROM t WHERE grp = 3 LIMIT 1'), removed_by_limit('SELECT id FROM t WHERE grp = 3 AND f = 1 LIMIT 2');

-- Functions are called with the rights of who began the query.
CREATE FUNCTION secret(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION secret_value() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 3; END';
REVOKE ALL ON FUNCTION secret, secret_value FROM public;
CREATE ROLE filters_user;
GRANT USAGE ON SCHEMA filters TO filters_user;
GRANT SELECT ON t TO filters_user;
BEGIN;
DECLARE a NO SCROLL CURSOR WITH HOLD FOR SELECT id FROM t WHERE grp = 3 AND secret(id) < 30;
DECLARE b NO SCROLL CURSOR WITH HOLD FOR SELECT id FROM t WHERE id < 30 AND grp = secret_value();
DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT count(*), sum(secret(id)) FROM t WHERE id < 30 AND secret(id) > 3;
SET ROLE filters_user;
COMMIT;
FETCH ALL FROM a;
FETCH ALL FROM b;
FETCH ALL FROM c;
SELECT id FROM t WHERE grp = 3 AND secret(id) < 30;
SELECT count(*) FROM t WHERE grp = 3 AND secret(id) < 30;
RESET ROLE;
CLOSE ALL;
DROP OWNED BY filters_user;
DROP ROLE filters_user;

-- Columns of the system, rows as a whole, and rows that are changed
SELECT ctid, tableoid::regclass, xmax FROM t WHERE grp = 3 AND id < 40;
SELECT t FROM t WHERE id = 17 AND grp = 7;
BEGIN;
SELECT id FROM t WHERE grp = 3 AND id < 20 FOR UPDATE;
UPDATE t SET v = 'changed' WHERE grp = 3 AND n < 1;
DELETE FROM t WHERE grp = 4 AND n < 1;
SELECT count(*), count(*) FILTER (WHERE v = 'changed') FROM t;
DECLARE k CURSOR FOR SELECT id FROM t WHERE grp = 5 AND n < 1;
FETCH 2 FROM k;
FETCH ALL FROM k;
DECLARE l SCROLL CURSOR FOR SELECT id FROM t WHERE grp = 5 AND n < 1;
FETCH 3 FROM l;
FETCH BACKWARD 2 FROM l;
FETCH ALL FROM l;
ROLLBACK;

-- Partitions, all of which share room, and scans that do not
CREATE TABLE p (id int, grp int, n numeric(10,2), v text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE p%s PARTITION OF p FOR VALUES FROM (%s) TO (%s)', i, i * 50, i * 50 + 50) FROM generate_series(0, 99) i \gexec
INSERT INTO p SELECT id, grp, n, v FROM t WHERE id < 5000;
VACUUM ANALYZE p;
CREATE FUNCTION same_whole(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    got text;
    wanted text;
BEGIN
    PERFORM set_config('cscan.vectors', 'off', true);
    EXECUTE 'SELECT count(*), string_agg(x::text, '' '') FROM (' || query || ' OFFSET 0) x' INTO wanted;
    PERFORM set_config('cscan.vectors', 'on', true);
    EXECUTE 'SELECT count(*), string_agg(x::text, '' '') FROM (' || query || ' OFFSET 0) x' INTO got;
    RETURN CASE WHEN got IS DISTINCT FROM wanted THEN format('%s, and not %s', got, wanted) ELSE got || ' rows' END;
END $$;
SELECT same_whole('SELECT * FROM (SELECT * FROM p WHERE grp = 3 AND n <> 7.03 AND v LIKE ''v%'' OFFSET 0) y ORDER BY id');
SELECT same_whole('SELECT id, grp, v FROM p WHERE grp = 3 AND n > 1 ORDER BY n');
SELECT same_whole('SELECT x, y.id FROM generate_series(1, 3) x, LATERAL (SELECT id FROM p WHERE grp = x AND id % 1000 = x OFFSET 0) y ORDER BY 1, 2');
-- Members of a family of which only one has a filter
CREATE TABLE m1 (id int, grp int, pad text) WITH (fillfactor = 10);
CREATE TABLE m2 (id int, grp int, pad text) WITH (fillfactor = 10);
INSERT INTO m1 SELECT i, i % 10, repeat('x', 150) FROM generate_series(1, 2000) i;
INSERT INTO m2 SELECT i, i % 10, repeat('x', 150) FROM generate_series(1, 2000) i;
VACUUM ANALYZE m1, m2;
SELECT policy, cscans, nrows, missing, extra FROM differences('SELECT id FROM m1 WHERE grp < 3 UNION ALL SELECT grp FROM m2 WHERE grp + 1000 > 5');
SELECT policy, cscans, nrows, missing, extra FROM differences('SELECT id FROM m1 WHERE grp < 3 UNION ALL SELECT grp FROM m2 WHERE grp + 1000 > 5');
CREATE INDEX ON p (id);
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT same_whole(string_agg(format('SELECT * FROM (SELECT id FROM p%s WHERE grp = 3 ORDER BY id LIMIT 2) x%s', i, i), ' UNION ALL ') || ' ORDER BY id') FROM generate_series(0, 79) i;
RESET enable_indexscan;
RESET enable_bitmapscan;
-- Whoever stops early has few strings fetched from their TOAST table, and whoever does not has them all on vectors.
CREATE TABLE documents (id int, body text) WITH (fillfactor = 50);
ALTER TABLE documents ALTER body SET STORAGE EXTERNAL;
INSERT INTO documents SELECT i, repeat('the text ', 600) || i FROM generate_series(1, 3000) i;
VACUUM (FREEZE, ANALYZE) documents;
CREATE FUNCTION buffers(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
    RETURN (plan #>> '{0,Plan,Shared Hit Blocks}')::int + (plan #>> '{0,Plan,Shared Read Blocks}')::int;
END $$;
SELECT buffers(query) BETWEEN 1 AND 100 AS few, same_whole(query) FROM unnest('{SELECT id FROM documents WHERE body LIKE ''%the%'' LIMIT 1,SELECT 1 WHERE EXISTS (SELECT FROM documents WHERE body LIKE ''%the%''),
    SELECT x FROM generate_series(1\, 3) x WHERE EXISTS (SELECT FROM documents WHERE body LIKE ''%the%'' AND id > x)}'::text[]) query;
SELECT same_whole('SELECT id FROM documents WHERE body LIKE ''%the%2999'' LIMIT 1');
SELECT same_whole('SELECT id FROM documents WHERE id > 5 AND body LIKE ''%the%7'' AND id % 2 = 1 LIMIT 200');
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT same('SELECT id, v, n FROM TABLE WHERE grp = 3 AND v LIKE ''value%''');
SELECT same_whole('SELECT * FROM (SELECT * FROM p WHERE grp = 3 AND n <> 7.03 OFFSET 0) y ORDER BY id');

SET client_min_messages = warning;
DROP SCHEMA filters CASCADE;
