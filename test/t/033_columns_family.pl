# Indexes of columns of partitions: the scans of a query over the parent are one scan.  They announce the row groups of
# all partitions at once, and what is left to each of them comes last.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use JSON::PP ();

my $node = new_node('columns_family', conf => "random_page_cost = 1\ncscan.max_scans = 6\nmax_connections = 80\n");
my $parts = 8;

sql($node, 'CREATE TABLE t (i int, k int, x text, filler text) PARTITION BY RANGE (i)');
sql($node, "CREATE TABLE t$_ PARTITION OF t FOR VALUES FROM (" . ($_ * 10000) . ') TO (' . (($_ + 1) * 10000) . ')') foreach 0 .. $parts - 1;
sql($node, q(
	INSERT INTO t SELECT i, i % 100, md5(i::text), repeat('x', 300) FROM generate_series(0, 79999) i;
	VACUUM (FREEZE, ANALYZE) t;
	CREATE INDEX c ON t USING cscan_columns (i, k, x) WITH (row_group_blocks = 64)));
my $groups = sql($node, q(SELECT sum(ceil(pg_relation_size(inhrelid) / 8192.0 / 64)) FROM pg_inherits WHERE inhparent = 't'::regclass));

# The CScans below the Append of a query: how many there are, and their counts in all.
sub counts
{
	my ($query) = @_;
	my $plan = JSON::PP::decode_json(join '', split /\n/, sql($node, "EXPLAIN (ANALYZE, FORMAT JSON) $query"))->[0]{Plan};
	my @left = ($plan);
	my %sum = (scans => 0);

	while (my $one = shift @left)
	{
		push @left, @{ $one->{Plans} || [] };
		next if ($one->{'Custom Plan Provider'} || '') ne 'CScan' || !$one->{'CScan Index'};
		$sum{scans}++;
		$sum{$_} += $one->{"CScan $_"} || 0 foreach 'Chunks', 'Chunks Loaded', 'Chunks Resident', 'Chunks Self-Read', 'Row Groups', 'Row Groups Skipped';
	}
	return \%sum;
}

sub forget
{
	$node->restart;
	wait_for_abm($node);
	return;
}

my %right;
my @queries = ('SELECT count(*), sum(i) FROM t', 'SELECT count(*), max(x) FROM t', 'SELECT count(*), sum(k), min(x) FROM t',
	'SELECT count(*), sum(k) FROM t WHERE i BETWEEN 15000 AND 52000');

sub find_right
{
	%right = map { $_ => sql($node, "SET cscan.enabled = off; SELECT * FROM ($_) q") } @queries;
	return;
}

find_right();

### Alone

forget();
my $registered = stat_sum($node, 'scans');
my $counts = counts($queries[0]);
is($counts->{scans}, $parts, 'each partition is read by columns');
is($counts->{Chunks}, $groups, 'each row group is a chunk');
is($counts->{'Chunks Self-Read'}, 0, 'none is read without the ABM');
cmp_ok($counts->{'Chunks Loaded'}, '>', $groups / 2, 'the ABM loads them');
is(stat_sum($node, 'scans') - $registered, 1, 'it is one scan');
nothing_left($node, 'after a scan alone', map { "t$_" } 0 .. $parts - 1);

### What the minima exclude

$counts = counts($queries[3]);
is($counts->{scans}, 5, 'partitions are pruned');
is($counts->{'Row Groups'} - $counts->{'Row Groups Skipped'}, $counts->{Chunks}, 'what may have rows is announced, once');
cmp_ok($counts->{'Row Groups Skipped'}, '>', 0, 'some groups have none');
is(counts('SELECT count(*) FROM t WHERE k < 0')->{Chunks}, 0, 'nothing is announced where no row can be');

### The price

# While one is under way, the next one costs less, and what reads the tables themselves costs what it did.
sub cost
{
	my ($columns) = @_;

	return (sql($node, "SET cscan.page_cost = auto; SET cpu_tuple_cost = 0; SET cpu_operator_cost = 0; SET cscan.columns = $columns; EXPLAIN SELECT max(x) FROM t") =~ /cost=[\d.]+\.\.([\d.]+)/)[0];
}
forget();
my $holder = session($node, name => 'who holds the key');
my $slow = session($node, name => 'slow');
my %alone = map { $_ => cost($_) } qw(on off);

$holder->query('SELECT pg_advisory_lock(2)');
$slow->send('SET max_parallel_workers_per_gather = 0; ' . ambling_query('t', 97, 2, 0.02));
ok(poll($node, 'SELECT count(*) FROM cscan_scans', '1'), 'a family of columns is under way');
like(sql($node, 'EXPLAIN SELECT max(x) FROM t'), qr/CScan Index/, 'columns are cheapest');
is(sql($node, 'SELECT relid::regclass || $$ $$ || tables FROM cscan_scans'), "t $parts", 'it goes by the name of the parent');
cmp_ok(cost('on'), '<', $alone{on} * 0.9, 'another one costs less');
is(sql($node, "SET cscan.page_cost = auto; SELECT cscan_page_cost('$_->[0]')"), $_->[1], "cscan_page_cost('$_->[0]')") foreach [ c => 0.75 ], [ t0_i_k_x_idx => 0.75 ], [ t => 1 ], [ t0 => 1 ];
is(cost('off'), $alone{off}, 'what reads the tables costs the same');
$holder->query('SELECT pg_advisory_unlock(2)');
is($slow->result . $slow->err, sql($node, 'SET cscan.enabled = off; SELECT count(*), sum(i) FROM t'), 'it is right');
$_->quit foreach ($holder, $slow);

### Together, under each policy

