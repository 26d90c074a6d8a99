-- Who may call, see and reset what.
BEGIN;
SELECT plan(23);

CREATE ROLE regress_cscan_one;
CREATE ROLE regress_cscan_two;
CREATE ROLE regress_cscan_member IN ROLE regress_cscan_one;
CREATE ROLE regress_cscan_monitor IN ROLE pg_monitor;
CREATE TABLE t (id int, pad text) WITH (fillfactor = 10);
INSERT INTO t SELECT i, repeat('x', 700) FROM generate_series(1, 100) i;
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
FROM unnest('{cscan_scans,cscan_chunks,cscan_relations,cscan_stat}'::text[]) view;
SELECT ok(has_function_privilege('regress_cscan_one', f, 'EXECUTE'), f || ' is everybody''s to call')
FROM unnest('{cscan_scans(),cscan_chunks(),cscan_relations(),cscan_stat(),cscan_why_not(text)}'::text[]) f;
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
SELECT is(as_role('regress_cscan_two', 'SELECT scans FROM cscan_relations'), '1', 'that a table is being scanned is no secret');
CLOSE c;

SELECT is(as_role('regress_cscan_one', $$ SELECT is_cscan FROM cscan_why_not('SELECT * FROM t') $$), 'true', 'cscan_why_not plans what one may read');
SELECT is(as_role('regress_cscan_one', $$ SELECT is_cscan FROM cscan_why_not('SELECT * FROM secret') $$), '42501', 'and nothing else');

SELECT * FROM finish();
ROLLBACK;
