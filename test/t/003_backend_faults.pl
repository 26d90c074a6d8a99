# Backends and storage that fail: a query that is cancelled, times out, is
# terminated or killed in the middle of a scan, or while it waits for a chunk,
# leaves nothing behind; where there is no room for more scans they are plain
# ones; a corrupt page or a missing file gives PostgreSQL's own error to whom
# it concerns, and the Active Buffer Manager lives on.

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

my $node = new_node('faults', init => { extra => ['--data-checksums'] },
	conf => "cscan.max_scans = 24\n");
make_table($node, $_, $rows) foreach qw(t u);
my $abm = wait_for_abm($node);
my $gatekeeper = session($node, name => 'gatekeeper');

# What must be so after a query.
sub free_at_once
{
	my ($what, $table) = @_;
	lockable($node, $what, $table);
	nothing_left($node, $what, $table);
	return;
}

### Cancelled while at work

foreach my $policy (@policies)
{
	my $s = session($node, name => $policy, policy => $policy);

	$s->send(slow_query('t', 100, 0.05));
	ok(poll($node, 'SELECT count(*) > 0 FROM cscan_chunks'), "$policy: a scan is under way");
	sql($node, 'SELECT pg_cancel_backend(' . $s->pid . ')');
	$s->result;
	like($s->err, qr/canceling statement due to user request/, "$policy: cancelled");
	free_at_once("$policy, cancelled", 't');

	$s->query(q(BEGIN; SET LOCAL statement_timeout = '300ms'; ) . slow_query('t', 100, 0.05));
	like($s->err, qr/canceling statement due to statement timeout/, "$policy: timed out");
	$s->query('ROLLBACK');
	free_at_once("$policy, timed out", 't');

	# An error of the query's own, in a subtransaction: the transaction goes on.
	is($s->query(q(BEGIN; SAVEPOINT a; SELECT 1 / (i - 20000) < 2 FROM t WHERE 1 / (i - 20000) > 2;
		ROLLBACK TO a; SELECT count(*) FROM cscan_scans)), '0', "$policy: after an error in a subtransaction");
	like($s->err, qr/division by zero/, "$policy: there was one");
	ok(poll($node, 'SELECT count(*) FROM cscan_chunks', '0'), "$policy: nothing is held for the transaction");
	is($s->query('SELECT count(*), sum(i) FROM t; COMMIT'), $right, "$policy: which goes on");
	is($s->query(q(DO $$ BEGIN FOR i IN 1..20 LOOP BEGIN
			PERFORM 1 / (t.i - 20000) FROM t;
		EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$;
		SELECT count(*) FROM cscan_scans)), '0', "$policy: after 20 errors that were caught");

	# Terminated; then it is gone and all of its registration, too.
	$s->send(slow_query('t', 100, 0.05));
	poll($node, 'SELECT count(*) > 0 FROM cscan_chunks');
	sql($node, 'SELECT pg_terminate_backend(' . $s->pid . ')');
	ok(poll($node, 'SELECT count(*) FROM pg_stat_activity WHERE pid = ' . $s->pid, '0'), "$policy: terminated");
	free_at_once("$policy, terminated", 't');
	$s->quit;

	# The client goes away.
	$s = session($node, name => $policy, policy => $policy);
	my $pid = $s->pid;
	$s->query(q(BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH 3000 FROM c));
	is(sql($node, 'SELECT count(*) FROM cscan_scans'), '1', "$policy: an open cursor is registered");
	$s->{run}->kill_kill;
	ok(poll($node, "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid", '0'), "$policy: the client is gone");
	free_at_once("$policy, without its client", 't');
}

### Cancelled while waiting for a chunk

