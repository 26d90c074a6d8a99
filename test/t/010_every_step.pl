# Something goes wrong at each step of a scan's life (src/fault.h): an error, no
# memory, the end of the session or of the process, an interrupt or a timeout that
# comes just then; in a scan's process, in a parallel worker, or in the Active
# Buffer Manager.  Whoever it happens to gets its error, the others their right
# answers, and nothing stays behind.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $rows = 40000;
my $right = "$rows|" . $rows * ($rows + 1) / 2;
my $whole = 'SELECT count(*), sum(i) FROM t';

my $node = new_node('steps', conf => "cscan.debug_fault = ''\n");
make_table($node, 't', $rows);
make_table($node, 'u', $rows);
sql($node, 'CREATE INDEX ON t (k)');
my $abm = wait_for_abm($node);
my $gatekeeper = session($node, name => 'gatekeeper');

### The setting itself

foreach my $value ('chunk', 'chunk error x', 'chunk error 0', 'nowhere error', 'chunk nothing', 'chunk error 1 2')
{
	like(sql_fails($node, "SET cscan.debug_fault = '$value'"), qr/invalid value for parameter "cscan.debug_fault"/, "'$value' is not taken");
}
sql($node, 'CREATE ROLE somebody');
like(sql_fails($node, q(SET ROLE somebody; SET cscan.debug_fault = 'chunk kill')), qr/permission denied to set parameter/,
	'nor is anything from somebody else');

### In the scan's own process

# The query that comes to a place, and what it needs.
my $bitmap = 'SELECT count(*), sum(i) FROM t WHERE k BETWEEN 0 AND 99';
my $rescan = "SELECT sum(n), sum(s) FROM (VALUES (0), (0), (0)) x (x), LATERAL (SELECT count(*) n, sum(i) s FROM t WHERE i > x + 0) y";
my $only_bitmaps = 'SET cscan.page_cost = 0; SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off';
# A setting that is turned off only after planning keeps the scan from being registered: it reads ahead by itself.
my $unregistered = "SET plan_cache_mode = force_generic_plan; PREPARE bitmap AS $bitmap; EXPLAIN EXECUTE bitmap; SET synchronize_seqscans = off";
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
  . 'SET max_parallel_workers_per_gather = 2';
my %steps = (
	(map { $_ => [ $_, '', $whole ] } qw(begin register registered asleep chunk page leave left)),
	bitmap => [ 'bitmap', $only_bitmaps, $bitmap ],
	rescan => [ 'rescan', 'SET enable_memoize = off', $rescan ],
	worker => [ 'join', "$parallel; SET parallel_leader_participation = off", $whole ],
	'worker at its first chunk' => [ 'chunk', "$parallel; SET parallel_leader_participation = off", $whole ],
	'head of a scan that may stop early' => [ 'page', '', 'SELECT count(*), sum(i) FROM (SELECT i FROM t LIMIT 1000000) x', 5 ],
	'page read ahead' => [ 'ahead', "$only_bitmaps; $unregistered", 'EXECUTE bitmap', 300 ],
	'page of a bitmap read ahead of others' => [ 'page', "$only_bitmaps; $unregistered", 'EXECUTE bitmap', 300 ],
	'worker in the middle of a bitmap scan' => [ 'page', "$parallel; $only_bitmaps; SET parallel_leader_participation = off", $bitmap, 300 ],
	'leader that makes a bitmap' => [ 'bitmap', "$parallel; $only_bitmaps", $bitmap ]);

# Two other scans, of this table and of another one, in the middle.
sub bystanders
{
	my ($policy) = @_;
	my @others = map { session($node, name => "bystander on $_", policy => $policy) } qw(t u);

	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	$others[0]->send(gated_query('t', $rows / 2, 1));
	$others[1]->send(gated_query('u', $rows / 2, 1));
	wait_waiting($node, 2) or die "the bystanders do not come to their gate\n";
	return @others;
}

sub they_go_on
{
	my ($what, @others) = @_;
	my $answers;

	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	$answers = join(' ', map { $_->result . $_->err } @others);
	is($answers, "$right $right", "$what: the others go on");
	$_->quit foreach @others;
	return;
}

# A session that meets its fate, the first time it comes there, or the time that is said.
sub victim
{
	my ($step, $policy, $action, $more) = @_;
	my ($place, $prepare, $query, $number) = @{ $steps{$step} };
	my $s = session($node, name => "$action at $step", policy => $policy);

	# Where the ABM has just been found stuck nobody sleeps; while it stands still, but not for long, everybody does.
	abm_serves($node, 't') if $step eq 'asleep';
	$s->query("$prepare; SET cscan.debug_fault = '$place $action " . ($number || 1) . "'; " . ($more || ''));
	die $s->err if $s->err;
	my $abm = $step eq 'asleep' ? wait_for_abm($node) : undef;
	signal_pid('STOP', $abm) if $abm;
	$s->send($query);
	if ($abm)
	{
		usleep(300_000);
		signal_pid('CONT', $abm);
	}
	return $s;
}

