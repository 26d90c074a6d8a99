-- A parallel sequential scan is a CScan that the processes of a query share: one registration, and each chunk is read by
-- whoever asks for it.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
-- It is about scans; vectors.sql has the node that aggregates their rows.
SET cscan.vectors = off;
CREATE SCHEMA parallel;
SET search_path = parallel, public;
\set ECHO none
\i :helpers
\set ECHO all

-- 32, 22 and 32 chunks; a scan that has read the head of "two" still has something to share, one of "chunk" never has.
SELECT make_table('t', 1000), make_table('u', 700, 'UNLOGGED'), make_table('s', 20);
SELECT make_table('two', 72), make_table('chunk', 32), make_table('nothing', 0);
-- More than fits into shared_buffers
SELECT make_table('big', 2000);
CREATE TABLE part (id int, grp int, pad text) PARTITION BY LIST (grp);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1, 2, 3, 4) WITH (fillfactor = 10);
CREATE TABLE part_2 PARTITION OF part DEFAULT WITH (fillfactor = 10);
INSERT INTO part SELECT * FROM t;
ANALYZE part;
-- What stands beside parallel scans, and is none
ALTER TABLE s SET (parallel_workers = 0);

-- A query's scans of tables, in the plan's order, with what parallel scans hang from
CREATE FUNCTION parallel_scans(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
    RETURN (SELECT string_agg(CASE WHEN n->>'Node Type' ~ '^Gather' THEN (n->>'Node Type') || ':'
                                   ELSE CASE WHEN (n->>'Parallel Aware')::bool THEN 'Parallel ' ELSE '' END ||
                                        coalesce(n->>'Custom Plan Provider', n->>'Node Type') || ' ' || (n->>'Relation Name') END,
                              ' ' ORDER BY i)
            FROM jsonb_path_query(plan, 'strict $.** ? (@."Relation Name" != "" || @."Node Type" starts with "Gather")')
                 WITH ORDINALITY AS p(n, i));
END $$;
-- Which policies have the same rows as the query has with cscan.enabled = off
CREATE FUNCTION check_query(query text, OUT scans text, OUT nrows bigint, OUT agreeing text) LANGUAGE plpgsql AS $$
BEGIN
    scans := parallel_scans(query);
    SELECT max(d.nrows), string_agg(d.policy, ', ' ORDER BY d.policy) FILTER (WHERE d.missing = 0 AND d.extra = 0)
    FROM differences(query) d INTO nrows, agreeing;
END $$;
-- What EXPLAIN ANALYZE says of each CScan: chunks in all, and those that did not come in one of the three ways
CREATE FUNCTION counted(query text, OUT scan text, OUT chunks int, OUT unaccounted int) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT n->>'Alias', (n->>'CScan Chunks')::int,
            (n->>'CScan Chunks')::int - (n->>'CScan Chunks Resident')::int - (n->>'CScan Chunks Loaded')::int -
            (n->>'CScan Chunks Self-Read')::int
        FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "CScan")') n ORDER BY 1;
END $$;
-- How often a query registers, and how many chunks it is given
CREATE FUNCTION registered(query text, OUT scans bigint, OUT chunks bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM cscan_stat_reset();
    EXECUTE 'CREATE TEMP TABLE got AS ' || query;
    DROP TABLE got;
    SELECT sum(s.scans), sum(s.chunks_delivered) FROM cscan_stat s INTO scans, chunks;
END $$;

SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;

-- An aggregate: one registration for all processes, whoever of them reads
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM t;
SELECT count(*), sum(id), count(DISTINCT id) FROM t;
SELECT * FROM check_query('SELECT * FROM t WHERE grp <> 3');
SELECT * FROM registered('SELECT count(*) FROM t');
SELECT * FROM counted('SELECT count(*) FROM t');
SELECT * FROM cscan_why_not('SELECT count(*) FROM t');
SET parallel_leader_participation = off;
SELECT * FROM check_query('SELECT * FROM t WHERE grp <> 3');
SELECT * FROM registered('SELECT count(*) FROM t');
SELECT * FROM counted('SELECT count(*) FROM t');
-- Planned, but there are no workers: the leader is alone, whether it wants to take part or not.
SET max_parallel_workers = 0;
EXPLAIN (COSTS OFF) SELECT count(*) FROM t;
SELECT count(*), sum(id) FROM t;
SELECT * FROM counted('SELECT count(*) FROM t');
RESET parallel_leader_participation;
SELECT count(*), sum(id) FROM t;
SELECT * FROM counted('SELECT count(*) FROM t');
RESET max_parallel_workers;

-- Every policy, with tables that are not in memory
VACUUM FULL t;
SET cscan.policy = normal;
SELECT count(*), sum(id) FROM t;
SELECT * FROM counted('SELECT sum(length(pad)) FROM big');
VACUUM FULL t;
SET cscan.policy = attach;
SELECT count(*), sum(id) FROM t;
SELECT * FROM counted('SELECT sum(length(pad)) FROM big');
VACUUM FULL t;
SET cscan.policy = elevator;
SELECT count(*), sum(id) FROM t;
SELECT * FROM counted('SELECT sum(length(pad)) FROM big');
VACUUM FULL t;
SET cscan.policy = relevance;
SELECT count(*), sum(id) FROM t;
SELECT * FROM counted('SELECT sum(length(pad)) FROM big');
RESET cscan.policy;

-- Too small to be shared, and nothing at all: the processes share PostgreSQL's own parallel scan.
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT * FROM two'),
    (2, 'SELECT * FROM chunk'),
    (3, 'SELECT * FROM nothing')
) AS q(n, query), check_query(query) c ORDER BY n;
SELECT * FROM registered('SELECT * FROM two');
SELECT * FROM registered('SELECT * FROM chunk');