# The ABM is stopped while it is idle: who comes then waits, for a while.
foreach my $how ('pg_cancel_backend', 'statement_timeout', 'pg_terminate_backend')
{
	my $s = session($node, name => $how);
	$s->query(q(SET statement_timeout = '500ms')) if $how eq 'statement_timeout';
	my $before = stat_sum($node, 'waits');
	signal_pid('STOP', $abm);
	my $waits = eval {
		$s->send(slow_query('t', 100, 0.05));
		if ($how eq 'statement_timeout')
		{
			$s->result;
		}
		else
		{
			poll($node, "SELECT sum(waits) > $before FROM cscan_stat");
			sql($node, "SELECT $how(" . $s->pid . ')');
			$s->result;
		}
		1;
	};
	signal_pid('CONT', $abm);
	ok($waits, "$how while waiting for a chunk: it ends");
	like($s->err, qr/canceling statement due to|terminating connection due to administrator command/, 'with its error');
	$s->quit;
	free_at_once("$how while waiting for a chunk", 't');
}

### DROP, TRUNCATE and others right after a query

{
	my $s = session($node, name => 'DDL');
	$s->query(q(SET lock_timeout = '10s'));
	foreach my $policy (@policies)
	{
		my @done;
		$s->query("SET cscan.policy = $policy; CREATE TABLE d AS TABLE t");
		push @done, $s->query(q(SELECT count(*) FROM d; TRUNCATE d)) . $s->err;
		push @done, $s->query(q(INSERT INTO d TABLE t; SELECT count(*) FROM d; ALTER TABLE d ADD COLUMN extra int DEFAULT 1)) . $s->err;
		push @done, $s->query(q(SELECT count(extra) FROM d; ALTER TABLE d ALTER COLUMN extra TYPE bigint)) . $s->err;
		push @done, $s->query(q(SELECT count(extra) FROM d; VACUUM FULL d)) . $s->err;
		push @done, $s->query(q(SELECT count(extra) FROM d; VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) d)) . $s->err;
		push @done, $s->query(q(BEGIN; SELECT count(*) FROM d; TRUNCATE d; SELECT count(*) FROM d; ROLLBACK; SELECT count(*) FROM d)) . $s->err;
		push @done, $s->query(q(BEGIN; SELECT count(*) FROM d; DROP TABLE d; COMMIT)) . $s->err;
		is(join(' ', map { s/\n/,/gr } @done), "$rows $rows $rows $rows $rows $rows,0,$rows $rows",
			"$policy: TRUNCATE, ALTER, VACUUM and DROP right after a query");
	}
	# A table that is made, filled and scanned within its transaction.
	is($s->query(q(BEGIN; CREATE TABLE d AS TABLE t; SELECT count(*) FROM d; TRUNCATE d;
		INSERT INTO d SELECT * FROM t WHERE i <= 30000; SELECT count(*) FROM d; ROLLBACK;
		SELECT count(*) FROM pg_class WHERE relname = 'd')), "$rows\n30000\n0",
		'a table of this transaction');
	$s->quit;
	nothing_left($node, 'after DDL', 't', 'u');
	is(abm_pid($node), $abm, 'the ABM has not been restarted by any of this');
}

### A backend killed in the middle of a scan: PostgreSQL starts again

{
	my $victim = session($node, name => 'victim');
	my $witness = session($node, name => 'witness');

	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	$_->send(gated_query('t', 20000, 1)) foreach ($victim, $witness);
	ok(wait_waiting($node, 2), 'two scans are in the middle of the table');
	signal_pid('KILL', $victim->pid);
	$_->result foreach ($victim, $witness);
	$_->quit foreach ($victim, $witness, $gatekeeper);
	ok(server_is_up($node), 'the server starts again');
	isnt(wait_for_abm($node), $abm, 'with another ABM');
	free_at_once('after crash recovery', 't');
	is(sql($node, 'SELECT count(*), sum(i) FROM t'), $right, 'after crash recovery: right');
	ok(abm_serves($node, 't'), 'after crash recovery: the ABM serves');
}

### No room for more scans

