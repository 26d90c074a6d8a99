# A trace of what the server decides (cscan.trace, doc/trace.md), begun while scans
# run, replays with the same decisions.  It never overwrites a file, is for
# superusers only, and whatever becomes of it the queries do not notice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $rows = 40000;
my $right = "$rows|" . $rows * ($rows + 1) / 2;

### The program

my $build = PostgreSQL::Test::Utils::tempdir();
my $made;
{
	# The compiler needs no sanitizer's library.
	local $ENV{LD_PRELOAD};
	delete $ENV{LD_PRELOAD};
	$made = system('make', '-s', '-C', "$FindBin::RealBin/../policy", "BUILD=$build", 'replay');
}
is($made, 0, 'replay is built');

my $node = new_node('trace', conf => "cscan.max_scans = 24\n");
my $data = $node->data_dir;
make_table($node, $_, $rows) foreach qw(t u);
wait_for_abm($node);

# replay(FILE [, OPTION ...]): exit status and what it says.
sub replay
{
	my ($file, @options) = @_;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ "$build/replay", @options, "$data/$file" ], '>', \$out, '2>', \$err,
		IPC::Run::timeout($CScanTest::limit));
	$run->finish;
	return ($run->result(0), $out . $err);
}

sub wait_for_log
{
	my ($pattern) = @_;
	my $until = time + $CScanTest::limit;

	until (slurp_file($node->logfile) =~ $pattern)
	{
		die "the log does not say $pattern\n" if time > $until;
		usleep(20_000);
	}
	return 1;
}

sub times_in_log
{
	my ($pattern) = @_;
	my @found = slurp_file($node->logfile) =~ /$pattern/g;
	return scalar @found;
}

sub begin_trace
{
	my ($file) = @_;
	set_conf($node, 'cscan.trace' => "'$file'");
	return wait_for_log(qr/trace "\Q$file\E" has begun/);
}

sub end_trace
{
	my ($file) = @_;
	set_conf($node, 'cscan.trace' => "''");
	return wait_for_log(qr/trace "\Q$file\E" has ended after \d+ records/);
}

# One test: the file replays to its end.
sub is_same
{
	my ($file, $name) = @_;
	my ($status, $said) = replay($file);
	my $ok = is("$status " . ($said =~ /(all the same)$/ ? $1 : ''), '0 all the same', "$name: all decisions are the same");
	$ok ? note($said) : diag($said);
	return $said =~ /^(\d+) events, (\d+) decisions/ ? $2 : 0;
}

### Begun in the middle, under every policy

my $parallel = join(' ', map { "SET $_;" } 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'max_parallel_workers_per_gather = 2');
my $gatekeeper = session($node, name => 'gatekeeper');
$gatekeeper->query('SELECT pg_advisory_lock(1)');

my $idle = session($node, name => 'idle cursor');
$idle->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t; MOVE 400 FROM c');
my @running;
foreach my $policy (@policies)
{
	foreach my $table (qw(t u))
	{
		my $s = session($node, name => "$policy on $table", policy => $policy);
		$s->send(ambling_query($table, 200, 1, 0.05));
		push @running, $s;
	}
}
my $workers = session($node, name => 'parallel');
$workers->query($parallel);
$workers->send(ambling_query('t', 200, 1, 0.05));
push @running, $workers;
ok(poll($node, 'SELECT count(*) >= 10 FROM cscan_scans WHERE chunks_done > 0'), 'ten scans run');
ok(poll($node, q(SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND wait_event = 'PgSleep')), 'and a worker');
ok(begin_trace('one.trace'), 'a trace begins while they do');

set_conf($node, 'cscan.buffer_share' => '0.25');
$gatekeeper->query('SELECT pg_advisory_unlock(1)');
is($_->result, $right, "$_->{name}: right") foreach @running;
set_conf($node, 'cscan.buffer_share' => '0.5');

