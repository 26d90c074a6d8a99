# The Active Buffer Manager goes, scans go on: ended by pg_terminate_backend, by
# SIGKILL, or stopped for a while.  Queries under way finish with the right
# answer (after SIGKILL the whole server starts again, as PostgreSQL does for
# any of its processes), no lock stays behind, and another ABM serves.

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

my $node = new_node('death');
make_table($node, $_, $rows) foreach qw(t u);

my $gatekeeper = session($node, name => 'gatekeeper');
my @scans = map { session($node, name => $_, policy => $_) } @policies;

# Starts a scan under each policy and waits until all are at their gate.
sub start_gated
{
	my ($table) = @_;
	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	$_->send(gated_query($table, 20000, 1)) foreach @scans;
	ok(wait_waiting($node, scalar @scans), 'a scan under each policy is in the middle of the table');
	return;
}

sub all_right
{
	my ($what) = @_;
	is($_->result, $right, "$_->{name}: right, $what") foreach @scans;
	return;
}

# The ABM serves: a scan has chunks loaded that were not in memory.
sub serves
{
	my ($what) = @_;
	is(sql($node, 'SELECT count(*), sum(i) FROM t'), $right, "$what: a query is right");
	ok(abm_serves($node, 't'), "$what: the ABM loads chunks");
	return;
}

### Terminated while scans wait in the middle of the table

my $abm = wait_for_abm($node);
my $first = stat_sum($node, 'chunks_loaded');
start_gated('t');
cmp_ok(stat_sum($node, 'chunks_loaded'), '>', $first, 'the ABM serves them');
is(sql($node, "SELECT pg_terminate_backend($abm)"), 't', 'the ABM is terminated');
ok(poll($node, "SELECT count(*) FROM pg_stat_activity WHERE pid = $abm", '0'), 'it ends');
# The next one may be there already, and have its own.
my $others = q(coalesce(pid, 0) NOT IN (SELECT pid FROM pg_stat_activity WHERE backend_type = 'cscan abm'));
is(sql($node, "SELECT count(*) FROM pg_locks WHERE pid = $abm OR (locktype = 'object' AND classid = 'pg_database'::regclass AND $others)"),
	'0', 'its locks have gone with it');
is(sql($node, "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND $others"), scalar @scans,
	'only the scans lock the table');
$gatekeeper->query('SELECT pg_advisory_unlock(1)');
all_right('without the ABM that they began with');
my $next = wait_for_abm($node, $abm);
isnt($next, $abm, 'there is another ABM');
nothing_left($node, 'after the ABM was terminated', 't');
serves('after the ABM was terminated');

### While none comes to stay

