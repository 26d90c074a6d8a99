-- The settings: values good and bad, where they may be set, and that they act.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA settings;
SET search_path = settings, public;
\set ECHO none
\i :helpers
\set ECHO all

SELECT make_table('t', 400);

-- Values
SHOW cscan.enabled;
SHOW cscan.policy;
SHOW cscan.chunk_size;
SHOW cscan.buffer_share;
SHOW cscan.min_table_size;
SHOW cscan.max_scans;
SET cscan.policy = 'ELEVATOR';
SHOW cscan.policy;
SET cscan.policy = 'lru';
SET cscan.policy = '';
SET cscan.policy = 1;
SHOW cscan.policy;
SET cscan.min_table_size = '64MB';
SHOW cscan.min_table_size;
SET cscan.min_table_size = 1536;
SHOW cscan.min_table_size;
SET cscan.min_table_size = '1 s';
SET cscan.min_table_size = 'small';
SET cscan.min_table_size = '4TB';
SHOW cscan.min_table_size;
SET cscan.enabled = maybe;
SET cscan.enabled = 0;
SHOW cscan.enabled;
-- No such setting
SET cscan.polcy = normal;
-- Not in a session
SET cscan.chunk_size = '1MB';
SET cscan.max_scans = 10;
SET cscan.buffer_share = 0.1;
-- Out of range; some versions repeat the unit of the bounds
ALTER SYSTEM SET cscan.buffer_share = 0.76;
ALTER SYSTEM SET cscan.buffer_share = -0.1;
ALTER SYSTEM SET cscan.buffer_share = 'half';
ALTER SYSTEM SET cscan.buffer_share = 'nan';
SET cscan.page_cost = 'nan';
ALTER SYSTEM SET cscan.max_scans = 0;
ALTER SYSTEM SET cscan.max_scans = 10001;
\set VERBOSITY sqlstate
SET cscan.min_table_size = -2;
ALTER SYSTEM SET cscan.min_table_size = -2;
ALTER SYSTEM SET cscan.chunk_size = '63kB';
ALTER SYSTEM SET cscan.chunk_size = '257MB';
\set VERBOSITY default
SELECT count(*) FROM pg_file_settings WHERE sourcefile ~ 'auto.conf' AND name ~ '^cscan';
RESET ALL;
SET search_path = settings, public;

-- From wherever a session's settings come. The policy that acts is the one that a scan registers with.
CREATE FUNCTION acting() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    c CURSOR FOR SELECT * FROM settings.t;
    r record;
    acting text;
BEGIN
    IF settings.scans('SELECT * FROM settings.t') ~ 'Seq Scan' THEN RETURN 'none'; END IF;
    OPEN c;
    MOVE FORWARD 40 IN c;
    SELECT policy FROM public.cscan_scans WHERE pid = pg_backend_pid() INTO acting;
    CLOSE c;
    RETURN acting;
END $$;
SELECT current_user AS me, current_database() AS here \gset
SELECT acting();
ALTER DATABASE :"here" SET cscan.policy = normal;
\c -
SELECT settings.acting();
ALTER ROLE :"me" SET cscan.policy = elevator;
\c -
SELECT settings.acting();
ALTER ROLE :"me" IN DATABASE :"here" SET cscan.enabled = off;
\c -
SELECT settings.acting();
ALTER ROLE :"me" IN DATABASE :"here" RESET cscan.enabled;
\c -reuse-previous=on "options='-c cscan.policy=attach'"
SELECT settings.acting();
RESET cscan.policy;
SELECT settings.acting();
SET cscan.policy = relevance;
SELECT settings.acting();
BEGIN;
SET LOCAL cscan.policy = normal;
SELECT settings.acting();
ROLLBACK;
SELECT settings.acting();
CREATE FUNCTION settings.with_own() RETURNS text LANGUAGE plpgsql SET cscan.policy = elevator AS 'BEGIN RETURN settings.acting(); END';
SELECT settings.with_own(), settings.acting();
ALTER DATABASE :"here" RESET cscan.policy;
ALTER ROLE :"me" RESET cscan.policy;
\c -reuse-previous=on "options=''"
SELECT settings.acting();
-- Bad values in these places are refused there.
ALTER DATABASE :"here" SET cscan.policy = lru;
ALTER ROLE :"me" SET cscan.min_table_size = 'small';
ALTER ROLE :"me" SET cscan.max_scans = 5;
SET search_path = settings, public;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA settings CASCADE;
