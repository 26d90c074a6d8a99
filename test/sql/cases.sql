-- CASE and COALESCE on vectors.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
\set answers :abs_srcdir '/sql/answers.psql'
CREATE SCHEMA cases;
SET search_path = cases, public;
\i :helpers
\i :answers
CREATE TABLE t (id int, grp int, n numeric(10,2), f float8, v text, d date, o boolean) WITH (fillfactor = 40);
INSERT INTO t SELECT i, i % 10, CASE WHEN i % 9 > 0 THEN i / 100.0 END, CASE WHEN i % 4 > 0 THEN i / 8.0 END, CASE WHEN i % 5 > 0 THEN 'value ' || i % 7 END,
    date '2020-01-01' + i / 100, CASE WHEN i % 3 > 0 THEN i % 2 = 0 END FROM generate_series(1, 4000) i;
INSERT INTO t VALUES (NULL);
VACUUM (FREEZE, ANALYZE) t;

CREATE FUNCTION same(query text, OUT answer text, OUT same boolean, OUT by_row text) LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    answer := answer(query, false);
    same := answer = answer(query, true);
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Row by Row' THEN
            by_row := trim(line);
        END IF;
    END LOOP;
END $$;
\pset format unaligned
\pset tuples_only on
SELECT query, same(query) FROM unnest(ARRAY[
    'SELECT sum(CASE WHEN grp = 3 THEN 1 ELSE 0 END), sum(CASE WHEN o THEN id END), count(CASE WHEN v LIKE ''%3'' THEN 1 END) FROM t',
    'SELECT grp, sum(CASE WHEN v = ''value 3'' THEN n WHEN f > 100 THEN n * 1 ELSE NULL END), max(CASE WHEN o THEN d END) FROM t GROUP BY grp',
    'SELECT sum(CASE WHEN o THEN n ELSE 0 END), sum(CASE WHEN id < 0 THEN n ELSE 0 END) FROM t', 'SELECT sum(CASE WHEN id < 0 THEN n ELSE 0.00 END) FROM t',
    'SELECT sum(CASE WHEN o THEN f ELSE 0 END), avg(CASE WHEN o THEN f ELSE -1.5 END), min(CASE WHEN f > 3 THEN f END) FROM t',
    'SELECT CASE WHEN grp < 3 THEN 1 WHEN grp < 6 THEN 2 END, count(*) FROM t GROUP BY 1', 'SELECT coalesce(grp, -1), sum(coalesce(id, 0)), avg(coalesce(f, 0)) FROM t GROUP BY 1',
    'SELECT coalesce(n, -1.00), count(*) FROM t WHERE id < 30 GROUP BY 1', 'SELECT sum(coalesce(n, 0)) FROM t', 'SELECT count(coalesce(o, id > 10)), sum(coalesce(NULL, grp, 7)) FROM t',
    'SELECT id % 700, sum(CASE WHEN v = ''value 3'' THEN n ELSE 0 END), avg(CASE WHEN v = ''value 3'' THEN n ELSE 0 END), sum(coalesce(n, 1)), avg(coalesce(n, 1.5)) FROM t GROUP BY 1',
    'SELECT sum(CASE WHEN id < 0 THEN n * n WHEN o THEN n ELSE 0 END), sum(CASE WHEN id < 0 THEN n * n WHEN o THEN 5 ELSE 0 END) FROM t', 'SELECT max(CASE WHEN o THEN n ELSE 50 END), count(CASE WHEN o THEN n ELSE 0 END) FROM t',
    'SELECT sum(CASE WHEN o THEN n ELSE 0 END * 2), sum(CASE WHEN grp = 1 THEN CASE WHEN o THEN n ELSE 0 END ELSE 1 END) FROM t', 'SELECT CASE WHEN o THEN n ELSE 0 END, count(*) FROM t WHERE id < 20 GROUP BY 1',
    'SELECT count(*) FROM t WHERE CASE WHEN o THEN n ELSE 0 END > 5', 'SELECT sum(CASE WHEN id < 0 THEN n ELSE 0 END) FROM t WHERE id < 0', 'SELECT sum(CASE WHEN o THEN n * 1000000000 * 100000 ELSE 0 END) FROM t',
    'SELECT sum(CASE WHEN grp > 0 THEN 100 / grp ELSE 0 END) FROM t', 'SELECT sum(CASE WHEN id > 100 THEN 100 / grp END) FROM t', 'SELECT sum(CASE WHEN 10 / grp > 3 THEN 1 END) FROM t WHERE grp <> 0',
    'SELECT sum(CASE WHEN id < 3000 THEN id ELSE id * 2147483647 END) FROM t', 'SELECT sum(CASE WHEN id < 5000 THEN id ELSE id * 2147483647 END) FROM t',
    'SELECT sum(CASE grp WHEN 1 THEN 10 WHEN 2 THEN 20 END) FROM t', 'SELECT sum(CASE WHEN length(v) > 3 THEN 1 END) FROM t', 'SELECT sum(CASE WHEN v > ''value 3'' OR grp = 1 THEN 1 END) FROM t',
    'SELECT count(*) FROM t WHERE CASE WHEN grp > 5 THEN id ELSE grp END = 8', 'SELECT count(*) FROM t WHERE coalesce(grp, 0) = 0', 'SELECT id FROM t WHERE coalesce(n, 0.00) = 0 AND id < 50',
    'SELECT sum(CASE WHEN grp = 1 THEN CASE WHEN o THEN 1 ELSE 2 END ELSE coalesce(id, 0) END) FROM t', 'SELECT sum(CASE WHEN o THEN NULL::int END) FROM t',
    'SELECT sum(CASE v WHEN ''value 3'' THEN 1 WHEN ''value 4'' THEN grp WHEN NULL THEN 100 ELSE -1 END), count(CASE d WHEN ''2020-01-05'' THEN id END) FROM t',
    'SELECT sum(CASE n WHEN 3.5 THEN id WHEN 3.555 THEN 7 WHEN 20 THEN 9 END), sum(CASE f WHEN 3.625 THEN f ELSE 0 END), sum(CASE o WHEN true THEN 1 WHEN false THEN 2 END) FROM t',
    'SELECT CASE id % 5 WHEN 0 THEN 10 WHEN grp THEN 20 ELSE 30 END, count(*) FROM t GROUP BY 1', 'SELECT sum(CASE 10 / grp WHEN 2 THEN 1 END) FROM t WHERE grp > 0', 'SELECT sum(CASE 10 / grp WHEN 2 THEN 1 END) FROM t',
    'SELECT sum(CASE grp WHEN 1 THEN CASE v WHEN ''value 3'' THEN 1 ELSE 2 END WHEN 2 THEN 3 END) FROM t', 'SELECT sum(CASE CASE grp WHEN 1 THEN 2 END WHEN 2 THEN 3 END) FROM t',
    'SELECT sum(CASE grp WHEN CASE id WHEN 13 THEN 3 END THEN 5 END) FROM t', 'SELECT sum(CASE coalesce(grp, 1) WHEN 1 THEN 3 END) FROM t', 'SELECT sum(CASE length(v) WHEN 7 THEN 3 END) FROM t', 'SELECT sum(CASE row(grp, id) WHEN row(3, 13) THEN 1 END) FROM t',
    'SELECT max(CASE WHEN o THEN v END) FROM t', 'SELECT sum(id) FILTER (WHERE CASE WHEN o THEN grp ELSE 5 END = 5) FROM t', 'SELECT sum(CASE WHEN (grp = 1) IS TRUE THEN 1 END) FROM t']) query;
