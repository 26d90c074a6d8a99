# Parallel queries: the leader registers the scan, its workers join it, and for
# the policies they are one.  Whoever of them, or the Active Buffer Manager, goes
# in the middle: the result is right or there is an error, and nothing stays
# behind.  Without workers, without the leader and without a registration the
# result is right, too.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 40000;
my $right = "$rows|" . $rows * ($rows + 1) / 2;

# What makes a session's plans parallel ones, with two workers.
my $parallel = join(' ', map { "SET $_;" } 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'max_parallel_workers_per_gather = 2');

my $node = new_node('parallel');
make_table($node, $_, $rows) foreach qw(t u);
# As that of CScanTest.pm, but such that workers may call it.
sql($node, q(
	CREATE FUNCTION par_gate(key bigint) RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE AS
		$$ BEGIN PERFORM pg_advisory_lock_shared(key), pg_advisory_unlock_shared(key); RETURN true; END $$));

# A session whose queries are parallel.
sub parallel_session
{
	my ($name, $policy) = @_;
	my $s = session($node, name => $name, $policy ? (policy => $policy) : ());
	$s->query($parallel);
	return $s;
}

# Counts and sums a table; each process that takes part waits at one of its first
# rows until nobody holds advisory lock KEY.
sub par_gated
{
	my ($table, $key) = @_;
	return "SELECT count(*), sum(i) FROM $table WHERE CASE WHEN i % 400 = 0 THEN par_gate($key) ELSE true END";
}

sub is_parallel
{
	my ($query, $more) = @_;
	return sql($node, $parallel . ($more || '') . "EXPLAIN (COSTS OFF) $query") =~ /Parallel Custom Scan \(CScan\)/;
}

# So many processes wait at a gate, neither more nor less.
sub waiting_are
{
	my ($n) = @_;
	return poll($node, q(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted), $n);
}

# The workers of a session.
sub workers_of
{
	my ($s) = @_;
	return split /\n/, sql($node, q(SELECT pid FROM pg_stat_activity
		WHERE backend_type = 'parallel worker' AND leader_pid = ) . $s->pid . ' ORDER BY pid');
}

sub free_at_once
{
	my ($what, @tables) = @_;
	lockable($node, $what, $_) foreach @tables;
	nothing_left($node, $what, @tables);
	return;
}

my $abm = wait_for_abm($node);
my $gatekeeper = session($node, name => 'gatekeeper');

ok(is_parallel(par_gated('t', 1)), 'the plan is a Parallel Custom Scan (CScan)');
ok(is_parallel(ambling_query('t', 50, 1, 0.05)), 'and so is that of the slow query');
is(sql($node, "$parallel SELECT count(*), sum(i) FROM t"), $right, 'its result is right');
nothing_left($node, 'after the first', 't');

### All rows are in one chunk: the others help with it

# Chunks in memory are divided, so all of these tables are there.
make_table($node, 'few', 5000);
sql($node, q(CREATE EXTENSION pg_prewarm; CREATE INDEX few_brin ON few USING brin (i) WITH (pages_per_range = 8);
	CREATE TABLE parts (LIKE few) PARTITION BY RANGE (i);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (2500);
	CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (2500) TO (10000);
	INSERT INTO parts TABLE few; VACUUM ANALYZE parts));
my %in_one_chunk = (few => [ 'few', 'SET enable_bitmapscan = off;' ], parts => [ 'parts_1', '' ],
	'a bitmap of few' => [ 'few', 'SET enable_seqscan = off; SET enable_indexscan = off; SET cscan.page_cost = 0;' ]);