foreach my $what ('all is stored', 'some rows have changed', 'many have')
{
	sql($node, 'UPDATE t SET k = k + 1 WHERE i % 1000 = 7') if $what eq 'some rows have changed';
	sql($node, q(UPDATE t SET x = x || '!' WHERE i BETWEEN 20000 AND 39999; DELETE FROM t WHERE i % 9 = 0; INSERT INTO t SELECT i, 5, 'new', '' FROM generate_series(0, 79999, 3) i))
	  if $what eq 'many have';
	find_right();
	foreach my $policy (@policies)
	{
		my @sessions = map { session($node, name => "$what, $policy: $_", policy => $policy) } @queries, @queries;

		$sessions[$_]->send($queries[ $_ % @queries ]) foreach 0 .. $#sessions;
		is($sessions[$_]->result, $right{ $queries[ $_ % @queries ] }, $sessions[$_]{name}) foreach 0 .. $#sessions;
		$_->quit foreach @sessions;
	}
}

### Rescans, and cursors, which want their first rows soon and are no families (021 has families that lose their place)

is(sql($node, 'SELECT string_agg(s::text, $$ $$ ORDER BY m) FROM (VALUES (-1), (25000), (31000), (31001), (90000)) v(m), LATERAL (SELECT count(*) AS s FROM t WHERE i < v.m AND k >= 0 OFFSET 0) q'),
	sql($node, 'SET cscan.enabled = off; SELECT string_agg((SELECT count(*) FROM t WHERE i < v.m AND k >= 0)::text, $$ $$ ORDER BY m) FROM (VALUES (-1), (25000), (31000), (31001), (90000)) v(m)'),
	'a family that is begun again with other partitions');
is(sql($node, 'SET max_parallel_workers_per_gather = 0; SELECT max(s) FROM generate_series(1, 3) g, LATERAL (SELECT sum(i + g * 0) AS s FROM t OFFSET 0) q'),
	sql($node, 'SET cscan.enabled = off; SELECT sum(i) FROM t'), 'a family that is begun again');
my $count = sql($node, 'SET cscan.enabled = off; SELECT count(*) FROM t');
my @cursors;
foreach my $n (1 .. 5)
{
	my $cursor = session($node, name => "cursor $n");

	# A cursor whose rows are a join's reads columns.
	$cursor->query('BEGIN; DECLARE c1 CURSOR FOR SELECT i, k FROM t, generate_series(1, 1) WHERE x IS NOT NULL; FETCH 500 FROM c1');
	push @cursors, $cursor;
}
my @others = map { session($node, name => "beside cursors $_") } 1 .. 6;
$_->send($queries[2]) foreach @others;
is($_->result, $right{ $queries[2] }, "$_->{name}: right") foreach @others;
foreach my $cursor (@cursors)
{
	my $n = 500;

	$n += () = $cursor->query('FETCH ALL FROM c1') =~ /^\d+\|/mg;
	is($n, $count, "$cursor->{name}, which may have lost its place: each row once");
	$cursor->query('COMMIT');
	$cursor->quit;
}
$_->quit foreach @others;

### Not all have the same

sql($node, 'DROP INDEX c');
sql($node, "CREATE INDEX c$_ ON t$_ USING cscan_columns (" . ($_ % 2 ? 'x, k, i' : 'i, k, x') . ') WITH (row_group_blocks = 64)') foreach 0 .. $parts - 3;
find_right();
foreach my $policy (@policies)
{
	my @sessions = map { session($node, name => "indexes of some, $policy: $_", policy => $policy) } @queries;

	$sessions[$_]->send($queries[$_]) foreach 0 .. $#sessions;
	is($sessions[$_]->result, $right{ $queries[$_] }, $sessions[$_]{name}) foreach 0 .. $#sessions;
	$_->quit foreach @sessions;
}

# The columns of the table with the lowest number are others than those of most, and small tables have none.
sql($node, 'DROP TABLE t; CREATE TABLE t (i int, k int, x text, filler text) PARTITION BY RANGE (i)');
sql($node, "CREATE TABLE t$_ PARTITION OF t FOR VALUES FROM (" . ($_ * 10000) . ') TO (' . (($_ + 1) * 10000) . ')') foreach 0 .. $parts - 1;
sql($node, "CREATE TABLE small$_ PARTITION OF t FOR VALUES FROM (" . (100000 + $_) . ') TO (' . (100001 + $_) . ')') foreach 0 .. 10;
sql($node, q(INSERT INTO t SELECT i, i % 100, md5(i::text), repeat('x', 300) FROM generate_series(0, 79999) i; VACUUM (FREEZE, ANALYZE) t));
sql($node, "CREATE INDEX c$_ ON t$_ USING cscan_columns (" . ($_ == 0 ? 'x, k, i' : 'i, k, x') . ') WITH (row_group_blocks = 64)') foreach 0 .. $parts - 1;
my $gatekeeper = session($node, name => 'gatekeeper');
my $gated = session($node, name => 'gated');

$gatekeeper->query('SELECT pg_advisory_lock(1)');
$gated->send('SET max_parallel_workers_per_gather = 0; ' . gated_query('t', 75000, 1));
ok(wait_waiting($node, 1), 'one waits in mid-scan');
is(sql($node, 'SELECT max(tables) FROM cscan_scans'), $parts - 1, 'those that want the same columns are announced at once');
$gatekeeper->query('SELECT pg_advisory_unlock(1)');
is($gated->result . $gated->err, '80000|' . 40000 * 79999, 'all rows come');
$_->quit foreach ($gatekeeper, $gated);
nothing_left($node, 'at the end', map { "t$_" } 0 .. $parts - 1);
$node->stop;
done_testing();
