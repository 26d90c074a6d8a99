# The results oracle: random queries run by several sessions at once, under each
# policy, while others insert, update, delete, vacuum and alter.  Each query runs
# twice on one snapshot, with cscan.enabled = off and = on, and gives the same
# rows both times.  In the second half the Active Buffer Manager is ended, and its
# share of the buffers changed, every now and then.
#
# The tables have indexes of all kinds, and the settings differ, so that there are
# CScans of whole tables, of bitmaps, of TID ranges, of columns, and parallel ones; each query
# says by its plan which of these it has.  In the end each kind must have been
# executed under each policy.
#
# CSCAN_ORACLE_SECONDS says how long (40).  CSCAN_ORACLE_SEED repeats what each session
# does, one thing after the other; what the others do at that moment it cannot.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $seconds = $ENV{CSCAN_ORACLE_SECONDS} || 40;
my $seed = $ENV{CSCAN_ORACLE_SEED} || (time * 1000) % 1000000007;
my $rows = 12000;
alarm $seconds + $CScanTest::file_limit;
srand($seed);
note("CSCAN_ORACLE_SEED=$seed");

# With so few places scans take them from idle ones all the time.
my $node = new_node('oracle', conf => "cscan.buffer_share = 0.25\nwork_mem = '1MB'\ncscan.max_scans = 10\ncscan.columns_naptime = 1s\n");

# a and b change all the time; s is small and gets truncated; p and r are
# partitioned, r into small ranges; f changes through the queries themselves only;
# g does not change, and has more pages than a bitmap in 64 kB has room for.
make_table($node, 'a', $rows);
make_table($node, 'b', $rows);
make_table($node, 'f', $rows / 2);
make_table($node, 's', 200);
sql($node, qq(
	ALTER TABLE a ADD PRIMARY KEY (i);
	CREATE TABLE p (i int, k int, v bigint, filler text) PARTITION BY HASH (i);
	CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO p SELECT * FROM b WHERE i <= $rows / 2;
	CREATE TABLE r (i int, k int, v bigint, filler text) PARTITION BY RANGE (i);
	CREATE TABLE g (LIKE b) WITH (fillfactor = 10);
	INSERT INTO g SELECT * FROM b WHERE i % 3 = 0;
	));
foreach my $n (0 .. 5)
{
	my ($first, $end) = ($n * $rows / 6, $n == 5 ? 'MAXVALUE' : ($n + 1) * $rows / 6);
	$first = 'MINVALUE' if $n == 0;
	sql($node, "CREATE TABLE r$n PARTITION OF r FOR VALUES FROM ($first) TO ($end)");
}
sql($node, q(
	INSERT INTO r SELECT * FROM a;
	CREATE INDEX ON a USING btree (k);
	CREATE INDEX ON a USING hash (v);
	CREATE INDEX ON a USING brin (i) WITH (pages_per_range = 8);
	CREATE INDEX ON b USING btree (i);
	CREATE INDEX ON b USING btree (v);
	CREATE INDEX ON b USING gin ((ARRAY[k, v]));
	CREATE INDEX ON f USING btree (i);
	CREATE INDEX ON f USING btree (k);
	CREATE INDEX ON f USING gist (int8range(v, v + 10));
	CREATE INDEX ON g USING btree (v);
	CREATE INDEX ON g USING btree (k);
	CREATE INDEX ON g USING spgist (int8range(v, v + 10));
	CREATE INDEX ON p USING btree (k);
	CREATE INDEX ON r USING btree (k);
	CREATE INDEX ON r USING brin (i) WITH (pages_per_range = 4);
	VACUUM ANALYZE;
	CREATE INDEX a_columns ON a USING cscan_columns (i, k, v) WITH (row_group_blocks = 64);
	CREATE INDEX f_columns ON f USING cscan_columns (v, filler, i, k) WITH (row_group_blocks = 64);
	CREATE INDEX g_columns ON g USING cscan_columns (i, v) WITH (row_group_blocks = 128);
	CREATE INDEX r_columns ON r USING cscan_columns (k, i) WITH (row_group_blocks = 64);
	));