my $turn = 0;
foreach my $step (sort keys %steps)
{
	my ($policy, $other_policy) = @policies[ $turn % @policies, ($turn + 1) % @policies ];
	my @others = bystanders($other_policy);
	my ($place, $prepare, $query) = @{ $steps{$step} };
	my $s;
	$turn++;

	# The session lives on, and the next query is right.
	foreach my $way ([ error => qr/injected error at "$place"/ ], [ memory => qr/out of memory\nDETAIL:  Injected at "$place"/ ])
	{
		my ($action, $error) = @$way;
		$s = victim($step, $policy, $action);
		$s->result;
		like($s->err, $error, "$step, $action: it is told");
		is($s->query("RESET cscan.debug_fault; $query") . $s->err, $step eq 'rescan' ? 3 * $rows . '|' . 3 * $rows * ($rows + 1) / 2 : $right,
			"$step, $action: then its query is right");
		is(sql($node, 'SELECT count(*) FROM cscan_scans'), '2', "$step, $action: only the others are registered");
	}

	# It is gone.  (From a worker that is an error like any other.)
	$s = victim($step, $policy, 'fatal');
	$s->result;
	like($s->err, qr/injected fatal error at "$place"/, "$step, fatal: it is told");

	# It stays there until something else comes.  When it has left it does not listen.
	unless ($place =~ /^le/)
	{
		my $log = -s $node->logfile;
		$s = victim($step, $policy, 'wait', q(SET statement_timeout = '300ms'));
		$s->result;
		like($s->err, qr/canceling statement due to statement timeout/, "$step, timeout: it is told");
		like(slurp_file($node->logfile, $log), qr/waits at "$place"/, "$step, timeout: there");
		$log = -s $node->logfile;
		foreach my $how (qw(pg_cancel_backend pg_terminate_backend))
		{
			my $error = $how =~ /cancel/ ? qr/canceling statement due to user request/ : qr/terminating connection due to administrator command/;
			$s = victim($step, $policy, 'wait');
			$node->wait_for_log(qr/waits at "$place"/, $log);
			sql($node, "SELECT $how(" . $s->pid . ')');
			$s->result;
			like($s->err, $error, "$step, $how: it is told");
			$log = -s $node->logfile;
		}
	}
	ok(poll($node, 'SELECT count(*) FROM cscan_scans', '2'), "$step: only the others are registered in the end");
	they_go_on($step, @others);
	nothing_left($node, $step, qw(t u));
}

# An idle transaction runs out of time in the middle of a scan.
foreach my $policy (@policies)
{
	my $s = session($node, name => 'idle', policy => $policy);

	$s->query(q(SET idle_in_transaction_session_timeout = '50ms'; BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; FETCH 3000 FROM c));
	ok(poll($node, 'SELECT count(*) FROM pg_stat_activity WHERE pid = ' . $s->pid, '0'), "$policy: an idle transaction runs out of time");
	nothing_left($node, "$policy, after that", 't');
}

### In the Active Buffer Manager

sub set_fault
{
	my ($value) = @_;
	$node->adjust_conf('postgresql.conf', 'cscan.debug_fault', "'$value'");
	reload($node);
	return;
}

# Queries that come to their end whatever happens to it.
sub others_do_well
{
	my ($what) = @_;
	my @s = map { session($node, name => "$what, $_", policy => $_) } @policies;

	$_->send("$whole; SELECT count(*), sum(i) FROM u") foreach @s;
	is(join(' ', map { $_->result . $_->err } @s), join(' ', ("$right\n$right") x @s), "$what: all queries are right");
	$_->quit foreach @s;
	return;
}

# It may have had no CPU as long as there were queries: then there are more.
sub comes_there
{
	my ($told, $log) = @_;
	my $until = time + $CScanTest::limit;

	until (slurp_file($node->logfile, $log) =~ $told)
	{
		return 0 if time > $until;
		sql($node, $whole);
	}
	return 1;
}

foreach my $step (qw(abm-start abm-locked abm-start-load abm-read abm-loaded abm-drop abm-unlock))
{
	foreach my $action (qw(error memory fatal wait))
	{
		my $what = "$step, $action";
		my $log = -s $node->logfile;

		set_fault("$step $action");
		if ($step eq 'abm-start')
		{
			my $old = abm_pid($node);
			sql($node, "SELECT pg_terminate_backend($old)") if $old;
		}
		others_do_well($what);
		ok(comes_there(qr/(njected.* at|waits at) "$step"/, $log), "$what: it has come there");
		if ($action eq 'wait' && $step =~ /^abm-(locked|read|drop)$/)
		{
			sql($node, "SELECT pg_terminate_backend($_)") foreach grep { $_ } abm_pid($node);
			others_do_well("$what, terminated");
		}
		set_fault('');
		wait_for_abm($node);
		others_do_well("$what, in the end");
		nothing_left($node, $what, qw(t u));
	}
}

### The process is gone: the server starts again, as for any of its processes

sub starts_again
{
	my ($what) = @_;

	ok(server_is_up($node), "$what: the server is there again");
	wait_for_abm($node);

	# It may have been too young to hear that no fault is wanted any more.
	reload($node);
	ok(poll($node, $whole, $right), "$what: the answer is right");
	nothing_left($node, $what, qw(t u));
	return;
}

foreach my $step (sort keys %steps)
{
	my $log = -s $node->logfile;
	my $s = victim($step, $policies[ $turn++ % @policies ], 'kill');

	# A worker's end may be told as that of another process.
	$s->result;
	like($s->err, qr/server closed the connection unexpectedly|terminating connection because of crash/, "$step, kill: it is gone");
	ok($node->wait_for_log(qr/was terminated by signal 9/, $log), "$step, kill: by that");
	starts_again("$step, kill");
}
foreach my $step (qw(abm-start abm-locked abm-start-load abm-read abm-loaded abm-drop abm-unlock))
{
	my $log = -s $node->logfile;
	my $old = wait_for_abm($node);

	set_fault("$step kill");
	my $s = session($node, name => "$step, kill");
	$s->send(join '; ', $step eq 'abm-start' ? "SELECT pg_terminate_backend($old)" : (), ($whole) x 50);
	ok($node->wait_for_log(qr/terminated by signal 9/, $log), "$step, kill: it is gone");
	set_fault('');
	eval { $s->result; };
	$s->quit;
	starts_again("$step, kill");
}

$gatekeeper->quit;
$node->stop;
done_testing();
