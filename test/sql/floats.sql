-- Floats on vectors: conditions, arithmetic and aggregates.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
\set answers :abs_srcdir '/sql/answers.psql'
\set three_tables :abs_srcdir '/sql/three_tables.psql'
CREATE SCHEMA floats;
SET search_path = floats, public;
\i :helpers
\i :answers
\i :three_tables
-- Chunks come in any order.  So sums are such that no digit depends on that.
CREATE DOMAIN metres AS float8;
CREATE TABLE t (id int, a float8, b float4, m metres, big float8, n int) WITH (fillfactor = 30);
INSERT INTO t SELECT i,
    CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN -0.0 WHEN 2 THEN 0.0 ELSE (i % 1000) / 8.0 - 50 END,
    CASE i % 13 WHEN 0 THEN NULL WHEN 1 THEN 0.1 ELSE (i % 500) / 4.0 END,
    i / 16.0, 1e200 * (i % 7), i % 50 FROM generate_series(1, 3000) i;
CREATE TABLE edges (LIKE t) WITH (fillfactor = 30);
INSERT INTO edges TABLE t;
INSERT INTO edges SELECT i, v, v::float8::numeric::float4, v, 1, i FROM
    (VALUES (4001, 'NaN'::float8), (4002, '1e37'), (4003, '-1e37'), (4004, '1e-30'), (4005, 'NaN')) e(i, v);
INSERT INTO edges SELECT 4010, v, v, v, 1, 1 FROM (VALUES ('inf'::float8), ('-inf')) e(v);
CREATE TABLE r (LIKE edges) WITH (fillfactor = 30);
INSERT INTO r TABLE edges;
VACUUM (FREEZE, ANALYZE) t, edges, r;
CREATE INDEX r_columns ON r USING cscan_columns (id, a, b, m, big, n) WITH (row_group_blocks = 64);
VACUUM (FREEZE) r;
UPDATE r SET n = n WHERE id BETWEEN 100 AND 200;

CREATE FUNCTION same(query text, OUT answer text, OUT same boolean, OUT by_row text) LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    SELECT c.answer, c.same INTO answer, same FROM compare(query) c;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, 'TABLE', 't') LOOP
        IF line ~ 'Row by Row|Vector Filter' THEN
            by_row := trim(line);
        END IF;
    END LOOP;
