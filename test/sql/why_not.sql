-- cscan_why_not: which scans of a query are cooperative, and why the others are not. It plans, and executes nothing.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA why_not;
SET search_path = why_not, public;
\set ECHO none
\i :helpers
\set ECHO all

SELECT make_table('t', 400), make_table('s', 40), make_table('secret', 40);
CREATE INDEX t_id ON t (id);
CREATE TABLE part (id int) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (10) TO (20);
CREATE VIEW v AS SELECT s.id FROM s JOIN t ON t.grp = s.grp;
CREATE TEMP TABLE temporary (id int);

SELECT * FROM cscan_why_not('SELECT * FROM t');
SELECT * FROM cscan_why_not('SELECT * FROM t;');
SELECT * FROM cscan_why_not('SELECT 1');
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE id = 1');
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE ctid = ''(0,1)''');
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE ctid < ''(1,0)''');
SELECT * FROM cscan_why_not('SELECT * FROM t TABLESAMPLE BERNOULLI (1)');
SELECT * FROM cscan_why_not('SELECT * FROM temporary');
SELECT * FROM cscan_why_not('SELECT count(*) FROM part');
SELECT * FROM cscan_why_not('SELECT * FROM part LIMIT 1');
SELECT * FROM cscan_why_not('SELECT * FROM part FOR UPDATE');
-- Nor where rows are locked, or wait for each other's keys, in the order in which another scan has them.
CREATE TABLE keys (id int PRIMARY KEY);
SELECT * FROM cscan_why_not('INSERT INTO keys SELECT id FROM part');
SELECT * FROM cscan_why_not('INSERT INTO keys SELECT id FROM part ON CONFLICT DO NOTHING');
SELECT * FROM cscan_why_not('WITH c AS MATERIALIZED (SELECT id FROM part) SELECT count(*) FROM c');
SELECT * FROM cscan_why_not('WITH c AS MATERIALIZED (SELECT id FROM part) UPDATE keys SET id = c.id FROM c WHERE keys.id = c.id') WHERE relation <> 'keys'::regclass;
SELECT * FROM cscan_why_not('DELETE FROM keys USING unnest(ARRAY(SELECT id FROM part)) u WHERE keys.id = u') WHERE relation <> 'keys'::regclass;
SELECT * FROM cscan_why_not('WITH c AS MATERIALIZED (SELECT id FROM part) SELECT 1 FROM keys JOIN c USING (id) FOR UPDATE OF keys') WHERE relation <> 'keys'::regclass;
SELECT * FROM cscan_why_not('SELECT count(*) FROM (SELECT id FROM t UNION ALL SELECT id FROM s) u') ORDER BY relation::text;
SELECT * FROM cscan_why_not('SELECT * FROM v') ORDER BY relation::text;
SELECT * FROM cscan_why_not('UPDATE t SET grp = 1');
SELECT * FROM cscan_why_not('DELETE FROM t USING s WHERE t.grp = s.id') ORDER BY relation::text;
SELECT * FROM cscan_why_not('INSERT INTO temporary SELECT id FROM t');
SELECT * FROM cscan_why_not('INSERT INTO t VALUES (1)');
SELECT * FROM cscan_why_not('MERGE INTO s USING t ON t.id = s.grp WHEN MATCHED THEN DELETE') ORDER BY relation::text;
SELECT * FROM cscan_why_not('WITH d AS (DELETE FROM t RETURNING *) SELECT (SELECT count(*) FROM s) FROM d') ORDER BY relation::text;
SELECT * FROM cscan_why_not('SELECT * FROM generate_series(1, 3), (VALUES (1)) v');
SELECT * FROM cscan_why_not('TABLE t');
-- Of a CScan it says what keeps its rows from being aggregated on vectors.
SELECT * FROM cscan_why_not('SELECT grp, count(*), sum(id) FROM t GROUP BY grp');
SELECT * FROM cscan_why_not('SELECT sum(DISTINCT x.id) FROM t x');
SELECT * FROM cscan_why_not('SELECT grp, count(*) FROM t GROUP BY grp HAVING sum(DISTINCT id + grp) > 1');
SELECT * FROM cscan_why_not('SELECT (SELECT sum(DISTINCT id) FROM part) FROM s') ORDER BY relation::text;
-- Of two scans of a table only one's rows are aggregated one by one
SELECT * FROM cscan_why_not('SELECT (SELECT sum(DISTINCT id) FROM t), (SELECT sum(id) FROM t)') ORDER BY reason;
SELECT * FROM cscan_why_not('SELECT grp, count(*) FROM t GROUP BY ROLLUP (grp)');
SELECT * FROM cscan_why_not('SELECT max(ctid) FROM t');
SELECT is_cscan, reason ~ 'sum\(\(.*\)\) does not run' FROM cscan_why_not('SELECT sum((SELECT t.id)) FROM t');
SELECT * FROM cscan_why_not('SELECT sum(DISTINCT y) FROM s LEFT JOIN (SELECT id, 1 AS y FROM t) x USING (id)') ORDER BY relation::text;
SET cscan.vectors = off;
SELECT * FROM cscan_why_not('SELECT sum(DISTINCT x.id) FROM t x');
RESET cscan.vectors;
SELECT * FROM cscan_why_not('SELECT DISTINCT grp FROM t');
SELECT reason FROM cscan_why_not('SELECT DISTINCT row(grp) FROM t');
SELECT reason FROM cscan_why_not('SELECT DISTINCT generate_series(1, grp) FROM t');
SELECT reason FROM cscan_why_not('SELECT DISTINCT 1 FROM t');
SELECT reason FROM cscan_why_not('SELECT 1 FROM t WHERE grp = 3 GROUP BY grp');
-- What a plan only knows: parameters of subplans and of outer queries
SELECT reason FROM cscan_why_not('SELECT DISTINCT ARRAY[grp, (SELECT max(id) FROM s)] FROM t') WHERE relation = 't'::regclass;
SELECT reason FROM cscan_why_not('SELECT ARRAY[grp, (SELECT max(id) FROM s)], count(*) FROM t GROUP BY 1') WHERE relation = 't'::regclass;
SELECT reason ~ ' does not run on vectors' AS named FROM cscan_why_not('SELECT DISTINCT grp IN (SELECT id FROM s) FROM t') WHERE relation = 't'::regclass;
SELECT reason ~ ' does not run on vectors' AS named FROM cscan_why_not('SELECT max(id + (SELECT count(*) FROM s WHERE id > t.grp)) FROM t') WHERE relation = 't'::regclass;
SELECT reason ~ 'ARRAY.* does not run on vectors' AS named FROM cscan_why_not('SELECT (SELECT count(*) FROM (SELECT DISTINCT ARRAY[grp, s.id] FROM t) x) FROM s') WHERE relation = 't'::regclass;
SET enable_hashagg = off;
SELECT * FROM cscan_why_not('SELECT grp, count(*) FROM t GROUP BY grp');
SELECT * FROM cscan_why_not('SELECT count(*) FROM t');
RESET enable_hashagg;
SET enable_indexscan = off;
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE id = 1');
RESET enable_indexscan;
SET max_parallel_workers_per_gather = 1;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT * FROM cscan_why_not('SELECT count(*) FROM t');
RESET max_parallel_workers_per_gather;
SET cscan.enabled = off;
SELECT * FROM cscan_why_not('SELECT * FROM t');
RESET cscan.enabled;
-- A rule may make several queries of one.
CREATE RULE also AS ON DELETE TO s DO ALSO DELETE FROM t WHERE grp = 1;
SELECT * FROM cscan_why_not('DELETE FROM s WHERE grp = 1') ORDER BY relation::text;
DROP RULE also ON s;

