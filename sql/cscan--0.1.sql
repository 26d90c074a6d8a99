/* cscan--0.1.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION cscan" to load this file. \quit

-- warn of what is missing; a PL might be, too
CREATE FUNCTION cscan_warn_unless_preloaded()
RETURNS void
AS 'MODULE_PATHNAME', 'cscan_warn_unless_preloaded'
LANGUAGE C;

SELECT cscan_warn_unless_preloaded();
DROP FUNCTION cscan_warn_unless_preloaded();

CREATE FUNCTION cscan_scans(
	OUT pid integer, OUT datid oid, OUT relid oid, OUT policy text, OUT tables integer,
	OUT chunks_total integer, OUT chunks_done integer, OUT chunks_available integer,
	OUT blocked_since timestamptz, OUT idle boolean, OUT ranges int8multirange)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cscan_scans_srf'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION cscan_scans() IS 'rows of the view cscan_scans';

CREATE VIEW cscan_scans AS SELECT * FROM cscan_scans();
COMMENT ON VIEW cscan_scans IS 'registered cooperative scans';

CREATE FUNCTION cscan_chunks(
	OUT datid oid, OUT relid oid, OUT chunk integer, OUT state text,
	OUT interested integer, OUT starved integer, OUT users integer)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cscan_chunks_srf'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION cscan_chunks() IS 'rows of the view cscan_chunks';

CREATE VIEW cscan_chunks AS SELECT * FROM cscan_chunks();
COMMENT ON VIEW cscan_chunks IS 'chunks that the Active Buffer Manager holds';

CREATE FUNCTION cscan_relations(
	OUT datid oid, OUT relid oid, OUT scans integer,
	OUT chunks_delivered bigint, OUT chunks_loaded bigint, OUT blocks_read bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cscan_relations_srf'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION cscan_relations() IS 'rows of the view cscan_relations';

CREATE VIEW cscan_relations AS SELECT * FROM cscan_relations();
COMMENT ON VIEW cscan_relations IS 'tables that are being scanned cooperatively';

CREATE FUNCTION cscan_stat(
	OUT policy text, OUT scans bigint, OUT chunks_delivered bigint,
	OUT chunks_loaded bigint, OUT blocks_read bigint, OUT evictions bigint,
	OUT self_reads bigint, OUT waits bigint, OUT wait_time double precision,
	OUT wakeups bigint, OUT stats_reset timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cscan_stat_srf'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION cscan_stat() IS 'rows of the view cscan_stat';

CREATE VIEW cscan_stat AS SELECT * FROM cscan_stat();
COMMENT ON VIEW cscan_stat IS 'totals of each policy since the last reset; wait_time in milliseconds';

CREATE FUNCTION cscan_stat_scheduler(
	OUT locks bigint, OUT lock_waits bigint, OUT lock_time double precision,
	OUT max_lock_time double precision, OUT stats_reset timestamptz,
	OUT buffer_share double precision, OUT others_taken bigint, OUT scans_lost bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'cscan_stat_scheduler_srf'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION cscan_stat_scheduler() IS 'rows of the view cscan_stat_scheduler';

CREATE VIEW cscan_stat_scheduler AS SELECT * FROM cscan_stat_scheduler();
COMMENT ON VIEW cscan_stat_scheduler IS 'the scheduler''s lock since the last reset, times in milliseconds; the share of shared buffers, and what it follows per second';

CREATE FUNCTION cscan_stat_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'cscan_stat_reset'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION cscan_stat_reset() IS 'sets the counters of cscan_stat and cscan_stat_scheduler back to zero';
REVOKE ALL ON FUNCTION cscan_stat_reset() FROM PUBLIC;

CREATE FUNCTION cscan_why_not(query text)
RETURNS TABLE (relation regclass, is_cscan boolean, reason text, family regclass)
AS 'MODULE_PATHNAME', 'cscan_why_not'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION cscan_why_not(text) IS 'whether a query''s scans are cooperative, or else why not';

CREATE FUNCTION cscan_why_not()
RETURNS TABLE (relation regclass, is_cscan boolean, reason text, family regclass)
AS 'MODULE_PATHNAME', 'cscan_why_not_at_all'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION cscan_why_not() IS 'whether there can be cooperative scans, or else why not';

CREATE FUNCTION cscan_page_cost(relation regclass)
RETURNS double precision
AS 'MODULE_PATHNAME', 'cscan_page_cost_of'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION cscan_page_cost(regclass) IS 'what a page of the relation''s next scan is estimated to cost, in units of seq_page_cost';

GRANT SELECT ON cscan_scans, cscan_chunks, cscan_relations, cscan_stat, cscan_stat_scheduler TO PUBLIC;

CREATE FUNCTION cscan_columns_handler(internal)
RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'cscan_columns_handler'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION cscan_columns_handler(internal) IS 'the access method cscan_columns';

CREATE ACCESS METHOD cscan_columns TYPE INDEX HANDLER cscan_columns_handler;
COMMENT ON ACCESS METHOD cscan_columns IS 'columns of a table, kept a second time column by column';

CREATE OPERATOR CLASS cscan_columns_ops
DEFAULT FOR TYPE anyelement USING cscan_columns AS STORAGE anyelement;

CREATE FUNCTION cscan_columns_fill(index regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'cscan_columns_fill'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION cscan_columns_fill(regclass) IS 'stores what an index of columns can store now; returns how many row groups were built';

CREATE FUNCTION cscan_columns_verify(index regclass)
RETURNS TABLE (block bigint, problem text)
AS 'MODULE_PATHNAME', 'cscan_columns_verify'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION cscan_columns_verify(regclass) IS 'blocks of the table whose rows an index of columns has otherwise';

CREATE FUNCTION cscan_columns_state(index regclass)
RETURNS TABLE (blocks bigint, all_visible bigint, covered bigint, stale bigint, groups bigint, rows bigint,
	pages bigint, unused_pages bigint, last_built timestamptz, why_not text)
AS 'MODULE_PATHNAME', 'cscan_columns_state'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION cscan_columns_state(regclass) IS 'a row of the view cscan_columns_status';

CREATE VIEW cscan_columns_status AS
SELECT i.indexrelid::regclass AS index, i.indrelid::regclass AS relation, s.*
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_am am ON am.oid = c.relam AND am.amname = 'cscan_columns'
JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
CROSS JOIN LATERAL cscan_columns_state(i.indexrelid) s
WHERE c.relkind = 'i';
COMMENT ON VIEW cscan_columns_status IS 'indexes of columns, and how much of their tables they cover';
GRANT SELECT ON cscan_columns_status TO PUBLIC;
