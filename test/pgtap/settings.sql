-- The settings: kind, place, default and range.
BEGIN;
SELECT plan(20);

PREPARE settings AS
    SELECT name, vartype, context, boot_val, unit, min_val, max_val, array_to_string(enumvals, ' ')
    FROM pg_settings WHERE name ~ '^cscan\.' ORDER BY name COLLATE "C";
SELECT results_eq('settings', $$ VALUES
    ('cscan.buffer_share', 'string', 'sighup', '0.5', NULL, NULL, NULL, NULL),
    ('cscan.chunk_size', 'integer', 'postmaster', '4096', 'kB', '64', '262144', NULL),
    ('cscan.columns', 'bool', 'user', 'on', NULL, NULL, NULL, NULL),
    ('cscan.columns_naptime', 'integer', 'sighup', '15', 's', '0', '86400', NULL),
    ('cscan.columns_share', 'real', 'sighup', '0.2', NULL, '0.01', '1', NULL),
    ('cscan.columns_vacuum', 'real', 'sighup', '0.1', NULL, '0', '1', NULL),
    ('cscan.debug_copies', 'bool', 'superuser', 'on', NULL, NULL, NULL, NULL),
    ('cscan.debug_fault', 'string', 'superuser', '', NULL, NULL, NULL, NULL),
    ('cscan.debug_few_groups', 'integer', 'sighup', '16384', NULL, '0', '2147483647', NULL),
    ('cscan.debug_rest_after', 'integer', 'sighup', '10000', 'ms', '0', '2147483647', NULL),
    ('cscan.debug_small_scans', 'bool', 'superuser', 'off', NULL, NULL, NULL, NULL),
    ('cscan.debug_take_ahead', 'integer', 'superuser', '1', NULL, '1', '32', NULL),
    ('cscan.drop_behind', 'enum', 'sighup', 'auto', NULL, NULL, NULL, 'auto on off'),
    ('cscan.enabled', 'bool', 'user', 'on', NULL, NULL, NULL, NULL),
    ('cscan.max_scans', 'integer', 'postmaster', '128', NULL, '1', '10000', NULL),
    ('cscan.max_tables', 'integer', 'postmaster', '8192', NULL, '16', '1048576', NULL),
    ('cscan.min_table_size', 'integer', 'user', '-1', 'kB', '-1', '2147483647', NULL),
    ('cscan.page_cost', 'string', 'user', 'auto', NULL, NULL, NULL, NULL),
    ('cscan.policy', 'enum', 'user', 'relevance', NULL, NULL, NULL, (SELECT string_agg(policy, ' ' ORDER BY number) FROM (SELECT policy, row_number() OVER () AS number FROM cscan_stat) s)),
    ('cscan.time_slice', 'integer', 'user', '10', 'ms', '0', '100', NULL),
    ('cscan.trace', 'string', 'sighup', '', NULL, NULL, NULL, NULL),
    ('cscan.vectors', 'bool', 'user', 'on', NULL, NULL, NULL, NULL) $$,
    'kind, context, default, unit and range of all settings');
SELECT is_empty($$ SELECT name FROM pg_settings WHERE name ~ '^cscan\.' AND (short_desc = '' OR short_desc !~ '\.$' OR extra_desc !~ '\.$') $$,
    'each has a description');
SELECT is_empty($$ SELECT name FROM pg_settings WHERE name ~ '^cscan\.' AND pending_restart $$, 'none waits for a restart');

SELECT throws_ok('SET cscan.chunk_size = 128', '55P02', NULL, 'chunk_size is for the server''s start');
SELECT throws_ok('SET cscan.max_scans = 128', '55P02', NULL, 'max_scans is for the server''s start');
SELECT throws_ok('SET cscan.max_tables = 8192', '55P02', NULL, 'max_tables is for the server''s start');
SELECT throws_ok('SET cscan.buffer_share = 0.1', '55P02', NULL, 'buffer_share is for the server''s configuration');
-- Everybody may choose for himself.
CREATE ROLE regress_cscan_user;
SET LOCAL ROLE regress_cscan_user;
SET LOCAL cscan.columns = off;
SET LOCAL cscan.enabled = off;
SET LOCAL cscan.policy = elevator;
SET LOCAL cscan.min_table_size = '1GB';
SET LOCAL cscan.page_cost = 0.7;
SET LOCAL cscan.time_slice = 5;
SET LOCAL cscan.vectors = off;
RESET ROLE;
SELECT is((SELECT string_agg(setting, ' ' ORDER BY name COLLATE "C") FROM pg_settings WHERE name ~ '^cscan\.' AND context = 'user'),
    'off off 1048576 0.7 elevator 5 off', 'the session''s own settings are for every user');
SELECT throws_ok($$SET cscan.page_cost = '$$ || v || $$'$$, '22023', 'invalid value for parameter "cscan.page_cost": "' || v || '"', 'page_cost is no ' || v)
FROM unnest(ARRAY['-1', '10.5', 'low', '', '1 kB', 'NaN']) v;
SELECT lives_ok($$SET cscan.page_cost = '$$ || v || $$'$$, 'page_cost may be ' || v) FROM unnest(ARRAY['Auto', '0', '10', '.25', '1e-1']) v;
RESET cscan.page_cost;
SELECT throws_ok('SET cscan.nothing = 1', '42602', NULL, 'there are no others');

SELECT * FROM finish();
ROLLBACK;
