# The results oracle: random queries run by several sessions at once, under each
# policy, while others insert, update, delete, vacuum and alter.  Each query runs
# twice on one snapshot, with cscan.enabled = off and = on, and gives the same
# rows both times.  In the second half the Active Buffer Manager is ended, and its
# share of the buffers changed, every now and then.
#
# CSCAN_ORACLE_SECONDS says how long (20), CSCAN_ORACLE_SEED repeats a run's
# sequence of queries.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $seconds = $ENV{CSCAN_ORACLE_SECONDS} || 20;
my $seed = $ENV{CSCAN_ORACLE_SEED} || (time * 1000) % 1000000007;
my $rows = 12000;
alarm $seconds + $CScanTest::file_limit;
srand($seed);
note("CSCAN_ORACLE_SEED=$seed");

my $node = new_node('oracle', conf => "cscan.buffer_share = 0.25\nwork_mem = '1MB'\n");

# a and b change all the time; s is small and gets truncated; p is partitioned;
# f changes through the queries themselves only.
make_table($node, 'a', $rows);
make_table($node, 'b', $rows);
make_table($node, 'f', $rows / 2);
make_table($node, 's', 200);
sql($node, qq(
	ALTER TABLE a ADD PRIMARY KEY (i);
	CREATE TABLE p (i int, k int, v int, filler text) PARTITION BY HASH (i);
	CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO p SELECT * FROM b WHERE i <= $rows / 2;
	ANALYZE p;
	));

