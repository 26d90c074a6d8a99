-- The 43 queries of ClickBench, over a table of that shape: what of each runs on vectors, and that it answers the same.
\getenv abs_srcdir PG_ABS_SRCDIR
\set helpers :abs_srcdir '/sql/helpers.psql'
CREATE SCHEMA reports;
SET search_path = reports, public;
\set ECHO none
\i :helpers
\set ECHO all
-- The columns that the queries name; the table has a hundred.
CREATE TABLE hits (watchid bigint, title text, eventtime timestamp, eventdate date, counterid int, clientip int, regionid int, userid bigint, url text, referer text,
    isrefresh smallint, resolutionwidth smallint, mobilephone smallint, mobilephonemodel text, traficsourceid smallint, searchengineid smallint, searchphrase text,
    advengineid smallint, windowclientwidth smallint, windowclientheight smallint, islink smallint, isdownload smallint, dontcounthits smallint, refererhash bigint, urlhash bigint);
INSERT INTO hits SELECT i * 7919::bigint % 100000007, CASE WHEN i % 50 = 0 THEN 'News of Google ' || i % 9 ELSE 'title ' || i % 700 END, timestamp '2013-07-14' + i * interval '130 seconds',
    date '2013-07-14' + (i * 130 / 86400), CASE WHEN i % 3 = 0 THEN 62 ELSE i % 200 END, i * 31 % 5000, i % 230, i * 104729::bigint % 2500 * 1000003,
    CASE WHEN i % 40 = 0 THEN '' WHEN i % 25 = 0 THEN 'http://www.google.com/' || i % 99 ELSE 'http://site' || i % 300 || '.example/page' || i % 7 END,
    CASE WHEN i % 5 = 0 THEN '' ELSE 'https://www.from' || i % 60 || '.example/x/' || i % 11 END, i % 4 / 3, 800 + i % 13 * 40, i % 8 / 7 * (i % 30), CASE WHEN i % 8 = 7 THEN 'model ' || i % 50 ELSE '' END,
    i % 9 - 1, i % 6 * (i % 2), CASE WHEN i % 7 = 0 THEN 'phrase ' || i % 900 ELSE '' END, i % 60 / 55 * (i % 20), 900 + i % 80, 600 + i % 60, i % 10 / 9, i % 20 / 19, i % 15 / 14,
    i % 37 * 1000000000039, i % 300 * 1000000000061 FROM generate_series(1, 20000) i;
