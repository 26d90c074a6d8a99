# A scan that reads for itself reads ahead: with a read stream from 17 on, which
# pins what it has read.  So nothing may stay pinned where the scan waits, where
# it is left in the middle, and where it is given up.  Answers are right with a
# stream in every kind of scan.

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

# A process may pin its share of all buffers: with fewer of them a stream is not ahead.  Chunks of 64 pages; t has 37 of them.
my $node = new_node('self', conf => "shared_buffers = 32MB\ncscan.chunk_size = 512kB\n");
my $streams = $node->pg_version >= 17;
make_table($node, 't', $rows);
make_table($node, 'u', 3 * $rows);
sql($node, q(CREATE EXTENSION pg_prewarm;
	CREATE INDEX ON t (v);
	CREATE TABLE p (LIKE t) PARTITION BY RANGE (i);
	CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (15000);
	CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (15000) TO (100000);
	INSERT INTO p TABLE t; VACUUM ANALYZE p));
my $abm = wait_for_abm($node);

# Pages of a table that somebody has pinned.
sub pins
{
	my ($table) = @_;
	return sql($node, "SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('$table') AND pinning_backends > 0");
}

# No page of the tables that are scanned is in memory: those of u have taken its frames.
sub cold
{
	my $there = q(SELECT count(*) FROM pg_buffercache WHERE relfilenode IN (SELECT pg_relation_filenode(t) FROM unnest('{t,p1,p2}'::regclass[]) t));

	poll($node, "DO 'BEGIN PERFORM pg_prewarm(''u'', ''buffer''); END'; $there", '0') or die "tables stay in memory\n";
	return;
}

### Left in the middle of what has been read ahead

my $s = session($node, name => 'cursor');
foreach my $end ('CLOSE c', 'ROLLBACK', 'COMMIT', 'ROLLBACK TO a', 'MOVE BACKWARD ALL FROM c', 'MOVE ALL FROM c', 'FETCH ABSOLUTE 1 FROM c; CLOSE c')
{
	cold();
	$s->query('BEGIN; SAVEPOINT a; DECLARE c SCROLL CURSOR FOR SELECT i FROM t; MOVE 300 FROM c');
	my @pins = pins('t');
	# How far the stream is ahead depends on where it is.
	while ($pins[-1] == 1 && @pins < 20)
	{
		$s->query('MOVE 17 FROM c');
		push @pins, pins('t');
	}
	ok($streams ? $pins[-1] > 1 : $pins[-1] == 1, "$end: so many pages are pinned in the middle: @pins");
	$s->query("SET client_min_messages = warning; $end");
	is($s->err, '', "$end: without a warning");
	is(pins('t'), '0', "$end: then none is") if $end ne 'FETCH ABSOLUTE 1 FROM c; CLOSE c';
	$s->query($end =~ /^(COMMIT|ROLLBACK)$/ ? 'BEGIN; COMMIT' : 'COMMIT');
	is($s->err, '', "$end: nor with one at the end");
	nothing_left($node, $end, 't');
}

# A cursor of the outer transaction goes on after a subtransaction that read from it has failed.
cold();
is($s->query(q(BEGIN; DECLARE c CURSOR FOR SELECT i FROM t; MOVE 100 FROM c; SAVEPOINT a; MOVE 200 FROM c; SELECT 1 / 0; ROLLBACK TO a;
	CREATE TEMP TABLE rest (i int); DO $$ DECLARE r record; c refcursor := 'c'; BEGIN LOOP FETCH c INTO r; EXIT WHEN NOT FOUND; INSERT INTO rest VALUES (r.i); END LOOP; END $$;
	SELECT count(*), count(DISTINCT i) FROM rest)), "39700|39700", 'a cursor goes on after a subtransaction has failed');
like($s->err, qr/^[^\n]*division by zero\n?$/, 'nor is there any other error');
$s->query('COMMIT');

# An error while pages are on their way: they are given back.
foreach my $fault ('page error 5', 'ahead error 5', 'page memory 5')
{
	next if $fault =~ /ahead/ && !$streams;
	cold();
	$s->query("BEGIN; DECLARE c CURSOR FOR SELECT i FROM t; SET cscan.debug_fault = '$fault'; SAVEPOINT a; MOVE 300 FROM c");
	like($s->err, qr/injected error|out of memory/, "$fault: it fails");
	is(pins('t'), '0', "$fault: nothing stays pinned");
	is($s->query('ROLLBACK TO a; RESET cscan.debug_fault; SELECT count(*), sum(i) FROM t') . $s->err, $right, "$fault: another scan is right");
	$s->query('COMMIT');
	is($s->err, '', "$fault: without a warning");
}
nothing_left($node, 'after cursors', 't');