$node->append_conf('postgresql.conf', "cscan.max_scans = 2\n");
$node->restart;
$abm = wait_for_abm($node);
$gatekeeper = session($node, name => 'gatekeeper');
$gatekeeper->query('SELECT pg_advisory_lock(1)');
{
	my $n = 0;
	my @scans = map { session($node, name => "scan $_", policy => $policies[$_ % @policies]) } 1 .. 6;

	$_->send(gated_query(($n++ % 3 ? 't' : 'u'), 20000, 1)) foreach @scans;
	ok(wait_waiting($node, 6), 'six scans where two can be registered');
	is(sql($node, 'SELECT count(*) FROM cscan_scans'), '2', 'two are');
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	is($_->result, $right, "$_->{name}: right") foreach @scans;
	nothing_left($node, 'after six scans', 't', 'u');

	# One session: a join of six, and six cursors in turn.
	my $s = $scans[0];
	is($s->query(q(SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
		SELECT count(*) FROM (SELECT 1 FROM t WHERE i < 3) a, (SELECT 1 FROM t WHERE i < 3) b,
			(SELECT 1 FROM t WHERE i < 3) c, (SELECT 1 FROM u WHERE i < 2) d)), '8', 'a join of four');
	my $sql = 'BEGIN;' . join(';', map { "DECLARE c$_ CURSOR FOR SELECT i FROM t" } 1 .. 6) . ';';
	$sql .= 'CREATE TEMP TABLE seen (c int, i int);';
	$s->query($sql);
	$s->query(qq(DO \$\$ DECLARE c refcursor; r int; n int; BEGIN
		FOR step IN 1..4 LOOP FOR n IN 1..6 LOOP
			c := 'c' || n;
			FOR k IN 1..12000 LOOP
				FETCH c INTO r; EXIT WHEN NOT FOUND;
				INSERT INTO seen VALUES (n, r);
			END LOOP;
		END LOOP; END LOOP; END \$\$));
	is($s->query('SELECT c, count(*), count(DISTINCT i), sum(i) FROM seen GROUP BY c ORDER BY c; COMMIT'),
		join("\n", map { "$_|$rows|$right" } 1 .. 6), 'six cursors, fetched from in turn');
	$_->quit foreach @scans;
	nothing_left($node, 'after six cursors', 't', 'u');
}

### Those that are idle lose their place to those that work

{
	my %cursor_on = (
		'all of t' => 'SELECT i FROM t', 'all of u' => 'SELECT i FROM u',
		'a range of TIDs' => q(SELECT i FROM t WHERE ctid > '(10,3)' AND ctid < '(2000,1)'),
		'a bitmap' => 'SELECT i FROM t WHERE k BETWEEN 3 AND 60 AND k <> 11');
	my %answer = map { $_ => sql($node, "SELECT count(*), sum(i) FROM ($cursor_on{$_}) x") } keys %cursor_on;
	my $s = session($node, name => 'one that works');

	sql($node, 'CREATE INDEX t_k ON t (k)');
	foreach my $policy (@policies)
	{
		my @idle = map { [ $_, session($node, name => "an idle cursor on $_", policy => $policy) ] } sort keys %cursor_on;
		foreach my $pair (@idle)
		{
			my ($what, $c) = @$pair;
			$c->query('SET cscan.page_cost = 0; SET enable_indexscan = off; SET enable_seqscan = off') if $what eq 'a bitmap';
			# Past what a cursor reads before it is registered.
			$c->query("BEGIN; CREATE TEMP TABLE seen (i int); DECLARE c CURSOR FOR $cursor_on{$what}");
			$c->query(q(DO $$ DECLARE c refcursor := 'c'; r int; BEGIN
				FOR n IN 1..9000 LOOP FETCH c INTO r; INSERT INTO seen VALUES (r); END LOOP; END $$));
		}
		is(sql($node, 'SELECT count(*) FROM cscan_scans'), '2', "$policy: four cursors have two places");
		# They count as idle a moment later.
		ok(poll($node, 'SELECT count(*) FROM cscan_chunks', '0'), "$policy: nothing is held for them");
		my $scans = stat_sum($node, 'scans');
		$s->query("SET cscan.policy = $policy");
		is($s->query('SELECT count(*), sum(i) FROM u'), $right, "$policy: a query beside them is right");
		is(stat_sum($node, 'scans'), $scans + 1, "$policy: and has got a place");
		foreach my $pair (@idle)
		{
			my ($what, $c) = @$pair;
			$c->query(q(DO $$ DECLARE c refcursor := 'c'; r int; BEGIN
				LOOP FETCH c INTO r; EXIT WHEN NOT FOUND; INSERT INTO seen VALUES (r); END LOOP; END $$));
			is($c->query('SELECT count(*), sum(i) FROM seen') . $c->err, $answer{$what}, "$policy: a cursor on $what has all of its rows, once");
			$c->query('ROLLBACK');
			$c->quit;
		}
		nothing_left($node, "$policy, after idle cursors", 't', 'u');
	}
	sql($node, 'DROP INDEX t_k');
	$s->quit;
}

