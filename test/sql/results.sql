-- The rows of a CScan are those of a Seq Scan, whatever the policy.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA results;
SET search_path = results, public;
\set ECHO none
\i :helpers
\set ECHO all

SELECT make_table('t', 1000), make_table('s', 70), make_table('u', 700, 'UNLOGGED');
-- Holes, dead rows, moved rows, nulls, values out of line, added columns
DELETE FROM t WHERE id BETWEEN 300 AND 420 OR id % 7 = 0;
UPDATE t SET grp = grp + 100 WHERE id % 5 = 0;
ALTER TABLE t ADD COLUMN later int DEFAULT 42;
UPDATE t SET pad = (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 100) g) WHERE id % 100 = 1;
UPDATE t SET pad = NULL WHERE id % 100 = 2;
ANALYZE t;
-- 1000 blocks: more than fit into shared_buffers (256), let alone into the ABM's share
SELECT make_table('big', 4000);
SELECT pg_relation_size('big') / 8192 AS blocks;
CREATE TABLE part (id int, grp int, pad text) PARTITION BY LIST (grp);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1, 2, 3, 4) WITH (fillfactor = 10);
CREATE TABLE part_2 PARTITION OF part DEFAULT WITH (fillfactor = 10);
INSERT INTO part SELECT * FROM big WHERE id <= 800;
CREATE TABLE empty (LIKE t);

SELECT query, (differences(query)).* FROM (VALUES
    (1, 'SELECT * FROM t'),
    (2, 'SELECT ctid AS c, xmin AS x1, xmax AS x2, cmin AS c1, tableoid AS o, t.* FROM t'),
    (3, 'SELECT grp, count(*) AS n, sum(id), count(pad), max(pad), sum(later) AS l FROM t GROUP BY grp'),
    (4, 'SELECT * FROM t WHERE pad LIKE ''%x'' AND id + grp > 500'),
    (5, 'SELECT * FROM t WHERE false'),
    (6, 'SELECT id, t FROM t WHERE pad IS NULL'),
    (7, 'SELECT * FROM u'),
    (8, 'SELECT * FROM empty'),
    (9, 'SELECT * FROM part'),
    (10, 'SELECT id, grp, length(pad) FROM big'),
    (11, 'SELECT grp, count(*), sum(id) FROM big GROUP BY grp'),
    (12, 'SELECT count(*) FROM (SELECT FROM t LIMIT 33) x'),
    (13, 'SELECT count(*) FROM (SELECT FROM t OFFSET 333) x'),
    (14, 'SELECT id, row_number() OVER (ORDER BY grp, id) FROM t'),
    (15, 'SELECT id, x.grp, y.pad, u.grp AS g FROM t x JOIN t y USING (id) JOIN u USING (id)'),
    (16, 'SELECT s.id, (SELECT count(*) FROM u WHERE u.id < s.id) FROM s'),
    (17, 'SELECT s.id FROM s WHERE EXISTS (SELECT FROM t WHERE t.id = s.id AND t.grp <> 3)'),
    (18, 'SELECT id FROM s WHERE id NOT IN (SELECT id FROM t)'),
    (19, 'WITH c AS MATERIALIZED (SELECT * FROM t) SELECT id, c.grp, d.pad FROM c JOIN c d USING (id)'),
    (20, 'SELECT id FROM t UNION ALL SELECT id FROM t UNION ALL SELECT id FROM u'),
    (21, 'SELECT DISTINCT grp FROM u WHERE grp < ANY (SELECT grp FROM s)')
) AS q(n, query) ORDER BY n, policy;

-- Rescans: the inner side of a nested loop, which often stops early (semi-join) or begins with another parameter (lateral)
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
EXPLAIN (COSTS OFF) SELECT s.id, u.id FROM s JOIN u ON s.id < u.grp;
SELECT query, (differences(query)).* FROM (VALUES
    (1, 'SELECT s.id, u.id AS id2 FROM s JOIN u ON s.id = u.id + 30'),
    (2, 'SELECT s.id FROM s WHERE EXISTS (SELECT FROM u WHERE u.id = s.id * 7)'),
    (3, 'SELECT s.id, x.id AS id2 FROM s, LATERAL (SELECT * FROM u WHERE u.id > s.id * 5 ORDER BY id LIMIT 3) x'),
    (4, 'SELECT s.id, x.n FROM s, LATERAL (SELECT count(*) AS n FROM (SELECT FROM u WHERE u.id > s.id LIMIT 100) y) x')
) AS q(n, query) ORDER BY n, policy;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;

-- Compiled expressions
SET jit = on;
SET jit_above_cost = 0;
SET jit_optimize_above_cost = 0;
SET jit_inline_above_cost = 0;
SELECT query, (differences(query)).* FROM (VALUES
    (1, 'SELECT id + 1 AS x, pad, later FROM t WHERE grp % 3 = 1 AND length(pad) > 10'),
    (2, 'SELECT grp, count(*), sum(id), max(pad) FROM t WHERE later = 42 GROUP BY grp')
) AS q(n, query) ORDER BY n, policy;
RESET jit;
RESET jit_above_cost;
RESET jit_optimize_above_cost;
RESET jit_inline_above_cost;

-- COPY takes the planner's plan, too.
COPY (SELECT count(*), sum(id) FROM u) TO STDOUT;

-- Functions that scan while a scan of the same table calls them
CREATE FUNCTION inner_sum(int) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT sum(id) FROM u WHERE id <= $1';
CREATE FUNCTION inner_loop(int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    r record;
    n bigint := 0;
BEGIN
    FOR r IN SELECT id FROM u LOOP
        n := n + 1;
        EXIT WHEN n = $1;
    END LOOP;
    RETURN n;
END $$;
SELECT count(*), sum(inner_sum(id)), sum(inner_loop(id)) FROM u WHERE id % 10 = 0;

-- A row that cannot be computed ends a scan in its middle, and another one is not worse for it.
SELECT sum(1 / (id - 500)) FROM u;
SELECT * FROM left_behind();
DO $$
BEGIN
    FOR i IN 1..50 LOOP
        BEGIN
            PERFORM 1 / (id - 500) FROM u;
        EXCEPTION WHEN division_by_zero THEN NULL;
        END;
    END LOOP;
END $$;
SELECT * FROM left_behind();
SELECT count(*), sum(id) FROM u;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA results CASCADE;