# Whoever needs a table for itself is told of the cursor, as ever.
cold();
$s->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t; MOVE 300 FROM c; SAVEPOINT a; DROP TABLE t');
like($s->err, qr/cannot DROP TABLE "t" because it is being used by active queries/, 'DROP TABLE');
$s->query('ROLLBACK TO a; MOVE ALL FROM c; DROP TABLE t; ROLLBACK');
like($s->err, qr/cannot DROP TABLE/, 'and still, as its scan is open');
nothing_left($node, 'after DROP TABLE', 't');

### Nothing is pinned while a scan waits

# The head has been read by itself, what follows is the ABM's, which stands still.
cold();
$abm = wait_for_abm($node);
my $log = -s $node->logfile;
signal_pid('STOP', $abm);
$s->query("SET cscan.debug_fault = 'asleep wait 1'");
$s->send('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t; MOVE ALL FROM c');
my $waits = $node->wait_for_log(qr/waits at "asleep"/, $log);
my $pinned = pins('t');
reload($node);
signal_pid('CONT', $abm);
ok($waits, 'a scan waits for its second chunk');
is($pinned, '0', 'and has nothing pinned');
is($s->result . $s->err, '', 'then it goes on');
is($s->query('MOVE BACKWARD ALL FROM c; RESET cscan.debug_fault; COMMIT; SELECT count(*), sum(i) FROM t') . $s->err, $right, 'and all is right');
nothing_left($node, 'after a wait', 't');

### Answers without the ABM, which stands still

signal_pid('STOP', $abm);
my $bitmaps = 'SET cscan.page_cost = 0; SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off';
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
  . 'SET max_parallel_workers_per_gather = 2';
my $range = q(SELECT count(*), sum(i) FROM t WHERE ctid >= '(100,3)' AND ctid < '(1700,2)');
my $few = 'SELECT count(*), sum(i) FROM t WHERE v < 30';
my $join = 'SET enable_memoize = off; SET enable_material = off; '
  . 'SELECT sum(n), sum(s) FROM (VALUES (0), (1), (2)) x (x), LATERAL (SELECT count(*) n, sum(i) s FROM (SELECT i FROM t WHERE i > x LIMIT 5000) z) y';
my %queries = (
	'whole' => [ '', 'SELECT count(*), sum(i) FROM t' ],
	'first rows' => [ '', 'SELECT count(*), sum(i) FROM (SELECT i FROM t LIMIT 1000000) x' ],
	'first rows of first rows' => [ '', "SELECT count(*) FROM (SELECT i FROM t LIMIT 900) x" ],
	'range' => [ '', $range ],
	'bitmap' => [ $bitmaps, $few ],
	'lossy bitmap' => [ "$bitmaps; SET work_mem = '64kB'", 'SELECT count(*), sum(i) FROM t WHERE v < 300' ],
	'partitions' => [ '', 'SELECT count(*), sum(i) FROM p' ],
	'rescans' => [ '', $join ],
	'parallel' => [ $parallel, 'SELECT count(*), sum(i) FROM t' ],
	'parallel bitmap' => [ "$parallel; $bitmaps", $few ],
	'parallel, partitions' => [ $parallel, 'SELECT count(*), sum(i) FROM p' ]);
foreach my $name (sort keys %queries)
{
	my ($prepare, $query) = @{ $queries{$name} };
	my $wanted = sql($node, "$prepare; SET cscan.enabled = off; $query");
	my $self_reads = stat_sum($node, 'self_reads');

	foreach my $policy (@policies)
	{
		cold();
		is(sql($node, "$prepare; SET cscan.policy = $policy; $query"), $wanted, "$name, $policy: right without the ABM");
	}
	next if $name eq 'first rows of first rows';
	cmp_ok(stat_sum($node, 'self_reads'), '>', $self_reads, "$name: they read for themselves");
}
is(pins($_), '0', "nothing of $_ is pinned") foreach qw(t p1 p2);