foreach my $what (sort keys %in_one_chunk)
{
	my ($table, $settings) = @{ $in_one_chunk{$what} };
	my $from = $what eq 'parts' ? 'parts' : 'few';
	my ($first, $last) = split /\|/, sql($node, "SELECT min(i), max(i) FROM $table WHERE ctid >= '(80,0)' AND ctid < '(88,0)'");
	my $where = "i BETWEEN $first AND $last AND par_gate(1)";
	# A bitmap of one chunk would not be registered.
	$where = "(i < 500 OR i BETWEEN $first AND $last) AND CASE WHEN i >= $first THEN par_gate(1) END" if $what =~ /bitmap/;

	foreach my $policy (@policies)
	{
		my $s = parallel_session("$policy, $what", $policy);
		$s->query($settings) if $settings;
		$s->query("SELECT pg_prewarm(c::regclass, 'buffer') FROM unnest('{few,parts_1,parts_2}'::text[]) c");
		$gatekeeper->query('SELECT pg_advisory_lock(1)');
		$s->send("SELECT count(*), min(i), max(i) FROM $from WHERE $where");
		ok(waiting_are(3), "$s->{name}: all three processes have a row of one chunk");
		$gatekeeper->query('SELECT pg_advisory_unlock(1)');
		is($s->result . $s->err, $last - $first + 1 . "|$first|$last", "$s->{name}: right");
		$s->quit;
	}
}
# Who helps when the query needs no more rows ends with the bit that it has.  The row that ends the query is the first of its chunk.  Who has
# it waits until somebody else reads another bit of that chunk.
my ($ends, $in_block) = split /\|/, sql($node, q(SELECT min(i), count(*) FROM few WHERE ctid >= '(80,0)' AND ctid < '(81,0)'));
my $last_of_chunk = sql($node, q(SELECT max(i) FROM few WHERE ctid < '(88,0)'));
my $calls = q(SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'par_gate');
foreach my $policy (@policies)
{
	my $s = parallel_session("$policy, LIMIT", $policy);
	my $before = sql($node, $calls);

	$s->query("SET enable_bitmapscan = off; SET parallel_leader_participation = off; SET track_functions = 'all'; SELECT pg_prewarm('few', 'buffer')");
	$gatekeeper->query('SELECT pg_advisory_lock(1), pg_advisory_lock(2)');
	$s->send("SELECT i FROM few WHERE CASE WHEN i = $ends THEN par_gate(2) WHEN i > $ends AND i <= $last_of_chunk THEN NOT par_gate(1) END LIMIT 1");
	ok(waiting_are(2), "$s->{name}: one worker has the row, the other one helps");
	$gatekeeper->query('SELECT pg_advisory_unlock(2)');
	ok(poll($node, q(SELECT wait_event = 'ParallelFinish' FROM pg_stat_activity WHERE wait_event IS NOT NULL AND pid = ) . $s->pid), "$s->{name}: the query has its row");
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	is($s->result . $s->err, $ends, "$s->{name}: right");
	$s->quit;
	ok(poll($node, "SELECT ($calls) > $before + 1"), "$s->{name}: who helped went on");
	cmp_ok(sql($node, $calls) - $before, '<=', 2 * $in_block, "$s->{name}: but not beyond its bit");
}
sql($node, 'DROP TABLE parts, few');
nothing_left($node, 'after others have helped', 't');

### Held in the middle: it is one scan

# How many chunks a scan has.
my $before = stat_sum($node, 'chunks_delivered');
sql($node, 'SELECT count(*) FROM t');
my $chunks = stat_sum($node, 'chunks_delivered') - $before;
cmp_ok($chunks, '>', 100, 'the table has many chunks');

foreach my $policy (@policies)
{
	my @s = map { parallel_session("$policy $_", $policy) } 1 .. 2;
	my $alone = session($node, name => "$policy without workers", policy => $policy);
	my $scans = stat_sum($node, 'scans');
	$before = stat_sum($node, 'chunks_delivered');

	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	$s[0]->send(par_gated('t', 1));
	ok(waiting_are(3), "$policy: a leader and two workers are in the middle of the table");
	is(sql($node, 'SELECT pid, relid::regclass, policy FROM cscan_scans'), $s[0]->pid . "|t|$policy",
		"$policy: they are one scan, the leader's");
	is(scalar(workers_of($s[0])), 2, "$policy: it has two workers");

	$s[1]->send(par_gated('t', 1));
	$alone->send(gated_query('t', 20000, 1));
	ok(waiting_are(7), "$policy: another one, and a scan without workers");
	is(sql($node, 'SELECT pid FROM cscan_scans ORDER BY pid'),
		join("\n", sort { $a <=> $b } map { $_->pid } @s, $alone), "$policy: they are three scans");
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	is($_->result . $_->err, $right, "$_->{name}: right") foreach (@s, $alone);
	is(stat_sum($node, 'scans') - $scans, 3, "$policy: three scans were registered");
	is(stat_sum($node, 'chunks_delivered') - $before, 3 * $chunks, "$policy: and each chunk delivered once to each");
	free_at_once($policy, 't');

	# At their own pace, on two tables.
	$s[0]->send('SELECT count(*), sum(i) FROM t');
	$s[1]->send('SELECT count(*), sum(i) FROM u');
	$alone->send('SELECT count(*), sum(i) FROM t');
	is($_->result . $_->err, $right, "$_->{name}, at its own pace: right") foreach (@s, $alone);
	is($s[0]->query('SELECT count(*), sum(t.i) FROM t JOIN u USING (i)') . $s[0]->err, $right,
		"$policy: a parallel join of two tables");
	is($s[0]->query('SELECT count(*), sum(a.i) FROM t a JOIN t b ON a.i = b.i') . $s[0]->err, $right,
		"$policy: and of one with itself");
	free_at_once("$policy, at their own pace", 't', 'u');
	$_->quit foreach (@s, $alone);
}

