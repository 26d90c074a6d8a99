-- Who may call, see and reset what.
-- Committed before: a scan of a table that its own transaction made is not registered.
CREATE TABLE t (id int, pad text) WITH (fillfactor = 10);
INSERT INTO t SELECT i, repeat('x', 700) FROM generate_series(1, 100) i;

BEGIN;
SELECT plan(61);

CREATE ROLE regress_cscan_one;
CREATE ROLE regress_cscan_two;
CREATE ROLE regress_cscan_member IN ROLE regress_cscan_one;
CREATE ROLE regress_cscan_monitor IN ROLE pg_monitor;
CREATE TABLE secret AS TABLE t;
GRANT SELECT ON t TO regress_cscan_one, regress_cscan_two;

-- A query's one value, or its error's code, as another role
CREATE FUNCTION as_role(who text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    PERFORM set_config('role', who, true);
    BEGIN
        EXECUTE query INTO result;
    EXCEPTION WHEN OTHERS THEN
        result := SQLSTATE;
    END;
    PERFORM set_config('role', 'none', true);
    RETURN result;
END $$;

SELECT table_privs_are('public', view, 'regress_cscan_one', '{SELECT}'::text[], view || ' is everybody''s to read, and no more')
FROM unnest('{cscan_scans,cscan_chunks,cscan_relations,cscan_stat,cscan_stat_scheduler}'::text[]) view;
SELECT ok(has_function_privilege('regress_cscan_one', f, 'EXECUTE'), f || ' is everybody''s to call')
FROM unnest('{cscan_scans(),cscan_chunks(),cscan_relations(),cscan_stat(),cscan_stat_scheduler(),cscan_why_not(text),cscan_page_cost(regclass)}'::text[]) f;
SELECT ok(NOT has_function_privilege(role, 'cscan_stat_reset()', 'EXECUTE'), 'cscan_stat_reset is not ' || role || '''s')
FROM unnest('{regress_cscan_one,regress_cscan_monitor}'::text[]) role;
SELECT is_empty($$ SELECT FROM pg_proc, aclexplode(proacl) a WHERE proname = 'cscan_stat_reset' AND a.grantee = 0 $$, 'nor PUBLIC''s');
SELECT is(as_role('regress_cscan_one', 'SELECT cscan_stat_reset()'), '42501', 'it refuses');
GRANT EXECUTE ON FUNCTION cscan_stat_reset() TO regress_cscan_monitor;
SELECT is(as_role('regress_cscan_monitor', 'SELECT cscan_stat_reset()'), '', 'until somebody grants it');

-- A scan of regress_cscan_one's
SET LOCAL ROLE regress_cscan_one;
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t;
MOVE 20 FROM c;
RESET ROLE;
SELECT is(as_role(role, 'SELECT count(*) FROM cscan_scans'), seen, role || ' sees the scan: ' || seen)
FROM (VALUES ('regress_cscan_one', '1'), ('regress_cscan_two', '0'), ('regress_cscan_member', '1'), ('regress_cscan_monitor', '1'),
             (current_user, '1')) v(role, seen);
SELECT is(as_role('regress_cscan_two', 'SELECT count(*) FROM cscan_scans()'), '0', 'nor does the function show more than the view');
SELECT is(as_role(role, 'SELECT count(*) FROM cscan_relations'), seen, role || ' sees that the table is scanned: ' || seen)
FROM (VALUES ('regress_cscan_one', '1'), ('regress_cscan_two', '0'), ('regress_cscan_member', '1'), ('regress_cscan_monitor', '1')) v(role, seen);
CLOSE c;

SELECT is(as_role('regress_cscan_one', $$ SELECT is_cscan FROM cscan_why_not('SELECT * FROM t') $$), 'true', 'cscan_why_not plans what one may read');
SELECT is(as_role('regress_cscan_one', $$ SELECT is_cscan FROM cscan_why_not('SELECT * FROM secret') $$), '42501', 'and nothing else');

-- So does cscan_page_cost: it tells whether others scan a table.
CREATE INDEX secret_columns ON secret USING cscan_columns (id);
SELECT is(as_role(role, format('SELECT cscan_page_cost(%L) > 0', name)), result, role || ' asks for the price of ' || name)
FROM (VALUES ('regress_cscan_one', 't', 'true'), ('regress_cscan_one', 'secret', '42501'), ('regress_cscan_one', 'secret_columns', '42501'),
             ('regress_cscan_monitor', 'secret', 'true'), ('regress_cscan_monitor', 'secret_columns', 'true')) v(role, name, result);

-- cscan_why_not wants the rights that the query would want.
CREATE TABLE partly AS TABLE t;
GRANT SELECT (id) ON partly TO regress_cscan_one;
SELECT is(as_role('regress_cscan_one', $$ SELECT cscan_page_cost('partly') > 0 $$), 'true', 'the right to a column is enough for the price');
CREATE VIEW by_owner AS SELECT * FROM secret;
CREATE VIEW by_invoker WITH (security_invoker) AS SELECT * FROM secret;
CREATE VIEW nobodys AS SELECT * FROM t;
GRANT SELECT ON by_owner, by_invoker TO regress_cscan_one;
CREATE SCHEMA closed;
CREATE TABLE closed.t AS TABLE t;
GRANT SELECT ON closed.t TO regress_cscan_one;
CREATE FUNCTION noticed() RETURNS int LANGUAGE plpgsql VOLATILE AS 'BEGIN RAISE EXCEPTION USING ERRCODE = ''P0001''; END';
SELECT is(as_role('regress_cscan_one', format('SELECT is_cscan FROM cscan_why_not(%L)', query)), result, 'cscan_why_not: ' || query)
FROM (VALUES
    ('SELECT id FROM partly', 'true'),
    ('SELECT pad FROM partly', '42501'),
    ('SELECT partly FROM partly', '42501'),
    ('SELECT id FROM partly WHERE pad <> $$x$$', '42501'),
    ('SELECT * FROM by_owner', 'true'),
    ('SELECT * FROM by_invoker', '42501'),
    ('SELECT * FROM nobodys', '42501'),
    ('SELECT * FROM closed.t', '42501'),
    ('SELECT count(*) FROM t WHERE id IN (SELECT id FROM secret)', '42501'),
    ('WITH x AS (SELECT * FROM secret) SELECT 1 FROM t, x', '42501'),
    ('SELECT t.id FROM t LEFT JOIN secret s ON false', '42501'),
    ('SELECT * FROM secret WHERE false', '42501'),
    ('UPDATE t SET id = 0', '42501'),
    ('DELETE FROM t', '42501'),
    ('SELECT * FROM t FOR UPDATE', '42501'),
    ('INSERT INTO t SELECT * FROM t', '42501'),
    ('SELECT *, noticed() FROM t', 'true')) v(query, result);

-- Row security is part of the plan, and no more than the query would see.
ALTER TABLE partly ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON partly TO regress_cscan_one, regress_cscan_two;
CREATE POLICY ones ON partly TO regress_cscan_one USING (id <= 10);
SELECT is(as_role(role, 'SELECT count(*) FROM partly'), rows, role || ' sees its rows of a table with row security')
FROM (VALUES ('regress_cscan_one', '10'), ('regress_cscan_two', '0')) v(role, rows);

-- A function that says what it is given is not given the rows that the policy hides, however cheap it looks.
CREATE FUNCTION leaks(id int) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS $$
BEGIN
    IF id > 10 THEN RAISE EXCEPTION USING ERRCODE = 'P0002'; END IF;
    RETURN true;
END $$;
CREATE INDEX ON partly (id);
ANALYZE partly;
SELECT is(as_role('regress_cscan_one', query), result, 'row security: ' || query)
FROM (VALUES
    ('SELECT count(*) FROM partly WHERE leaks(id)', '10'),
    ('SELECT count(*) FROM partly WHERE leaks(id) AND ctid >= $$(0,1)$$', '10'),
    ('SELECT count(*) FROM partly WHERE leaks(id) AND id < 50', '10'),
    ('SELECT count(*) FROM partly p WHERE leaks(id) AND EXISTS (SELECT FROM t WHERE t.id = p.id)', '10'),
    ('SELECT is_cscan FROM cscan_why_not($$SELECT * FROM partly WHERE leaks(id)$$)', 'true')) v(query, result);

-- Not even that anybody reads it
DECLARE c NO SCROLL CURSOR FOR SELECT * FROM secret;
MOVE 20 FROM c;
SELECT is(as_role('regress_cscan_two', 'SELECT count(*) FROM ' || view), '0', view || ' tells nothing of a table that only others read')
FROM unnest('{cscan_relations,cscan_chunks}'::text[]) view;
CLOSE c;

SELECT * FROM finish();
ROLLBACK;
DROP TABLE t;