-- Sorted by each process
EXPLAIN (COSTS OFF) SELECT id, grp FROM t ORDER BY grp, id;
SELECT * FROM check_query('SELECT row_number() OVER () AS n, x.* FROM (SELECT id, grp FROM t ORDER BY grp, id) x');
SELECT id, grp FROM t ORDER BY grp DESC, id OFFSET 97 LIMIT 5;

-- Joins: what is hashed is shared as well.
EXPLAIN (COSTS OFF) SELECT count(*) FROM t JOIN u USING (id);
EXPLAIN (COSTS OFF) SELECT count(*) FROM t x JOIN t y USING (id);
SELECT * FROM counted('SELECT count(*) FROM t JOIN u USING (id)');
SELECT * FROM registered('SELECT count(*) FROM t x JOIN t y USING (id)');
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT id, t.grp, u.pad FROM t JOIN u USING (id)'),
    (2, 'SELECT id, x.grp, y.pad FROM t x JOIN t y USING (id)'),
    (3, 'SELECT id, t.grp, u.pad FROM t LEFT JOIN u USING (id)'),
    (4, 'SELECT id FROM t WHERE NOT EXISTS (SELECT FROM u WHERE u.id = t.id)'),
    (5, 'SELECT id, t.grp, s.pad FROM t JOIN s USING (id)')
) AS q(n, query), check_query(query) c ORDER BY n;
-- A hash table in several batches
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SELECT * FROM check_query('SELECT id, x.grp, y.pad FROM t x JOIN u y USING (id)');
RESET work_mem;
RESET hash_mem_multiplier;

-- Some processes are in one scan, others in the next.
EXPLAIN (COSTS OFF) SELECT count(*) FROM part;
EXPLAIN (COSTS OFF) SELECT id FROM t UNION ALL SELECT id FROM u;
SELECT * FROM counted('SELECT count(*) FROM part');
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT * FROM part'),
    (2, 'SELECT grp, count(*), sum(id) FROM part GROUP BY grp'),
    (3, 'SELECT id FROM t UNION ALL SELECT id FROM u'),
    (4, 'SELECT id FROM t UNION ALL SELECT id FROM s UNION ALL SELECT id FROM t')
) AS q(n, query), check_query(query) c ORDER BY n;
SET parallel_leader_participation = off;
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT * FROM part'),
    (2, 'SELECT id FROM t UNION ALL SELECT id FROM s UNION ALL SELECT id FROM t')
) AS q(n, query), check_query(query) c ORDER BY n;
RESET parallel_leader_participation;
SET enable_parallel_append = off;
SELECT * FROM check_query('SELECT * FROM part');
RESET enable_parallel_append;

-- A scan that may stop early. Its head is read once, by one process, and the rest without it.
EXPLAIN (COSTS OFF) SELECT id FROM t LIMIT 500;
-- (PostgreSQL's workers keep the limit of their first execution, so none here is larger than the one before.)
SELECT q.stop, c.* FROM (VALUES (2000), (1000), (999), (500), (33), (32), (1)) AS q(stop),
    LATERAL (SELECT count(*), count(DISTINCT id), bool_and(id BETWEEN 1 AND 1000) AS real FROM (SELECT id FROM t LIMIT q.stop) x) c ORDER BY stop;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM t LIMIT 1) x;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM t LIMIT 500) x;