END $$;
\pset format unaligned
\pset tuples_only on
SELECT query, same(query) FROM unnest(ARRAY[
    'SELECT id FROM TABLE WHERE a > 10.5', 'SELECT id FROM TABLE WHERE a = 0', 'SELECT id FROM TABLE WHERE a < -0.0::float8 OR a >= 70',
    'SELECT id FROM TABLE WHERE a = ''NaN''', 'SELECT id FROM TABLE WHERE a >= ''NaN''', 'SELECT id FROM TABLE WHERE a <> ''NaN''',
    'SELECT id FROM TABLE WHERE a < ''inf'' AND a > ''-inf''', 'SELECT id FROM TABLE WHERE b = 0.1', 'SELECT id FROM TABLE WHERE b = 0.1::float4',
    'SELECT id FROM TABLE WHERE b > a', 'SELECT id FROM TABLE WHERE a IN (0, 1.5, 2, ''NaN'')', 'SELECT id FROM TABLE WHERE b NOT IN (0, 1.5, 100)',
    'SELECT id FROM TABLE WHERE b IN (0.1, 1.5, NULL)', 'SELECT id FROM TABLE WHERE m BETWEEN 10 AND 20', 'SELECT id FROM TABLE WHERE a IS NULL AND b IS NOT NULL',
    'SELECT id FROM TABLE WHERE a * 2 + b > n', 'SELECT id FROM TABLE WHERE n > a', 'SELECT id FROM TABLE WHERE NOT (a > 10.5 AND b < 20)',
    'SELECT sum(a), avg(a), min(a), max(a), count(a) FROM TABLE', 'SELECT sum(b), avg(b), min(b), max(b), count(b) FROM TABLE WHERE b <> 0.1::float4',
    'SELECT sum(a) FROM TABLE WHERE a = 0', 'SELECT min(a), max(a), sum(a) FROM TABLE WHERE a = 0 AND id % 11 = 1', 'SELECT sum(a), avg(a), min(a), max(a) FROM TABLE WHERE id < 0',
    'SELECT n, sum(a), avg(a), min(a), max(a) FROM TABLE GROUP BY n', 'SELECT n, sum(b), avg(b), min(b), max(b) FROM TABLE WHERE b <> 0.1::float4 GROUP BY n',
    'SELECT sum(a * b), sum(a * 0.5 - n), avg(-a), sum(b + a), sum(a / 4), max(m) FROM TABLE WHERE b <> 0.1::float4', 'SELECT sum(big), avg(big), max(big) FROM TABLE WHERE n < 40',
    'SELECT sum(big * big) FROM TABLE', 'SELECT avg(big) FROM TABLE', 'SELECT n, avg(big) FROM TABLE WHERE id % 7 = 0 GROUP BY n', 'SELECT sum(1 / a) FROM TABLE WHERE id < 30',
    'SELECT min(a / b), max(b / 3), count(a / b) FROM TABLE WHERE b <> 0', 'SELECT sum(a * 1e-300 * 1e-300) FROM TABLE WHERE a <> 0', 'SELECT max(b * b), sum(b * 2::float4) FROM TABLE WHERE b <> 0.1::float4',
    'SELECT sum(a) FILTER (WHERE b > 10), avg(a) FILTER (WHERE a < 0) FROM TABLE', 'SELECT count(*) FROM TABLE WHERE a > (SELECT avg(a) FROM t)',
    'SELECT round(stddev(a)::numeric, 9), round(variance(a)::numeric, 6), round(stddev_pop(a)::numeric, 9), round(var_pop(a)::numeric, 6) FROM TABLE WHERE id < 4000',
    'SELECT n, round(stddev_samp(b)::numeric, 9), round(var_samp(b)::numeric, 6), round(stddev_pop(b)::numeric, 9), round(var_pop(b - a)::numeric, 6) FROM TABLE WHERE id < 4000 GROUP BY n',
    'SELECT stddev(a), variance(b), stddev_pop(a), var_pop(b) FROM TABLE WHERE id = 14', 'SELECT stddev(a), variance(b), stddev_pop(a), var_pop(b) FROM TABLE WHERE id < 0',
    'SELECT stddev(m), var_pop(a) FROM TABLE WHERE id IN (50, 4001, 4010)', 'SELECT round((variance(big * 1e-50) / 1e300)::numeric, 9) FROM TABLE',
    'SELECT a, count(*) FROM TABLE GROUP BY a', 'SELECT b, sum(n), count(*) FROM TABLE GROUP BY b', 'SELECT m, n, count(a) FROM TABLE GROUP BY m, n',
    'SELECT a * 2 + n, count(*) FROM TABLE GROUP BY 1', 'SELECT -a, count(*) FROM TABLE WHERE a = 0 AND id % 11 = 2 GROUP BY -a', 'SELECT abs(a), sqrt(abs(b)), count(*) FROM TABLE GROUP BY 1, 2',
    'SELECT 1 / a, count(*) FROM TABLE WHERE a <> 0 GROUP BY 1', 'SELECT n, count(DISTINCT a), count(DISTINCT b), count(DISTINCT a + n) FROM TABLE GROUP BY n',
    'SELECT DISTINCT b FROM TABLE', 'SELECT DISTINCT m / 4, n FROM TABLE']) query;
\pset format aligned
\pset tuples_only off

-- Overflows are PostgreSQL's.
INSERT INTO edges VALUES (5000, 1.7e308, 3e38, 1, 1, 1), (5001, 1.7e308, 3e38, 1, 1, 1);
SELECT sum(a) FROM edges WHERE id >= 5000;
SELECT avg(a) FROM edges WHERE id >= 5000;
SELECT sum(b) FROM edges WHERE id >= 5000;
SELECT avg(b) FROM edges WHERE id >= 5000;
SELECT sum(a * 10) FROM edges WHERE id >= 5000;
SELECT variance(a) FROM edges WHERE id >= 5000;
SELECT sum(a) FROM edges WHERE id = 5000 OR id BETWEEN 4001 AND 4005;

-- Workers send states.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT n, sum(a), avg(a), min(b), max(b), avg(b) FROM t GROUP BY n;
SELECT n, sum(a), avg(a), min(b), max(b), count(*), round(stddev(a)::numeric, 9) FROM t WHERE n < 3 GROUP BY n ORDER BY n;
SELECT sum(a), avg(a), min(b), max(b), count(*), round(variance(b)::numeric, 6) FROM t;
SELECT sum(a), avg(a), min(b), max(b), count(*), stddev(a) FROM t WHERE id < 0;
SELECT b, count(*) FROM t WHERE n < 3 GROUP BY b HAVING count(*) > 12 ORDER BY b;
SET cscan.vectors = off;
SELECT n, sum(a), avg(a), min(b), max(b), count(*), round(stddev(a)::numeric, 9) FROM t WHERE n < 3 GROUP BY n ORDER BY n;
SELECT sum(a), avg(a), min(b), max(b), count(*), round(variance(b)::numeric, 6) FROM t;
SELECT b, count(*) FROM t WHERE n < 3 GROUP BY b HAVING count(*) > 12 ORDER BY b;
SET client_min_messages = warning;
DROP SCHEMA floats CASCADE;
