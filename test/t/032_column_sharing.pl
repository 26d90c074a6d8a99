# Scans over row groups are scheduled: they announce the groups and columns that
# they need, the ABM loads these once for all, and nothing of it stays behind.
# What is not stored, and what minima and maxima leave out, is not announced.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use JSON::PP ();
use Time::HiRes qw(usleep);

# A plain scan of columns is cheaper, and so is a parallel one.
my $node = new_node('column_sharing', conf => "random_page_cost = 1\ncscan.max_scans = 6\nmax_connections = 80\n");
my $parallel = join(' ', map { "SET $_;" } 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'max_parallel_workers_per_gather = 2');
my $rows = 60000;

sql($node, qq(
	CREATE TABLE t AS SELECT i, i % 100 AS k, md5(i::text) AS x, repeat('x', 300) AS filler FROM generate_series(1, $rows) i;
	VACUUM (FREEZE, ANALYZE) t;
	CREATE INDEX c ON t USING cscan_columns (i, k, x) WITH (row_group_blocks = 64)));
my $groups = sql($node, q(SELECT ceil(pg_relation_size('t') / 8192.0 / 64)));
my $right = sql($node, 'SET cscan.enabled = off; SELECT count(*), sum(i) FROM t');
cmp_ok($groups, '>', 30, 'the table has many row groups');

# What EXPLAIN says of the CScan in a query: its keys, and the query's rows.
sub explained
{
	my ($query, $more) = @_;
	my $plan = JSON::PP::decode_json(join '', split /\n/, sql($node, ($more || '') . "EXPLAIN (ANALYZE, FORMAT JSON) $query"))->[0]{Plan};
	my @left = ($plan);

	while (my $one = shift @left)
	{
		return $one if ($one->{'Custom Plan Provider'} || '') eq 'CScan';
		push @left, @{ $one->{Plans} || [] };
	}
	return {};
}

# Nothing of the index is in shared buffers afterwards.
sub forget
{
	$node->restart;
	wait_for_abm($node);
	return;
}

my $sum = 'SELECT count(*), sum(i) FROM t';
ok(explained($sum)->{'CScan Index'}, 'the query reads columns');

### Alone

forget();
my $plan = explained($sum);
is($plan->{'CScan Chunks'}, $groups, 'each row group is a chunk');
is($plan->{'CScan Chunks Self-Read'}, 0, 'no group is read by the scan itself');
cmp_ok($plan->{'CScan Chunks Loaded'}, '>', $groups / 2, 'the ABM loads them');
nothing_left($node, 'after a scan alone', qw(t c));
$plan = explained($sum);
is($plan->{'CScan Chunks Resident'} + $plan->{'CScan Chunks Loaded'}, $groups, 'a second time: what has gone is loaded again');

# Columns that are not needed are not read.
forget();
my $read = stat_sum($node, 'blocks_read');
sql($node, $sum);
my $one = stat_sum($node, 'blocks_read') - $read;
forget();
$read = stat_sum($node, 'blocks_read');
sql($node, 'SELECT count(*), sum(i), max(x) FROM t');
my $two = stat_sum($node, 'blocks_read') - $read;
cmp_ok($one, '>', 0, 'blocks are read');
cmp_ok($two, '>', 2 * $one, 'a column of long strings has many more');

# Minima and maxima
$plan = explained('SELECT count(*), sum(k) FROM t WHERE i BETWEEN 10000 AND 20000');
is($plan->{'CScan Row Groups'}, $groups, 'each group is looked at');
is($plan->{'CScan Chunks'} + $plan->{'CScan Row Groups Skipped'}, $groups, 'what may have rows is announced, and nothing else');
cmp_ok($plan->{'CScan Chunks'}, '<', $groups / 3, 'that is not much');
is(explained('SELECT count(*) FROM t WHERE i < 0')->{'CScan Row Groups Skipped'}, $groups, 'nothing is announced where no row can be');

