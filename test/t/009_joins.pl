# Several CScans of one query, or of one transaction: while one of them waits for a
# chunk the others of the same process cannot go on, and must not be waited for.
# In a pool of eight chunks, with slow scans of the same tables beside them, under
# each policy: each query ends, is right, and none of its scans stops until it
# reads for itself because nothing was loaded for a second.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 9000;

# Who stops for a second at a chunk, stops at many.  A few may also be due to a
# machine that has other things to do.
my $few = 10;

# 64 of 1024 buffers: eight chunks of eight blocks.  Scans beside others do not copy for themselves, which counts as a self-read.
my $node = new_node('joins', conf => "cscan.buffer_share = 0.0625\ncscan.debug_copies = off\n");
make_table($node, $_, $rows) foreach qw(t u w);
sql($node, join '', map { "CREATE INDEX ON $_ (i); VACUUM ANALYZE $_;" } qw(t u w));
wait_for_abm($node);

my $off = sub { join ' ', map { "SET LOCAL enable_$_ = off;" } @_ };
my $hash = $off->(qw(mergejoin nestloop indexscan indexonlyscan));
my $merge = $off->(qw(hashjoin nestloop indexscan indexonlyscan));
my $loop = $off->(qw(hashjoin mergejoin material memoize indexscan indexonlyscan bitmapscan));
my $bitmap = 'SET LOCAL cscan.page_cost = 0;' . $off->(qw(indexscan indexonlyscan seqscan material memoize));

# What it is called, its settings, the query, and how many CScans its plan has.
my @queries = (
	[ 'hash join', $hash, 'SELECT count(*), sum(t.i), sum(u.v) FROM t JOIN u USING (i)', 2 ],
	[ 'hash join of three', $hash, 'SELECT count(*), sum(t.i), sum(w.v) FROM t JOIN u USING (i) JOIN w USING (i)', 3 ],
	[ 'hash self-join', $hash, 'SELECT count(*), sum(x.i) FROM t x JOIN t y ON x.i = y.i + 1', 2 ],
	[ 'merge join', $merge, 'SELECT count(*), sum(t.i), sum(u.v) FROM t JOIN u USING (i)', 2 ],
	[ 'merge self-join', $merge, 'SELECT count(*), sum(x.i) FROM t x FULL JOIN t y ON x.i = y.i + 1', 2 ],
	[ 'nested loop', $loop, 'SELECT count(*), sum(u.i) FROM t JOIN u ON u.k < t.k + 7 WHERE t.i % 1500 = 0', 2 ],
	[ 'nested loop of three', $loop, 'SELECT count(*), sum(w.i) FROM t LEFT JOIN u ON u.i = t.i LEFT JOIN w ON w.i = u.i + 1 WHERE t.i % 2000 = 0', 3 ],
	[ 'nested self-join', $loop, 'SELECT count(*), sum(y.i) FROM t x JOIN t y ON y.v > x.v WHERE x.i % 1500 = 1', 2 ],
	[ 'nested loop over ranges', $bitmap, 'SELECT sum((SELECT sum(u.i) FROM u WHERE u.i BETWEEN t.i AND t.i + 900)) FROM t WHERE t.i % 700 = 0', 2 ],
	[ 'nested self-join over ranges', $bitmap, 'SELECT sum((SELECT sum(y.i) FROM t y WHERE y.i BETWEEN x.i AND x.i + 900 OR y.i < 300)) FROM t x WHERE x.i BETWEEN 1000 AND 5000 AND x.i % 700 = 0', 2 ],
	[ 'nested loop over TIDs', $off->(qw(material indexonlyscan indexscan bitmapscan)), q[SELECT sum((SELECT sum(u.i) FROM u WHERE u.ctid >= format('(%s,0)', t.i / 17)::tid AND u.ctid < format('(%s,0)', t.i / 17 + 60)::tid)) FROM t WHERE t.i % 700 = 0], 2 ],
	[ 'joined ranges', $bitmap . $hash, 'SELECT count(*), sum(x.i) FROM t x JOIN t y ON x.i = y.i WHERE x.i BETWEEN 500 AND 3500 AND y.i BETWEEN 1500 AND 5500', 2 ],
	[ 'LIMIT on one side', $hash, 'SELECT count(*), min(q.n) FROM t CROSS JOIN LATERAL (SELECT 1 AS n FROM u WHERE u.k = t.k AND u.i > 2000 LIMIT 1) q WHERE t.i % 1000 = 0', 2 ],
	[ 'LIMIT of a join', $loop, 'SELECT count(*) FROM (SELECT u.i FROM t JOIN u ON u.v <> t.v WHERE t.i % 1000 = 500 LIMIT 9000) q', 2 ],
	[ 'LIMIT of a merge join', $merge, 'SELECT count(*), sum(i) FROM (SELECT i FROM t JOIN u USING (i) ORDER BY i LIMIT 2500) q', 2 ],
	[ 'EXISTS', $loop, 'SELECT count(*), sum(i) FROM t WHERE i % 1000 = 0 AND EXISTS (SELECT FROM u WHERE u.i = t.i OFFSET 0)', 2 ],
	[ 'NOT IN', $loop, 'SELECT count(*), sum(i) FROM t WHERE i NOT IN (SELECT i FROM u WHERE k <> 7)', 2 ],
	[ 'four of one table', $off->(qw(indexscan indexonlyscan)), 'SELECT (SELECT count(*) FROM t), (SELECT sum(i) FROM t WHERE k < 50), count(*), max(i) FROM (SELECT i FROM t UNION ALL SELECT i + 1 FROM t WHERE v < 500) q', 4 ]);

