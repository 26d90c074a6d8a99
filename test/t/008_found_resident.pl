# Blocks that are in shared buffers when the ABM loads their chunk are left as
# they were found: a hot page stays as hot as it was, and gets no hotter.  And
# those that it has loaded stay as hot as others make them meanwhile.
#
# A scan that finds its chunks in memory by itself may take many at once.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use Test::More;

my $node = new_node('found');
# Smaller than shared_buffers, so that no clock hand comes by.
make_table($node, 't', 12000);
my $tids = join ',', map { "'($_,1)'" } 400 .. 403;
my $usage = q(SELECT relblocknumber, usagecount FROM pg_buffercache
	WHERE relfilenode = pg_relation_filenode('t') AND relblocknumber BETWEEN 400 AND 403 ORDER BY 1);

$node->restart;
wait_for_abm($node);

# Half of a chunk is hot.
sql($node, "SELECT count(*) FROM t WHERE ctid = ANY (ARRAY[$tids]::tid[])") foreach 1 .. 3;
my $before = sql($node, $usage);
is($before, "400|3\n401|3\n402|3\n403|3", 'four blocks have been used three times');

my $loaded = stat_sum($node, 'blocks_read');
is(sql($node, 'SELECT count(*) FROM t'), '12000', 'a scan of the table');
cmp_ok(stat_sum($node, 'blocks_read'), '>', $loaded, 'the ABM loads it');
is(sql($node, $usage), $before, 'the four blocks have the usage count that they had');

# The ABM loads them, and then they become hot, while a scan is under way.
# It ambles around there, and takes a page often enough not to count as stalled.
# If it has no CPU for a moment it does, and they go; then once more.
my $pinned = q(SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('t')
	AND relblocknumber BETWEEN 400 AND 403 AND pinning_backends > 0);
my $scan;
foreach my $try (1 .. 10)
{
	$node->restart;
	wait_for_abm($node);
	$scan = session($node, name => 'scan', policy => 'attach');
	$scan->send(q(SELECT count(*) FROM t WHERE CASE WHEN i BETWEEN 380 * 18 AND 408 * 18 AND i % 18 = 0 THEN slow(0.1) ELSE true END));
	until (sql($node, $pinned) eq '4' || $scan->done) { }
	sql($node, "SELECT count(*) FROM t WHERE ctid = ANY (ARRAY[$tids]::tid[])") foreach 1 .. 2;
	last if sql($node, $pinned) eq '4';
	$scan->result;
	$scan->quit;
}
ok(!$scan->done, 'a scan is under way, and the ABM has loaded four blocks for it');
is(sql($node, $usage), $before, 'two uses beside the scan\'s');
is($scan->result, '12000', 'the scan ends');
is(sql($node, $usage), $before, 'and leaves them as often used');

# All of it is in memory now.  Chunks that were taken and not read are nobody's.
sql($node, 'SELECT count(*) FROM t') foreach 1 .. 2;
foreach my $policy (@policies)
{
	my $s = session($node, name => "ahead, $policy", policy => $policy);
	my $done = "SELECT coalesce(sum(chunks_done), 0) FROM cscan_scans WHERE pid = " . $s->query('SELECT pg_backend_pid()');

	$s->query('SET cscan.debug_take_ahead = 32');
	is($s->query('SELECT count(*), count(DISTINCT i) FROM t'), '12000|12000', "$policy: each row once");
	is($s->query('SELECT count(*) FROM (SELECT i FROM t LIMIT 5000) x'), '5000', "$policy: a limit");
	$s->query('BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT i FROM t; MOVE 3000 FROM c');
	cmp_ok(sql($node, $done), '>=', 18, "$policy: many chunks are taken at once");
	is($s->query('WITH f AS (SELECT 1) SELECT 1'), '1', "$policy: something else meanwhile");
	like($s->query('MOVE ALL FROM c; COMMIT'), qr/^$/, "$policy: the rest");
	$s->query('BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT i FROM t; FETCH 100 FROM c; ROLLBACK');
	is($s->query('SELECT sum(n) FROM (VALUES (1), (2), (3)) v (x), LATERAL (SELECT count(*) AS n FROM t WHERE k = x) s'), '360',
		"$policy: begun again, and again");
	is(sql($node, $done), '0', "$policy: nothing is left");
}

$node->stop;
done_testing();
