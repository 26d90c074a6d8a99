-- CScan Aggregate: groups and aggregates of whole batches of a CScan's rows, from pages and from column runs.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA vectors;
SET search_path = vectors, public;
\i :helpers
\set aggregates :abs_srcdir '/sql/vectors.psql'
\set ECHO none
\i :aggregates
\set ECHO all
CREATE TABLE t (id int, grp int, n numeric(10,2), d date, c char(1), v text, f float8, big bigint) WITH (fillfactor = 30);
INSERT INTO t SELECT i, i % 10, i / 100.0, date '2020-01-01' + i / 100, substr('ABC', 1 + i % 3, 1), 'value ' || i % 7, i % 4, i * 1000000007::bigint
    FROM generate_series(1, 5000) i;
INSERT INTO t VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE r (LIKE t) WITH (fillfactor = 30);
INSERT INTO r TABLE t;
VACUUM (FREEZE, ANALYZE) t, r;
CREATE INDEX r_columns ON r USING cscan_columns (id, grp, n, d, c, v, f, big) WITH (row_group_blocks = 64);
VACUUM (FREEZE) r;

-- What runs where, and what PostgreSQL computes row by row
EXPLAIN (COSTS OFF) SELECT count(*), sum(n) FROM t WHERE d < date '2020-02-01' AND grp IN (1, 2, NULL);
EXPLAIN (COSTS OFF) SELECT c, v, sum(n * (1 - n)), avg(id), min(d), max(n) FILTER (WHERE grp > 3) FROM t WHERE v LIKE '%3' OR id < 10 GROUP BY c, v HAVING count(*) > 5;
EXPLAIN (COSTS OFF) SELECT grp % 3, sum(f), stddev(id), min(v), sum(n / 3) FROM t WHERE length(v) > 3 GROUP BY 1;
EXPLAIN (COSTS OFF, VERBOSE) SELECT count(big) FROM r;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT c, sum(n) FROM r WHERE d BETWEEN date '2020-01-05' AND date '2020-01-05' + interval '1 day' GROUP BY c;
RESET enable_seqscan;
SET cscan.vectors = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t;
RESET cscan.vectors;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT grp, count(*) FROM t GROUP BY grp;
RESET enable_hashagg;

-- What stays with PostgreSQL's nodes
SELECT query, has_vectors(query) FROM (VALUES
    ('SELECT count(DISTINCT id) FROM t'),
    ('SELECT string_agg(v, '','' ORDER BY id) FROM t'),
    ('SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FROM t'),
    ('SELECT grp, count(*) FROM t GROUP BY ROLLUP (grp)'),
    ('SELECT ARRAY[grp], count(*) FROM t GROUP BY 1'),
    ('SELECT grp, GROUPING(grp), count(*) FROM t GROUP BY grp'),
    ('SELECT grp, count(*) FROM t GROUP BY grp HAVING GROUPING(grp) = 0'),
    ('SELECT sum(random()) FROM t'),
    ('SELECT count(*) FILTER (WHERE random() < 2) FROM t'),
    ('SELECT count(*) FROM t WHERE random() < 2'),
    ('SELECT random() < 2, count(*) FROM t GROUP BY 1'),
    ('SELECT count(t) FROM t'),
    ('SELECT min(ctid) FROM t'),
    ('SELECT sum((SELECT max(id) FROM r)) FROM t'),
    ('SELECT v COLLATE "C", count(*) FROM t GROUP BY 1'),
    ('SELECT grp FROM t GROUP BY grp'),
    ('SELECT count(*) FROM t WHERE id < (SELECT avg(id) FROM r)'),
    ('SELECT count(*) FROM t WHERE ctid > ''(3,0)'''),
    ('SELECT count(*) FROM (SELECT FROM t LIMIT 5) x')) q(query);

-- The same from pages, from column runs, and without vectors
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    got text;
    wanted text;
    answer text;