my %right = map { $_->[0] => sql($node, "SET cscan.enabled = off; BEGIN; $_->[1] $_->[2]; COMMIT") } @queries;

foreach my $query (@queries)
{
	my $plan = sql($node, "BEGIN; $query->[1] EXPLAIN (COSTS OFF) $query->[2]; COMMIT");
	is(scalar(() = $plan =~ /Custom Scan \(CScan\)/g), $query->[3], "$query->[0]: so many CScans") or diag($plan);
}

# Slow scans of a table, one after another, until they are cancelled.
sub neighbour
{
	my ($policy, $table) = @_;
	my $s = session($node, name => "$policy, a neighbour on $table", policy => $policy);
	$s->send("DO \$\$ BEGIN LOOP PERFORM count(*) FROM $table WHERE CASE WHEN i % 60 = 0 THEN slow(0.001) ELSE true END; END LOOP; END \$\$");
	return $s;
}

sub cancel
{
	my ($s) = @_;
	sql($node, 'SELECT pg_cancel_backend(' . $s->pid . ')');
	$s->result;
	$s->quit;
	return;
}

# Fetches from two cursors in turns, so many rows at a time, until both have ended:
# how many rows, and the sum of them, for each.
sub in_turns
{
	my ($s, $query_c, $query_d, $c, $d) = @_;
	my %piece = (c => $c, d => $d);
	my %n = (c => 0, d => 0);
	my %sum = (c => 0, d => 0);
	my @errors;

	$s->query("BEGIN; DECLARE c NO SCROLL CURSOR FOR $query_c; DECLARE d NO SCROLL CURSOR FOR $query_d");
	while (%piece)
	{
		foreach my $cursor (sort keys %piece)
		{
			my @got = split /\n/, $s->query("FETCH $piece{$cursor} FROM $cursor");
			push @errors, $s->err if $s->err ne '';
			$n{$cursor} += @got;
			$sum{$cursor} += $_ foreach @got;
			delete $piece{$cursor} if @got < $piece{$cursor};
		}
	}
	$s->query('COMMIT');
	return join ' ', "$n{c}|$sum{c} $n{d}|$sum{d}", @errors;
}

# What these give.
sub sums
{
	return join ' ', map { sql($node, "SET cscan.enabled = off; SELECT count(*), sum(i) FROM ($_) q") } @_;
}

my @cursors = (
	[ 'two tables', 'SELECT i FROM t', 'SELECT i FROM u', 400, 400 ],
	[ 'one table', 'SELECT i FROM t', 'SELECT i FROM t', 700, 300 ],
	[ 'one hardly begun', 'SELECT i FROM t', 'SELECT i FROM t', 200, 7000 ],
	[ 'two ranges', 'SELECT i FROM t WHERE i BETWEEN 1000 AND 5000', 'SELECT i FROM t WHERE i BETWEEN 3000 AND 6000 OR i < 500', 300, 300 ],
	[ 'a range and a join', 'SELECT i FROM t WHERE i > 2000', 'SELECT t.i FROM t JOIN u USING (i)', 500, 500 ],
	[ 'TIDs', q[SELECT i FROM t WHERE ctid > '(20,0)'], q[SELECT i FROM u WHERE ctid < '(300,5)'], 500, 900 ]);
my %right_of = map { $_->[0] => sums($_->[1], $_->[2]) } @cursors;

