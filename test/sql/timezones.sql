-- Time zones on vectors: what their clocks show, and when, compared with PostgreSQL's own plans.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
\set answers :abs_srcdir '/sql/answers.psql'
CREATE SCHEMA timezones;
SET search_path = timezones, public;
\i :helpers
\i :answers
-- All years from 1890 to 2190, and each half hour of 2020: some never come, and some come twice, as clocks are set forward and back
CREATE TABLE years AS SELECT i AS id, z AS z, z AT TIME ZONE 'UTC' AS t, (z AT TIME ZONE 'UTC')::date AS d FROM (
    SELECT i, timestamptz '1890-01-01 00:00+00' + i * interval '11 days 7 hours 13 minutes 3.5 seconds' AS z FROM generate_series(0, 9999) i UNION ALL
    SELECT 10000 + i, timestamptz '2020-01-01 00:00+00' + i * interval '30 minutes 0.000001 seconds' FROM generate_series(0, 17599) i) x;
-- Times that vectors do not know, beside others
CREATE TABLE odd AS SELECT * FROM years WHERE id % 10 = 0;
INSERT INTO odd SELECT 90000 + 100 * n + i, CASE WHEN isfinite(t) AND extract(year FROM t) < 294276 THEN t AT TIME ZONE 'UTC' END, t, t::date
    FROM unnest('{0001-01-01,0001-01-02,1500-01-01,1883-11-18 12:03,9999-12-31 23:59:59,9999-07-01,100000-01-01,150000-01-01,294276-12-31 23:59:59,infinity,-infinity,0044-03-15 BC}'::timestamp[])
    WITH ORDINALITY u(t, n), generate_series(0, 5) i;
INSERT INTO odd VALUES (100000, 'infinity', NULL, NULL), (100001, '-infinity', NULL, NULL);
VACUUM (FREEZE, ANALYZE) years, odd;

-- Group by expressions.  "wholly": of how many is none computed row by row?
CREATE FUNCTION in_zone(zone text, name text, OUT asked int, OUT wholly int, OUT differ text[]) LANGUAGE plpgsql AS $$
DECLARE
    expression text;
    query text;
    wanted text;
    got text;
    line text;
    is_wholly boolean;
BEGIN
    PERFORM set_config('timezone', zone, true);
    asked := 0;
    wholly := 0;
    FOREACH expression IN ARRAY ARRAY[
            'z::date', 'z::timestamp', 'd::timestamptz', 't::timestamptz', 'extract(hour FROM z)', 'extract(dow FROM z)', 'extract(epoch FROM z)', 'extract(second FROM z)', 'extract(timezone FROM z)',
            'date_trunc(''minute'', z)', 'date_trunc(''hour'', z)', 'date_trunc(''day'', z)', 'date_trunc(''week'', z)', 'date_trunc(''month'', z)', 'date_trunc(''quarter'', d)', 'date_trunc(''YEAR'', z)',
            'date_trunc(''day'', z, ''Australia/Lord_Howe'')', 't AT TIME ZONE ''Europe/Berlin''', 'z AT TIME ZONE ''America/New_York''', 'z AT TIME ZONE ''EST''', 't AT TIME ZONE ''utc'''] LOOP
        query := format('SELECT %s AS k, count(*), min(id), max(id) FROM %I GROUP BY 1', expression, name);
        wanted := answer(query, false);
        got := answer(query, true);
        IF got IS DISTINCT FROM wanted THEN
            differ := differ || (expression || ': ' || got || ' for ' || wanted);
        END IF;
        asked := asked + 1;
        is_wholly := true;
        FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
            is_wholly := is_wholly AND line !~ 'Row by Row|Aggregate$' OR line ~ 'CScan Aggregate';
        END LOOP;
        wholly := wholly + is_wholly::int;
    END LOOP;
END $$;
SELECT zone, of_years.*, of_odd.differ AS differ_of_odd FROM unnest('{UTC,Europe/Berlin,America/New_York,Australia/Lord_Howe,Pacific/Apia,Africa/Casablanca,America/Sao_Paulo,<+0530>-05:30}'::text[]) zone,
    in_zone(zone, 'years') of_years, in_zone(zone, 'odd') of_odd;