SELECT count(*), count(DISTINCT id), sum(id) FROM (SELECT id FROM t LIMIT 2000) x;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM t OFFSET 1) x;
SELECT count(*), count(DISTINCT id), sum(id) FROM (SELECT id FROM two LIMIT 100) x;
SELECT count(*), count(DISTINCT id), sum(id) FROM (SELECT id FROM chunk LIMIT 100) x;
SELECT count(*) FROM (SELECT id FROM nothing LIMIT 100) x;
SELECT * FROM counted('SELECT id FROM t LIMIT 2000');
SELECT * FROM registered('SELECT id FROM t LIMIT 2000');
SELECT EXISTS (SELECT FROM t WHERE id = 500), EXISTS (SELECT FROM t WHERE id = 0);
SET parallel_leader_participation = off;
SELECT count(*), count(DISTINCT id), sum(id) FROM (SELECT id FROM t LIMIT 2000) x;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM t LIMIT 40) x;
RESET parallel_leader_participation;

-- Rescans: all of it, some of it, as much as the outer row says
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT count(*) FROM t WHERE grp < 5) x RIGHT JOIN (VALUES (1), (2), (3)) v ON true;
SELECT * FROM (SELECT count(*), sum(id) FROM t WHERE grp < 5) x RIGHT JOIN (VALUES (1), (2), (3)) v ON true;
SELECT * FROM counted('SELECT * FROM (SELECT count(*) FROM t WHERE grp < 5) x RIGHT JOIN (VALUES (1), (2), (3)) v ON true');
SELECT * FROM registered('SELECT * FROM (SELECT count(*) FROM t WHERE grp < 5) x RIGHT JOIN (VALUES (1), (2), (3)) v ON true');
SELECT * FROM registered('SELECT * FROM (SELECT count(*) FROM chunk) x RIGHT JOIN (VALUES (1), (2), (3)) v ON true');
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT s.id, x.id AS id2 FROM s, LATERAL (SELECT id FROM t WHERE grp = 3 OFFSET 0) x WHERE s.id < x.id AND s.id < 5'),
    (2, 'SELECT g, x.n FROM generate_series(1, 9) g, LATERAL (SELECT count(*) AS n FROM (SELECT FROM t LIMIT 1100 - g * 100) y) x'),
    (3, 'SELECT id FROM s WHERE id < 10 AND id < ANY (SELECT id FROM t WHERE grp > 3 OFFSET 0)'),
    (4, 'SELECT id FROM s WHERE id < 10 AND (id < ALL (SELECT grp + 3 FROM t OFFSET 0)) IS NOT TRUE'),
    (5, 'SELECT s.id, x.n FROM s, LATERAL (SELECT count(*) AS n FROM chunk OFFSET 0) x WHERE s.id < 5')
) AS q(n, query), check_query(query) c ORDER BY n;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;
SELECT * FROM left_behind();

-- Beside other scans
SELECT q.n, c.* FROM (VALUES
    (1, 'SELECT id FROM t WHERE grp = (SELECT max(grp) FROM u)'),
    (2, 'SELECT (SELECT count(*) FROM t) AS t, (SELECT sum(id) FROM u) AS u, id FROM s'),
    (3, 'SELECT id, (SELECT count(*) FROM s WHERE s.id < t.grp) AS n FROM t'),
    (4, 'SELECT id FROM t WHERE grp NOT IN (SELECT id FROM s WHERE id < 5)'),
    (5, 'WITH c AS MATERIALIZED (SELECT id, grp FROM t) SELECT count(*) AS n FROM c JOIN c d USING (id)'),
    (6, 'SELECT grp, count(*) AS n, sum(id) AS sum FROM t GROUP BY grp HAVING count(*) > (SELECT min(id) FROM u)'),
    (7, 'SELECT id FROM t EXCEPT SELECT id FROM u')
) AS q(n, query), check_query(query) c ORDER BY n;

-- Statements that make a table of it. INSERT reads without workers, as it does without cscan.
EXPLAIN (COSTS OFF) CREATE TABLE made AS SELECT * FROM t WHERE grp > 1;
CREATE TABLE made AS SELECT * FROM t WHERE grp > 1;
EXPLAIN (COSTS OFF) INSERT INTO made SELECT * FROM t WHERE grp <= 1;
INSERT INTO made SELECT * FROM t WHERE grp <= 1;
INSERT INTO made SELECT 1000 + n, 0, '' FROM (SELECT count(*) AS n FROM t) x;
CREATE MATERIALIZED VIEW m AS SELECT * FROM t;
INSERT INTO t VALUES (2000, 0, '');
REFRESH MATERIALIZED VIEW m;
SET cscan.enabled = off;
SELECT count(*), count(DISTINCT id), sum(id) FROM made;
(TABLE made EXCEPT ALL TABLE t) UNION ALL (TABLE t EXCEPT ALL TABLE made);
SELECT count(*) FROM ((TABLE m EXCEPT ALL TABLE t) UNION ALL (TABLE t EXCEPT ALL TABLE m)) x;
RESET cscan.enabled;
DELETE FROM t WHERE id = 2000;
COPY (SELECT count(*), sum(id) FROM t) TO STDOUT;