# The same scan over and over: the workers of each pass join it anew.
{
	my $s = parallel_session('rescan', 'relevance');
	my $query = 'SELECT x, c, s FROM (SELECT count(*) c, sum(i) s FROM t WHERE i > 10 OR v >= 0) q RIGHT JOIN (VALUES (1), (2), (3)) v(x) ON true';
	$s->query('SET enable_material = off');
	ok(is_parallel($query, 'SET enable_material = off;'), 'a parallel scan on the inner side of a nested loop');
	is($s->query($query) . $s->err, join("\n", map { "$_|$right" } 1 .. 3), 'three passes: right');
	nothing_left($node, 'after three passes', 't');
	$s->quit;
}

### The pool is gone

# A pool that has no room for one chunk of the scan loads nothing more, and its processes know: nobody waits.
foreach my $leader ('on', 'off')
{
	my $s = parallel_session("no pool, the leader's part $leader", 'relevance');
	my $taking_part = $leader eq 'on' ? 3 : 2;

	$s->query("SET parallel_leader_participation = $leader");
	abm_serves($node, 'u') or die "the ABM loads nothing\n";
	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	$s->send(par_gated('t', 1));
	ok(waiting_are($taking_part), "$s->{name}: in the middle");
	is(sql($node, 'SELECT relid::regclass FROM cscan_scans'), 't', "$s->{name}: it is registered");

	# With so small a share plans have CScans, of which none is registered once the ABM has heard of it.
	sql($node, 'ALTER SYSTEM SET cscan.buffer_share = 0.0001');
	reload($node);
	ok(poll($node, 'SELECT reason FROM cscan_why_not()', 'cscan.buffer_share leaves no room for a page'),
		"$s->{name}: the pool is gone");
	my $waits = stat_sum($node, 'waits');
	gate_opens();
	is($s->result . $s->err, $right, "$s->{name}: right");
	is(stat_sum($node, 'waits'), $waits, "$s->{name}: and no process waited for a chunk");
	sql($node, 'ALTER SYSTEM RESET cscan.buffer_share');
	reload($node);
	ok(poll($node, 'SELECT is_cscan FROM cscan_why_not()', 't'), "$s->{name}: a pool again");
	nothing_left($node, $s->{name}, 't', 'u');
	$s->quit;
}

### Somebody goes in the middle