\pset format aligned
\pset tuples_only off
-- Over columns.  A CaseTestExpr is not always x: in a WHEN, SQL/JSON (from 16 on), arrays and CASE have one, too.
CREATE TABLE c WITH (fillfactor = 10) AS SELECT i AS id, CASE i % 3 WHEN 0 THEN '[1, 2]' WHEN 1 THEN '{"a" : 1}' ELSE 'other' END AS v FROM generate_series(1, 4000) i;
CREATE INDEX c_columns ON c USING cscan_columns (id, v) WITH (row_group_blocks = 64);
VACUUM (FREEZE, ANALYZE) c;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT sum(CASE v WHEN upper('other') THEN 1 END) FROM c;
SELECT query, answer(query, false) = answer(query, true) AS same FROM unnest(ARRAY[
    'SELECT count(*), sum(CASE v WHEN JSON_ARRAY(1, 2 RETURNING text) THEN 1 WHEN JSON_OBJECT(''a'': 1 RETURNING text) THEN 100000 ELSE 0 END) FROM c',
    'SELECT CASE v WHEN JSON_OBJECT(''a'': 1 RETURNING text) THEN 1 ELSE 0 END, count(*) FROM c GROUP BY 1',
    'SELECT sum(CASE v WHEN ''other'' THEN 1 WHEN ''[1, 2]'' THEN id END) FROM c', 'SELECT sum(CASE v WHEN upper(''other'') THEN 1 WHEN (ARRAY[''other'', ''x'']::varchar(3)[])[1] THEN id END) FROM c',
    'SELECT sum(CASE v::varchar(3) WHEN ''oth'' THEN id ELSE 1 END) FROM c', 'SELECT sum(CASE v WHEN CASE id WHEN 5 THEN v ELSE ''other'' END THEN 1 END) FROM c']) query;