BEGIN
    FOR i IN 1 .. 3 LOOP
        PERFORM set_config('cscan.vectors', CASE WHEN i = 1 THEN 'off' ELSE 'on' END, true);
        PERFORM set_config('enable_seqscan', CASE WHEN i = 3 THEN 'off' ELSE 'on' END, true);
        EXECUTE 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM (' || replace(query, 'TABLE', CASE WHEN i = 3 THEN 'r' ELSE 't' END) || ') x' INTO got;
        wanted := coalesce(wanted, got, 'null');
        IF coalesce(got, 'null') <> wanted THEN
            RETURN format('%s: %s, and not %s', i, got, wanted);
        END IF;
    END LOOP;
    RETURN wanted;
END $$;
SELECT same('SELECT count(*), count(id), sum(id), avg(id), min(id), max(id) FROM TABLE');
SELECT same('SELECT sum(n), avg(n), min(n), max(n), sum(n * n), sum(-n), sum(n - 1) FROM TABLE');
SELECT same('SELECT c, count(*), sum(big), max(d), min(v), bool_and(id > 0), sum(f) FROM TABLE GROUP BY c');
SELECT same('SELECT grp, c, avg(n) FROM TABLE WHERE id % 7 = 3 AND d > date ''2020-01-20'' GROUP BY grp, c HAVING count(*) > 14');
SELECT same('SELECT v, sum(id) FILTER (WHERE grp = 3), count(*) FILTER (WHERE n > 25.505) FROM TABLE WHERE NOT (c = ''A'' OR v IS NULL) GROUP BY v');
SELECT same('SELECT count(*), sum(id) FROM TABLE WHERE id < 0');
SELECT same('SELECT grp, count(*) FROM TABLE WHERE id < 0 GROUP BY grp');
SELECT same('SELECT 1, count(*) FROM TABLE WHERE id < 0 GROUP BY 1');
SELECT same('SELECT n::numeric, count(*) FROM TABLE WHERE id < 4 GROUP BY 1');
SELECT same('SELECT id / 1000, max(big / 3), sum(id * 2) FROM TABLE GROUP BY 1');

-- A row for which a condition raises an error raises it, though a later condition would drop the row.
SELECT count(*) FROM t WHERE id + 2147483000 > 0 AND (big < 0 OR n < 0);
SELECT count(*) FROM t WHERE length(v) / (id - 1) >= 0 AND (big < 0 OR n < 0 OR id < 0 OR grp < 0);
SELECT count(*) FROM t WHERE v LIKE '%3' AND big < 0;
SET plan_cache_mode = force_generic_plan;
PREPARE fails(int) AS SELECT count(*) FROM t WHERE v < (1 / $1)::text AND (big < 0 OR n < 0 OR id < 0 OR grp < 0 OR big < -1 OR id < -1);
EXECUTE fails(1);
EXECUTE fails(0);
DEALLOCATE fails;
RESET plan_cache_mode;

-- Parameters, also those that no vector can have
PREPARE p(numeric, timestamp) AS SELECT count(*), sum(id) FROM t WHERE n < $1 AND d >= $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE p(10.005, '2020-01-03 12:00');
EXECUTE p('NaN', '-infinity');
EXECUTE p(1e40, NULL);
EXECUTE p(10.01, '2020-01-03');
-- Nothing is computed before a row needs it.
PREPARE q(int) AS SELECT count(*) FROM t WHERE id < 0 AND grp < 10 / $1;
EXECUTE q(0);
PREPARE g(int) AS SELECT count(*) FROM t WHERE id < 100 AND (grp = 3 OR n < 10 / $1);
EXECUTE g(1);
EXECUTE g(0);
-- A condition without a column is checked once.
PREPARE o(int) AS SELECT count(*) FROM t WHERE $1 > 0 AND id < 100;
EXECUTE o(1);
EXECUTE o(0);
RESET plan_cache_mode;
SELECT x, (SELECT count(*) FROM t WHERE grp = x) FROM generate_series(1, 3) x;

-- Errors are PostgreSQL's own, and only where it raises them.
SELECT sum(id * 1000000) FROM t;
SELECT sum(id * 1000000) FROM t WHERE id < 2000;
SELECT count(*) FROM t WHERE 100 / (id - 7) > 1;
SELECT count(*) FROM t WHERE id <> 7 AND 100 / (id - 7) > 1;
SELECT grp / (grp - 3), count(*) FROM t WHERE grp <> 3 GROUP BY 1 ORDER BY 1;
SELECT sum(big * big) FROM t;

