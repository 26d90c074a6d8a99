-- Conditions on strings of pages: compared byte by byte, whole batches at a time.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA strings;
SET search_path = strings, public;
\i :helpers
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN code AS varchar(8);
CREATE TABLE t (id int, v text, w varchar(20), c char(6), b bytea, d code, i text COLLATE ignoring_case, x text COLLATE "C", long text)
    WITH (fillfactor = 30);
ALTER TABLE t ALTER long SET STORAGE EXTERNAL;
INSERT INTO t SELECT i, 'größe ' || i % 7, repeat('ab', i % 4), substr('  abc', 1 + i % 5, 2), decode(repeat('00ff', i % 3), 'hex'),
    'k' || i % 9, substr('ABab', 1 + i % 4, 1), '%_\' || i % 3, repeat('long ', 2 + i % 2 * 400) || i % 11 FROM generate_series(1, 2000) i;
ALTER TABLE t ALTER long SET STORAGE EXTENDED;
INSERT INTO t SELECT i, '', '', '', '', '', '', '', repeat('long ', 2000) || i % 11 FROM generate_series(2001, 2100) i;
INSERT INTO t VALUES (NULL);
ALTER TABLE t ADD later text DEFAULT 'later';
VACUUM ANALYZE t;

-- The condition's rows by PostgreSQL's own scan and by a CScan, below an aggregate and not, and in a FILTER; "by row": PostgreSQL computes it.
CREATE FUNCTION pass(condition text, OUT n bigint, OUT same boolean, OUT by_row boolean) LANGUAGE plpgsql AS $$
DECLARE
    wanted text;
    got text;
    line text;
BEGIN
    SET LOCAL cscan.enabled = off;
    EXECUTE format('SELECT count(*), string_agg(id::text, '' '' ORDER BY id) FROM t WHERE %s', condition) INTO n, wanted;
    SET LOCAL cscan.enabled = on;
    EXECUTE format('SELECT string_agg(id::text, '' '' ORDER BY id) FROM (SELECT id FROM t WHERE %s OFFSET 0) t', condition) INTO got;
    same := got IS NOT DISTINCT FROM wanted;
    EXECUTE format('SELECT count(*)::text FROM t WHERE %s', condition) INTO got;
    same := same AND got = n::text;
    EXECUTE format('SELECT count(*) FILTER (WHERE %s)::text FROM t', condition) INTO got;
    same := same AND got = n::text;
    by_row := true;
    FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id FROM t WHERE %s', condition) LOOP
        by_row := by_row AND line !~ 'Vector Filter';
    END LOOP;
END $$;
\pset format unaligned
\pset tuples_only on
SELECT condition, pass(condition) FROM unnest(ARRAY[
    'v = ''größe 3''', 'v <> ''größe 3''', '''größe 3'' = v', 'v = ''''', 'v <> ''''', 'NOT v = ''größe 3''', 'v = NULL',
    'w = ''abab''', 'w <> ''''', 'd = ''k3''', 'd <> ''k3''', 'd = ''k3''::code',
    'c = ''ab''', 'c = ''ab    ''', 'c = ''b''', 'c <> ''ab''', 'c IN (''ab'', ''a'', '' a'')', 'c = ''''',
    'b = ''\x00ff''', 'b <> ''\x00ff''', 'b IN (''\x'', ''\x00ff00ff'')',
    'v IN (''größe 1'', ''größe 2'', ''?'')', 'v NOT IN (''größe 1'', ''größe 2'')', 'v IN (''größe 1'', NULL)', 'v NOT IN (''größe 1'', NULL)',
    'v = ANY (ARRAY[]::text[])', 'v <> ANY (ARRAY[''größe 1'', ''größe 2''])', 'v = ALL (ARRAY[''größe 1''])', 'v = ANY (NULL)', 'v = ANY (ARRAY[NULL])',
    'w IN (''ab'', ''ababab'', ''ababababab'', ''x'', ''y'', ''z'', ''zz'', ''zzz'', ''zzzz'', ''zzzzz'', ''zzzzzz'', '''')',
    'v LIKE ''%ö%''', 'v LIKE ''größe%''', 'v LIKE ''%e 3''', 'v LIKE ''gr%ße%3''', 'v LIKE ''größe 3''', 'v LIKE ''%''', 'v LIKE ''''',
    'v NOT LIKE ''%3''', 'v LIKE ''gr__e 3''', 'v LIKE ''%\3''', 'x LIKE ''\%%''', 'x LIKE ''\%\_\\\\%1''', 'c LIKE ''ab%''', 'c LIKE ''%b''', 'c NOT LIKE ''% ''',
    'v ILIKE ''GR%''', 'v ~ ''3$''', 'v < ''größe 3''', 'v || '''' = ''größe 3''', 'v = w', 'lower(v) = ''größe 3''',
    'i = ''a''', 'i <> ''a''', 'i IN (''a'', ''c'')', 'i COLLATE "C" = ''a''', 'x = ''%_\1''', 'x COLLATE ignoring_case = ''%_\1''',
    'long = repeat(''long '', 402) || 3', 'long <> repeat(''long '', 402) || 3', 'long LIKE ''%g 3''', 'long LIKE ''long long long%''', 'long = ''long long 3''',
    'long IN (''long long 3'', repeat(''long '', 2000) || 4)', 'later = ''later''', 'later <> ''later''', 'later LIKE ''%t%''',
    'v = ''größe 3'' OR id < 10', 'NOT (v = ''größe 3'' OR w LIKE ''ab%'')', 'v = ''größe 3'' AND w = ''ab'' AND id < 1000', 'v LIKE ''%3'' OR v ~ ''5$''',
    '(v = ''größe 3'') IS TRUE', 'v IS NOT NULL AND v <> ''größe 3''', 'w IS NULL', 'w IS NOT NULL OR id > 2000', 'NOT (b IS NULL)', 'v || w IS NULL', 'later IS NULL', 't IS NULL', 'length(v) > 6 AND v = ''größe 3''']) condition;