# The same with a value that is known only when the query runs, and another one in each pass.
is(sql($node, 'SET enable_material = off; SET enable_memoize = off; SET enable_hashjoin = off; SET enable_mergejoin = off;'
	  . 'SELECT count(*), sum(i) FROM generate_series(1, 3) g JOIN t ON t.k = g AND t.i < (SELECT 30000)'),
	sql($node, 'SET cscan.enabled = off; SELECT count(*), sum(i) FROM generate_series(1, 3) g JOIN t ON t.k = g AND t.i < 30000'),
	'in several passes, with a subquery: right');

### Together

# Three scans in the middle of the index, of which each needs other columns.
sub share
{
	my ($policy) = @_;

	forget();
	my $holder = session($node, name => 'holder');
	my @scans = map { session($node, name => "$policy $_", policy => $policy) } 1 .. 3;
	my @queries = (ambling_query('t', 997, 2, 0.02), 'SELECT count(*), sum(i) FROM t WHERE k % 50 <> 7 OR amble(2, 0.001)',
		'SELECT count(*), sum(i) FROM t WHERE i % 991 <> 0 OR amble(2, 0.02)');
	my $loaded = stat_sum($node, 'chunks_loaded');
	my $blocks = stat_sum($node, 'blocks_read');

	$holder->query('SELECT pg_advisory_lock(2)');
	$scans[$_]->send($queries[$_]) foreach 0 .. 2;
	ok(poll($node, q(SELECT count(*) FROM cscan_scans WHERE relid = 'c'::regclass), '3'), "$policy: three scans of the index");
	ok(poll($node, q(SELECT count(*) > 0 FROM cscan_chunks WHERE relid = 'c'::regclass)),
		"$policy: the ABM has chunks of it");
	$holder->query('SELECT pg_advisory_unlock(2)');
	is($_->result . $_->err, $right, "$_->{name}: right") foreach @scans;
	my $times = (stat_sum($node, 'chunks_loaded') - $loaded) / $groups;
	cmp_ok($times, '<', 2.5, "$policy: what three need is loaded little more than once for two sets of columns");
	cmp_ok(stat_sum($node, 'blocks_read') - $blocks, '>', 0, "$policy: it is read");
	$_->quit foreach @scans, $holder;
	nothing_left($node, "$policy, three scans", qw(t c));
	return;
}

share($_) foreach @policies;

### Parallel

is(sql($node, "$parallel $sum"), $right, 'in parallel: right');
forget();
$plan = explained($sum, $parallel);
is($plan->{'Parallel Aware'} ? 'parallel' : 'alone', 'parallel', 'the plan is parallel');
is($plan->{'CScan Chunks'}, $groups, 'in parallel, cold: each group once');
nothing_left($node, 'after a parallel scan', qw(t c));

### Groups that are not stored, or not all of them

sql($node, "INSERT INTO t SELECT i, i % 100, md5(i::text), repeat('x', 300) FROM generate_series($rows + 1, $rows + 10000) i");
sql($node, 'DELETE FROM t WHERE i % 20000 = 7');
$right = sql($node, "SET cscan.enabled = off; $sum");
foreach my $settings ('', $parallel)
{
	my $what = $settings ? 'in parallel' : 'alone';
	$plan = explained($sum, $settings);
	cmp_ok($plan->{'CScan Heap Blocks Not Stored'}, '>', 0, "$what: some blocks are not stored");
	cmp_ok($plan->{'CScan Heap Blocks Not All-Visible'}, '>', 0, "$what: some have changed");
	cmp_ok($plan->{'CScan Chunks Self-Read'}, '>=', 5, "$what: groups that are not stored are the scan's own");
	is(sql($node, $settings . $sum), $right, "$what: right");
	is(sql($node, $settings . 'SELECT count(*), min(i) FROM t WHERE i < 100'), '98|1', "$what, minima and maxima: right");
}
is(sql($node, "BEGIN ISOLATION LEVEL SERIALIZABLE; $sum; COMMIT"), $right, 'a serializable transaction reads the heap: right');

### Others want the index, or the place

sql($node, 'VACUUM (FREEZE) t');
my $count = (split /\|/, $right)[0];
my ($cursor, $n);