# Others that come and go meanwhile: again, cut short, in part, in parallel.
$gatekeeper->query('SELECT pg_advisory_lock(1)');
$workers->send(ambling_query('t', 200, 1, 0.05));
is(sql($node, "SELECT count(*) FROM generate_series(1, 3) g, LATERAL (SELECT max(i + g) FROM u) x"), 3, 'a scan that is begun again');
sql($node, 'SELECT * FROM t ORDER BY v LIMIT 5');
like(sql_fails($node, q(SET statement_timeout = '200ms'; ) . slow_query('u', 100, 0.05)), qr/statement timeout/, 'one that is cancelled');
my $part = "SELECT count(*), sum(i) FROM t WHERE ctid >= '(100,0)' AND ctid < '(900,0)'";
is(sql($node, $part), sql($node, "SET cscan.enabled = off; $part"), 'one of a part');
$gatekeeper->quit;
is($workers->result, $right, 'parallel: right');
$idle->query('MOVE ALL FROM c; COMMIT');
ok(end_trace('one.trace'), 'and ends by a reload');

cmp_ok(is_same('one.trace', 'begun in the middle'), '>', 1000, 'and they are many');
is((stat("$data/one.trace"))[2] & 07777, 0600, 'nobody else may read the file');

my ($status, $text) = replay('one.trace', '--print');
is($status, 0, 'it can be printed');
cmp_ok(scalar(() = $text =~ /^ *state scan \d+/mg), '>=', 10, 'the scans that ran are told at its beginning');
like($text, qr/^ *\d* *$_/m, "it has: $_")
  foreach 'state helper \d', 'state slot \d', 'limits budget', 'register policy relevance -> scan \d+', 'announce scan \d+ space \d+', 'choose scan \d+ helper \d+ -> slot \d',
  'decide -> load slot', 'decide -> (evict|unpin) slot', 'loaded slot', 'unregister scan', 'quit helper', 'stalled scan \d+: yes', 'end$';
nothing_left($node, 'after a trace', qw(t u));

### What a rescan costs

# A scan that has begun again keeps its registration, and rests between two passes.
sub registrations
{
	my ($file, @statements) = @_;
	begin_trace($file);
	sql($node, join ';', @statements);
	end_trace($file);
	my (undef, $printed) = replay($file, '--print');
	my $rests = () = $printed =~ /\brest scan/g;
	my $starts = () = $printed =~ /\bstart scan/g;
	my $registrations = () = $printed =~ /\bregister policy/g;
	my $again = $starts - $registrations;
	my $later = () = $printed =~ /\bstart scan (\d+) .*\n *stalled scan \1: yes/g;
	return "$registrations registrations, $again times again, $later later, $rests rests";
}

my @serial = ('SET max_parallel_workers_per_gather = 0', 'SELECT max(x) FROM generate_series(1, 5) g, LATERAL (SELECT max(i + g) AS x FROM u) y');
is(registrations('serial.trace', @serial), '1 registrations, 4 times again, 0 later, 4 rests', 'five passes register once');
my @gathered = ($parallel, 'SET enable_material = off',
	'SELECT max(x) FROM (SELECT sum(i) AS x FROM u) y RIGHT JOIN (VALUES (1), (2), (3), (4), (5)) v ON true');
like(sql($node, join(';', @gathered[0, 1], "EXPLAIN $gathered[2]")), qr/Nested Loop.*Gather.*Parallel Custom Scan/s, 'a Gather that is begun again');
is(registrations('gathered.trace', @gathered), '1 registrations, 4 times again, 5 later, 4 rests', 'five passes of a parallel scan register once');
nothing_left($node, 'after rescans', qw(t u));

### Columns

# Scans of different columns, of an index larger than shared buffers, in a pool that has room for few row groups: columns
# go that nobody wants any more, and scans go on with theirs before others are loaded.
sql($node, q(
	CREATE TABLE c AS SELECT i, i % 100 AS k, md5(i::text) || md5((2 * i)::text) || md5((3 * i)::text) AS x,
		md5((5 * i)::text) || md5((7 * i)::text) || md5((9 * i)::text) AS y,
		md5((11 * i)::text) || md5((13 * i)::text) || md5((15 * i)::text) AS z, repeat('x', 100) AS filler FROM generate_series(1, 60000) i;
	VACUUM ANALYZE c;
	CREATE INDEX ON c USING cscan_columns (i, k, x, y, z) WITH (row_group_blocks = 64)));
