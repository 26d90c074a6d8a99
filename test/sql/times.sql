-- Fields of dates and timestamps on vectors, and keys that are numerics.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
\set answers :abs_srcdir '/sql/answers.psql'
\set three_tables :abs_srcdir '/sql/three_tables.psql'
CREATE SCHEMA times;
SET search_path = times, public;
\i :helpers
\i :answers
\i :three_tables
CREATE TABLE t (id int, t timestamp, d date, z timestamptz, n numeric(10,2), u numeric) WITH (fillfactor = 50);
INSERT INTO t SELECT i, timestamp '1998-12-28 22:00' + i * interval '7 hours 13 minutes 1.25 seconds', date '1899-12-25' + i * 37,
    timestamptz '2020-01-01 00:00+00' + i * interval '1 hour', i % 40 / 4.0, i % 7 FROM generate_series(0, 5999) i;
INSERT INTO t VALUES (7000, NULL, NULL, NULL, NULL, NULL), (7001, '0001-01-01', '0001-01-01', NULL, 0, 1), (7002, '0044-03-15 12:00', '5000-12-31', NULL, -0.5, 1.0);
CREATE TABLE edges (LIKE t) WITH (fillfactor = 50);
INSERT INTO edges TABLE t;
INSERT INTO edges VALUES (8000, 'infinity', '-infinity', 'infinity', 'NaN', 'NaN'), (8001, '-infinity', 'infinity', '-infinity', 1.5, 1.50),
    (8002, '0044-03-15 BC', '0001-12-31 BC', NULL, 1, 1), (8003, '4714-11-24 BC', '4714-11-24 BC', NULL, 1, 1), (8004, '294276-12-31 23:59:59', '5874897-12-31', NULL, 1, 1);
CREATE TABLE r (LIKE t) WITH (fillfactor = 50);
INSERT INTO r TABLE edges;
VACUUM (FREEZE, ANALYZE) t, edges, r;
CREATE INDEX r_columns ON r USING cscan_columns (id, t, d, z, n, u) WITH (row_group_blocks = 64);
VACUUM (FREEZE) r;
UPDATE r SET n = n WHERE id BETWEEN 100 AND 200;

-- "wholly": nothing is computed row by row.
CREATE FUNCTION same(query text, OUT answer text, OUT same boolean, OUT wholly boolean) LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    SELECT c.answer, c.same INTO answer, same FROM compare(query) c;
    wholly := true;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, 'TABLE', 't') LOOP
        wholly := wholly AND line !~ 'Row by Row|Sort Key|Aggregate$' OR line ~ 'CScan Aggregate';
    END LOOP;
END $$;
\pset format unaligned
\pset tuples_only on
SELECT field, same(format('SELECT extract(%s FROM t), count(*) FROM TABLE GROUP BY 1', field)), same(format('SELECT extract(%s FROM d), count(*) FROM TABLE GROUP BY 1', field)),
    same(format('SELECT date_part(%L, t) = 3, count(*) FROM TABLE GROUP BY 1', field)), same(format('SELECT date_trunc(%L, t), count(*) FROM TABLE GROUP BY 1', field)),
    same(format('SELECT sum(extract(%s FROM t)), max(date_part(%L, t)), min(extract(%s FROM d)), max(date_trunc(%L, t)) FROM TABLE WHERE id < 7000', field, field, field, field))
    FROM unnest('{second,minute,hour,day,week,month,quarter,year,dow,isodow,doy,epoch,century,isoyear,MONTH,months,nonsense}'::text[]) field;
SELECT query, same(query) FROM unnest(ARRAY[
    'SELECT id FROM TABLE WHERE extract(year FROM d) = 1950', 'SELECT id FROM TABLE WHERE extract(month FROM t) IN (1, 2, 12) AND id < 1000', 'SELECT id FROM TABLE WHERE extract(hour FROM t) < 2.5',
    'SELECT id FROM TABLE WHERE date_part(''dow'', t) = 0', 'SELECT id FROM TABLE WHERE date_trunc(''month'', t) = ''2000-02-01''', 'SELECT id FROM TABLE WHERE t::date = ''2000-02-29''',
    'SELECT id FROM TABLE WHERE d::timestamp > t', 'SELECT t::date, count(*) FROM TABLE GROUP BY 1', 'SELECT d::timestamp, count(*) FROM TABLE GROUP BY 1',
    'SELECT date_trunc(''month'', d::timestamp), count(*), sum(n) FROM TABLE GROUP BY 1', 'SELECT extract(year FROM t), extract(month FROM t), sum(n) FROM TABLE GROUP BY 1, 2',
    'SELECT extract(month FROM z), count(*) FROM TABLE GROUP BY 1', 'SELECT date_trunc(''day'', z), count(*) FROM TABLE GROUP BY 1', 'SELECT z::date, count(*) FROM TABLE GROUP BY 1',
    'SELECT n, count(*), min(id) FROM TABLE GROUP BY n', 'SELECT n * 2, count(*) FROM TABLE GROUP BY 1', 'SELECT n + extract(dow FROM d), count(*) FROM TABLE GROUP BY 1', 'SELECT u, count(*) FROM TABLE GROUP BY u',
    'SELECT count(DISTINCT n), count(DISTINCT extract(year FROM d)), count(DISTINCT t::date), count(DISTINCT date_trunc(''month'', t)) FROM TABLE',
    'SELECT extract(minute FROM t), count(DISTINCT n * 3) FROM TABLE GROUP BY 1']) query;
\pset format aligned
\pset tuples_only off
-- What a group shows
SELECT n, count(*) FROM t WHERE n BETWEEN 0 AND 0.5 OR n < 0 GROUP BY n ORDER BY n;
SELECT extract(second FROM t), count(*) FROM t WHERE id BETWEEN 3 AND 6 GROUP BY 1 ORDER BY 1;
-- With little memory
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT same('SELECT extract(epoch FROM t), n, count(*) FROM TABLE GROUP BY 1, 2');
SELECT same('SELECT d, n * 1.01, count(*) FROM TABLE GROUP BY 1, 2');
SET client_min_messages = warning;
DROP SCHEMA times CASCADE;