# Others come until all places are taken, and the scan goes that has been quiet for longest.  Once the last group, which is not whole, is not stored, and once it is.
foreach my $stored ('', 'stored')
{
	sql($node, q(SELECT cscan_columns_fill('c'))) if $stored;
	foreach my $policy (qw(relevance attach))
	{
		foreach my $first (100, int($count / 3), $count - 1500)
		{
			my $what = "$policy, a cursor that has lost its place after $first rows" . ($stored ? ', all groups stored' : '');
			my @others;

			$cursor = session($node, name => 'cursor', policy => $policy);
			# A cursor whose rows are a join's reads columns.
			$cursor->query('BEGIN; DECLARE c1 CURSOR FOR SELECT i, k FROM t, generate_series(1, 1) WHERE x IS NOT NULL');
			my @seen = $cursor->query("FETCH $first FROM c1") =~ /^(\d+)\|/mg;
			while (@others < 60 && sql($node, 'SELECT count(*) FROM cscan_scans WHERE pid = ' . $cursor->pid) > 0)
			{
				push @others, session($node, name => 'other');
				$others[-1]->query('BEGIN; DECLARE c1 CURSOR FOR SELECT i, k FROM t, generate_series(1, 1) WHERE x IS NOT NULL; FETCH 1 FROM c1');
				# The cursor counts as idle a moment later.
				usleep(50_000);
			}
			cmp_ok(scalar(@others), '<', 60, "$what: others have got all places");
			push @seen, $cursor->query('FETCH ALL FROM c1') =~ /^(\d+)\|/mg;
			my %seen = map { $_ => 1 } @seen;
			is(@seen . ' ' . keys %seen, "$count $count", "$what: it gets each row once");
			$cursor->query('COMMIT');
			$_->quit foreach @others, $cursor;
		}
	}
}

# The index goes, or is built anew, as soon as nobody uses it.
foreach my $statement ('REINDEX INDEX CONCURRENTLY c', 'REINDEX INDEX c', q(SELECT cscan_columns_fill('c')), 'DROP INDEX CONCURRENTLY c')
{
	$cursor = session($node, name => 'cursor');
	my $other = session($node, name => $statement);

	$n = 100;
	$cursor->query("BEGIN; DECLARE c1 CURSOR FOR SELECT i, k FROM t, generate_series(1, 1) WHERE x IS NOT NULL; FETCH 100 FROM c1");
	$other->send($statement);
	$n += () = $cursor->query('FETCH ALL FROM c1') =~ /^\d+\|/mg;
	is($n, $count, "$statement beside a cursor: it gets each row once");
	$cursor->query('COMMIT');
	$other->result;
	is($other->err, '', "$statement: done");
	is(sql($node, $sum), $right, "after $statement: right");
	$_->quit foreach $cursor, $other;
	nothing_left($node, "after $statement", 't');
}

# Each second row group of many: more ranges than a table's scan may have.
sql($node, q(
	CREATE UNLOGGED TABLE many (i int, k int, filler text) WITH (fillfactor = 10);
	ALTER TABLE many ALTER filler SET STORAGE plain;
	INSERT INTO many SELECT i, (i - 1) / 64 % 2, repeat('x', 5000) FROM generate_series(1, 64 * 2100) i;
	VACUUM ANALYZE many;
	CREATE INDEX ON many USING cscan_columns (i, k) WITH (row_group_blocks = 64)));
my $second = 'SELECT count(*), sum(i) FROM many WHERE k = 1';
$right = sql($node, "SET cscan.enabled = off; $second");
forget();
$plan = explained($second);
is($plan->{'CScan Row Groups'} . ' ' . $plan->{'CScan Chunks'}, '2100 1050', 'each second row group of 2100 is announced');
is($plan->{'CScan Chunks Self-Read'}, 0, 'and none is read by the scan itself');
cmp_ok($plan->{'CScan Chunks Loaded'}, '>', 500, 'but by the ABM');
is(sql($node, $second), $right, 'they have the right rows');

$node->stop;
done_testing();