SELECT count(*) FROM t WHERE id >= 1 OR id IS NULL OR grp < (SELECT id FROM r);
SELECT count(*) FROM t WHERE id = -1 OR (id > 5000000 AND 1 / (coalesce(grp, 4) - 4) > 0);
SELECT count(*) FROM t WHERE id <> ALL ('{}');

SELECT grp, GROUPING(grp), count(*) FROM t WHERE grp < 2 GROUP BY grp ORDER BY grp;
-- Conditions nested deeply: each part is computed once for a row, and volatile ones row by row.
CREATE FUNCTION nested(depth int, leaf text, OUT condition text) LANGUAGE plpgsql AS $$
BEGIN
    condition := 'id > -1';
    FOR i IN 1 .. depth LOOP
        condition := format(CASE WHEN i % 2 = 1 THEN '(%s <> -%s AND %s)' ELSE '(%s = -%s OR %s)' END, leaf, i, condition);
    END LOOP;
END $$;
SELECT same(format('SELECT count(*) FROM TABLE WHERE %s', nested(depth, leaf)))
    FROM (VALUES (3, 'id + 1'), (14, 'id + 1'), (40, 'id + 1'), (300, 'id + 1'), (3, 'length(v)'), (14, 'length(v)'), (40, 'length(v)'), (300, 'length(v)')) x(depth, leaf);
SELECT same(format('SELECT count(*) FILTER (WHERE %s), count(*) FILTER (WHERE NOT %s) FROM TABLE', nested(depth, leaf), nested(depth, leaf)))
    FROM (VALUES (5, 'id + 1'), (30, 'length(v)')) x(depth, leaf);
CREATE SEQUENCE calls;
SELECT count(*) FROM t WHERE nextval('calls') % 2 = 1 AND nextval('calls') % 3 <> 0;
-- A key without a collation
CREATE TABLE in_c (k text COLLATE "C");
CREATE TABLE in_posix (k text COLLATE "POSIX");
INSERT INTO in_c VALUES ('a');
INSERT INTO in_posix VALUES ('a');
SELECT k, count(*) FROM (TABLE in_c UNION ALL TABLE in_posix) x GROUP BY k;

-- What is beyond 64 bits is summed up all the same.
CREATE TABLE wide (b bigint, n numeric(20,2));
INSERT INTO wide SELECT 9223372036854775807, 999999999999999999.99 FROM generate_series(1, 100);
INSERT INTO wide VALUES (-5, 'NaN');
SELECT sum(b), avg(b), max(n), count(n) FROM wide;
SELECT sum(n), avg(n), min(n), sum(n + n) FROM wide WHERE b > 0;
SELECT sum(n) FROM wide;