### The lock table is full

{
	my $hog = session($node, name => 'hog');
	my @scans = map { session($node, name => $_, policy => $_) } @policies;

	$abm = abm_pid($node);
	# What a session looks up for its first query takes locks, too.
	is($_->query('SELECT count(*), sum(i) FROM t'), $right, "$_->{name}: right at first") foreach @scans;
	$hog->query(q(DO $$ BEGIN FOR i IN 1..1000000 LOOP PERFORM pg_advisory_lock(7, i); END LOOP;
		EXCEPTION WHEN out_of_memory THEN NULL; END $$));
	$hog->query(q(DO $$ BEGIN FOR i IN 1..1000000 LOOP
		BEGIN PERFORM pg_advisory_lock(8, i); EXCEPTION WHEN out_of_memory THEN EXIT; END; END LOOP; END $$));
	like($hog->query('SELECT pg_advisory_lock(9, 1)') . $hog->err, qr/out of shared memory/, 'there is no room for another lock');
	foreach my $s (@scans)
	{
		is($s->query('SELECT count(*), sum(i) FROM t') . $s->err, $right, "$s->{name}: right without a lock of the ABM's");
	}
	$hog->query('SELECT pg_advisory_unlock_all()');
	is(abm_pid($node), $abm, 'the ABM is the same');
	is($scans[0]->query('SELECT count(*), sum(i) FROM t'), $right, 'right when there is room again');
	ok(abm_serves($node, 't'), 'and the ABM loads');
	$_->quit foreach ($hog, @scans);
	nothing_left($node, 'after a full lock table', 't');
}

### The ABM leaves half of the lock table to others

{
	my $few = new_node('few_locks', conf => "max_locks_per_transaction = 10\nmax_pred_locks_per_transaction = 1000\nmax_connections = 10\nmax_wal_senders = 0\n"
		  . "max_parallel_workers_per_gather = 0\n");
	# Room in shared memory is what predicate locks do not need. From 18 on the server has more processes.
	my $n = $few->pg_version >= 18 ? 260 : 150;
	my $scan = session($few);

	sql($few, qq(
		CREATE TABLE p (i int, f text) PARTITION BY RANGE (i);
		SELECT format('CREATE TABLE p_%s PARTITION OF p FOR VALUES FROM (%s) TO (%s)', n, n * 1000, (n + 1) * 1000) FROM generate_series(0, $n - 1) n \\gexec
		INSERT INTO p SELECT i, repeat('f', 400) FROM generate_series(0, $n * 1000 - 1) i));
	# It takes some time at each partition.  From a scan that stands still the ABM would take back what it holds.
	$scan->send('SELECT count(*), count(DISTINCT i) FROM p WHERE i % 1000 <> 5 OR slow(0.05)');
	my $locked = "SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND pid = " . abm_pid($few);
	ok(poll($few, "SELECT ($locked) > $n / 4"), 'the ABM has locks of partitions');
	my ($has, $announced) = split /\|/, sql($few, "SELECT ($locked), (SELECT tables FROM cscan_scans)");
	is($announced, $n, 'all of which are announced');
	cmp_ok($has, '>', $n / 4, 'it still has locks');
	cmp_ok($has, '<', $n, '... but not of all');
	is($scan->result . $scan->err, $n * 1000 . '|' . $n * 1000, 'the answer is right');
	nothing_left($few, 'after many partitions', 'p_0', 'p_1');
	$scan->quit;
	$few->stop;
}

### No memory, where the system gives a process no more