-- Prepared
SET plan_cache_mode = force_generic_plan;
PREPARE q(int) AS SELECT count(*), sum(id) FROM t WHERE grp >= $1;
EXPLAIN (COSTS OFF) EXECUTE q(3);
EXECUTE q(3);
EXECUTE q(5);
EXECUTE q(5);
-- The plan was made before: its CScans share PostgreSQL's own parallel scan.
SET synchronize_seqscans = off;
SELECT * FROM registered('EXECUTE q(5)');
EXECUTE q(5);
EXPLAIN (COSTS OFF) SELECT count(*) FROM t;
SELECT count(*), sum(id) FROM t;
RESET synchronize_seqscans;
SET cscan.enabled = off;
EXECUTE q(5);
RESET cscan.enabled;
EXECUTE q(5);
DEALLOCATE q;
RESET plan_cache_mode;

-- From functions: RETURN QUERY and PERFORM may be parallel; who asks for so many rows runs the same plan alone.
CREATE FUNCTION return_query(g int) RETURNS SETOF int LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT id FROM t WHERE grp <= g; END';
CREATE FUNCTION select_into(g int, OUT n bigint, OUT total bigint) LANGUAGE plpgsql AS $$
BEGIN
    SELECT count(*), sum(id) FROM t WHERE grp <= g INTO n, total;
END $$;
CREATE FUNCTION one_row() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    found int;
BEGIN
    SELECT id FROM t INTO found;
    RETURN found;
END $$;
CREATE FUNCTION loop(stop int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    r record;
    ids int[];
BEGIN
    FOR r IN SELECT id FROM t LOOP
        ids := ids || r.id;
        EXIT WHEN cardinality(ids) = stop;
    END LOOP;
    RETURN (SELECT count(DISTINCT id) FROM unnest(ids) id);
END $$;
SELECT count(*), count(DISTINCT id), sum(id) FROM return_query(3) id;
SELECT count(*), count(DISTINCT id), sum(id) FROM return_query(3) id;
SELECT * FROM select_into(3);
SELECT one_row() BETWEEN 1 AND 1000 AS found, loop(100), loop(2000);
SET cscan.enabled = off;
SELECT count(*), count(DISTINCT id), sum(id) FROM return_query(3) id;
SELECT * FROM select_into(3);
RESET cscan.enabled;
-- A cursor's plan has no workers.
BEGIN;
DECLARE c NO SCROLL CURSOR FOR SELECT id FROM t;
MOVE 10 FROM c;
SELECT count(*), sum(id) FROM t;
MOVE ALL FROM c;
COMMIT;

-- Serializable: one lock on the table, whoever reads
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT parallel_scans('SELECT count(*) FROM t');
SELECT count(*), sum(id) FROM t;
SELECT relation::regclass, locktype FROM pg_locks WHERE mode = 'SIReadLock' AND pid = pg_backend_pid();
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL parallel_leader_participation = off;
SELECT count(*), sum(id) FROM t;
SELECT relation::regclass, locktype FROM pg_locks WHERE mode = 'SIReadLock' AND pid = pg_backend_pid();
COMMIT;

-- What the transaction has written and not committed, the workers see; and what it has deleted they do not.
BEGIN;
DELETE FROM t WHERE id % 2 = 0;
INSERT INTO t SELECT i, 0, '' FROM generate_series(1001, 1100) i;
SELECT count(*), sum(id) FROM t;
SELECT * FROM check_query('SELECT * FROM t');
ROLLBACK;
SELECT count(*), sum(id) FROM t;

-- An error in one of the processes ends the scan for all of them, and nothing stays: neither a scan, nor a worker's place
-- beside it, of which there are fewer than have been taken here.
DO $$
BEGIN
    FOR i IN 1..40 LOOP
        BEGIN
            PERFORM 1 / (id - i * 25) FROM t;
            RAISE 'no error';
        EXCEPTION WHEN division_by_zero THEN NULL;
        END;
    END LOOP;
END $$;
SELECT * FROM left_behind();
SET parallel_leader_participation = off;
SELECT count(*), sum(id) FROM t;
SELECT * FROM cscan_scans;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA parallel CASCADE;