-- More groups than memory holds
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT count(*), sum(a), sum(b), min(c) FROM (SELECT id, v, sum(id) a, count(*) b, max(n) c FROM t GROUP BY id, v) x;
CREATE FUNCTION spilled(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN (jsonb_path_query_first(plan::jsonb, 'strict $.**."CScan Rows Spilled"'))::int > 0;
END $$;
SELECT spilled('SELECT id, v, sum(id) FROM t GROUP BY id, v'), spilled('SELECT grp, sum(id) FROM t GROUP BY grp');
-- Groups whose rows are near to each other make room: of each query the answer, whether groups, and rows, were spilled.
CREATE TABLE near (k int, d date, n numeric(12,2), i int, b bigint, o boolean);
INSERT INTO near SELECT nullif(g / 5, 70), date '2020-01-01' + g / 3, CASE WHEN g % 701 = 0 THEN 'NaN' WHEN g % 11 > 0 THEN g / 100.0 END, g,
    g * 3000000000, g % 2 = 0 FROM generate_series(1, 20000) g;
INSERT INTO near SELECT g / 7, date '2020-01-01' + g / 9, -g, -g, 1, NULL FROM generate_series(1, 20000) g;
VACUUM (FREEZE, ANALYZE) near;
CREATE FUNCTION flushed(query text, OUT same boolean, OUT groups_spilled boolean, OUT rows_spilled boolean) LANGUAGE plpgsql AS $$
DECLARE
    rows text := 'SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM (' || query || ') x';
    wanted text;
    found text;
    plan jsonb;
BEGIN
    SET cscan.enabled = off;
    EXECUTE rows INTO wanted;
    RESET cscan.enabled;
    EXECUTE rows INTO found;
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    same := found = wanted;
    groups_spilled := jsonb_path_query_first(plan, 'strict $.**."CScan Groups Spilled"')::int > 0;
    rows_spilled := jsonb_path_query_first(plan, 'strict $.**."CScan Rows Spilled"')::int > 0;
END $$;
SELECT query, f.* FROM unnest(ARRAY[
    'SELECT k, count(*), sum(i), avg(b), min(i), max(d) FROM near GROUP BY k', 'SELECT k, d, sum(n), trim_scale(min(n)), trim_scale(max(n)), count(n), avg(n) FROM near GROUP BY k, d',
    'SELECT i / 4, o, count(*), sum(n) FILTER (WHERE o), sum(CASE WHEN o THEN n ELSE 0 END) FROM near GROUP BY 1, 2', 'SELECT d, max(n + n), sum(b + i) FROM near GROUP BY d HAVING count(*) > 2',
    'SELECT k FROM near GROUP BY k', 'SELECT i % 8000, count(*) FROM near GROUP BY 1', 'SELECT i, count(*) FROM near GROUP BY i', 'SELECT k, sum(i::float8) FROM near GROUP BY k',
    'SELECT k, count(DISTINCT o) FROM near GROUP BY k', 'SELECT k::text, count(*) FROM near GROUP BY 1', 'SELECT x, y.* FROM generate_series(1, 2) x, LATERAL (SELECT k, sum(i + x) FROM near GROUP BY k OFFSET 0) y']) query,
    flushed(query) f;
SELECT count(*) FROM (SELECT k, sum(i) FROM near GROUP BY k LIMIT 3) x;
-- Numerics that come late take memory, too.
CREATE TABLE late (k int, n numeric(1000,2));
INSERT INTO late SELECT g / 3, 1 FROM generate_series(1, 12000) g;
INSERT INTO late SELECT g / 3, repeat('9', 990)::numeric - g FROM generate_series(1, 12000) g;
VACUUM (FREEZE, ANALYZE) late;
CREATE FUNCTION memory(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN jsonb_path_query_first(plan, 'strict $.**."CScan Memory"');
END $$;
SELECT flushed(query), memory(query) < 300 AS is_little FROM (VALUES ('SELECT k, max(n), sum(n), count(*) FROM late GROUP BY k')) q (query);
-- A key whose first rows found no memory stays on disk, though later there would be room.
CREATE TABLE dense (k int, f boolean, s text);
INSERT INTO dense SELECT i % 2000, i <= 2000 OR i % 10 = 0, 'a long string number ' || i % 2000 FROM generate_series(1, 20000) i;
VACUUM (FREEZE, ANALYZE) dense;
CREATE INDEX dense_columns ON dense USING cscan_columns (k, f, s) WITH (row_group_blocks = 64);
SELECT count(*), count(DISTINCT k), sum(c) FROM (SELECT k, s, count(*) c FROM dense WHERE f GROUP BY k, s OFFSET 0) x;
SET enable_seqscan = off;
SELECT count(*), count(DISTINCT k), sum(c) FROM (SELECT k, s, count(*) c FROM dense WHERE f GROUP BY k, s OFFSET 0) x;
RESET enable_seqscan;
-- Large values do not all have memory at once.
CREATE TABLE large (v text);
INSERT INTO large SELECT i || repeat('x', 100000) FROM generate_series(1, 500) i;
CREATE FUNCTION peak(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN (jsonb_path_query_first(plan::jsonb, 'strict $.**."CScan Memory"'))::int;
END $$;
SELECT peak('SELECT v, count(*) FROM large GROUP BY v') < 1000, peak('SELECT v || 1, count(*) FROM large GROUP BY v || 1') < 1000;
SELECT count(*), sum(n) FROM (SELECT v, count(*) AS n FROM large GROUP BY v) x;
SELECT count(*), sum(n) FROM (SELECT v || 1, count(*) AS n FROM large GROUP BY v || 1) x;
RESET work_mem;
RESET hash_mem_multiplier;

-- Workers
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
EXPLAIN (COSTS OFF) SELECT grp, sum(n), avg(id), max(d) FROM t GROUP BY grp;
SELECT same('SELECT grp, sum(n), avg(id), avg(big), sum(big), max(d), count(*), stddev(id), min(v) FROM TABLE WHERE id % 5 = 1 GROUP BY grp');
SELECT same('SELECT sum(n), avg(n), avg(id), avg(big), sum(big), count(f) FROM TABLE WHERE id > 4000');
SELECT same('SELECT sum(n), avg(id), avg(big), sum(big), count(f) FROM TABLE WHERE id < 0');
SELECT sum(n), avg(n), sum(b) FROM wide;
RESET max_parallel_workers_per_gather;

-- Partitions, whose columns are in another order; children; UNION ALL.
CREATE TABLE p (id int, grp int, c char(5), n numeric(10,2), v text, big bigint) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (MINVALUE) TO (1000) WITH (fillfactor = 30);
CREATE TABLE p2 (v text, gone int, n numeric(10,2), big bigint, c char(5), grp int, id int) WITH (fillfactor = 30);
ALTER TABLE p2 DROP gone;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (1000) TO (2000);
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (2000) TO (MAXVALUE) PARTITION BY LIST (grp);
CREATE TABLE p3_even PARTITION OF p3 FOR VALUES IN (0, 2, 4, 6, 8) WITH (fillfactor = 30);
CREATE TABLE p3_odd PARTITION OF p3 DEFAULT WITH (fillfactor = 30);
INSERT INTO p SELECT id, grp, c, n, v, big FROM t WHERE id IS NOT NULL;
CREATE TABLE u (LIKE t) WITH (fillfactor = 30);
ALTER TABLE u ALTER c TYPE char(3), ALTER n TYPE numeric(12,4);
INSERT INTO u SELECT id, grp, n + 0.0001, d, c, v, f, big FROM t WHERE id < 900;
VACUUM ANALYZE p, u;
EXPLAIN (COSTS OFF) SELECT c, count(*), sum(n * 2) FROM p WHERE v LIKE '%3' AND grp > 2 GROUP BY c;
EXPLAIN (COSTS OFF, VERBOSE) SELECT grp + 1, max(big) FROM p WHERE id < 500 GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT src, sum(n) FROM (SELECT 'one' AS src, n FROM p1 UNION ALL SELECT 'two', n FROM u) x GROUP BY src;
SELECT same_whole('SELECT c, count(*), sum(n * 2), avg(big), min(v), max(id) FROM p WHERE v LIKE ''%3'' AND grp > 2 GROUP BY c');
SELECT same_whole('SELECT grp + 1, sum(id) FILTER (WHERE n > 12), length(string_agg(c, ''-'')) FROM p WHERE id % 50 = 3 GROUP BY 1 HAVING count(*) > 2');
SELECT same_whole('SELECT count(*), sum(n) FROM p WHERE id < 0');
SELECT same_whole('SELECT count(*), sum(n) FROM p WHERE id > 100 AND id < 1500');
SELECT same_whole('SELECT src, c, count(*), sum(n), min(n), max(n), avg(n) FROM (SELECT ''one'' AS src, c, n FROM p1 UNION ALL SELECT ''two'', c, n FROM u UNION ALL SELECT v, c, n + 1 FROM p2) x GROUP BY src, c');
SELECT same_whole('SELECT rtrim(c), count(*) FROM (SELECT c FROM p1 UNION ALL SELECT c FROM u) x GROUP BY c');
SELECT same_whole('SELECT k, count(*) FROM (SELECT grp AS k FROM t UNION ALL SELECT id % 3 FROM r UNION ALL SELECT NULL FROM u) x GROUP BY k');
-- What is volatile is computed once for each row, what is of the row itself is PostgreSQL's.
SELECT has_vectors('SELECT sum(y) FROM (SELECT n + random()::numeric AS y FROM p1 UNION ALL SELECT n FROM u) x'),
    has_vectors('SELECT tableoid, count(*) FROM p GROUP BY 1'),
    has_vectors('SELECT count(y) FROM (SELECT p1 AS y FROM p1 UNION ALL SELECT p1 FROM p1) x'),
    has_vectors('SELECT count(*) FROM (SELECT id FROM p1 UNION ALL SELECT x FROM generate_series(1, 3) x) y');
-- Groups of all partitions are spilled together.
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT spilled('SELECT id % 2500, v, count(*), sum(n) FROM p GROUP BY 1, 2');
SELECT same_whole('SELECT count(*), sum(h), max(m) FROM (SELECT id % 2500, v, count(*) AS h, max(n) AS m FROM p GROUP BY 1, 2) x');
SELECT same_whole('SELECT count(*), sum(h), max(m) FROM (SELECT k, c, count(*) AS h, sum(n) AS m FROM (SELECT id AS k, n, c FROM p UNION ALL SELECT id, n, c FROM u) y GROUP BY 1, 2) x');
RESET work_mem;
RESET hash_mem_multiplier;
-- A group shows a value of its own, not an equal one that looks different.
CREATE TABLE looks (id int, n numeric, c bpchar) WITH (fillfactor = 10);
INSERT INTO looks VALUES (1, 1.0, 'a'), (2, 1.00, 'a '), (3, 1.000, 'a  '), (4, 123456789012.50, 'abcdefghi '), (5, 123456789012.5, 'abcdefghi'), (6, NULL, NULL);
SELECT id, n, octet_length(c) AS c, count(*) FROM looks GROUP BY id, n, c ORDER BY id;
SELECT has_vectors('SELECT n, c, count(*) FROM looks GROUP BY 1, 2'), count(*) FROM (SELECT n, c, count(*) FROM looks GROUP BY 1, 2) x;
-- Pruning when the plan is executed, and rescans
SET plan_cache_mode = force_generic_plan;
PREPARE pruned(int) AS SELECT count(*), sum(n) FROM p WHERE id >= $1 AND id < $1 + 1200;
EXPLAIN (COSTS OFF) EXECUTE pruned(900);
EXECUTE pruned(900);
EXECUTE pruned(4500);
EXECUTE pruned(9000);
DEALLOCATE pruned;
RESET plan_cache_mode;
SELECT x, y, z FROM generate_series(1, 2) x, LATERAL (SELECT grp y, count(*) z FROM p WHERE id % 5 = x AND grp < 4 GROUP BY grp OFFSET 0) s ORDER BY 1, 2;
SELECT x, z FROM (VALUES (500), (1500), (9999)) v(x), LATERAL (SELECT count(*) z FROM p WHERE id = x OFFSET 0) s ORDER BY 1;
SET max_parallel_workers_per_gather = 2;
SELECT same_whole('SELECT c, count(*), sum(n * 2), avg(big), min(v), max(id) FROM p WHERE grp > 2 GROUP BY c');
RESET max_parallel_workers_per_gather;
-- With partitions each on its own
SET enable_partitionwise_aggregate = on;
SELECT same_whole('SELECT id, count(*), sum(n) FROM p WHERE grp = 3 AND id < 3000 GROUP BY id');
RESET enable_partitionwise_aggregate;

-- A rescan, and a cursor over groups
SELECT x, y, z FROM generate_series(1, 2) x, LATERAL (SELECT grp y, count(*) z FROM t WHERE id % 5 = x AND grp < 4 GROUP BY grp OFFSET 0) s ORDER BY 1, 2;
BEGIN;
DECLARE k SCROLL CURSOR FOR SELECT c, count(*) FROM t GROUP BY c ORDER BY c;
FETCH 2 FROM k;
FETCH BACKWARD 1 FROM k;
COMMIT;

-- Who may not call an aggregate cannot call it here.
CREATE ROLE vectors_user;
GRANT USAGE ON SCHEMA vectors TO vectors_user;
GRANT SELECT ON t TO vectors_user;
CREATE AGGREGATE own_sum(int) (SFUNC = int4pl, STYPE = int, INITCOND = '0');
REVOKE EXECUTE ON FUNCTION own_sum(int) FROM public;
SELECT own_sum(grp) FROM t;
SET ROLE vectors_user;
SELECT own_sum(grp) FROM t;
RESET ROLE;
-- So must functions that are not called: vectors do their work.
CREATE FUNCTION may_not(functions text, query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || functions || ' FROM public';
    SET LOCAL ROLE vectors_user;
    EXECUTE query;
    RAISE 'nobody minds';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;
SELECT may_not('int8pl', 'SELECT sum(big + big) FROM t');
SELECT may_not('int4mod', 'SELECT grp % 3, count(*) FROM t GROUP BY 1');
SELECT may_not('textlike', 'SELECT count(*) FILTER (WHERE v LIKE ''%3'') FROM t');
SELECT may_not('texteq', 'SELECT count(*) FILTER (WHERE v IN (''a'', ''b'')) FROM t');
SELECT may_not('float8mul, float8lt', 'SELECT sum(f * f) FROM t');
SELECT may_not('int4eq', 'SELECT sum(CASE WHEN grp = 3 THEN 1 END) FROM t');
SELECT may_not('int4mul', 'SELECT count(DISTINCT grp * 2) FROM t');
SELECT may_not('int4lt', 'SELECT count(*) FROM t WHERE id < 10');
SELECT may_not('texteq', 'SELECT count(*) FROM t WHERE id < 10');
SELECT may_not('int4eq', 'SELECT grp, count(*) FROM t GROUP BY grp');
SELECT may_not('int4ne', 'SELECT count(*) FILTER (WHERE grp NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)) FROM t');
SELECT may_not('int4eq', 'SELECT count(*) FILTER (WHERE grp NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)) FROM t');
SELECT may_not('hashint4', 'SELECT count(*) FILTER (WHERE grp IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)) FROM t');
-- States that are expanded objects, and states by reference
CREATE AGGREGATE own_array(anycompatible) (SFUNC = array_append, STYPE = anycompatiblearray, INITCOND = '{}');
CREATE AGGREGATE own_text(text) (SFUNC = textcat, STYPE = text, INITCOND = '');
SELECT grp, cardinality(own_array(id)), length(own_text(c)) FROM t WHERE grp < 2 GROUP BY grp ORDER BY grp;
-- A final function's result that somebody else might change, or free
CREATE FUNCTION own_final(int[]) RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS $$ DECLARE a int[] := $1; BEGIN a[1] := 42; RETURN a; END $$;
CREATE FUNCTION own_size(int[]) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN cardinality($1); END $$;
CREATE AGGREGATE own_changed(int) (SFUNC = array_append, STYPE = int[], INITCOND = '{}', FINALFUNC = own_final);
EXPLAIN (COSTS OFF) SELECT own_changed(id) FROM t WHERE id = 2;
SELECT array_append(own_changed(id), 1), array_append(own_changed(id), 2), own_changed(id) FROM t WHERE id = 2;
SELECT own_changed(id) FROM t WHERE id IN (3, 4) GROUP BY id HAVING own_size(own_changed(id)) > 0;
-- A volatile function is called row by row.
CREATE SEQUENCE ticks;
CREATE FUNCTION tick(bigint, int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN $1 + nextval('ticks'); END $$;
CREATE AGGREGATE own_ticks(int) (SFUNC = tick, STYPE = bigint, INITCOND = '0');
CREATE AGGREGATE own_more_ticks(int) (SFUNC = tick, STYPE = bigint, INITCOND = '100');
SELECT reason FROM cscan_why_not('SELECT own_ticks(id) FROM t');
SELECT own_ticks(id), own_more_ticks(id) FROM t WHERE id <= 3;
DROP OWNED BY vectors_user;
DROP ROLE vectors_user;

SET client_min_messages = warning;
DROP SCHEMA vectors CASCADE;
