-- What CREATE EXTENSION makes: its version, its members, the shape of its functions.
BEGIN;
SELECT plan(12);

SELECT has_extension('cscan', 'the extension is there');
SELECT is((SELECT extversion FROM pg_extension WHERE extname = 'cscan'), '0.1', 'its version');
SELECT is((SELECT default_version FROM pg_available_extensions WHERE name = 'cscan'), '0.1', 'which is the default version');
SELECT ok((SELECT relocatable AND superuser FROM pg_available_extension_versions WHERE name = 'cscan' AND version = '0.1'),
          'it is relocatable, and a superuser''s to install');

SELECT set_eq(
    $$ SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
       WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'cscan') AND deptype = 'e'
       AND classid <> 'pg_type'::regclass $$,
    $$ VALUES ('view cscan_scans'), ('view cscan_chunks'), ('view cscan_relations'), ('view cscan_stat'), ('view cscan_stat_scheduler'),
              ('function cscan_scans()'), ('function cscan_chunks()'), ('function cscan_relations()'), ('function cscan_stat()'), ('function cscan_stat_scheduler()'),
              ('function cscan_stat_reset()'),
              ('function cscan_why_not(text)'), ('function cscan_why_not()'), ('function cscan_page_cost(regclass)'),
              ('access method cscan_columns'), ('function cscan_columns_handler(internal)'),
              ('operator class cscan_columns_ops for access method cscan_columns'),
              ('operator family cscan_columns_ops for access method cscan_columns'),
              ('function cscan_columns_fill(regclass)'), ('function cscan_columns_verify(regclass)'),
              ('function cscan_columns_state(regclass)'), ('view cscan_columns_status') $$,
    'its members');

SELECT set_eq(
    $$ SELECT p.oid::regprocedure::text, pg_get_function_result(p.oid) FROM pg_proc p WHERE proname ~ '^cscan_' $$,
    $$ VALUES
       ('cscan_scans()', 'SETOF record'), ('cscan_chunks()', 'SETOF record'), ('cscan_relations()', 'SETOF record'),
       ('cscan_stat()', 'SETOF record'), ('cscan_stat_scheduler()', 'SETOF record'), ('cscan_stat_reset()', 'void'),
       ('cscan_why_not(text)', 'TABLE(relation regclass, is_cscan boolean, reason text, family regclass)'),
       ('cscan_why_not()', 'TABLE(relation regclass, is_cscan boolean, reason text, family regclass)'),
       ('cscan_page_cost(regclass)', 'double precision'),
       ('cscan_columns_handler(internal)', 'index_am_handler'), ('cscan_columns_fill(regclass)', 'bigint'),
       ('cscan_columns_verify(regclass)', 'TABLE(block bigint, problem text)'),
       ('cscan_columns_state(regclass)', 'TABLE(blocks bigint, all_visible bigint, covered bigint, stale bigint, groups bigint, rows bigint, pages bigint, unused_pages bigint, last_built timestamp with time zone, why_not text)') $$,
    'what the functions take and return');
SELECT is_empty(
    $$ SELECT oid::regprocedure FROM pg_proc WHERE proname ~ '^cscan_' AND (provolatile <> 'v' OR prosecdef
         OR NOT proisstrict) $$,
    'they are volatile, strict, and run with the rights of their caller');
SELECT set_eq(
    $$ SELECT oid::regprocedure::text FROM pg_proc WHERE proname ~ '^cscan_' AND proparallel = 'u' $$,
    $$ VALUES ('cscan_why_not(text)'), ('cscan_columns_handler(internal)'), ('cscan_columns_fill(regclass)'), ('cscan_columns_verify(regclass)') $$,
    'what plans, or locks and writes, is not for parallel plans');
SELECT is_empty(
    $$ SELECT oid::regprocedure FROM pg_proc WHERE proname ~ '^cscan_' AND proparallel = 's' AND proname <> 'cscan_columns_state' $$,
    'what looks at shared memory is the leader''s');
SELECT is_empty(
    $$ SELECT relname FROM pg_class WHERE relname ~ '^cscan_' AND relkind = 'v' AND obj_description(oid, 'pg_class') IS NULL $$,
    'every view has a comment');

-- It comes and goes as a whole, and in a schema of one's choice.
SELECT lives_ok('DROP EXTENSION cscan', 'it can be dropped');
CREATE SCHEMA elsewhere;
SELECT lives_ok('CREATE EXTENSION cscan SCHEMA elsewhere; ALTER EXTENSION cscan SET SCHEMA public', 'and made again, and moved');

SELECT * FROM finish();
ROLLBACK;
