# A scan of row groups while others delete, vacuum and build them: at each step
# between the visibility map, the entry and its runs, it has the rows that its
# snapshot sees, on a standby as well.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_node('column_scans', init => { allows_streaming => 1 }, conf => "autovacuum = off\nrandom_page_cost = 1\n");
my $vacuum = 'VACUUM (FREEZE, INDEX_CLEANUP on) t';
my $fill = q(SELECT cscan_columns_fill('c'));

# Rows as they are, and a number for each that no other row has.
my $query = 'SELECT count(*), sum(id), sum(v), sum(length(x)), count(DISTINCT x) FROM t';

sub new_table
{
	sql($primary, q(
		DROP TABLE IF EXISTS t;
		CREATE TABLE t (id int, v int, w int, x text) WITH (fillfactor = 60);
		INSERT INTO t SELECT i, i, 0, 'x' || i % 1000 FROM generate_series(1, 30000) i));
	sql($primary, $vacuum);
	sql($primary, 'CREATE INDEX c ON t USING cscan_columns (id, v, x) WITH (row_group_blocks = 64)');
	sql($primary, 'ANALYZE t');
	return;
}

sub is_columnar
{
	my ($node, $what) = @_;
	like(sql($node, "EXPLAIN $query"), qr/CScan Columns: id, v, x/, "$what: the plan reads columns") or die;
	return;
}

# What others do while a reader stands still: first what is done before its
# snapshot, then what is over before it goes on.
my @again = ($vacuum, $fill);
my %meanwhile = (
	'rows are vacuumed that were deleted before' => [ ['DELETE FROM t WHERE id % 2000 = 1'], [$vacuum] ],
	'the same, and the groups are built again' => [ ['DELETE FROM t WHERE id % 2000 = 1'], [@again] ],
	'rows are deleted' => [ [], ['DELETE FROM t WHERE id % 3 = 1'] ],
	'rows are updated' => [ [], [ 'UPDATE t SET v = v + 1 WHERE id % 3 = 1', @again ] ],
	'rows move within their blocks' => [ [], [ 'UPDATE t SET w = w + 1 WHERE id % 3 = 1', @again ] ],
	'rows are inserted where others were' =>
	  [ [ 'DELETE FROM t WHERE id % 3 = 0', @again ], [ q(INSERT INTO t SELECT i, i, i, 'new' FROM generate_series(1, 9000) i), @again ] ],
	'an insertion is taken back' =>
	  [ [ 'DELETE FROM t WHERE id % 3 = 0', @again ], [ q(BEGIN; INSERT INTO t SELECT i, i, i, 'new' FROM generate_series(1, 9000) i; ROLLBACK), @again ] ],

	# VACUUM builds all groups anew.  The old pages of one go to the next ones.
	'pages are used again' => [ ['UPDATE t SET v = v + 1 WHERE id % 500 = 1'], [@again] ]);

# The steps: how often a reader comes to a place before it stands still there.
my @places = ('store-look wait 1', 'store-entry wait 1', 'store-read wait 1', 'store-look wait 3', 'store-entry wait 3');

foreach my $name (sort keys %meanwhile)
{
	my ($before, $change) = @{ $meanwhile{$name} };
	foreach my $place (@places)
	{
		new_table();
		sql($primary, $_) foreach @$before;
		is_columnar($primary, $name);
		my $reader = session($primary, name => 'reader');
		my $log = -s $primary->logfile;
		my $expected = sql($primary, "SET cscan.enabled = off; $query");
		$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
		$reader->query("SET LOCAL cscan.debug_fault = '$place'");
		$reader->send($query);
		$primary->wait_for_log(qr/waits at/, $log);
		sql($primary, $_) foreach @$change;
		reload($primary);
		is($reader->result . $reader->err, $expected, "$name, $place");
		is($reader->query($query), $expected, "$name, $place: once more in the same snapshot");
		$reader->query('COMMIT');
		$reader->quit;
	}
}
is_columnar($primary, 'primary');

### What a reader meets when its pages have gone
new_table();
sql($primary, 'UPDATE t SET v = v + 1 WHERE id % 500 = 1');
my $reader = session($primary, name => 'reader');
my $log = -s $primary->logfile;
$reader->query("SET cscan.debug_fault = 'store-entry wait 1'");
$reader->send("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $query");
$primary->wait_for_log(qr/waits at/, $log);
sql($primary, $_) foreach @again;
reload($primary);
my ($seen_stale) = $reader->result =~ /CScan Heap Blocks Stale: (\d+)$/m;
$seen_stale ||= 0;
cmp_ok($seen_stale, '>', 0, 'a group is read from the heap');
cmp_ok($seen_stale, '<=', 64, 'that one alone: the others have been built');
$reader->quit;

### A standby
new_table();
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('column_scans_standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nmax_standby_streaming_delay = -1\nwal_receiver_status_interval = 1\n");
$standby->start;

replayed($primary, $standby, 'the table');
is_columnar($standby, 'standby');
my $old = session($standby, name => 'old reader');
$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $seen = $old->query($query);
is($seen, sql($primary, "SET cscan.enabled = off; $query"), 'standby: as on the primary');
foreach my $round (1 .. 4)
{
	sql($primary, $_) foreach ("UPDATE t SET v = v + 1 WHERE id % 40 = $round", "DELETE FROM t WHERE id % 50 = $round", $vacuum, $fill);
	replayed($primary, $standby, "round $round");
	is($old->query($query), $seen, "standby, round $round: an old snapshot");
	is(sql($standby, $query), sql($primary, "SET cscan.enabled = off; $query"), "standby, round $round: a new one");
}
$old->query('COMMIT');
$old->quit;
$standby->stop;
$primary->stop;
done_testing();
