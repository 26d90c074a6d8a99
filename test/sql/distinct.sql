-- count(DISTINCT ...) in a CScan Aggregate: pairs of groups and values, in memory and on disk.  SELECT DISTINCT: groups without aggregates.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA distincts;
SET search_path = distincts, public;
\i :helpers
\set aggregates :abs_srcdir '/sql/vectors.psql'
\set ECHO none
\i :aggregates
\set ECHO all
CREATE TABLE t (id int, grp int, n numeric, m numeric(10,2), d date, c char(4), p bpchar, v text, o boolean, f float8, b bytea) WITH (fillfactor = 30);
INSERT INTO t SELECT i, i % 10, CASE WHEN i % 2 = 0 THEN i % 50 + 0.5 ELSE (i % 50 || '.50')::numeric END, i % 300 / 100.0, date '2020-01-01' + i % 90, substr('ABC', 1 + i % 3, i % 3),
    substr('ab   ', 1, i % 6), CASE WHEN i % 4 = 0 THEN 'a rather long value ' || i % 611 ELSE 'v' || i % 40 END, i % 7 = 0, i % 4, decode(repeat('ab', i % 12), 'hex') FROM generate_series(1, 8000) i;
INSERT INTO t VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (8001, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE r (LIKE t) WITH (fillfactor = 30);
INSERT INTO r TABLE t;
VACUUM (FREEZE, ANALYZE) t, r;
CREATE INDEX r_columns ON r USING cscan_columns (id, grp, n, m, d, c, p, v, o, f, b) WITH (row_group_blocks = 64);
VACUUM (FREEZE) r;
EXPLAIN (COSTS OFF) SELECT grp, count(DISTINCT v), count(DISTINCT length(v)), sum(id) FROM t GROUP BY grp;

-- What stays with PostgreSQL's nodes
SELECT query, has_vectors(query) FROM (VALUES
    ('SELECT count(DISTINCT id) FROM t'),
    ('SELECT count(DISTINCT (id, grp)) FROM t'),
    ('SELECT count(DISTINCT id ORDER BY id) FROM t'),
    ('SELECT sum(DISTINCT id) FROM t'),
    ('SELECT count(DISTINCT random()) FROM t'),
    ('SELECT count(DISTINCT ctid) FROM t'),
    ('SELECT string_agg(DISTINCT v, '','') FROM t')) q(query);

-- The same from pages, from column runs, and without vectors
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    got text;
    wanted text;
BEGIN
    IF NOT has_vectors(replace(query, 'TABLE', 't')) THEN
        RETURN 'no vectors';
    END IF;
    FOR i IN 1 .. 3 LOOP
        PERFORM set_config('cscan.vectors', CASE WHEN i = 1 THEN 'off' ELSE 'on' END, true);
        PERFORM set_config('enable_seqscan', CASE WHEN i = 3 THEN 'off' ELSE 'on' END, true);
        EXECUTE 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM (' || replace(query, 'TABLE', CASE WHEN i = 3 THEN 'r' ELSE 't' END) || ') x' INTO got;
        wanted := coalesce(wanted, got, 'null');
        IF coalesce(got, 'null') <> wanted THEN
            RETURN format('%s: %s, and not %s', i, left(got, 1000), left(wanted, 1000));
        END IF;
    END LOOP;
    RETURN left(wanted, 100);
END $$;
SELECT same('SELECT count(DISTINCT id), count(DISTINCT grp), count(DISTINCT o), count(*), count(DISTINCT d) FROM TABLE');
SELECT same('SELECT count(DISTINCT n), count(DISTINCT m), count(DISTINCT c), count(DISTINCT p), count(DISTINCT v), count(DISTINCT b) FROM TABLE');
SELECT same('SELECT grp, count(DISTINCT n), count(DISTINCT m), count(DISTINCT c), count(DISTINCT p), count(DISTINCT v), count(DISTINCT b) FROM TABLE GROUP BY grp');
SELECT same('SELECT count(DISTINCT f), count(DISTINCT f * 0.1), count(DISTINCT -f::float4) FROM TABLE');
SELECT same('SELECT v, c, count(DISTINCT id), sum(id), count(DISTINCT grp) FILTER (WHERE id > 4000), min(d) FROM TABLE GROUP BY v, c');
SELECT same('SELECT grp, count(DISTINCT id % 17), count(DISTINCT upper(v)), count(DISTINCT n * 2), count(DISTINCT p || v) FROM TABLE WHERE m > 0.5 GROUP BY grp HAVING count(DISTINCT id % 3) = 3');
SELECT same('SELECT count(DISTINCT 1), count(DISTINCT ''x''::text), count(DISTINCT NULL::int), count(DISTINCT id) FROM TABLE WHERE id < 0');
SELECT same('SELECT grp, count(DISTINCT 1), count(DISTINCT ''x''::text), count(DISTINCT NULL::int) FROM TABLE GROUP BY grp');
SELECT same('SELECT id, count(DISTINCT v), count(DISTINCT d) FROM TABLE GROUP BY id');
SELECT same('SELECT d, count(DISTINCT CASE WHEN grp > 5 THEN v END) FROM TABLE GROUP BY d');

-- Values, and groups, that find no memory
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET enable_sort = off;
CREATE FUNCTION spilled(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN format('spilled: %s, in parts: %s, memory as wanted: %s',
        jsonb_path_query_first(plan, 'strict $.**."CScan Rows Spilled"')::int > 0, jsonb_path_query_first(plan, 'strict $.**."CScan Spill Partitions"')::int > 0,
        coalesce(jsonb_path_query_first(plan, 'strict $.**."CScan Memory"')::int, 0) < 200);
END $$;
SELECT spilled('SELECT count(DISTINCT id) FROM t');
SELECT spilled('SELECT grp, count(DISTINCT v || id) FROM t GROUP BY grp');
SELECT spilled('SELECT id % 2000, count(DISTINCT id), count(DISTINCT v) FROM t GROUP BY 1');
-- What is on disk counts although nobody reads it
SELECT spilled('SELECT id, count(DISTINCT v) FROM t GROUP BY id LIMIT 1');
SELECT same('SELECT count(DISTINCT id), count(DISTINCT v || id), count(DISTINCT n + id) FROM TABLE');
SELECT same('SELECT grp, count(DISTINCT id), count(DISTINCT v || id), count(DISTINCT v) FROM TABLE GROUP BY grp');
SELECT same('SELECT id % 2000, count(DISTINCT id), count(DISTINCT v), count(DISTINCT n), sum(m) FROM TABLE GROUP BY 1');
SELECT same('SELECT v, rtrim(p), count(DISTINCT id), count(DISTINCT repeat(v, 20)) FROM TABLE GROUP BY 1, 2');
-- Values that are larger than that
SELECT same('SELECT grp, count(DISTINCT repeat(v, 3000)) FROM TABLE WHERE id < 100 GROUP BY grp');
SELECT same('SELECT count(DISTINCT repeat(v || id % 50, 3000)) FROM TABLE WHERE id < 300');
-- What an expression makes of a batch's values is not all in memory: of spilled rows, and of values that may look different.
CREATE FUNCTION memory(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN CASE WHEN jsonb_path_query_first(plan, 'strict $.**."CScan Memory"')::int < 2000 THEN 'as wanted' ELSE plan::text END;
END $$;
SELECT memory('SELECT id, count(DISTINCT repeat(id::text, 20000)) FROM t WHERE id < 1000 GROUP BY id');
SELECT memory('SELECT count(DISTINCT repeat(id::text, 20000)::bpchar) FROM t WHERE id < 1000');
SELECT memory('SELECT repeat(id::text, 20000), count(*) FROM t WHERE id < 1000 GROUP BY 1');
-- Nor are all strings of a row group's dictionary.
CREATE TABLE words (word text, filler text);
ALTER TABLE words ALTER word SET STORAGE PLAIN, ALTER filler SET STORAGE PLAIN;
INSERT INTO words SELECT (SELECT string_agg(md5((g % 300 * 20 + i)::text), '') FROM generate_series(1, 20) i), repeat('x', 800) FROM generate_series(1, 3000) g;
VACUUM ANALYZE words;
CREATE INDEX ON words USING cscan_columns (word) WITH (row_group_blocks = 256);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT word, count(*) FROM words GROUP BY word;
SELECT spilled('SELECT word, count(*) FROM words GROUP BY word');
SELECT count(*), sum(n), count(DISTINCT n), count(DISTINCT word) FROM (SELECT word, count(*) AS n FROM words GROUP BY word) x;
RESET enable_seqscan;
SELECT same('SELECT count(DISTINCT repeat(id::text, 2000)::bpchar), count(DISTINCT id + 10.0::numeric ^ 200) FROM TABLE WHERE id < 1000');
-- A rescan, with values on disk
SELECT x, y, z FROM generate_series(1, 3) x, LATERAL (SELECT count(DISTINCT id) y, count(DISTINCT v || id) z FROM t WHERE id % 3 <> x % 3 OFFSET 0) s ORDER BY 1;
SELECT x, y, z FROM generate_series(1, 2) x, LATERAL (SELECT grp y, count(DISTINCT id) z FROM t WHERE id > x * 1000 AND grp < 3 GROUP BY grp OFFSET 0) s ORDER BY 1, 2;
-- Not all groups are wanted.
SELECT count(*) FROM (SELECT id % 2000, count(DISTINCT id) FROM t GROUP BY 1 LIMIT 10) x;
RESET work_mem;
RESET hash_mem_multiplier;
RESET enable_sort;

-- Partitions, and arms that have other columns
CREATE TABLE q (id int, grp int, v text, n numeric) PARTITION BY RANGE (id);
CREATE TABLE q1 PARTITION OF q FOR VALUES FROM (0) TO (3000);
CREATE TABLE q2 (n numeric, v text, gone int, grp int, id int);
ALTER TABLE q2 DROP gone;
ALTER TABLE q ATTACH PARTITION q2 FOR VALUES FROM (3000) TO (9000);
INSERT INTO q SELECT id, grp, v, n FROM t WHERE id >= 0;
VACUUM ANALYZE q;
SELECT same_whole('SELECT grp, count(DISTINCT v), count(DISTINCT n), count(DISTINCT id % 13) FROM q GROUP BY grp');
SELECT same_whole('SELECT count(DISTINCT v), count(DISTINCT k) FROM (SELECT v, grp AS k FROM q1 UNION ALL SELECT c || ''x'', id % 5 FROM t UNION ALL SELECT ''arm'', NULL FROM q2) x');
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT same_whole('SELECT id % 1500, count(DISTINCT v), count(DISTINCT n), count(DISTINCT id) FROM q GROUP BY 1');
RESET work_mem;
RESET hash_mem_multiplier;
-- Parallel plans have no halves of it.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT same('SELECT grp, count(DISTINCT v), sum(id) FROM TABLE GROUP BY grp');
-- SELECT DISTINCT has: each process finds what is different in its rows.
EXPLAIN (COSTS OFF) SELECT DISTINCT grp, v FROM t WHERE m > 0.5;
SELECT same('SELECT DISTINCT grp, v FROM TABLE WHERE m > 0.5');
SELECT same('SELECT count(*), sum(x) FROM (SELECT DISTINCT id % 3000 AS x FROM TABLE) y');
SELECT same_whole('SELECT DISTINCT grp, n FROM q');
RESET max_parallel_workers_per_gather;

-- SELECT DISTINCT
EXPLAIN (COSTS OFF) SELECT DISTINCT grp, v FROM t WHERE m > 0.5 ORDER BY v DESC, grp LIMIT 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM (SELECT DISTINCT grp, upper(v), 1 FROM q) x;
SELECT query, has_vectors(query) FROM (VALUES
    ('SELECT DISTINCT ON (grp) grp, v FROM t ORDER BY grp, id'),
    ('SELECT DISTINCT random() FROM t'),
    ('SELECT DISTINCT ctid FROM t'),
    ('SELECT DISTINCT t FROM t'),
    ('SELECT DISTINCT unnest(ARRAY[id, grp]) FROM t'),
    ('SELECT DISTINCT rank() OVER (ORDER BY grp) FROM t'),
    ('SELECT DISTINCT grp, (SELECT x.v FROM r x WHERE x.id = t.id) FROM t'),
    ('SELECT DISTINCT t.grp FROM t JOIN r USING (id)')) q(query);
SELECT reason FROM cscan_why_not('SELECT DISTINCT ON (grp) grp, v FROM t ORDER BY grp, id');
SELECT reason FROM cscan_why_not('SELECT DISTINCT grp, ctid FROM t');
-- One row is enough for PostgreSQL.
SELECT query, has_vectors(query) FROM (VALUES
    ('SELECT DISTINCT 1 FROM t'),
    ('SELECT DISTINCT grp, now() FROM t WHERE grp = 3'),
    ('SELECT 1 FROM t GROUP BY 1::int'),
    ('SELECT count(*) FROM t GROUP BY 1::int')) q(query);
SELECT same('SELECT DISTINCT grp FROM TABLE');
SELECT same('SELECT DISTINCT v, o, c FROM TABLE');
SELECT same('SELECT DISTINCT f, m, d, b FROM TABLE');
SELECT same('SELECT DISTINCT trim_scale(n), rtrim(p) FROM TABLE');
SELECT same('SELECT DISTINCT id % 7, 1, NULL::text, grp, grp, o FROM TABLE WHERE id > 50');
SELECT same('SELECT DISTINCT grp FROM TABLE WHERE id < 0');
SELECT same('SELECT DISTINCT d + 1, extract(year FROM d), CASE WHEN grp > 5 THEN v END FROM TABLE ORDER BY 1, 3 LIMIT 20');
SELECT same('SELECT DISTINCT id + f FROM TABLE');
SELECT same('SELECT x.grp, count(*) FROM (SELECT DISTINCT grp, v FROM TABLE) x JOIN (SELECT DISTINCT grp FROM TABLE) y USING (grp) GROUP BY x.grp');
SELECT same('SELECT DISTINCT sum(id) % 5 FROM TABLE GROUP BY v');
SELECT same('SELECT DISTINCT * FROM TABLE');
PREPARE selected(int) AS SELECT DISTINCT grp + $1 FROM t WHERE grp < $1 ORDER BY 1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE selected(2);
EXECUTE selected(2);
RESET plan_cache_mode;
-- On disk, and early
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET enable_sort = off;
SELECT spilled('SELECT DISTINCT id, v FROM t');
SELECT same('SELECT DISTINCT id, v FROM TABLE');
SELECT same('SELECT DISTINCT v || id FROM TABLE');
RESET enable_sort;
CREATE INDEX ON t USING brin (id) WITH (pages_per_range = 4);
VACUUM ANALYZE t;
EXPLAIN (COSTS OFF) SELECT DISTINCT id FROM t;
SELECT same('SELECT DISTINCT id FROM TABLE');
RESET work_mem;
RESET hash_mem_multiplier;
-- Of arms and partitions
SELECT same_whole('SELECT DISTINCT grp, v FROM q');
SELECT same_whole('SELECT DISTINCT v, k FROM (SELECT v, grp AS k FROM q1 UNION ALL SELECT c || ''x'', id % 5 FROM t UNION ALL SELECT ''arm'', NULL FROM q2) x');

SET client_min_messages = warning;
DROP SCHEMA distincts CASCADE;