SET plan_cache_mode = force_generic_plan;
PREPARE p(int, text) AS SELECT sum(CASE WHEN grp = $1 OR v = $2 THEN 1 ELSE 0 END) FROM t;
EXECUTE p(3, 'value 3');
EXECUTE p(4, NULL);
RESET plan_cache_mode;
SELECT x, y.* FROM generate_series(1, 3) x, LATERAL (SELECT sum(CASE WHEN grp = x THEN id END), sum(CASE WHEN grp <> 0 THEN x END) FROM t OFFSET 0) y;
-- A condition that raises an error is not asked of rows that need no CASE.  v::int is asked of a dictionary's entries.
CREATE TABLE e WITH (fillfactor = 10) AS SELECT i AS id, CASE i % 50 WHEN 7 THEN 'none' ELSE (i % 50)::text END AS v FROM generate_series(1, 4000) i;
CREATE INDEX e_columns ON e USING cscan_columns (id, v) WITH (row_group_blocks = 64);
VACUUM (FREEZE, ANALYZE) e;
EXPLAIN (COSTS OFF) SELECT sum(CASE WHEN v::int > 5 THEN id END) FROM e;
\pset format unaligned
\pset tuples_only on
SELECT query, same(query) FROM unnest(ARRAY[
    'SELECT sum(CASE WHEN v::int > 5 THEN id END) FROM e', 'SELECT sum(CASE WHEN v::int > 5 THEN id END) FROM e WHERE v <> ''none''',
    'SELECT sum(CASE WHEN v <> ''none'' AND v::int > 5 THEN id END), sum(CASE WHEN v = ''none'' THEN 0 WHEN v::int > 5 THEN id END) FROM e',
    'SELECT CASE WHEN v::int > 5 THEN 1 END, count(*) FROM e WHERE v <> ''none'' GROUP BY 1', 'SELECT CASE WHEN v::int > 5 THEN 1 END, count(*) FROM e GROUP BY 1',
    'SELECT sum(CASE WHEN v::int > 5 THEN id END) FILTER (WHERE v <> ''none''), sum(CASE WHEN v = ''3'' THEN id END) FILTER (WHERE id > 5) FROM e',
    'SELECT count(DISTINCT CASE WHEN v::int > 5 THEN 1 ELSE 2 END) FILTER (WHERE v <> ''none'') FROM e',
    'SELECT sum(CASE WHEN v <> ''none'' THEN CASE WHEN v::int > 5 THEN id END END) FROM e',
    'SELECT sum(coalesce(CASE WHEN v = ''none'' THEN 0 END, CASE WHEN v::int > 5 THEN 1 ELSE 2 END)) FROM e',
    'SELECT count(*) FROM e WHERE v = ''none'' OR CASE WHEN v::int > 5 THEN 1 END = 1', 'SELECT id FROM e WHERE v = ''none'' OR CASE WHEN v::int > 5 THEN 1 END = 1',
    'SELECT count(*) FILTER (WHERE v = ''none'' OR CASE WHEN v::int > 5 THEN 1 END = 1) FROM e']) query;
\pset format aligned
\pset tuples_only off
RESET enable_seqscan;
-- One in another, and little stack
SET max_stack_depth = '200kB';
SELECT n, answer, same, by_row IS NULL AS on_vectors FROM unnest('{1,7,8,9,60}'::int[]) n,
    same(format('SELECT sum(%s grp %s) FROM t', repeat('CASE WHEN o THEN 1 ELSE ', n), repeat(' END', n)));
RESET max_stack_depth;
SET client_min_messages = warning;
DROP SCHEMA cases CASCADE;