set_conf($node, 'cscan.buffer_share' => '0.1');
# Long strings have to be decompressed, which is dearer than their pages at half of the price.
set_conf($node, 'enable_seqscan' => 'off');
my @of_columns = ('sum(i)', 'max(x)', 'max(y)', 'max(z)', 'sum(k), max(y)', 'min(i), min(x)');
my %columns_right = map { $_ => sql($node, "SET cscan.enabled = off; SELECT $_ FROM c") } @of_columns;
like(sql($node, "EXPLAIN SELECT $_ FROM c"), qr/CScan Index/, "$_ reads columns") foreach @of_columns;
my $before_columns = wait_for_abm($node);
begin_trace('columns.trace');
for my $policy (@policies)
{
	my @sessions = map { session($node, name => "$policy: $_", policy => $policy) } @of_columns;

	for my $round (1 .. 3)
	{
		$sessions[$_]->send("SELECT $of_columns[$_] FROM c") foreach 0 .. $#of_columns;
		is($sessions[$_]->result, $columns_right{ $of_columns[$_] }, "$sessions[$_]{name}: right") foreach 0 .. $#of_columns;
	}
	$_->quit foreach @sessions;
}

# Beside a slow scan of one column, those of others come again and again.  What goes of the slow one's row groups is
# loaded once more.
my $holder = session($node, name => 'holder');
$holder->query('SELECT pg_advisory_lock(1)');
my $slow = session($node, name => 'a slow scan');
sql($node, "SELECT $_ FROM c") foreach 'max(y)', 'max(z)', 'max(y)';
$slow->send(q(SELECT max(x) FROM c WHERE hashtext(x) % 200 <> 0 OR amble(1, 0.005)));
for my $round (1 .. 8)
{
	is(sql($node, "SELECT $_ FROM c"), $columns_right{$_}, "beside a slow scan, $round: $_") foreach 'max(y)', 'max(z)';
}
$holder->quit;
is($slow->result, $columns_right{'max(x)'}, 'the slow scan: right');
end_trace('columns.trace');
cmp_ok(is_same('columns.trace', 'of columns'), '>', 500, 'and they are many');
($status, $text) = replay('columns.trace', '--print');
like($text, qr/^ *\d* *$_/m, "it has: $_")
  foreach 'columnar space \d+ columns 6$', 'columns scan \d+: 21$', 'decide -> trim slot \d+', 'arrived slot \d+ columns [0-9a-f]+$';
nothing_left($node, 'after scans of columns', qw(c));
is(wait_for_abm($node), $before_columns, 'the ABM lives on');
set_conf($node, 'cscan.buffer_share' => '0.5');
set_conf($node, 'enable_seqscan' => 'on');
sql($node, 'DROP TABLE c');

### From the server's start to its end

$node->append_conf('postgresql.conf', "cscan.trace = 'start.trace'\n");
sql($node, 'ALTER SYSTEM RESET cscan.trace');
$node->restart;
wait_for_log(qr/trace "start.trace" has begun/);
is(sql($node, 'SELECT count(*), sum(i) FROM t'), $right, 'a scan with a trace from the start');

# A tablespace is a device.
my $elsewhere = PostgreSQL::Test::Utils::tempdir();
sql($node, "CREATE TABLESPACE elsewhere LOCATION '$elsewhere'");
sql($node, 'CREATE TABLE w TABLESPACE elsewhere AS TABLE t');
is(sql($node, "SELECT count(*), sum(i) FROM $_"), $right, "a scan of $_") foreach qw(w t u w);
$node->restart;
wait_for_abm($node);
is_same('start.trace', 'from start to stop');
{
	my $trace = slurp_file("$data/start.trace");
	my @devices;

	# doc/trace.md: a header of 64 bytes, records of 32; kind 33 adds a space and has its device in bytes 20 to 23.
	for (my $at = 64; $at + 32 <= length($trace); $at += 32)
	{
		my ($kind, $device) = unpack('C x19 l<', substr($trace, $at, 32));
		push @devices, $device if $kind == 33 && (!@devices || $devices[-1] != $device);
	}
	is("@devices", '0 1 0 1', 'tables of one tablespace are on one device, those of another one on another');
}