# The rows of a query, twice.  Says nothing if they are the same.
sql($node, q(
	CREATE FUNCTION rows_of(q text, with_cscan bool) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE r text;
	BEGIN
		PERFORM set_config('cscan.enabled', with_cscan::text, true);
		EXECUTE format('SELECT count(*) || %L || coalesce(md5(string_agg(x::text, %L ORDER BY x::text COLLATE "C")), %L)
			FROM (%s) x', ' rows, ', '|', 'none', q) INTO r;
		RETURN r;
	END $$;
	CREATE FUNCTION oracle(q text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE off text; on_ text;
	BEGIN
		off := rows_of(q, false);
		on_ := rows_of(q, true);
		IF off IS DISTINCT FROM on_ THEN
			RETURN format('off: %s; on: %s', off, on_);
		END IF;
		RETURN 'same';
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
		RETURN 'same';
	END $$;

	-- The same for a statement that changes rows, which are changed back.
	CREATE FUNCTION changed(q text, with_cscan bool) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE r text;
	BEGIN
		PERFORM set_config('cscan.enabled', with_cscan::text, true);
		BEGIN
			EXECUTE format('WITH x AS (%s) SELECT count(*) || %L || coalesce(md5(string_agg(x::text, %L ORDER BY x::text COLLATE "C")), %L)
				FROM x', q, ' rows, ', '|', 'none') INTO r;
			RAISE EXCEPTION SQLSTATE 'CS000';
		EXCEPTION WHEN SQLSTATE 'CS000' THEN NULL;
		END;
		RETURN r;
	END $$;
	CREATE FUNCTION oracle_change(q text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE off text; on_ text;
	BEGIN
		-- What is rolled back gives up its locks, and TRUNCATE respects no snapshot.
		LOCK TABLE s IN ACCESS SHARE MODE;
		off := changed(q, false);
		on_ := changed(q, true);
		IF off IS DISTINCT FROM on_ THEN
			RETURN format('off: %s; on: %s', off, on_);
		END IF;
		RETURN 'same';
	END $$;
	));

### Random queries

sub any { return $_[ int(rand(@_)) ]; }
sub up_to { return 1 + int(rand($_[0])); }

sub table { return any(qw(a a a b b b p s f)); }

sub condition
{
	my ($t) = @_;
	return any(
		'true', "$t.k = " . up_to(99), "$t.k < " . up_to(50), "$t.v BETWEEN 100 AND " . (100 + up_to(800)),
		"$t.i % " . (1 + up_to(9)) . ' = 0', "$t.i > " . up_to($rows), "$t.k IN (1, 5, " . up_to(99) . ')',
		"$t.filler LIKE '%x'", "$t.k = 7 OR $t.v = " . up_to(999), "$t.i < " . up_to(300),
		"($t.k + $t.v) % 3 = " . any(0 .. 2), "$t.v <> ALL (ARRAY[1, 2, 3])", "$t.i IS NOT NULL");
}

sub join_type { return any('JOIN', 'JOIN', 'LEFT JOIN', 'FULL JOIN'); }

# Queries whose set of rows does not depend on the order of the scans.
sub query
{
	my ($t, $u) = (table(), table());
	my $c = condition('t');
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
		sub { "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4 AND EXISTS (SELECT 1 FROM $t t WHERE t.k = n)) SELECT n, (SELECT count(*) FROM $t t WHERE t.k = n) FROM r" },
		sub { "SELECT t.i, rank() OVER (PARTITION BY t.k ORDER BY t.v, t.i), sum(t.v) OVER (PARTITION BY t.k ORDER BY t.v, t.i) FROM $t t WHERE $c AND t.i < " . up_to($rows) },
		sub { "SELECT t.i FROM $t t WHERE $c UNION SELECT u.i FROM $u u WHERE u.k < 20" },
		sub { "SELECT t.i FROM $t t WHERE $c EXCEPT SELECT u.i FROM $u u WHERE u.k < 50" },
		sub { "SELECT t.k, u.v FROM (SELECT k, max(v) AS m FROM $t t WHERE $c GROUP BY k) t, $u u WHERE u.v = t.m AND u.i < 500" },
		sub { "SELECT t.i, u.i AS j FROM (SELECT * FROM s WHERE i <= 4) t LEFT JOIN $u u ON u.v = t.v AND u.k > 3" },
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

# A transaction that checks something, and what it checks.
sub check
{
	my $kind = rand;
	my $begin = 'BEGIN ISOLATION LEVEL ' . any('REPEATABLE READ', 'REPEATABLE READ', 'SERIALIZABLE') . ';';
	my $policy = 'SET LOCAL cscan.policy = ' . any(@policies) . ';';
	my $call;

	if ($kind < 0.75)
	{
		my $switch = any(@switches);
		my $query = query();
		# Nested loops over whole tables take too long.
		$query = query() while $switch =~ /mergejoin = off; SET LOCAL enable_material/ && $query =~ /FULL JOIN|NOT IN/;
		$switch = '' if $switch =~ /enable_material/ && $query =~ /(JOIN|EXISTS|EXCEPT|u\.v = t\.m)/ && $query !~ /t\.i <= \d|i <= 4/;
		$call = "$switch SELECT oracle(\$q\$$query\$q\$)";
	}
	elsif ($kind < 0.9)
	{
		my $t = any(qw(a b p f));
		my $c = condition('t');
		$call = "SELECT oracle_cursor(\$q\$SELECT t.ctid, t.tableoid, t.i, t.k FROM $t t WHERE $c\$q\$, "
		  . any(1, 10, 100, 1000, 3000) . ', ' . any(2, 10) . ', ' . any(0, 0, 0.05, 0.4) . ')';
	}
	else
	{
		my $c = condition('f');
		my $statement = any("UPDATE f SET v = v + 1 WHERE $c RETURNING i, v", "DELETE FROM f WHERE $c RETURNING i, v",
			"UPDATE f SET k = s.v FROM s WHERE s.i = f.k AND s.i % 5 = 0 AND $c RETURNING f.i, f.v",
			"INSERT INTO f SELECT t.i + 100000, t.k, t.v, t.filler FROM f t WHERE " . ($c =~ s/\bf\./t./gr) . ' RETURNING i, v');
		# One at a time: the sessions would wait for each other's rows.
		$call = "SELECT CASE WHEN pg_try_advisory_xact_lock(77) THEN oracle_change(\$q\$$statement\$q\$) ELSE 'same' END";
	}
	return "$begin $policy $call; COMMIT";
}

# What goes on beside them.
sub change
{
	my $t = any(qw(a b p));
	my $k = up_to(99);
	return any(
		"UPDATE $t SET v = v + 1 WHERE k = $k", "UPDATE $t SET v = (v * 31 + 7) % 1000 WHERE i % 200 = $k",
		"DELETE FROM $t WHERE k = $k AND v < 300", "UPDATE $t SET filler = repeat('z', 300) WHERE i = $k * 50",
		"INSERT INTO a SELECT (SELECT coalesce(max(i), 0) FROM a) + g, g % 100, g, repeat('y', 400) FROM generate_series(1, 300) g",
		"INSERT INTO b SELECT i + $rows, k, v, filler FROM b WHERE k = $k AND i < $rows",
		"INSERT INTO p SELECT i, k, v, filler FROM b WHERE k = $k",
		"DELETE FROM $t WHERE i > " . $rows * 2,
		"BEGIN; DELETE FROM $t WHERE k = $k; ROLLBACK",
		"BEGIN; INSERT INTO b SELECT * FROM b WHERE k < 20; SELECT count(*) FROM b; ROLLBACK",
		"INSERT INTO s SELECT g, g % 100, g, 'new' FROM generate_series(1, 100) g WHERE (SELECT count(*) FROM s) < 250",
		"DELETE FROM s WHERE i > 100");
}

sub maintain
{
	my $t = any(qw(a b p0 p1 s));
	return any(
		"VACUUM $t", "VACUUM (FREEZE) $t", "VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) $t", "ANALYZE $t", "VACUUM ANALYZE $t",
		"CREATE INDEX IF NOT EXISTS extra ON $t (k); DROP INDEX IF EXISTS extra", 'DROP INDEX IF EXISTS later; CREATE INDEX CONCURRENTLY later ON b (v); DROP INDEX IF EXISTS later',
		"ALTER TABLE b ADD COLUMN IF NOT EXISTS extra int DEFAULT 5; ALTER TABLE b DROP COLUMN IF EXISTS extra",
		'TRUNCATE s; INSERT INTO s SELECT g, g % 100, g * 7 % 1000, $$again$$ FROM generate_series(1, 200) g',
		'VACUUM FULL s', 'VACUUM FULL b', 'ALTER TABLE b ALTER COLUMN filler SET STORAGE EXTERNAL', 'CHECKPOINT',
		"CREATE TABLE side AS SELECT * FROM b WHERE k < 30; SELECT count(*) FROM side; TRUNCATE side; SELECT count(*) FROM side; DROP TABLE side");
}

my @checkers = map { session($node, name => "checker $_") } 1 .. 6;
my @changers = map { session($node, name => "changer $_") } 1 .. 2;
my $maintainer = session($node, name => 'maintainer');
my ($checks, $retries, $changes, $maintenances) = (0, 0, 0, 0);
my (%query_of, @wrong);

# Of the errors that concurrent transactions may always get, none is the scan's.
my $may_fail = qr/could not serialize access|deadlock detected|tuple to be (updated|deleted|locked) was already/;

$_->query('SET statement_timeout = 60000') foreach (@checkers, @changers, $maintainer);
$maintainer->query('SET lock_timeout = 2000');
sql($node, 'SELECT cscan_stat_reset()');

sub collect_check
{
	my ($s) = @_;
	my $answer = $s->result;
	if ($s->err =~ $may_fail)
	{
		$retries++;
		$s->query('ROLLBACK');
	}
	elsif ($answer eq 'same' && $s->err eq '')
	{
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
my $end = time + $seconds;
my $next_disturbance = time + $seconds / 2;
my $disturbances = 0;
my $silent = time;
my %busy;
for (;;)
{
	my $over = time > $end || @wrong > 5;
	my $moved = 0;

	if (time > $next_disturbance && !$over)
	{
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
		my $sql = $s == $maintainer ? maintain() : (grep { $_ == $s } @changers) ? change() : check();
		$query_of{$s} = $sql;
		$s->send($sql);
		$busy{$s} = 1;
	}
	$silent = time if $moved;
	last if $over && !grep { $_ } values %busy;
	if (time > $silent + $CScanTest::limit + 30)
	{
		diag("nothing has ended for a long time:\n" . join("\n", map { $query_of{$_} } grep { $busy{$_} } (@checkers, @changers, $maintainer)));
		last;
	}
	usleep(1000) unless $moved;
}

ok(!(grep { $_ } values %busy), 'all queries have ended');
is(join("\n", @wrong), '', "each query gives the same rows with and without CScan (seed $seed)");
note("$checks checks, $retries of them tried in vain; $changes changes, $maintenances times maintained, $disturbances disturbances");
cmp_ok($checks, '>', 2 * $seconds, 'there were enough of them');
cmp_ok($changes, '>', $seconds, 'rows changed beside them');
cmp_ok($maintenances, '>', $seconds / 5, 'tables were vacuumed and altered beside them');
cmp_ok(sql($node, 'SELECT min(scans) FROM cscan_stat'), '>', 0, 'each policy had scans');
note(sql($node, 'SELECT policy, scans, chunks_delivered, chunks_loaded, evictions, self_reads, waits FROM cscan_stat'));
cmp_ok(stat_sum($node, 'evictions'), '>', 0, 'the pool was too small for all of them');

sql($node, 'ALTER SYSTEM RESET cscan.buffer_share');
$node->reload;
poll($node, 'SHOW cscan.buffer_share', '0.25');
wait_for_abm($node);

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
nothing_left($node, 'after all', qw(a b f s p0 p1 large));
$node->stop;
done_testing();