-- Batches of those years need no help.
SET timezone = 'Europe/Berlin';
CREATE FUNCTION batches_by_row(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN plan #>> '{0,Plan,CScan Batches by Row}';
END $$;
SELECT batches_by_row('SELECT max(date_trunc(''day'', z)), max(d::timestamptz) FROM years'), batches_by_row('SELECT max(date_trunc(''day'', z)), max(d::timestamptz) FROM odd');

-- Comparisons with values of other types; an abbreviation whose offset changes, and a name that is none
SELECT query, answer(query, true) AS answer, answer(query, true) = answer(query, false) AS same FROM unnest(ARRAY[
    'SELECT count(*) FROM odd WHERE z >= date ''2020-03-29''', 'SELECT count(*) FROM odd WHERE d < timestamptz ''1950-06-15 00:00+02''', 'SELECT count(*) FROM odd WHERE t = timestamptz ''2020-02-08 23:00:00.00187+01''',
    'SELECT count(*) FROM odd WHERE z < timestamp ''2020-03-29 02:30''', 'SELECT count(*) FROM odd WHERE d > timestamptz ''infinity''', 'SELECT count(*) FROM odd WHERE z <> date ''-infinity''',
    'SELECT count(*) FROM odd WHERE d >= timestamptz ''2024-01-01'' - interval ''20 years''', 'SELECT count(*) FROM odd WHERE z > date ''294276-12-31''', 'SELECT count(*) FROM odd WHERE timestamp ''4713-01-01 BC'' < z',
    'SELECT z AT TIME ZONE ''MSK'' AS k, count(*) FROM years GROUP BY 1', 'SELECT z AT TIME ZONE ''Europe/Nowhere'' AS k, count(*) FROM years WHERE id < 0 GROUP BY 1', 'SELECT z AT TIME ZONE ''Europe/Nowhere'' AS k, count(*) FROM years GROUP BY 1',
    'SELECT date_trunc(''day'', z, NULL) AS k, count(*) FROM years GROUP BY 1']) query;
EXPLAIN (COSTS OFF) SELECT id FROM years WHERE z >= date '2020-03-29' AND d < timestamptz '2020-06-15 00:00+02' AND t <> timestamptz '2020-05-05 00:00+02';

-- A cursor goes on in another time zone.  Its first row is in the first chunk, and what follows comes in any order.
CREATE TABLE hours AS SELECT i AS id, timestamptz '2020-01-01 00:00+00' + i * interval '1 hour' AS z FROM generate_series(0, 23999) i;
VACUUM (FREEZE, ANALYZE) hours;
CREATE FUNCTION in_two_zones(zone text, other text, query text, by_cscan boolean, OUT n int, OUT ids bigint) LANGUAGE plpgsql AS $$
DECLARE
    c refcursor;
    id int;
BEGIN
    PERFORM set_config('cscan.enabled', by_cscan::text, true), set_config('timezone', zone, true);
    n := 0;
    ids := 0;
    OPEN c NO SCROLL FOR EXECUTE query;
    LOOP
        FETCH c INTO id;
        EXIT WHEN NOT FOUND;
        n := n + 1;
        ids := ids + id;
        PERFORM set_config('timezone', other, true);
    END LOOP;
    CLOSE c;
    PERFORM set_config('cscan.enabled', 'on', true);
END $$;
SELECT query, by_cscan.*, by_cscan = own AS same FROM unnest(ARRAY[
    'SELECT id FROM hours WHERE extract(hour FROM z) = 3 AND z > timestamp ''2020-01-20''', 'SELECT id FROM hours WHERE z < timestamp ''2021-06-01''',
    'SELECT id FROM hours WHERE z::date IN (''2020-01-01'', ''2021-01-01'')', 'SELECT id FROM hours WHERE z AT TIME ZONE ''UTC'' < ''2020-02-01''']) query,
    in_two_zones('Pacific/Kiritimati', 'America/Los_Angeles', query, true) by_cscan, in_two_zones('Pacific/Kiritimati', 'America/Los_Angeles', query, false) own;
SET timezone = 'Europe/Berlin';
BEGIN;
DECLARE filtered NO SCROLL CURSOR FOR SELECT id, extract(hour FROM z) FROM hours WHERE extract(hour FROM z) = 3;
FETCH 1 FROM filtered;
SET LOCAL timezone = 'America/New_York';
FETCH 2 FROM filtered;
COMMIT;
BEGIN;
DECLARE grouped CURSOR FOR SELECT (z AT TIME ZONE 'IST')::date AS day, count(*) FROM hours WHERE id < 30 GROUP BY 1 ORDER BY 1;
SET LOCAL timezone_abbreviations = 'India';
FETCH ALL FROM grouped;
COMMIT;
RESET timezone;
SET client_min_messages = warning;
DROP SCHEMA timezones CASCADE;
