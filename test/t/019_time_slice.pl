# While a process has a cooperative scan it has the time slice that it asked the
# kernel for, otherwise the one that it had before.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use POSIX ();
use Test::More;
use Time::HiRes qw(usleep);

my %calls = (x86_64 => [ 314, 315 ], aarch64 => [ 274, 275 ], riscv64 => [ 274, 275 ]);
my $calls = $calls{ (POSIX::uname())[4] };

plan skip_all => 'only Linux can be asked for time slices' if $^O ne 'linux' || !$calls;

# A process's struct sched_attr: size, policy, flags, nice, priority, runtime, deadline, period.
sub attributes
{
	my ($pid) = @_;
	my $attr = "\0" x 48;

	syscall($calls->[1], $pid + 0, $attr, 48, 0) == 0 or die "sched_getattr of $pid: $!";
	return unpack 'L L Q l L Q Q Q', $attr;
}

sub slice { return (attributes(@_))[5]; }
sub nice { return (attributes(@_))[3]; }

# Does the kernel do it?  A process that is about to end finds out.
sub has_slices
{
	my $child = fork;

	if ($child == 0)
	{
		my @attr = attributes(0);
		$attr[5] = 10_000_000;
		my $done = syscall($calls->[0], 0, pack('L L Q l L Q Q Q', @attr), 0) == 0 && slice(0) == 10_000_000;
		POSIX::_exit($done ? 0 : 1);
	}
	waitpid $child, 0;
	return $? == 0;
}

my $node = new_node('time_slice');
make_table($node, 't', 20000);
my $session = session($node);
my $pid = $session->pid;
my $usual = slice($pid);
my $scan = 'DECLARE a CURSOR FOR SELECT * FROM t; MOVE 10000 FROM a';
my ($long, $short) = has_slices() ? (10_000_000, 5_000_000) : ($usual, $usual);

note("usual slice $usual ns" . ($long == $usual ? ', and there are no others' : ''));

$session->query('BEGIN; DECLARE a CURSOR FOR SELECT * FROM t; DECLARE b CURSOR FOR SELECT * FROM t');
is(slice($pid), $usual, 'a cursor that nothing has been fetched from');
$session->query('MOVE 10000 FROM a');
is(sql($node, "SELECT count(*) FROM cscan_scans WHERE pid = $pid"), '1', 'a scan is registered');
is(slice($pid), $long, '... and its process has a long slice');
$session->query('MOVE 10000 FROM b; CLOSE a');
is(slice($pid), $long, 'one of two scans has gone');
$session->query('CLOSE b');
is(slice($pid), $usual, 'so has the other');
$session->query('COMMIT');

like($session->query('SELECT sum(1 / (i - 10000)) FROM t') . $session->err, qr/division by zero/, 'a scan that fails');
is(slice($pid), $usual, '... leaves the slice as it was');

$session->query("BEGIN; SAVEPOINT s; $scan");
is(slice($pid), $long, 'a cursor of a subtransaction');
$session->query('ROLLBACK TO s');
is(slice($pid), $usual, '... that is rolled back');
$session->query('COMMIT');

$session->query("SET cscan.time_slice = '5ms'; BEGIN; $scan");
is(slice($pid), $short, 'what the session has set');
$session->query("COMMIT; SET cscan.time_slice = 0; BEGIN; $scan");
is(sql($node, "SELECT count(*) FROM cscan_scans WHERE pid = $pid"), '1', 'with 0 a scan is registered');
is(slice($pid), $usual, '... and its process keeps the slice that it has');
$session->query('COMMIT; RESET cscan.time_slice');

# Only root could make it less nice than this one.
my $nice = nice($$) > 16 ? 19 : nice($$) + 3;
setpriority(0, $pid + 0, $nice);
$session->query("BEGIN; $scan");
is(nice($pid), $nice, 'a nice process stays so');
is(slice($pid), $long, '... with a long slice');
$session->query('COMMIT');
is(nice($pid), $nice, '... and after it');

# Workers are processes of a scan, too.
my $gate = session($node, name => 'gate');
my $workers = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND leader_pid = $pid";
$gate->query('SELECT pg_advisory_lock(1)');
$session->query('SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0');
$session->send(ambling_query('t', 2, 1, 0.01));
ok(poll($node, "SELECT count(*) = 2 FROM ($workers) w"), 'two workers');
foreach my $worker (split /\n/, sql($node, $workers))
{
	my $until = time + $CScanTest::limit;
	usleep(5_000) until slice($worker) == $long || time > $until;
	is(slice($worker), $long, 'a worker has a long slice');
}
$gate->query('SELECT pg_advisory_unlock(1)');
is($session->result, '20000|200010000', 'the answer is right') or diag($session->err);
is(slice($pid), $usual, '... and the leader has its own again');

$_->quit foreach $gate, $session;
nothing_left($node, 'at the end', 't');
$node->stop;
done_testing();