# WAY: "held", where all of them wait at a gate, or "moving".
sub in_the_middle
{
	my ($s, $way) = @_;

	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	if ($way eq 'held')
	{
		$s->send(par_gated('t', 1));
		ok(waiting_are(3), "$s->{name}: in the middle");
	}
	else
	{
		$s->send(ambling_query('t', 50, 1, 0.05));
		ok(poll($node, 'SELECT count(*) FROM cscan_scans s WHERE chunks_done > 2 AND EXISTS
			(SELECT FROM pg_stat_activity WHERE leader_pid = s.pid)', '1'), "$s->{name}: in the middle");
	}
	return;
}

sub gate_opens
{
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	return;
}

foreach my $policy (@policies)
{
	foreach my $way ('held', 'moving')
	{
		my $name = "$policy, $way";
		my $s = parallel_session($name, $policy);

		in_the_middle($s, $way);
		my ($worker) = workers_of($s);
		is(sql($node, "SELECT pg_terminate_backend($worker)"), 't', "$name: a worker is terminated");
		is($s->result, '', "$name: no result");
		like($s->err, qr/ERROR: .*(due to administrator command|lost connection to parallel worker)/,
			"$name: but an error");
		free_at_once("$name, a worker terminated", 't');
		gate_opens();

		in_the_middle($s, $way);
		sql($node, 'SELECT pg_cancel_backend(' . $s->pid . ')');
		is($s->result, '', "$name: no result from a leader that is cancelled");
		like($s->err, qr/canceling statement due to user request/, "$name: but its error");
		free_at_once("$name, cancelled", 't');
		gate_opens();

		# An error of the query's own, in one of the processes.
		is($s->query('SELECT count(*) FROM t WHERE 1 / (i - 20000) < 2'), '', "$name: no result from a query that fails");
		like($s->err, qr/division by zero/, "$name: but its error");
		free_at_once("$name, failed", 't');

		in_the_middle($s, $way);
		my $pid = $s->pid;
		sql($node, "SELECT pg_terminate_backend($pid)");
		ok(poll($node, "SELECT count(*) FROM pg_stat_activity WHERE $pid IN (pid, leader_pid)", '0'),
			"$name: the leader is terminated, and all are gone");
		free_at_once("$name, the leader terminated", 't');
		gate_opens();
		$s->quit;
	}
}

# In one transaction, with a subtransaction for each.
{
	my $s = parallel_session('subtransactions', 'relevance');
	is($s->query(q(BEGIN; SAVEPOINT a; SELECT count(*) FROM t WHERE 1 / (i - 20000) < 2; ROLLBACK TO a;
		SELECT count(*) FROM cscan_scans; SELECT count(*), sum(i) FROM t; COMMIT)), "0\n$right",
		'after an error in a subtransaction');
	like($s->err, qr/division by zero/, 'there was one');
	$s->quit;
	free_at_once('after a subtransaction', 't');
}

### Somebody goes while they wait for a chunk

# The ABM is stopped while it is idle: who comes then waits, for a while.
foreach my $who ('leader', 'worker')
{
	my $s = parallel_session("the $who goes");
	my $ended;
	ok(poll($node, 'SELECT count(*) FROM cscan_relations', '0'), 'the ABM is idle');
	my $waits = stat_sum($node, 'waits');
	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	signal_pid('STOP', $abm);
	my $alive = eval {
		$s->send(ambling_query('t', 50, 1, 0.05));
		poll($node, "SELECT (SELECT sum(waits) > $waits FROM cscan_stat) AND
			(SELECT count(*) = 2 FROM pg_stat_activity WHERE leader_pid = " . $s->pid . ')');
		my ($worker) = workers_of($s);
		sql($node, 'SELECT pg_terminate_backend(' . ($who eq 'leader' ? $s->pid : $worker) . ')');
		$s->result;
		1;
	};
	diag($@) unless $alive;
	signal_pid('CONT', $abm);
	gate_opens();
	ok($alive, "$s->{name} while it waits for a chunk: it ends");
	like($s->err, qr/due to administrator command/, 'with its error');
	$s->quit;
	ok(poll($node, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'", '0'), 'the workers end');
	free_at_once("$s->{name} while it waits for a chunk", 't');
}
is(abm_pid($node), $abm, 'the ABM has not been restarted by any of this');

### The ABM goes

foreach my $policy (@policies)
{
	foreach my $way ('held', 'moving')
	{
		my $s = parallel_session("$policy, $way, without the ABM", $policy);

		in_the_middle($s, $way);
		sql($node, "SELECT pg_terminate_backend($abm)");
		ok(poll($node, "SELECT count(*) FROM pg_stat_activity WHERE pid = $abm", '0'), "$s->{name}: it is gone");
		gate_opens();
		is($s->result . $s->err, $right, "$s->{name}: right");
		$s->quit;
		my $next = wait_for_abm($node, $abm);
		isnt($next, $abm, "$s->{name}: there is another one");
		$abm = $next;
		free_at_once($s->{name}, 't');
	}
}

### Without workers, and without the leader

foreach my $policy (@policies)
{
	my $s = parallel_session("$policy, not all take part", $policy);

	$s->query('SET max_parallel_workers = 0');
	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	$s->send(par_gated('t', 1));
	ok(waiting_are(1), "$policy: a leader without workers waits");
	is(sql($node, 'SELECT pid FROM cscan_scans'), $s->pid, 'its scan is registered');
	is(scalar(workers_of($s)), 0, 'and there are no workers');
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	is($s->result . $s->err, $right, "$policy, without workers: right");
	like($s->query('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM t'),
		qr/Workers Launched: 0\n.*Parallel Custom Scan \(CScan\) on t .*CScan Chunks: $chunks\n/s,
		"$policy, without workers: the plan is the same");
	free_at_once("$policy, without workers", 't');

	$s->query('RESET max_parallel_workers; SET parallel_leader_participation = off');
	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	$s->send(par_gated('t', 1));
	ok(waiting_are(2), "$policy: two workers wait");
	is(sql($node, 'SELECT pid FROM cscan_scans'), $s->pid, 'for the scan of their leader');
	is(sql($node, 'SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = ' . $s->pid), '0', 'who is not one of them');
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	is($s->result . $s->err, $right, "$policy, without the leader: right");
	like($s->query('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM t'),
		qr/Workers Launched: 2\n.*Parallel Custom Scan \(CScan\) on t .*CScan Chunks: $chunks\n/s,
		"$policy, without the leader: it knows of all chunks");
	free_at_once("$policy, without the leader", 't');
	$s->quit;
}

### Index conditions that compute something: an error may be one that PostgreSQL would never come to

sql($node, 'CREATE TABLE indexed AS TABLE t');
sql($node, 'CREATE INDEX ON indexed USING brin (i)');
sql($node, 'VACUUM ANALYZE indexed');
foreach ([ 'i > $1', 1 ], [ 'i = ANY (ARRAY[$1, 7])', 1 ], [ 'i > 1 / $1', '' ], [ 'i = ANY (ARRAY[1 / $1, 7])', '' ])
{
	my ($condition, $is) = @$_;
	my $generic = 'SET enable_seqscan = off; SET cscan.page_cost = 0; SET plan_cache_mode = force_generic_plan; '
	  . "PREPARE q(int) AS SELECT count(filler) FROM indexed WHERE $condition; ";

	is(is_parallel('EXECUTE q(1)', $generic), $is, "$condition: " . ($is ? 'a parallel CScan' : "PostgreSQL's own scan"));
	is(sql($node, $parallel . $generic . 'EXECUTE q(1)'), sql($node, 'SET cscan.enabled = off; ' . $generic . 'EXECUTE q(1)'), '... and the answer is right');
}

### What EXPLAIN counts of a subplan

sql($node, 'CREATE TABLE few AS SELECT i FROM generate_series(1, 1000) i');
sql($node, 'ALTER TABLE few SET (parallel_workers = 0)');
{
	my $plan = sql($node, $parallel . 'EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT sum(length(filler)) FROM t WHERE i NOT IN (SELECT i FROM few)');

	like($plan, qr/Parallel Custom Scan.* on few \(actual rows=1000(\.00)? loops=[123]\)/s, 'each process makes the table of a subplan once');
}

### Only the first rows

{
	my $s = parallel_session('LIMIT');
	my $query = 'SELECT i FROM t LIMIT 5';
	ok(is_parallel($query), 'a LIMIT over a parallel scan');
	foreach my $policy (@policies)
	{
		my $wrong = 0;
		$s->query("SET cscan.policy = $policy");
		foreach (1 .. 20)
		{
			my @got = split /\n/, $s->query($query);
			my %seen = map { $_ => 1 } grep { /^\d+$/ && $_ >= 1 && $_ <= $rows } @got;
			$wrong++ unless @got == 5 && keys %seen == 5 && $s->err eq '';
		}
		is($wrong, 0, "$policy: twenty times the first five rows");
		free_at_once("$policy, after twenty limits", 't');

		# More than the head of the scan has, and fewer than all.
		$s->query("SELECT count(*), count(DISTINCT i) FROM (SELECT i FROM t LIMIT 30000) q");
		is($s->result . $s->err, '30000|30000', "$policy: the first 30000 rows");
		is($s->query("SELECT count(*), sum(i) FROM (SELECT i FROM t LIMIT 100000) q") . $s->err, $right,
			"$policy: a limit that is not reached");
		free_at_once("$policy, after larger limits", 't');
	}
	$s->quit;
}

### Two that fail make no difference to the others

{
	my @s = map { parallel_session("one of several, $_", $_) } @policies;
	my $again = session($node, name => 'a scan without workers');
	my $wrong = 0;

	foreach my $round (1 .. 5)
	{
		$s[$_]->send($_ < 2 ? 'SELECT count(*) FROM t WHERE 1 / (i - 20000) < 2' : 'SELECT count(*), sum(i) FROM t') foreach 0 .. $#s;
		$again->send('SELECT count(*), sum(i) FROM t');
		foreach (0 .. $#s)
		{
			my $got = $s[$_]->result . $s[$_]->err;
			next if $_ < 2 ? $got =~ /division by zero/ : $got eq $right;
			$wrong++;
			diag("round $round, $s[$_]->{name}: $got");
		}
		$wrong++ unless $again->result eq $right;
	}
	is($wrong, 0, 'two that fail, those that do not and one without workers, five times');
	free_at_once('after these', 't');
	$_->quit foreach (@s, $again);
}

# After all these errors workers still find room.
{
	my $s = parallel_session('after all');
	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	$s->send(par_gated('t', 1));
	ok(waiting_are(3), 'a leader and two workers, as in the beginning');
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	is($s->result . $s->err, $right, 'right, as in the beginning');
	$s->quit;
}
$gatekeeper->quit;

### No room for another scan

$node->append_conf('postgresql.conf', "cscan.max_scans = 1\n");
$node->restart;
wait_for_abm($node);
$gatekeeper = session($node, name => 'gatekeeper');
{
	# Workers may join it at any time, so it keeps its place although it is idle.
	my $holder = parallel_session('holder', 'normal');
	my @s = map { parallel_session("$_, no room", $_) } @policies;

	$gatekeeper->query('SELECT pg_advisory_lock(2)');
	$holder->send(par_gated('t', 2));
	ok(waiting_are(3), 'a parallel scan stands still');
	is(sql($node, 'SELECT pid FROM cscan_scans'), $holder->pid, 'it has the only room there is');
	foreach my $table ('t', 'u')
	{
		$gatekeeper->query('SELECT pg_advisory_lock(1)');
		$s[0]->send(par_gated($table, 1));
		ok(waiting_are(6), "a parallel scan of $table is in the middle");
		is(sql($node, 'SELECT pid FROM cscan_scans'), $holder->pid, 'but not registered');
		$gatekeeper->query('SELECT pg_advisory_unlock(1)');
		is($s[0]->result . $s[0]->err, $right, "no room: right for $table");
		$_->send("SELECT count(*), sum(i) FROM $table") foreach @s;
		is($_->result . $_->err, $right, "$_->{name} for $table: right") foreach @s;
		is($s[1]->query("SELECT count(DISTINCT i) FROM (SELECT i FROM $table LIMIT 30000) q"), '30000',
			"no room: the first rows of $table");
		is($s[2]->query("SELECT count(*), sum(t.i) FROM t JOIN $table u USING (i)") . $s[2]->err, $right,
			"no room: a join with $table");
	}
	$gatekeeper->query('SELECT pg_advisory_unlock(2)');
	is($holder->result . $holder->err, $right, 'the first one goes on to its end');
	nothing_left($node, 'without room', 't', 'u');

	# One of them finds room; a join of two needs it twice.
	my $scans = stat_sum($node, 'scans');
	is($s[3]->query('SELECT count(*), sum(i) FROM t') . $s[3]->err, $right, 'now there is room: right');
	is(stat_sum($node, 'scans') - $scans, 1, 'and registered');
	is($s[3]->query('SELECT count(*), sum(t.i) FROM t JOIN u USING (i)') . $s[3]->err, $right,
		'a join of two tables where there is room for one');
	free_at_once('with room for one', 't', 'u');
	$_->quit foreach ($holder, @s);
}

$gatekeeper->quit;

### No room for a worker

# A hash join without rows on its inner side fetches one row of the outer side, and stops; its worker keeps its place there
# until the whole plan ends. Twenty of these use up all the places, and the table that comes last has to be read all the same.
$node->append_conf('postgresql.conf', "cscan.max_scans = 128\nmax_worker_processes = 4\n");
$node->restart;
wait_for_abm($node);
make_table($node, 'small', 2000);
make_table($node, 'inner_side', 10);
sql($node, 'ALTER TABLE inner_side SET (parallel_workers = 0)');
{
	my $arms = join ' UNION ALL ', map { 'SELECT s.i FROM small s JOIN inner_side USING (i) WHERE inner_side.k < 0' } 1 .. 20;

	foreach my $policy (@policies)
	{
		my $s = parallel_session("$policy, no room for workers", $policy);
		$s->query('SET max_parallel_workers = 1; SET enable_parallel_hash = off; SET enable_mergejoin = off; SET enable_nestloop = off');
		foreach my $leader ('off', 'on')
		{
			$s->query("SET parallel_leader_participation = $leader");
			is($s->query("SELECT count(*), sum(i) FROM ($arms UNION ALL SELECT i FROM t) q") . $s->err, $right,
				"$s->{name}, leader $leader: right");
		}
		$s->quit;
	}
	nothing_left($node, 'no room for workers', 't', 'small');
}

$node->stop;
done_testing();