\pset format aligned
\pset tuples_only off

-- Conditions about numbers come first, and those that PostgreSQL computes last; but none comes before one that might raise an error.
EXPLAIN (COSTS OFF) SELECT count(*) FROM t WHERE v LIKE '%3' AND x > 'a' AND w = 'ab' AND id < 10;
EXPLAIN (COSTS OFF) SELECT v FROM t WHERE v LIKE '%3' AND b > 'a' AND w = 'ab' AND id < 10;
EXPLAIN (COSTS OFF) SELECT v FROM t WHERE v LIKE '%3' AND v ~ '3$' AND w = 'ab' AND id < 10;

-- Without a collation PostgreSQL says so.
CREATE TABLE u (v text COLLATE "C", x text COLLATE "POSIX");
INSERT INTO u VALUES ('a', 'a');
SELECT count(*) FROM u WHERE v || x = 'aa';
SELECT count(*) FROM u WHERE v <> x AND v = 'nobody';
SELECT v FROM u WHERE v <> x AND v LIKE 'nobody%';

-- Large patterns and sets are no larger here.
SELECT count(*) FROM u WHERE v LIKE repeat('a', 140000000);
SELECT count(*) FROM u WHERE v LIKE repeat('%', 1000000) || 'a' OR v IN ('a', 'b');

-- Parameters
SET plan_cache_mode = force_generic_plan;
PREPARE eq(text) AS SELECT count(*), min(id), max(id) FROM t WHERE v = $1;
EXECUTE eq('größe 3');
EXECUTE eq('');
EXECUTE eq(NULL);
PREPARE alike(text) AS SELECT count(*), min(id), max(id) FROM t WHERE v LIKE $1;
EXECUTE alike('%3');
EXECUTE alike('gr__e 3');
EXECUTE alike('%\');
EXECUTE alike(NULL);
PREPARE any_of(text[]) AS SELECT count(*), min(id), max(id) FROM t WHERE v = ANY ($1);
EXECUTE any_of('{größe 3,größe 4}');
EXECUTE any_of('{}');
EXECUTE any_of(NULL);
RESET plan_cache_mode;
DO $$
DECLARE
    wanted text := 'größe 3';
    found bigint;
BEGIN
    SELECT count(*) INTO found FROM t WHERE v = wanted;
    RAISE NOTICE '% rows', found;
END $$;

-- Where an index of columns has no dictionary, and where the heap has the last word
CREATE INDEX ON t USING cscan_columns (id, v, w, c, b, d, x, long, later) WITH (row_group_blocks = 64);
VACUUM (FREEZE) t;
UPDATE t SET w = w WHERE id BETWEEN 100 AND 200;
ALTER TABLE t ADD each text;
UPDATE t SET each = 'each ' || id WHERE id < 1500;
VACUUM (FREEZE) t;
CREATE INDEX t_each ON t USING cscan_columns (id, each, v, w) WITH (row_group_blocks = 64);
VACUUM (FREEZE) t;
UPDATE t SET w = w WHERE id BETWEEN 300 AND 400;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE each LIKE '%77' AND v <> '';
SELECT condition, (pass(condition)).* FROM unnest(ARRAY[
    'each LIKE ''%77'' AND v <> ''''', 'each = ''each 350''', 'each IN (''each 350'', ''each 1'', ''each 1499'')', 'each <> ''each 350'' OR w = ''ab''',
    'v LIKE ''%e 3'' AND each IS NULL', 'each IS NOT NULL AND long IS NOT NULL', 'long LIKE ''%g 3'' AND c = ''ab''', 'b = ''\x00ff'' AND d <> ''k3''']) condition;
RESET enable_seqscan;
SET client_min_messages = warning;
DROP SCHEMA strings CASCADE;