# The rows of a query, twice.  If they are the same it says so, and which kinds of
# CScan the plan has.
sql($node, q(
	CREATE FUNCTION kinds(q text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE line text; plan text := '';
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN ' || q LOOP plan := plan || E'\n' || line; END LOOP;
		RETURN coalesce((SELECT ' ' || string_agg(DISTINCT CASE WHEN node LIKE '%Recheck Cond:%' THEN 'bitmap'
				WHEN node LIKE '%TID Cond:%' THEN 'tids' WHEN node LIKE '%CScan Columns:%' THEN 'columns' ELSE 'whole' END ||
				CASE WHEN node LIKE '%Parallel Custom%' THEN '-parallel' ELSE '' END, ' ')
			FROM regexp_split_to_table(plan, '->') node WHERE node LIKE '%Custom Scan (CScan)%') ||
			(SELECT coalesce(string_agg(' in-' || feature, ''), '') FROM (VALUES ('merge-join', 'Merge (Full |Left |Right |Anti |Semi )?Join'),
				('hash-join', 'Hash (Full |Left |Right |Anti |Semi )?Join'), ('nested-loop', 'Nested Loop'),
				('append', '->  Append| Append '), ('parallel-append', 'Parallel Append'), ('pruned', 'Subplans Removed')) x(feature, seen)
				WHERE plan ~ seen), '');
	END $$;
	CREATE FUNCTION rows_of(q text, args text, with_cscan bool, INOUT kinds text DEFAULT '', OUT r text) LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM set_config('cscan.enabled', with_cscan::text, true);
		q := format('SELECT count(*) || %L || coalesce(md5(string_agg(x::text, %L ORDER BY x::text COLLATE "C")), %L)
			FROM (%s) x', ' rows, ', '|', 'none', q);
		IF args IS NOT NULL THEN
			EXECUTE 'PREPARE prepared(int, int) AS ' || q;
			q := format('EXECUTE prepared(%s)', args);
		END IF;
		IF with_cscan THEN kinds := kinds(q); END IF;
		EXECUTE q INTO r;
		IF args IS NOT NULL THEN DEALLOCATE prepared; END IF;
	END $$;
	-- First without CScans, which may take too long for what it is worth; then with them, and compared.
	CREATE FUNCTION without(q text, args text DEFAULT NULL) RETURNS SETOF text LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM set_config('oracle.without', (rows_of(q, args, false)).r, true);
	END $$;
	CREATE FUNCTION oracle(q text, args text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE off text := current_setting('oracle.without'); on_ record;
	BEGIN
		on_ := rows_of(q, args, true);
		IF off IS DISTINCT FROM on_.r THEN
			RETURN format('off: %s; on: %s (%s)', off, on_.r, on_.kinds);
		END IF;
		RETURN 'same' || on_.kinds;
	END $$;

	-- The same through a cursor, a piece at a time and not always to its end.
	CREATE FUNCTION fetched(q text, piece int, pieces int, nap float8, with_cscan bool) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE c refcursor; r record; n int := 0; all_rows text[] := '{}'; more text[];
	BEGIN
		PERFORM set_config('cscan.enabled', with_cscan::text, true);
		OPEN c NO SCROLL FOR EXECUTE q;
		<<pieces>>
		FOR i IN 1..pieces LOOP
			more := '{}';
			FOR j IN 1..piece LOOP
				FETCH c INTO r;
				EXIT WHEN NOT FOUND;
				more := more || r::text;
			END LOOP;
			all_rows := all_rows || more;
			EXIT WHEN cardinality(more) < piece;
			IF i <= 2 AND nap > 0 THEN PERFORM pg_sleep(nap); END IF;
		END LOOP;
		CLOSE c;
		RETURN (SELECT count(*) || ' rows, ' || count(DISTINCT x) || ' distinct, ' ||
			CASE WHEN cardinality(all_rows) < piece * pieces THEN md5(string_agg(x, '|' ORDER BY x COLLATE "C")) ELSE 'a part' END
			FROM unnest(all_rows) x);
	END $$;
	CREATE FUNCTION oracle_cursor(q text, piece int, pieces int, nap float8) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE off text; on_ text;
	BEGIN
		off := fetched(q, piece, pieces, 0, false);
		on_ := fetched(q, piece, pieces, nap, true);
		IF off IS DISTINCT FROM on_ THEN
			RETURN format('off: %s; on: %s', off, on_);
		END IF;
		RETURN 'same' || regexp_replace(kinds('DECLARE c NO SCROLL CURSOR FOR ' || q), ' (?!in-)', ' cursor-', 'g');
	END $$;

	-- The same for a statement that changes rows, which are changed back.
	CREATE FUNCTION changed(q text, with_cscan bool, OUT kinds text, OUT r text) LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM set_config('cscan.enabled', with_cscan::text, true);
		IF q NOT LIKE 'MERGE %' THEN
			q := format('WITH x AS (%s) SELECT count(*) || %L || coalesce(md5(string_agg(x::text, %L ORDER BY x::text COLLATE "C")), %L)
				FROM x', q, ' rows, ', '|', 'none');
		END IF;
		kinds := kinds(q);
		BEGIN
			IF q LIKE 'MERGE %' THEN
				-- What it has done its table shows.
				EXECUTE q;
				SELECT count(*) || ' rows, ' || md5(string_agg(f::text, '|' ORDER BY f::text COLLATE "C")) FROM f INTO r;
			ELSE
				EXECUTE q INTO r;
			END IF;
			RAISE EXCEPTION SQLSTATE 'CS000';
		EXCEPTION WHEN SQLSTATE 'CS000' THEN NULL;
		END;
	END $$;
	CREATE FUNCTION oracle_change(q text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE off record; on_ record;
	BEGIN
		-- What is rolled back gives up its locks, and TRUNCATE respects no snapshot.
		LOCK TABLE s IN ACCESS SHARE MODE;
		off := changed(q, false);
		on_ := changed(q, true);
		IF off.r IS DISTINCT FROM on_.r THEN
			RETURN format('off: %s; on: %s (%s)', off.r, on_.r, on_.kinds);
		END IF;
		RETURN 'same' || on_.kinds || regexp_replace(on_.kinds, ' (?!in-)', ' change-', 'g') ||
			CASE WHEN q LIKE 'MERGE %' THEN regexp_replace(on_.kinds, ' (?!in-)', ' merge-', 'g') ELSE '' END;
	END $$;
	));

### Random queries

sub any { return $_[ int(rand(@_)) ]; }
sub up_to { return 1 + int(rand($_[0])); }

sub table { return any(qw(a a a b b b p r g s f)); }

sub condition
{
	my ($t) = @_;
	return rand() < 0.5 ? index_condition($t) : any(
		'true', "$t.k = " . up_to(99), "$t.k < " . up_to(50), "$t.v BETWEEN 100 AND " . (100 + up_to(800)),
		"$t.i % " . (1 + up_to(9)) . ' = 0', "$t.i > " . up_to($rows), "$t.k IN (1, 5, " . up_to(99) . ')',
		"$t.filler LIKE '%x'", "($t.k = 7 OR $t.v = " . up_to(999) . ')', "$t.i < " . up_to(300),
		"($t.k + $t.v) % 3 = " . any(0 .. 2), "$t.v <> ALL (ARRAY[1, 2, 3])", "$t.i IS NOT NULL");
}

# Conditions that an index of some kind can be used for.
sub index_condition
{
	my ($t) = @_;
	my ($i, $k, $v) = (up_to($rows), up_to(99), up_to(999));
	my $some = up_to(any(50, 3000));
	return any(
		"$t.i BETWEEN $i AND $i + $some", "$t.i BETWEEN $i AND $i + $some", "$t.i >= $i AND $t.i < $i + $some AND $t.v % 2 = 0",
		"$t.k = $k", "$t.k BETWEEN $k AND $k + 9", "$t.v = $v", "$t.v BETWEEN $v AND $v + $some",
		"($t.i < $some OR $t.i > $rows - $some)", "$t.i BETWEEN $i AND $i + $some AND $t.k < $k",
		"($t.k = $k OR $t.v = $v)", "$t.k = $k AND $t.v BETWEEN $v AND $v + 300",
		"($t.k = $k OR $t.v = $v) AND $t.i BETWEEN $i AND $i + 5000", "(($t.k < 5 AND $t.v < $v) OR $t.i = $i)",
		"$t.i IN ($i, $i + 100, $i + 200, 7)", "$t.v IN ($v, 0, 500)", "$t.k = ANY (ARRAY[$k, 3])",
		"ARRAY[$t.k, $t.v] @> ARRAY[${k}::bigint]", "ARRAY[$t.k, $t.v] && ARRAY[$v, 55::bigint]",
		"int8range($t.v, $t.v + 10) && int8range($v, $v + $some)", "int8range($t.v, $t.v + 10) @> ${v}::bigint",
		"$t.i < (SELECT max(z.v) FROM s z)", "$t.k = (SELECT min(z.k) + $k FROM s z WHERE z.i < 50)",
		"$t.i = $i", "$t.i < 0", tid_condition($t));
}

sub tid { return "'(" . int(rand(750)) . ',' . int(rand(20)) . ")'::tid"; }

sub tid_condition
{
	my ($t) = @_;
	my $block = int(rand(700));
	my $end = $block + int(rand(400));
	return any("$t.ctid >= '($block,0)' AND $t.ctid < '($end,3)'", "$t.ctid >= '($block,0)' AND $t.ctid < '($end,3)'",
		"$t.ctid < " . tid(), "$t.ctid > " . tid(), "$t.ctid <= " . tid(),
		"$t.ctid BETWEEN '($block,5)' AND '($end,0)' AND $t.k < 50", "'($block,2)' < $t.ctid AND $t.ctid < '(4294967295,0)'");
}

sub join_type { return any('JOIN', 'JOIN', 'LEFT JOIN', 'FULL JOIN'); }

# Queries whose set of rows does not depend on the order of the scans.
sub query
{
	my ($t, $u) = (table(), table());
	my ($c, $uc) = (condition('t'), index_condition('u'));
	my @kinds = (
		sub { "SELECT count(*), sum(t.i), min(t.v), max(t.v) FROM $t t WHERE $c" },
		sub { "SELECT t.k, count(*), sum(t.v) FROM $t t WHERE $c GROUP BY t.k" },
		sub { "SELECT t.k, count(DISTINCT t.v) FROM $t t WHERE $c GROUP BY t.k HAVING count(*) > " . up_to(50) },
		sub { "SELECT * FROM $t t WHERE $c" },
		sub { "SELECT t.i, t.v * 2 AS w FROM $t t WHERE $c" },
		sub { "SELECT t.ctid, t.xmin, t.tableoid, t.i FROM $t t WHERE $c" },
		sub { "SELECT DISTINCT t.v FROM $t t WHERE $c" },
		sub { "SELECT t.i, t.k FROM $t t WHERE $c ORDER BY t.v, t.i, t.k LIMIT " . up_to(200) . ' OFFSET ' . up_to(30) },
		sub { "SELECT count(*) FROM (SELECT 1 FROM $t t WHERE $c LIMIT " . up_to(3000) . ') l' },
		sub { "SELECT t.i, u.v FROM $t t " . join_type() . " $u u ON t.i = u.i WHERE $c" },
		sub { "SELECT t.k, count(*) FROM $t t JOIN $t u ON t.i = u.i + 1 WHERE $c GROUP BY t.k" },
		sub { "SELECT count(*) FROM $t t CROSS JOIN LATERAL (SELECT sum(u.v) AS s FROM s u WHERE u.i <= t.k) l WHERE t.i <= " . up_to(30) . ' AND l.s > 0' },
		sub { "SELECT t.i, (SELECT count(*) FROM $u u WHERE u.k = t.k) FROM s t WHERE t.i <= " . up_to(6) },
		sub { "SELECT t.i FROM $t t WHERE $c AND EXISTS (SELECT 1 FROM $u u WHERE u.i = t.i AND u.v > 500)" },
		sub { "SELECT t.i FROM $t t WHERE $c AND NOT EXISTS (SELECT 1 FROM $u u WHERE u.i = t.i AND u.k < 50)" },
		sub { "SELECT EXISTS (SELECT 1 FROM $t t WHERE $c), EXISTS (SELECT 1 FROM $u u WHERE u.v > 998)" },
		sub { "SELECT t.i FROM $t t WHERE $c AND t.i NOT IN (SELECT u.i FROM $u u WHERE u.k = 3 AND u.i IS NOT NULL)" },
		sub { "SELECT t.i FROM $t t WHERE t.v > (SELECT avg(u.v) FROM $u u) AND $c" },
		sub { "SELECT 1 WHERE " . up_to(99) . " = ANY (SELECT t.k FROM $t t WHERE $c)" },
		sub { "WITH c AS MATERIALIZED (SELECT t.k, t.v FROM $t t WHERE $c) SELECT x.k, count(*) FROM c x JOIN s y ON x.k = y.i GROUP BY x.k" },
		sub { "WITH RECURSIVE rec AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM rec WHERE n < 4 AND EXISTS (SELECT 1 FROM $t t WHERE t.k = n)) SELECT n, (SELECT count(*) FROM $t t WHERE t.k = n) FROM rec" },
		sub { "SELECT t.i, rank() OVER (PARTITION BY t.k ORDER BY t.v, t.i), sum(t.v) OVER (PARTITION BY t.k ORDER BY t.v, t.i) FROM $t t WHERE $c AND t.i < " . up_to($rows) },
		sub { "SELECT t.i FROM $t t WHERE $c UNION SELECT u.i FROM $u u WHERE u.k < 20" },
		sub { "SELECT t.i FROM $t t WHERE $c EXCEPT SELECT u.i FROM $u u WHERE u.k < 50" },
		sub { "SELECT t.k, u.v FROM (SELECT k, max(v) AS m FROM $t t WHERE $c GROUP BY k) t, $u u WHERE u.v = t.m AND u.i < 500" },
		sub { "SELECT t.i, u.i AS j FROM (SELECT * FROM s WHERE i <= 4) t LEFT JOIN $u u ON u.v = t.v AND u.k > 3" },
		sub { "SELECT x.i, y.i AS j FROM $t x JOIN $t y ON x.i = y.i WHERE " . index_condition('x') . ' AND ' . condition('y') },
		sub { "SELECT x.i, y.v FROM $t x JOIN $u y ON x.v = y.v AND x.k = y.k WHERE x.i <= " . up_to(200) . ' AND ' . index_condition('y') },
		sub { "SELECT t.i, l.* FROM (SELECT * FROM s WHERE i <= " . up_to(5) . ") t CROSS JOIN LATERAL (SELECT count(*), sum(u.v) FROM $u u WHERE u.i BETWEEN t.v AND t.v + " . up_to(900) . ' OFFSET 0) l' },
		sub { "SELECT t.i, (SELECT count(*) FROM $u u WHERE u.i BETWEEN t.v * 5 AND t.v * 5 + " . up_to(900) . " AND $uc) FROM s t WHERE t.i <= " . up_to(5) },
		sub { "SELECT t.i, (SELECT count(*) FROM $u u WHERE u.i < (SELECT max(z.v) * 9 FROM s z WHERE z.i = t.i)) FROM s t WHERE t.i <= " . up_to(5) },
		sub { "SELECT t.i, (SELECT sum(u.v) FROM $u u WHERE u.ctid >= format('(%s,0)', t.k)::tid AND u.ctid < format('(%s,9)', t.k + " . up_to(200) . ")::tid) FROM s t WHERE t.i <= " . up_to(5) },
		sub { "SELECT t.i FROM $t t WHERE $c AND EXISTS (SELECT 1 FROM $u u WHERE u.i = t.i AND $uc)" },
		sub { "SELECT t.k, count(*) FROM $t t JOIN $u u USING (i) JOIN $t w USING (i) WHERE $c AND $uc GROUP BY t.k" },
		sub { "SELECT t.i FROM $t t WHERE $c UNION ALL SELECT u.i FROM $u u WHERE $uc" },
		sub { "SELECT r.i, r.tableoid::regclass FROM r WHERE r.i BETWEEN " . up_to($rows) . ' AND ' . up_to($rows) . ' AND ' . condition('r') },
		sub { "SELECT r.k, count(*) FROM r JOIN $u u ON r.i = u.i WHERE " . index_condition('r') . " AND $uc GROUP BY r.k" },
		sub { "SELECT count(*), sum(length(t.filler)) FROM $t t TABLESAMPLE SYSTEM (100) JOIN $u u ON t.i = u.i AND u.k = 4" },
	);
	return any(@kinds)->();
}

my @switches = (
	'', '', '',
	'SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_material = off;',
	'SET LOCAL enable_hashjoin = off;', 'SET LOCAL enable_hashagg = off;',
	'SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexonlyscan = off;',
	'SET LOCAL enable_mergejoin = off; SET LOCAL work_mem = 64;',
	"SET LOCAL plan_cache_mode = force_generic_plan;");

# What makes the planner take CScans of a part of a table, parallel plans, and
# bitmaps that do not fit.
my %wishes = (
	whole => '',
	bitmap => join(' ', map { "SET LOCAL $_;" } 'cscan.page_cost = 0', 'enable_indexscan = off', 'enable_indexonlyscan = off', 'enable_seqscan = off'),
	cheap => 'SET LOCAL cscan.page_cost = 0;',
	parallel => join(' ', map { "SET LOCAL $_;" } 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
		'min_parallel_table_scan_size = 0', 'min_parallel_index_scan_size = 0', 'max_parallel_workers_per_gather = 2'));
my @wishes = ('', '', 'SET LOCAL cscan.columns = off;', $wishes{cheap}, $wishes{bitmap}, $wishes{bitmap}, $wishes{parallel}, $wishes{parallel} . $wishes{bitmap},
	$wishes{parallel} . $wishes{bitmap} . ' SET LOCAL parallel_leader_participation = off;',
	$wishes{bitmap} . ' SET LOCAL work_mem = 64;', $wishes{parallel} . $wishes{bitmap} . ' SET LOCAL work_mem = 64;',
	"SET LOCAL cscan.min_table_size = '2MB';");

sub merge
{
	my ($c) = @_;
	return "MERGE INTO f USING (SELECT DISTINCT ON (g.i) g.i AS key, g.k AS g FROM g WHERE " . index_condition('g') . ' ORDER BY g.i, g.v) x'
	  . " ON f.i = x.key AND $c WHEN MATCHED AND x.g % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET k = x.g + 1000"
	  . ' WHEN NOT MATCHED THEN INSERT (i, k, v) VALUES (x.key, x.g, -1)';
}

# A query without CScans and with them.  What takes long without, by settings that
# leave nothing but nested loops over whole tables, is given up; with them it is
# given time.
sub twice
{
	my ($arguments) = @_;
	return "SET LOCAL statement_timeout = '10s'; SELECT without($arguments);"
	  . " SET LOCAL statement_timeout = '200s'; SELECT oracle($arguments)";
}

# A transaction that checks something, and what it checks.  Some wish for what its
# plan may have, and for its kind, for those that have not come by chance.
sub check
{
	my ($policy, $wish, $kind) = @_;
	my $begin = 'BEGIN ISOLATION LEVEL ' . any('REPEATABLE READ', 'REPEATABLE READ', 'SERIALIZABLE') . ';';
	my $call;

	$wish ||= any(@wishes);

	$kind ||= any(('query') x 13, ('prepared') x 2, ('cursor') x 3, ('change') x 2);
	if ($kind eq 'query')
	{
		my $switch = any(@switches);
		my $query = query();
		# Nested loops over whole tables take too long.
		$query = query() while $switch =~ /mergejoin = off; SET LOCAL enable_material/ && $query =~ /FULL JOIN|NOT IN/;
		$switch = '' if $switch =~ /enable_material/ && $query =~ /(JOIN|EXISTS|EXCEPT|u\.v = t\.m)/ && $query !~ /i <= \d/;

		# Where pages cost nothing, to read a table again for each row seems to cost little.
		$wish .= ' SET LOCAL enable_nestloop = off;' if $wish =~ /page_cost/ && $query =~ /JOIN|EXISTS|u\.v = t\.m/ && $query !~ /i <= \d/;
		$call = $switch . twice("\$q\$$query\$q\$");
	}
	elsif ($kind eq 'prepared')
	{
		my $t = any(qw(a b p r g f));
		my $c = any('t.i BETWEEN $1 AND $1 + $2', 't.k = $1 % 100 OR t.v = $2 % 1000', 't.v BETWEEN $2 % 1000 AND $1', 't.k = ANY (ARRAY[$1 % 100, $2])',
			't.i < $1 AND t.v < $2 % 1000', q[t.ctid > format('(%s,1)', $2 % 700)::tid AND t.ctid <= format('(%s,1)', $1 % 700)::tid]);
		my ($x, $y) = (up_to($rows), up_to(3000));
		$call = 'SET LOCAL plan_cache_mode = ' . any('force_generic_plan', 'force_custom_plan') . ';'
		  . twice("\$q\$SELECT t.ctid, t.i, t.v FROM $t t WHERE $c\$q\$, '$x, $y'");
	}
	elsif ($kind eq 'cursor')
	{
		my $t = any(qw(a b p r g f));
		my $c = condition('t');
		$call = "SELECT oracle_cursor(\$q\$SELECT t.ctid, t.tableoid, t.i, t.k FROM $t t WHERE $c\$q\$, "
		  . any(1, 10, 100, 1000, 3000) . ', ' . any(2, 10) . ', ' . any(0, 0, 0.05, 0.4) . ')';
	}
	elsif ($kind eq 'columns')
	{
		my ($t, $i) = (any(qw(a f g r)), up_to($rows));
		$call = twice('$q$' . "SELECT t.i % 10, count(*), max(t.i) FROM $t t WHERE t.i <> $i GROUP BY 1" . '$q$');
	}
	elsif ($kind eq 'tids')
	{
		my $t = any(qw(a b p r g f));
		$call = twice('$q$' . "SELECT t.ctid, t.i, t.v FROM $t t WHERE " . tid_condition('t') . '$q$');
	}
	elsif ($kind eq 'range')
	{
		my ($t, $i) = (any(qw(a b f)), up_to($rows / 2));
		$call = twice("\$q\$SELECT t.ctid, t.i, t.v FROM $t t WHERE t.i BETWEEN $i AND $i + 2000\$q\$");
	}
	elsif ($kind eq 'join')
	{
		my ($t, $u) = (any(qw(a b p)), any(qw(b r g)));
		$call = twice('$q$' . "SELECT t.i, t.ctid, u.v FROM $t t JOIN $u u ON t.i = u.i WHERE t.i < 900 AND u.i BETWEEN 50 AND 700" . '$q$');
	}
	elsif ($kind eq 'children')
	{
		my $i = up_to($rows / 2);
		$call = 'SET LOCAL plan_cache_mode = force_generic_plan;'
		  . twice('$q$SELECT r.ctid, r.i, r.v FROM r WHERE r.i BETWEEN $1 AND $1 + $2$q$, ' . "'$i, " . $rows / 4 . "'");
	}
	else
	{
		my $c = condition('f');
		my $statement = $kind eq 'merge' ? merge($c) : any(merge($c), "UPDATE f SET v = v + 1 WHERE $c RETURNING i, v", "DELETE FROM f WHERE $c RETURNING i, v",
			"UPDATE f SET k = s.v FROM s WHERE s.i = f.k AND s.i % 5 = 0 AND $c RETURNING f.i, f.v",
			"UPDATE f SET i = i + 1 WHERE $c RETURNING i, v", "DELETE FROM f USING g WHERE f.i = g.i AND $c RETURNING f.i, g.v",
			"INSERT INTO f SELECT t.i + 100000, t.k, t.v, t.filler FROM f t WHERE " . ($c =~ s/\bf\./t./gr) . ' RETURNING i, v');
		# One at a time: the sessions would wait for each other's rows.
		$call = "SELECT CASE WHEN pg_try_advisory_xact_lock(77) THEN oracle_change(\$q\$$statement\$q\$) ELSE 'same' END";
	}
	$policy ||= any(@policies);
	return "$begin SET LOCAL cscan.policy = $policy; $wish $call; COMMIT";
}

# What goes on beside them.
sub change
{
	my $t = any(qw(a b p r));
	my $k = up_to(99);
	return any(
		"UPDATE $t SET v = v + 1 WHERE k = $k", "UPDATE $t SET v = (v * 31 + 7) % 1000 WHERE i % 200 = $k",
		"DELETE FROM $t WHERE k = $k AND v < 300", "UPDATE $t SET filler = repeat('z', 300) WHERE i = $k * 50",
		"INSERT INTO a SELECT (SELECT coalesce(max(i), 0) FROM a) + g, g % 100, g, repeat('y', 400) FROM generate_series(1, 300) g",
		"INSERT INTO b SELECT i + $rows, k, v, filler FROM b WHERE k = $k AND i < $rows",
		"INSERT INTO p SELECT i, k, v, filler FROM b WHERE k = $k", "INSERT INTO r SELECT i, k, v, filler FROM b WHERE k = $k",
		"UPDATE r SET i = i + 1 WHERE k = $k AND i < 3000",
		"DELETE FROM $t WHERE i > " . $rows * 2,
		"BEGIN; DELETE FROM $t WHERE k = $k; ROLLBACK",
		"BEGIN; INSERT INTO b SELECT * FROM b WHERE k < 20; SELECT count(*) FROM b; ROLLBACK",
		"INSERT INTO s SELECT g, g % 100, g, 'new' FROM generate_series(1, 100) g WHERE (SELECT count(*) FROM s) < 250",
		"DELETE FROM s WHERE i > 100");
}

sub maintain
{
	my $t = any(qw(a b f p0 p1 r0 r5 s));
	my $grown = any(qw(a b p r));
	my $most = 2 * $rows;

	# What the changes add would make each query slower than the one before, with cscan and without.
	return any(
		("DELETE FROM $grown WHERE ctid = ANY (ARRAY(SELECT ctid FROM $grown OFFSET $most)); VACUUM FULL $grown") x 2,
		"VACUUM $t", "SELECT cscan_columns_fill('" . any(qw(a_columns f_columns g_columns r0_k_i_idx r5_k_i_idx)) . "')",
		'VACUUM (INDEX_CLEANUP on) ' . any(qw(a f)) . '; SELECT cscan_columns_fill($$' . any(qw(a_columns f_columns)) . '$$)', 'REINDEX INDEX CONCURRENTLY a_columns',
		"VACUUM (FREEZE) $t", "VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) $t", "ANALYZE $t", "VACUUM ANALYZE $t",
		"CREATE INDEX IF NOT EXISTS extra ON $t (k); DROP INDEX IF EXISTS extra", 'DROP INDEX IF EXISTS later; CREATE INDEX CONCURRENTLY later ON b (v); DROP INDEX IF EXISTS later',
		"ALTER TABLE b ADD COLUMN IF NOT EXISTS extra int DEFAULT 5; ALTER TABLE b DROP COLUMN IF EXISTS extra",
		'TRUNCATE s; INSERT INTO s SELECT g, g % 100, g * 7 % 1000, $$again$$ FROM generate_series(1, 200) g',
		'VACUUM FULL s', 'VACUUM FULL b', 'VACUUM FULL f', 'ALTER TABLE b ALTER COLUMN filler SET STORAGE EXTERNAL', 'CHECKPOINT',
		"CREATE TABLE side AS SELECT * FROM b WHERE k < 30; SELECT count(*) FROM side; TRUNCATE side; SELECT count(*) FROM side; DROP TABLE side");
}

my @checkers = map { session($node, name => "checker $_") } 1 .. 6;
my @changers = map { session($node, name => "changer $_") } 1 .. 2;
my $maintainer = session($node, name => 'maintainer');
my ($checks, $retries, $changes, $maintenances) = (0, 0, 0, 0);
my (%query_of, @wrong, %seen);

# Of the errors that concurrent transactions may always get, none is the scan's.
my $may_fail = qr/could not serialize access|deadlock detected|tuple to be (updated|deleted|locked) was already/;

$_->query("SET statement_timeout = '200s'") foreach (@checkers, @changers, $maintainer);
$maintainer->query('SET lock_timeout = 2000');
# Some take many of the chunks at once that they find in memory.
$_->query('SET cscan.debug_take_ahead = ' . any(1, 5, 32)) foreach (@checkers);
sql($node, 'SELECT cscan_stat_reset()');

sub collect_check
{
	my ($s) = @_;
	my $answer = $s->result;
	if ($s->err =~ $may_fail || ($s->err =~ /statement timeout/ && $s->err =~ /function without\(text,text\)/))
	{
		$retries++;
		$s->query('ROLLBACK');
	}
	elsif ($answer =~ /^same( |$)/ && $s->err eq '')
	{
		my ($policy) = $query_of{$s} =~ /cscan\.policy = (\w+)/;
		my (undef, @kinds) = split ' ', $answer;
		$seen{"$policy $_"}++ foreach @kinds;
		$checks++;
	}
	else
	{
		push @wrong, "$query_of{$s}\n  $answer " . $s->err;
		$s->query('ROLLBACK');
	}
	return;
}

sub collect_other
{
	my ($s, $count) = @_;
	$s->result;
	return if $s->err =~ /due to lock timeout/;
	if ($s->err =~ /ERROR/ && $s->err !~ $may_fail && $s->err !~ /duplicate key/)
	{
		push @wrong, "$s->{sql}\n  " . $s->err;
	}
	$s->query('ROLLBACK') if $s->{sql} =~ /BEGIN/;
	$$count++;
	return;
}

# What befalls the Active Buffer Manager in the second half.
sub disturb
{
	my $share = any(0, 0.05, 0.25, 0.25, 0.5, 0.75);
	return any(
		q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'cscan abm'),
		"ALTER SYSTEM SET cscan.buffer_share = $share; SELECT pg_reload_conf()");
}

my $disturber = session($node, name => 'disturber');

# Each of them has random numbers of its own, so that it does the same things in the
# same order whenever the others are done with theirs.
my ($sessions, %number, %turn) = (0);
$number{$_} = $sessions++ foreach (@checkers, @changers, $maintainer, $disturber);

sub next_turn
{
	my ($s) = @_;
	srand(($seed * 31 + $number{$s} * 7919 + $turn{$s}++ * 104729) % 2147483647);
	return;
}
my $end = time + $seconds;
my $next_disturbance = time + $seconds / 2;
my $disturbances = 0;
my $silent = time;
my %busy;
my $stuck = '';

# What is to be seen from outside where nothing goes on.
sub state_of
{
	my ($server) = @_;
	return join "\n", map { "\n$_:\n" . sql($server, "SELECT * FROM $_") } (
		'cscan_scans', 'cscan_chunks', 'cscan_relations', 'cscan_stat', "pg_settings WHERE name LIKE 'cscan.%' AND source <> 'default'",
		"(SELECT pid, leader_pid, backend_type, state, now() - query_start AS since, wait_event_type, wait_event, query FROM pg_stat_activity) a",
		'pg_locks WHERE NOT granted');
}

for (;;)
{
	my $over = time > $end || @wrong > 5;
	my $moved = 0;

	if (time > $next_disturbance && !$over)
	{
		next_turn($disturber);
		$disturber->query(disturb());
		$next_disturbance = time + 1.5;
		$disturbances++;
	}
	foreach my $s (@checkers, @changers, $maintainer)
	{
		if ($busy{$s})
		{
			next unless $s->done;
			$busy{$s} = 0;
			if (grep { $_ == $s } @checkers) { collect_check($s) }
			elsif ($s == $maintainer) { collect_other($s, \$maintenances) }
			else { collect_other($s, \$changes) }
			$moved = 1;
		}
		next if $over;
		next_turn($s);
		my $sql = $s == $maintainer ? maintain() : (grep { $_ == $s } @changers) ? change() : check();
		$query_of{$s} = $sql;
		$s->send($sql);
		$busy{$s} = 1;
	}
	$silent = time if $moved;
	last if $over && !grep { $_ } values %busy;
	if (time > $silent + $CScanTest::limit + 30)
	{
		$stuck = join("\n", map { $query_of{$_} } grep { $busy{$_} } (@checkers, @changers, $maintainer)) . state_of($node);
		last;
	}
	usleep(1000) unless $moved;
}

is($stuck, '', 'all queries have ended');
is(join("\n", @wrong), '', "each query gives the same rows with and without CScan (seed $seed)");
note("$checks checks, $retries of them tried in vain; $changes changes, $maintenances times maintained, $disturbances disturbances");
cmp_ok($checks, '>', 2 * $seconds, 'there were enough of them');
cmp_ok($changes, '>', $seconds, 'rows changed beside them');
cmp_ok($maintenances, '>', $seconds / 5, 'tables were vacuumed and altered beside them');
cmp_ok(sql($node, 'SELECT min(scans) FROM cscan_stat'), '>', 0, 'each policy had scans');
note(sql($node, 'SELECT policy, scans, chunks_delivered, chunks_loaded, evictions, self_reads, waits FROM cscan_stat'));
cmp_ok(stat_sum($node, 'evictions'), '>', 0, 'the pool was too small for all of them');

# Which kinds of CScans there were.  What has not come by chance in so short a time
# is wished for.
my %wished = (
	'whole' => [ 'SET LOCAL enable_bitmapscan = off;', 'range' ],
	'bitmap' => [ $wishes{bitmap}, 'range' ],
	'tids' => [ $wishes{cheap}, 'tids' ],
	'columns' => [ '', 'columns' ],
	'columns-parallel' => [ $wishes{parallel} . ' SET LOCAL cscan.vectors = off;', 'columns' ],	# with vectors one process costs less
	'whole-parallel' => [ $wishes{parallel} . ' SET LOCAL cscan.vectors = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = off;', 'range' ],
	'bitmap-parallel' => [ $wishes{parallel} . $wishes{bitmap}, 'range' ],
	'change-bitmap' => [ $wishes{bitmap}, 'change' ],
	'merge-bitmap' => [ $wishes{bitmap}, 'merge' ],
	'cursor-whole' => [ '', 'cursor' ],
	'cursor-bitmap' => [ $wishes{bitmap}, 'cursor' ],
	'in-merge-join' => [ $wishes{cheap} . ' SET LOCAL enable_hashjoin = off; SET LOCAL enable_nestloop = off;', 'join' ],
	'in-hash-join' => [ $wishes{cheap} . ' SET LOCAL enable_mergejoin = off; SET LOCAL enable_nestloop = off;', 'join' ],
	'in-nested-loop' => [ $wishes{bitmap} . ' SET LOCAL enable_mergejoin = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_material = off;', 'join' ],
	'in-append' => [ $wishes{cheap}, 'children' ],
	'in-pruned' => [ $wishes{cheap}, 'children' ],
	'in-parallel-append' => [ $wishes{parallel} . ' SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = off; SET LOCAL cscan.page_cost = 0;', 'children' ]);
sql($node, 'ALTER SYSTEM RESET cscan.buffer_share');
reload($node);
poll($node, 'SHOW cscan.buffer_share', '0.25');
wait_for_abm($node);

foreach my $policy (@policies)
{
	foreach my $kind (sort keys %wished)
	{
		my $by_chance = $seen{"$policy $kind"} || 0;
		for (my $tries = 0; $tries < 40 && !$seen{"$policy $kind"}; $tries++)
		{
			$query_of{ $checkers[0] } = check($policy, @{ $wished{$kind} });
			$checkers[0]->send($query_of{ $checkers[0] });
			collect_check($checkers[0]);
		}
		cmp_ok($seen{"$policy $kind"} || 0, '>', 0, "$policy: there were CScans of the kind $kind ($by_chance by chance)");
	}
}
is(join("\n", @wrong), '', 'all of these were right, too');

# Do they share at all?  Five scans at once of a table four times the pool's size.
make_table($node, 'large', 24000);
foreach my $policy (@policies)
{
	sql($node, 'SELECT cscan_stat_reset()');
	my @scans = map { session($node, name => "$policy $_", policy => $policy) } 1 .. 5;
	$_->send('SELECT count(*), sum(i), sum(length(filler)) FROM large') foreach @scans;
	is(join(' ', map { $_->result } @scans), join(' ', ('24000|288012000|9600000') x 5), "$policy: five scans at once are right");
	my ($delivered, $loaded) = (stat_sum($node, 'chunks_delivered'), stat_sum($node, 'chunks_loaded'));
	cmp_ok($delivered, '>', $loaded, "$policy: chunks were shared ($loaded loaded, $delivered delivered)");
	$_->quit foreach @scans;
}

$_->quit foreach (@checkers, @changers, $maintainer, $disturber);
nothing_left($node, 'after all', qw(a b f g s p0 p1 r0 r5 large));
$node->stop;
done_testing();
