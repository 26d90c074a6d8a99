# Chunks rest: they are in memory, and a scan wants them, but they are not pinned while
# VACUUM has the table, or while nothing of it has to be loaded.  So VACUUM removes all
# dead rows, and updates prune their pages, although there is always a scan.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 20000;
my $right = "$rows|" . $rows * ($rows + 1) / 2;

# The table fits into the pool.  Nothing rests by itself at first.
my $node = new_node('rest', conf => "shared_buffers = 32MB\ncscan.chunk_size = 256kB\ncscan.debug_rest_after = 1h\nautovacuum = off\n");
make_table($node, 't', $rows);
my $chunks = int(sql($node, q(SELECT pg_relation_size('t'))) / (256 * 1024));
# The scan itself has one page pinned.
my $pins = q(SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('t') AND pinning_backends > 0);

# A scan is in its first chunks until the lock is given back, and wants all others, which another scan has had loaded.
# Nothing of the table is in memory at first.
$node->restart;
my $abm = wait_for_abm($node);
my $keeper = session($node, name => 'keeper');
my $scan = session($node, name => 'scan');
my $other = session($node, name => 'other');

$keeper->query('SELECT pg_advisory_lock(1)');
$scan->send(ambling_query('t', 7, 1, 0.05));
poll($node, 'SELECT count(*) > 0 FROM cscan_scans WHERE chunks_done > 0') or die "nobody scans\n";
is($other->query('SELECT count(*), sum(i) FROM t'), $right, 'another scan: the right answer');
ok(poll($node, "SELECT ($pins) > " . $chunks * 32 / 2), 'most of the table is pinned');
$keeper->query('BEGIN; LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE');
ok(poll($node, "SELECT ($pins) <= 1"), 'nothing is pinned while it is locked as VACUUM does');
is(sql($node, 'SELECT count(*) > ' . $chunks / 2 . ' FROM cscan_chunks'), 't', 'the chunks are there nonetheless');
$keeper->query('COMMIT');
ok(poll($node, "SELECT ($pins) > " . $chunks * 32 / 2), 'then it is pinned again');

# Nothing has been loaded for a while.
set_conf($node, 'cscan.debug_rest_after' => '0');
ok(poll($node, "SELECT ($pins) <= 1"), 'nothing is pinned as nothing has to be loaded');
my $loaded = stat_sum($node, 'chunks_loaded');
is($other->query('SELECT count(*), sum(i) FROM t'), $right, 'a scan of chunks that rest: the right answer');
is(stat_sum($node, 'chunks_loaded'), $loaded, 'it finds them in memory');

# HOT updates, whose dead rows are pruned by those that come after.
$other->query('UPDATE t SET i = i WHERE i % 20 = 0') foreach 1 .. 20;
$other->query('VACUUM (VERBOSE) t');
unlike($other->err, qr/missed/, 'VACUUM misses no dead rows');
like($other->err, qr/tuples: \d+ removed/, 'and removes some');

# Who takes the frames of chunks that rest costs a load, and no more.
sql($node, 'CREATE EXTENSION pg_prewarm');
make_table($node, 'u', 6 * $rows);
ok(poll($node, q(SELECT pg_prewarm('u') > 0 AND (SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('t')) < 100)),
	'another table takes their frames');
ok(poll($node, "SELECT count(*) < $chunks / 2 FROM cscan_chunks WHERE relid = 't'::regclass"), 'they are forgotten');
is($other->query('SELECT count(*), sum(i) FROM t'), $right, 'a scan loads them: the right answer');
$keeper->query('SELECT pg_advisory_unlock(1)');
is($scan->result, $right, 'the scan: the right answer');

# A cursor that nobody fetches from for a while has no chunks.  What was loaded for it is not the first to go from memory.
$node->restart;
$abm = wait_for_abm($node);
my $cursor = session($node, name => 'cursor');
$cursor->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t');
is($cursor->query('MOVE 1000 FROM c'), '', 'a cursor');
ok(poll($node, q(SELECT count(*) > 0 FROM cscan_scans WHERE idle)), 'which nobody fetches from');
ok(poll($node, 'SELECT count(*) = 0 FROM cscan_chunks'), 'has no chunks');
is(sql($node, q(SELECT count(*) > 64 FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('t') AND usagecount > 0)), 't',
	'but they are in memory as any other pages that were used');
$cursor->query('COMMIT');
$cursor->quit;
nothing_left($node, 'after all', 't');
is(abm_pid($node), $abm, 'the ABM has been the same all the time');

$node->stop;
done_testing();