SKIP:
{
	# It maps memory for itself, and ends the process if it gets none.
	skip "the address sanitizer's own library cannot do without memory", 3 if ($ENV{LD_PRELOAD} || '') =~ /asan/;

	my $bitmap = 'SET enable_seqscan = off; SET enable_indexscan = off; SET cscan.page_cost = 0; SET work_mem = 64';
	my ($failed, $worked) = (0, 0);

	sql($node, 'CREATE INDEX t_v ON t (v)');
	foreach my $more (0, 100, 300, 1000, 3000, 10000, 100000)
	{
		foreach my $query ('SELECT count(*), sum(i) FROM t', 'SELECT count(*), sum(i) FROM (SELECT i FROM t WHERE v >= 0 ORDER BY filler, i OFFSET 0) x')
		{
			my $s = session($node, name => "$more kB more", policy => $policies[($failed + $worked) % @policies]);

			$s->query($bitmap) if $query =~ /WHERE/;
			my ($size) = slurp_file('/proc/' . $s->pid . '/status') =~ /^VmSize:\s+(\d+)/m;
			system('prlimit', '--pid', $s->pid, '--as=' . ($size + $more) * 1024) == 0 or die "prlimit: $?\n";
			my $answer = $s->query($query);
			if ($answer eq $right && $s->err eq '') { $worked++ }
			elsif ($s->err =~ /ERROR:  out of memory|could not resize shared memory|FATAL:  out of memory/) { $failed++ }
			else { fail("$s->{name}: right, or an error"); diag($answer, $s->err) }
			$s->quit;
		}
	}
	cmp_ok($failed, '>', 0, 'a process that gets no more memory says so');
	cmp_ok($worked, '>', 0, 'or is right');
	sql($node, 'DROP INDEX t_v');
	nothing_left($node, 'after processes without memory', 't');
}

### A corrupt page

my $path = $node->data_dir . '/' . sql($node, q(SELECT pg_relation_filepath('u')));
my $page = 1000;

sub overwrite_page
{
	my ($bytes) = @_;
	my $old;
	open my $file, '+<', $path or die "$path: $!";
	binmode $file;
	sysseek($file, $page * 8192 + 100, 0);
	sysread($file, $old, length $bytes);
	sysseek($file, $page * 8192 + 100, 0);
	syswrite($file, $bytes);
	close $file;
	return $old;
}

$gatekeeper->quit;
$node->stop;
my $saved = overwrite_page('y' x 4000);
$node->start;
$abm = wait_for_abm($node);
{
	my @scans = map { session($node, name => $_, policy => $_) } @policies;
	my $well = session($node, name => 'a scan of another table');
	my ($own) = sql_fails($node, 'SET cscan.enabled = off; SELECT count(*), sum(i) FROM u') =~ /(ERROR: .*)/;

	like($own, qr/invalid page in block $page of relation/, "PostgreSQL's own error for a corrupt page");
	foreach (1 .. 3)
	{
		$_->send('SELECT count(*), sum(i) FROM u') foreach @scans;
		$well->send('SELECT count(*), sum(i) FROM t');
		foreach my $s (@scans)
		{
			is($s->result, '', "$s->{name}: no result");
			my ($got) = $s->err =~ /(ERROR: .*)/;
			is($got, $own, "$s->{name}: but PostgreSQL's own error");
		}
		is($well->result, $right, 'a scan of another table: right');
	}
	nothing_left($node, 'after a corrupt page', 't', 'u');
	is($scans[0]->query(q(SELECT count(*) FROM t WHERE i IN (SELECT i FROM u WHERE i < 100 ORDER BY i LIMIT 5))), '',
		'each query that needs the page fails');
	is($scans[0]->query(q(SET zero_damaged_pages = on; SELECT count(*) > 39000 FROM u)), 't',
		'zero_damaged_pages lets a session go on');
	like($scans[0]->err, qr/WARNING: .*invalid page in block $page .*; zeroing out page/, 'with its warning');
	is(abm_pid($node), $abm, 'the ABM is the same');
	$_->quit foreach (@scans, $well);
}