set_conf($node, 'cscan.debug_fault' => "'abm-start error'");
sql($node, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'cscan abm'");
ok(poll($node, 'SELECT is_cscan, reason FROM cscan_why_not()',
	'f|the Active Buffer Manager is not running: scans read for themselves'), 'cscan_why_not says that there is no ABM');
is(sql($node, 'SELECT count(*), sum(i) FROM t'), $right, 'the result is right');
sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
reload($node);
ok(poll($node, 'SELECT is_cscan, reason FROM cscan_why_not()', 't|'), 'and then that there is one again');

lockable($node, 'after that', 't');
sql($node, q(CREATE TABLE gone AS TABLE t));
$abm = wait_for_abm($node);
start_gated('gone');
sql($node, "SELECT pg_terminate_backend($abm)");
$gatekeeper->query('SELECT pg_advisory_unlock(1)');
all_right('as the ABM ends');
sql($node, q(SET lock_timeout = '10s'; DROP TABLE gone));
pass('DROP TABLE works after the ABM was terminated');

# Its place in the process array goes to whoever comes next: no lock with it.
$abm = wait_for_abm($node, $abm);
nothing_left($node, 'after the table is gone');

### Terminated again and again under scans that work, on two tables

for my $round (1 .. 4)
{
	my $n = 0;
	$abm = wait_for_abm($node);
	my $loaded = stat_sum($node, 'chunks_loaded');
	$_->send(slow_query(($n++ % 2 ? 't' : 'u'), 500, 0.02)) foreach @scans;
	poll($node, "SELECT sum(chunks_loaded) > $loaded FROM cscan_stat");
	sql($node, "SELECT pg_terminate_backend($abm)");
	wait_for_abm($node, $abm) if $round % 2;
	all_right("round $round");
}
wait_for_abm($node, $abm);
nothing_left($node, 'after four ABMs', 't', 'u');
serves('after four ABMs');

### Started again

# SIGHUP is ignored until it has its handler, so it reads the configuration anew: this value nobody else has heard of.
sql($node, 'ALTER SYSTEM SET cscan.buffer_share = 0');
$abm = wait_for_abm($node);
sql($node, "SELECT pg_terminate_backend($abm)");
$abm = wait_for_abm($node, $abm);
ok(poll($node, "DO 'BEGIN PERFORM cscan_stat_reset(); PERFORM count(x) FROM t x; END'; SELECT sum(scans) = 0 FROM cscan_stat"),
	'a new ABM has read the configuration again: it has no room for chunks');
sql($node, 'ALTER SYSTEM RESET cscan.buffer_share');
reload($node);
serves('after a reload');

# And it does not keep files open that have gone, which nothing_left() would see.
{
	my $gone = $node->data_dir . '/base/gone';
	open my $file, '>', $gone or die "$gone: $!";
	unlink $gone;
	is_deeply([ CScanTest::removed_files($$) ], ["$gone (deleted)"], 'a removed file that is open is seen');
}
sql($node, 'CREATE TABLE gone AS TABLE t');
is(sql($node, 'SELECT count(*), sum(i) FROM gone'), $right, 'a table is scanned');
sql($node, 'DROP TABLE gone; CHECKPOINT');
nothing_left($node, 'after a table that has gone', 't');

### Terminated while nothing is scanned

$abm = wait_for_abm($node);
sql($node, "SELECT pg_terminate_backend($abm)");
wait_for_abm($node, $abm);
serves('after an idle ABM was terminated');

### Stopped

# While it has nothing to do, so that it surely does not hold the scheduler's lock.
nothing_left($node, 'before the ABM is stopped', 't');
$abm = wait_for_abm($node);
my $self_reads = stat_sum($node, 'self_reads');
signal_pid('STOP', $abm);
$_->send('SELECT count(*), sum(i) FROM t') foreach @scans;
my $finished = eval { $_->result(30) foreach @scans; 1 };
signal_pid('CONT', $abm);
ok($finished, 'scans finish while the ABM is stopped');
all_right('with the ABM stopped');
cmp_ok(stat_sum($node, 'self_reads'), '>', $self_reads, 'they read for themselves');
nothing_left($node, 'after the ABM was stopped', 't');
is(abm_pid($node), $abm, 'it is the same ABM');
serves('after the ABM was stopped');

# While scans are under way.  They wait at the gate, so that it is idle here, too.
start_gated('t');
ok(poll($node, q(SELECT count(*) = 0 FROM cscan_chunks WHERE state = 'loading')), 'nothing is being loaded');
$self_reads = stat_sum($node, 'self_reads');
signal_pid('STOP', $abm);
$gatekeeper->query('SELECT pg_advisory_unlock(1)');
my $on_their_own = poll($node, "SELECT sum(self_reads) > $self_reads FROM cscan_stat");
signal_pid('CONT', $abm);
ok($on_their_own, 'scans under way read for themselves');
all_right('with the ABM stopped for a while');
nothing_left($node, 'after the ABM was stopped under scans', 't');
serves('after the ABM was stopped under scans');

# For ten seconds, wherever it is: it may hold the scheduler's lock or a page that it reads, so scans may wait as long.
{
	my @more = map { session($node, name => "$_, another one", policy => $_) } @policies;

	my $before = stat_sum($node, 'scans');
	$_->send(slow_query('t', 400, 0.05)) foreach @scans;
	$_->send(slow_query('u', 400, 0.05)) foreach @more;
	ok(poll($node, "SELECT sum(scans) >= $before + " . 2 * @policies . ' FROM cscan_stat'), 'two scans under each policy are under way');
	signal_pid('STOP', $abm);
	sleep 10;
	signal_pid('CONT', $abm);
	all_right('after the ABM was stopped for ten seconds');
	is($_->result, $right, "$_->{name}: right") foreach @more;
	$_->quit foreach @more;
	is(abm_pid($node), $abm, 'it is the same ABM');
	nothing_left($node, 'after the ABM was stopped for ten seconds', 't', 'u');
	serves('after the ABM was stopped for ten seconds');
}

### Killed

start_gated('t');
$abm = wait_for_abm($node);
signal_pid('KILL', $abm);
$_->result foreach @scans;
like($_->err, qr/terminating connection because of crash|server closed the connection|connection to server was lost/,
	"$_->{name}: ended by the restart") foreach @scans;
$_->quit foreach (@scans, $gatekeeper);
ok(server_is_up($node), 'the server starts again');
isnt(wait_for_abm($node), $abm, 'with another ABM');
nothing_left($node, 'after the restart', 't');
serves('after the restart');
$node->restart;
serves('after one more restart');

### It stands still in a load

# Who was a table's last scan waits half a second for the ABM to let go of it: one of three hundred scans does, not each of them.
# After a start nothing is in memory, so that there is something to load.
sql($node, q(ALTER SYSTEM SET cscan.debug_fault = 'abm-start-load wait 1'));
my $log = -s $node->logfile;
$node->restart;
$abm = wait_for_abm($node);
ok(poll($node, 'SELECT is_cscan, reason FROM cscan_why_not()', 't|'), 'the ABM is ready');
my $many = session($node, name => 'many');
$many->query("SET statement_timeout = '30s'; SET max_parallel_workers_per_gather = 0");
$many->query('CREATE FUNCTION pg_temp.scans() RETURNS int LANGUAGE plpgsql AS $$BEGIN FOR i IN 1 .. 300 LOOP PERFORM count(x) FROM t x; END LOOP; RETURN 300; END$$');
is($many->query('SELECT pg_temp.scans()'), '300', 'three hundred scans one after the other take less than 30 s');
like(slurp_file($node->logfile, $log), qr/waits at "abm-start-load"/, 'the ABM stood still meanwhile');
sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
reload($node);
$many->quit;
nothing_left($node, 'after many scans without the ABM', 't');
serves('after many scans without the ABM');
is(abm_pid($node), $abm, 'it is the same ABM');

$node->stop;
done_testing();