### It overwrites nothing

wait_for_log(qr/could not create trace file "start.trace": File exists/);
reload($node);
is(sql($node, 'SELECT count(*), sum(i) FROM t'), $right, 'a scan without a trace, since the file exists');
is(times_in_log(qr/could not create trace file "start.trace"/), 1, 'the log says that once');
my $before = slurp_file("$data/postgresql.conf");
foreach my $file ('postgresql.conf', 'nowhere/x.trace', 'base')
{
	set_conf($node, 'cscan.trace' => "'$file'");
	ok(wait_for_log(qr/could not create trace file "\Q$file\E"/), "$file is no trace");
}
is(slurp_file("$data/postgresql.conf"), $before, 'what was there is as it was');
like(sql_fails($node, "ALTER SYSTEM SET cscan.trace = '$_'"), qr/invalid value for parameter "cscan.trace".*within the data directory/s, "$_: refused")
  foreach '/tmp/x.trace', '../x.trace', 'base/../../x.trace';

### Lost records

my $abm = wait_for_abm($node);
begin_trace('lost.trace');
is(sql($node, 'SELECT count(*), sum(i) FROM t'), $right, 'a scan before records are lost');
signal_pid('STOP', $abm);
for my $round (1 .. 20)
{
	my $got = sql($node, 'SELECT count(*), sum(i) FROM t');
	is($got, $right, "round $round beside a stopped ABM") if $got ne $right;
}
signal_pid('CONT', $abm);
end_trace('lost.trace');
($status, $text) = replay('lost.trace');
is($status, 2, 'a trace with lost records does not replay to its end');
like($text, qr/^\d+ events, \d+ decisions, all the same so far; then [1-9]\d* records have been lost$/, 'and says why');
($status, $text) = replay('lost.trace', '--print');
like($text, qr/^ *[1-9]\d* records have been lost$/m, 'it is printed all the same');
like($text, qr/ end\n\z/, 'to its end');

### The ABM ends

begin_trace('ended.trace');
is(sql($node, 'SELECT count(*), sum(i) FROM u'), $right, 'a scan before the ABM ends');
signal_pid('TERM', $abm);
wait_for_log(qr/trace "ended.trace" has ended after/);
$abm = wait_for_abm($node, $abm);
is(sql($node, 'SELECT count(*), sum(i) FROM u'), $right, 'one after that');
is_same('ended.trace', 'until the ABM ended');
wait_for_log(qr/could not create trace file "ended.trace": File exists/);

begin_trace('killed.trace');
is(sql($node, 'SELECT count(*), sum(i) FROM u'), $right, 'a scan before the ABM is killed');
signal_pid('KILL', $abm);
wait_for_log(qr/could not create trace file "killed.trace": File exists/);
server_is_up($node);
$abm = wait_for_abm($node, $abm);
($status, $text) = replay('killed.trace');
is($status, 2, 'a trace whose writer was killed has no end');
like($text, qr/(all the same so far; the trace has no end|the trace ends within a record)/, 'and says so');

### Who may

sql($node, 'CREATE ROLE nobody LOGIN');
{
	local $ENV{PGUSER} = 'nobody';
	like(sql_fails($node, 'SHOW cscan.trace'), qr/(must be superuser|permission denied)/, 'nobody sees its name');
	is(sql($node, q(SELECT count(*) FROM pg_settings WHERE name = 'cscan.trace')), 0, 'nor in pg_settings');
	like(sql_fails($node, q(ALTER SYSTEM SET cscan.trace = 'mine.trace')), qr/permission denied/, 'nor sets it');
	like(sql_fails($node, q(SET cscan.trace = 'mine.trace')), qr/cannot be changed now/, 'not for a session either');
}
like(sql_fails($node, q(SET cscan.trace = 'mine.trace')), qr/cannot be changed now/, 'which superusers cannot');

sql($node, 'ALTER SYSTEM RESET ALL');
reload($node);
nothing_left($node, 'at the end', qw(t u));
$node->stop;

done_testing();