-- Nothing of this was executed.
CREATE FUNCTION boom() RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN RAISE EXCEPTION 'executed'; END $$;
SELECT * FROM cscan_why_not('SELECT boom() FROM t WHERE boom() = 1');
SELECT (SELECT count(*) FROM t) AS t, (SELECT count(*) FROM s) AS s, (SELECT count(*) FROM temporary) AS temporary;

-- Errors
SELECT * FROM cscan_why_not('');
SELECT * FROM cscan_why_not('SELECT * FROM t; SELECT * FROM t');
\set VERBOSITY sqlstate
SELECT * FROM cscan_why_not('SELEC 1');
SELECT * FROM cscan_why_not('SELECT * FROM missing');
SELECT * FROM cscan_why_not('SELECT nothing FROM t');
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE id = $1');
\set VERBOSITY default
SELECT * FROM cscan_why_not('EXPLAIN SELECT * FROM t');
SELECT * FROM cscan_why_not('DECLARE c CURSOR FOR SELECT * FROM t');
SELECT * FROM cscan_why_not('CREATE TABLE x AS SELECT * FROM t');
SELECT * FROM cscan_why_not('DROP TABLE t');
SELECT * FROM cscan_why_not('VACUUM');

-- Of no query: are there CScans at all?
SELECT * FROM cscan_why_not();
SELECT * FROM cscan_why_not(NULL);
SET cscan.enabled = off;
SELECT * FROM cscan_why_not();
RESET cscan.enabled;
SET synchronize_seqscans = off;
SELECT * FROM cscan_why_not();
RESET synchronize_seqscans;

-- Only of tables that the caller may read
CREATE ROLE regress_cscan_nobody;
GRANT USAGE ON SCHEMA why_not TO regress_cscan_nobody;
GRANT SELECT ON t TO regress_cscan_nobody;
SET ROLE regress_cscan_nobody;
SELECT * FROM cscan_why_not('SELECT * FROM t');
SELECT * FROM cscan_why_not('SELECT * FROM secret');
SELECT * FROM cscan_why_not('UPDATE t SET grp = 1');
SELECT * FROM cscan_why_not('SELECT * FROM t WHERE EXISTS (SELECT FROM secret)');
RESET ROLE;
DROP OWNED BY regress_cscan_nobody;
DROP ROLE regress_cscan_nobody;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA why_not CASCADE;