# A count of cscan_stat, for all policies.
my %counted;
sub since
{
	my ($column) = @_;
	my $now = stat_sum($node, $column);
	my $n = $now - ($counted{$column} || 0);
	$counted{$column} = $now;
	return $n;
}

foreach my $policy (@policies)
{
	foreach my $beside ('alone', 'beside slow scans')
	{
		my $name = "$policy, $beside";
		my @neighbours = $beside eq 'alone' ? () : map { neighbour($policy, $_) } qw(t t u);
		my $s = session($node, name => $name, policy => $policy);

		$s->query("SET statement_timeout = '30s'");
		since($_) foreach qw(self_reads chunks_delivered waits);
		foreach my $query (@queries)
		{
			is($s->query("BEGIN; $query->[1] $query->[2]; COMMIT") . $s->err, $right{ $query->[0] }, "$name: $query->[0]");
			$s->query('ROLLBACK') if $s->err ne '';
		}
		foreach my $cursors (@cursors)
		{
			my ($what, @arguments) = @$cursors;
			$s->query('SET cscan.page_cost = 0; SET cursor_tuple_fraction = 1; SET enable_indexscan = off; SET enable_indexonlyscan = off');
			is(in_turns($s, @arguments), $right_of{$what}, "$name: cursors in turns, $what");
			$s->query('SET cursor_tuple_fraction = 0.1; SET cscan.page_cost = 0.5');
			is(in_turns($s, @arguments), $right_of{$what}, "$name: cursors in turns, $what, first rows soon");
			$s->query('RESET enable_indexscan; RESET enable_indexonlyscan; RESET cursor_tuple_fraction; RESET cscan.page_cost');
		}
		my ($self_reads, $delivered, $waits) = map { since($_) } qw(self_reads chunks_delivered waits);
		note("$delivered chunks, $waits waits, $self_reads read by the scans themselves");
		cmp_ok($self_reads, '<=', $few, "$name: no scan stopped until it read for itself");
		cmp_ok($delivered, '>', 1000, "$name: chunks were delivered");
		$s->quit;
		cancel($_) foreach @neighbours;
	}
	nothing_left($node, $policy, qw(t u w));
}

### Scans of one process under several policies

foreach my $first (@policies)
{
	foreach my $second (@policies)
	{
		my $s = session($node, name => "$first and $second");
		my @got;
		next if $first eq $second;
		$s->query("SET statement_timeout = '30s'; BEGIN; SET cscan.policy = $first; DECLARE c NO SCROLL CURSOR FOR SELECT i FROM t;"
			  . "SET cscan.policy = $second; DECLARE d NO SCROLL CURSOR FOR SELECT i FROM t");
		foreach my $fetch ('1500 FROM c', '3000 FROM d', '1500 FROM c', 'ALL FROM d', 'ALL FROM c')
		{
			push @got, scalar(split /\n/, $s->query("FETCH $fetch"));
			push @got, $s->err if $s->err ne '';
		}
		is("@got", join(' ', 1500, 3000, 1500, ($rows - 3000) x 2), "$s->{name}: cursors in one transaction");
		$s->quit;
	}
}
cmp_ok(since('self_reads'), '<=', $few, 'several policies: no scan stopped until it read for itself');

### Parallel ones: a leader that waits for its workers may read for itself, but they end

{
	my $s = session($node, name => 'parallel');
	$s->query(join ' ', map { "SET $_;" } 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
		'min_parallel_index_scan_size = 0', 'max_parallel_workers_per_gather = 2', "statement_timeout = '30s'");
	my @parallel = map { $_->[0] } grep { $s->query("BEGIN; $_->[1] EXPLAIN $_->[2]; COMMIT") =~ /Parallel Custom Scan/ } @queries;
	cmp_ok(scalar @parallel, '>=', 10, 'parallel: ' . join(', ', @parallel));
	foreach my $policy (@policies)
	{
		my @neighbours = map { neighbour($policy, $_) } qw(t u);
		$s->query("SET cscan.policy = $policy");
		foreach my $leader ('on', 'off')
		{
			$s->query("SET parallel_leader_participation = $leader");
			foreach my $query (grep { $_->[0] !~ /^LIMIT of a join/ } @queries)
			{
				is($s->query("BEGIN; $query->[1] $query->[2]; COMMIT") . $s->err, $right{ $query->[0] }, "parallel, $policy, leader $leader: $query->[0]");
				$s->query('ROLLBACK') if $s->err ne '';
			}
		}
		cancel($_) foreach @neighbours;
	}
	$s->quit;
	nothing_left($node, 'parallel', qw(t u w));
}

$node->stop;
done_testing();