# In both directions, with rows whose place is known.
cold();
is($s->query(q(BEGIN; DECLARE c SCROLL CURSOR FOR SELECT i FROM t;
	FETCH ABSOLUTE 20000 FROM c; FETCH RELATIVE -5000 FROM c; FETCH PRIOR FROM c; FETCH NEXT FROM c; FETCH NEXT FROM c; FETCH ABSOLUTE 39999 FROM c;
	FETCH LAST FROM c; FETCH ABSOLUTE -39999 FROM c; FETCH FIRST FROM c; FETCH PRIOR FROM c; FETCH NEXT FROM c; COMMIT)) . $s->err,
	join("\n", 20000, 15000, 14999, 15000, 15001, 39999, 40000, 2, 1, 1), 'a cursor goes to and fro without the ABM');
signal_pid('CONT', $abm);
nothing_left($node, 'after the ABM stood still', qw(t p1 p2));

### There is no ABM

set_conf($node, 'cscan.debug_fault' => "'abm-start error'");
sql($node, "SELECT pg_terminate_backend($abm)");
ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan abm'), '0'), 'there is no ABM');
ok(poll($node, q(DO 'BEGIN PERFORM cscan_stat_reset(); PERFORM count(*) FROM t; END'; SELECT sum(scans) FROM cscan_stat), '0'),
	"PostgreSQL's own scans read if none comes");
# PostgreSQL's own scan begins where another one is: with a LIMIT it has other rows.
foreach my $name (grep { $_ ne 'rescans' } sort keys %queries)
{
	my ($prepare, $query) = @{ $queries{$name} };

	is(sql($node, "$prepare; $query"), sql($node, "$prepare; SET cscan.enabled = off; $query"), "$name: right without an ABM");
}
# In a new server the time for it begins when it came first, not when a scan asks.
$s->quit;
$node->restart;
$s = session($node, name => 'cursor');
ok(poll($node, q(SELECT now() - pg_postmaster_start_time() > interval '6.5s')), 'a server without an ABM has run for more than five seconds');
sql($node, 'SELECT count(filler) FROM t');
is(stat_sum($node, 'scans'), 0, "PostgreSQL's own scan is the first");
sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
reload($node);
$abm = wait_for_abm($node);
ok(poll($node, q(DO 'BEGIN PERFORM count(filler) FROM t; END'; SELECT sum(scans) > 0 FROM cscan_stat)), 'they are announced when there is one again');
nothing_left($node, 'after the ABM was away', qw(t p1 p2));

### Tables that only their own transaction can see

my $scans = stat_sum($node, 'scans');
is($s->query('BEGIN; CREATE TABLE x AS TABLE t; SELECT count(*), sum(i) FROM x'), $right, 'a table made in this transaction');
like($s->query('EXPLAIN (ANALYZE, COSTS OFF) SELECT count(*) FROM x'), qr/CScan\) on x.*CScan Chunks: 1\n.*CScan Chunks Self-Read: 1\b/s, 'is one chunk');
$s->query('COMMIT');
is(stat_sum($node, 'scans') - $scans, 1, 'and only the scan that filled it was announced');
like($s->query('EXPLAIN (ANALYZE, COSTS OFF) SELECT count(*) FROM x'), qr/CScan Chunks: (?!1\n)\d+\n/, 'after that transaction it is announced');
$s->query('BEGIN; LOCK TABLE x IN EXCLUSIVE MODE');
like($s->query('EXPLAIN (ANALYZE, COSTS OFF) SELECT count(*) FROM x'), qr/CScan Chunks: (?!1\n)\d+\n/, 'so it is under a lock that others can read beside');
$s->query('COMMIT; BEGIN; CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (100000) TO (200000); INSERT INTO p SELECT i + 100000, k, v, filler FROM t');
is($s->query('SELECT count(*), sum(i) FROM p'), 2 * $rows . '|' . ($rows * ($rows + 1) + $rows * 100000), 'beside other partitions');
like($s->query('EXPLAIN (ANALYZE, COSTS OFF) SELECT count(*) FROM p'),
	qr/on p1 .*?CScan Chunks: (?!1\n)\d+\n.*on p2 .*?CScan Chunks: (?!1\n)\d+\n.*on p3 .*?CScan Chunks: 1\n/s, 'these are still announced');
$s->query('ROLLBACK');
nothing_left($node, 'in the end', qw(t p1 p2 x));

$s->quit;
$node->stop;
done_testing();