VACUUM (FREEZE, ANALYZE) hits;
CREATE TABLE queries (n int, query text);
INSERT INTO queries VALUES
    (0, 'SELECT count(*) FROM hits'),
    (1, 'SELECT count(*) FROM hits WHERE advengineid <> 0'),
    (2, 'SELECT sum(advengineid), count(*), avg(resolutionwidth) FROM hits'),
    (3, 'SELECT avg(userid) FROM hits'),
    (4, 'SELECT count(DISTINCT userid) FROM hits'),
    (5, 'SELECT count(DISTINCT searchphrase) FROM hits'),
    (6, 'SELECT min(eventdate), max(eventdate) FROM hits'),
    (7, 'SELECT advengineid, count(*) FROM hits WHERE advengineid <> 0 GROUP BY 1 ORDER BY 2 DESC, 1'),
    (8, 'SELECT regionid, count(DISTINCT userid) FROM hits GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10'),
    (9, 'SELECT regionid, sum(advengineid), count(*), avg(resolutionwidth), count(DISTINCT userid) FROM hits GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT 10'),
    (10, 'SELECT mobilephonemodel, count(DISTINCT userid) FROM hits WHERE mobilephonemodel <> '''' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10'),
    (11, 'SELECT mobilephone, mobilephonemodel, count(DISTINCT userid) FROM hits WHERE mobilephonemodel <> '''' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10'),
    (12, 'SELECT searchphrase, count(*) FROM hits WHERE searchphrase <> '''' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10'),
    (13, 'SELECT searchphrase, count(DISTINCT userid) FROM hits WHERE searchphrase <> '''' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10'),
    (14, 'SELECT searchengineid, searchphrase, count(*) FROM hits WHERE searchphrase <> '''' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10'),
    (15, 'SELECT userid, count(*) FROM hits GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10'),
    (16, 'SELECT userid, searchphrase, count(*) FROM hits GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10'),
    (17, 'SELECT count(*) FROM (SELECT userid, searchphrase, count(*) FROM hits GROUP BY 1, 2 LIMIT 10) x'),
    (18, 'SELECT userid, extract(minute FROM eventtime), searchphrase, count(*) FROM hits GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT 10'),
    (19, 'SELECT userid FROM hits WHERE userid = 4000012'),
    (20, 'SELECT count(*) FROM hits WHERE url LIKE ''%google%'''),
    (21, 'SELECT searchphrase, min(url), count(*) FROM hits WHERE url LIKE ''%google%'' AND searchphrase <> '''' GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT 10'),
    (22, 'SELECT searchphrase, min(url), min(title), count(*), count(DISTINCT userid) FROM hits WHERE title LIKE ''%Google%'' AND url NOT LIKE ''%.google.%'' AND searchphrase <> '''' GROUP BY 1 ORDER BY 4 DESC, 1 LIMIT 10'),
    (23, 'SELECT * FROM hits WHERE url LIKE ''%google%'' ORDER BY eventtime LIMIT 10'),
    (24, 'SELECT searchphrase FROM hits WHERE searchphrase <> '''' ORDER BY eventtime LIMIT 10'),
    (25, 'SELECT searchphrase FROM hits WHERE searchphrase <> '''' ORDER BY searchphrase LIMIT 10'),
    (26, 'SELECT searchphrase FROM hits WHERE searchphrase <> '''' ORDER BY eventtime, searchphrase LIMIT 10'),
    (27, 'SELECT counterid, avg(length(url)), count(*) FROM hits WHERE url <> '''' GROUP BY 1 HAVING count(*) > 50 ORDER BY 2 DESC, 1 LIMIT 25'),
    (28, 'SELECT regexp_replace(referer, ''^https?://(?:www\.)?([^/]+)/.*$'', ''\1''), avg(length(referer)), count(*), min(referer) FROM hits WHERE referer <> '''' GROUP BY 1 HAVING count(*) > 50 ORDER BY 2 DESC, 1 LIMIT 25'),
    (29, (SELECT 'SELECT ' || string_agg(format('sum(resolutionwidth + %s)', i), ', ') || ' FROM hits' FROM generate_series(0, 89) i)),
    (30, 'SELECT searchengineid, clientip, count(*), sum(isrefresh), avg(resolutionwidth) FROM hits WHERE searchphrase <> '''' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10'),
    (31, 'SELECT watchid, clientip, count(*), sum(isrefresh), avg(resolutionwidth) FROM hits WHERE searchphrase <> '''' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10'),
    (32, 'SELECT watchid, clientip, count(*), sum(isrefresh), avg(resolutionwidth) FROM hits GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10'),
    (33, 'SELECT url, count(*) FROM hits GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10'),
    (34, 'SELECT 1, url, count(*) FROM hits GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT 10'),
    (35, 'SELECT clientip, clientip - 1, clientip - 2, clientip - 3, count(*) FROM hits GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1 LIMIT 10'),
    (36, 'SELECT url, count(*) FROM hits WHERE PAGE AND dontcounthits = 0 AND url <> '''' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10'),
    (37, 'SELECT title, count(*) FROM hits WHERE PAGE AND dontcounthits = 0 AND title <> '''' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10'),
    (38, 'SELECT url, count(*) FROM hits WHERE PAGE AND islink <> 0 AND isdownload = 0 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10 OFFSET 10'),
    (39, 'SELECT traficsourceid, searchengineid, advengineid, CASE WHEN searchengineid = 0 AND advengineid = 0 THEN referer ELSE '''' END, url, count(*) FROM hits WHERE PAGE GROUP BY 1, 2, 3, 4, 5 ORDER BY 6 DESC, 1, 2, 3, 4, 5 LIMIT 10 OFFSET 10'),
    (40, 'SELECT urlhash, eventdate, count(*) FROM hits WHERE PAGE AND traficsourceid IN (-1, 6) AND refererhash = 12000000000468 GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10'),
    (41, 'SELECT windowclientwidth, windowclientheight, count(*) FROM hits WHERE PAGE AND dontcounthits = 0 AND urlhash = 12000000000732 GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 10 OFFSET 1'),
    (42, 'SELECT date_trunc(''minute'', eventtime), count(*) FROM hits WHERE PAGE AND dontcounthits = 0 GROUP BY 1 ORDER BY 1 LIMIT 10 OFFSET 100');
UPDATE queries SET query = replace(query, 'PAGE', 'counterid = 62 AND eventdate >= date ''2013-07-01'' AND eventdate <= date ''2013-07-31'' AND isrefresh = 0');

CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE 'SELECT string_agg(x::text, '' '') FROM (' || query || ' OFFSET 0) x' INTO answer;
    RETURN answer;
EXCEPTION WHEN syntax_error THEN
    EXECUTE 'SELECT string_agg(x::text, '' '') FROM (' || query || ') x' INTO answer;
    RETURN answer;
END $$;
-- What runs on vectors, and what PostgreSQL computes row by row
CREATE FUNCTION vectors(query text, OUT aggregates boolean, OUT row_by_row text, OUT same boolean, OUT has_rows boolean) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    wanted text;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    aggregates := plan::text ~ 'CScan Aggregate';
    row_by_row := (SELECT string_agg(e, '; ') FROM jsonb_array_elements_text(jsonb_path_query_first(plan, 'strict $.**."CScan Row by Row"')) e);
    IF NOT aggregates THEN
        row_by_row := coalesce('a filter: ' || (jsonb_path_query_first(plan, 'strict $.**."CScan Vector Filter"') #>> '{}'), 'all of it');
    END IF;
    PERFORM set_config('cscan.vectors', 'off', true);
    wanted := answer(query);
    PERFORM set_config('cscan.vectors', 'on', true);
    same := answer(query) IS NOT DISTINCT FROM wanted;
    has_rows := wanted <> '';
END $$;
SELECT n, v.* FROM queries, vectors(query) v ORDER BY n;
-- With an index of these columns text has dictionaries.
CREATE INDEX ON hits USING cscan_columns (watchid, title, eventtime, eventdate, counterid, clientip, regionid, userid, url, referer, isrefresh, resolutionwidth, mobilephone,
    mobilephonemodel, traficsourceid, searchengineid, searchphrase, advengineid, windowclientwidth, windowclientheight, islink, isdownload, dontcounthits, refererhash, urlhash);
VACUUM hits;
SELECT n, v.* FROM queries, vectors(query) v WHERE v.row_by_row IS NOT NULL OR NOT v.same ORDER BY n;

SET client_min_messages = warning;
DROP SCHEMA reports CASCADE;