$node->stop;
overwrite_page($saved);
copy_file($path, "$path.saved");
$node->start;
is(sql($node, 'SELECT count(*), sum(i) FROM u'), $right, 'the page is whole again: right');
$node->restart;

### A file that may not be read, one that is missing, and one that gets shorter

# Scans are in the middle of it, and have it open; the ABM that comes then has not.  What it cannot load they read for themselves, if they can.
my %ways = (
	unreadable => [ sub { chmod 0, $path }, sub { chmod 0600, $path }, qr/could not open file "[^"]*": Permission denied/ ],
	missing => [ sub { rename $path, "$path.gone" }, sub { rename "$path.gone", $path }, qr/could not open file "[^"]*": No such file or directory/ ],
	short => [ sub { truncate $path, int((-s $path) / 8192 / 2) * 8192 }, sub { write_back("$path.saved", $path) },
		qr/could not read blocks? [0-9.]+ in file .*read only \d+ of/ ]);

foreach my $way (qw(unreadable missing short))
{
	my ($break, $mend, $error) = @{ $ways{$way} };
	my @scans = map { session($node, name => "$way, $_", policy => $_) } @policies;
	my $well = session($node, name => "$way, another table");
	my $gated = 'SELECT count(*), sum(i) FROM %s WHERE CASE WHEN i %% 100 = 0 THEN gate(1) ELSE true END';

	$gatekeeper = session($node, name => 'gatekeeper');
	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	$_->send(sprintf $gated, 'u') foreach @scans;
	$well->send(sprintf $gated, 't');
	ok(wait_waiting($node, 5), "$way: scans have begun");
	ok(poll($node, q(SELECT count(*) = 0 FROM cscan_chunks WHERE state = 'loading')), "$way: nothing is being loaded");
	my $self_reads = stat_sum($node, 'self_reads');
	my $old = wait_for_abm($node);
	$break->() or die "$path: $!";
	sql($node, "SELECT pg_terminate_backend($old)");
	$abm = wait_for_abm($node, $old);
	ok(abm_serves($node, 't'), "$way: the new ABM serves");
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	foreach my $s (@scans)
	{
		my $answer = $s->result;

		# From 18 on an I/O worker reads for a scan, who has not had it open and says of any reason that there is no such file.
		if ($way ne 'short' && $answer eq $right) { is($s->err, '', "$s->{name}: right") }
		else { like($answer . $s->err, qr/ERROR: .*(?:$error|could not read blocks? [0-9.]+ in file .*: No such file)/, "$s->{name}: PostgreSQL's own error") }
	}
	is($well->result . $well->err, $right, "$way: a scan of another table: right");
	cmp_ok(stat_sum($node, 'self_reads'), '>', $self_reads, "$way: what could not be loaded was read by those who can") if $way ne 'short';
	foreach my $policy (@policies)
	{
		my $late = "SET cscan.policy = $policy; SELECT count(*), sum(i) FROM u";

		# A short file is a small table for whoever comes then.  A backend that has a file open finds it.
		fresh($node);
		if ($way eq 'short') { is(sql($node, $late), sql($node, "SET cscan.enabled = off; $late"), "$way, $policy: as without cscan for one that comes then") }
		else { like(sql_fails($node, $late), qr/ERROR: .*$error/, "$way, $policy: PostgreSQL's own error for one that comes then") }
	}
	is(abm_pid($node), $abm, "$way: the ABM is the same");
	$_->quit foreach (@scans, $well, $gatekeeper);
	$mend->() or die "$path: $!";
	nothing_left($node, "after a file: $way", 't', 'u');
	is(sql($node, 'SELECT count(*), sum(i) FROM u'), $right, "$way: it is whole again: right");
}

$node->stop;
done_testing();

# Into the file as it is, which others have open.
sub write_back
{
	my ($from, $to) = @_;
	my $content = slurp_file($from);
	open my $file, '+<', $to or return 0;
	binmode $file;
	return print({$file} $content) && close $file;
}

sub copy_file
{
	my ($from, $to) = @_;
	require File::Copy;
	File::Copy::copy($from, $to) or die "$from: $!";
	chmod 0600, $to;
	return;
}
