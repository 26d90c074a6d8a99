# The processes of a parallel scan, and scans beside those of other tables, copy from
# the page cache what only they want.  The ABM, which would do it one chunk after the other, looks now and then
# whether the page cache still has the table.  Here it takes 10 ms longer for
# each load, so the processes come to wait for it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'only Linux says what is in its page cache' if $^O ne 'linux';

my $rows = 120000;
my $right = "$rows|" . $rows * ($rows + 1) / 2;
my $whole = 'SELECT count(*), sum(i) FROM t';

my $node = new_node('cache', conf => "shared_buffers = 16MB\ncscan.chunk_size = 256kB\ncscan.debug_fault = 'abm-start-load delay'\n");
my $aio = $node->pg_version >= 18;
$node->append_conf('postgresql.conf', "io_method = sync\n") if $aio;
make_table($node, 't', $rows);
make_table($node, 'u', $rows);
$node->restart;
wait_for_abm($node);
my $file = $node->data_dir . '/' . sql($node, q(SELECT pg_relation_filepath('t')));
my $chunks = int((-s $file) / (256 * 1024)) + 1;

my $settings = join('; ', map { "SET $_" } 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
	'max_parallel_workers_per_gather = 2');
my $parallel = session($node, name => 'parallel');
$parallel->query($settings);
like($parallel->query("EXPLAIN (COSTS OFF) $whole"), qr/Parallel Custom Scan \(CScan\)/, 'the plan is parallel');

# Returns how many chunks the ABM loads, and how many the scan reads itself, while a session runs a query.
sub counts
{
	my ($session, $what) = @_;
	my @before = map { stat_sum($node, $_) } qw(chunks_loaded self_reads);

	is($session->query($whole), $right, "$what: the right answer");
	my @counts = map { stat_sum($node, $_) - shift @before } qw(chunks_loaded self_reads);
	note("$what: $counts[0] loaded, $counts[1] read by the scan, of $chunks");
	return @counts;
}

my ($loaded, $self) = counts($parallel, 'in the page cache');
cmp_ok($self, '>', $chunks / 2, 'its processes copy most of it');
cmp_ok($loaded, '<', $chunks / 2, 'the ABM does little of it');
cmp_ok($loaded, '>', 2, 'but it looks again');

# In order no chunk may be passed over that is being loaded; in the end all have been read.
$parallel->query("SET cscan.policy = normal");
($loaded, $self) = counts($parallel, 'in order');
cmp_ok($self, '>', $chunks / 2, 'they copy most of it in order, too');
$parallel->query('RESET cscan.policy');

my $serial = session($node, name => 'serial');
($loaded, $self) = counts($serial, 'one process');
cmp_ok($self, '<', $chunks / 10, 'it waits for the ABM');

# Somebody is still in the first few chunks of a table until the lock is given back, and wants all of the rest.
my $other = session($node, name => 'other');
sub amble
{
	my ($table) = @_;

	$parallel->query('SELECT pg_advisory_lock(1)');
	$other->send(ambling_query($table, 17, 1, 0.05));
	poll($node, q(SELECT count(*) > 0 FROM cscan_scans WHERE chunks_done > 0)) or die "nobody scans\n";
	return;
}

sub beside_another_table
{
	my ($session, $what) = @_;

	amble('u');
	my ($loads, $self_reads) = counts($session, "one process beside a scan of another table$what");
	cmp_ok($self_reads, '>', $chunks / 2, 'it copies most of it');
	cmp_ok($loads, '<', $chunks / 2, 'the ABM does little of it');
	$parallel->query('SELECT pg_advisory_unlock(1)');
	is($other->result, $right, 'the other scan: the right answer');
	return;
}
beside_another_table($serial, '');
$serial->query("SET cscan.policy = normal");
beside_another_table($serial, ', in order');
$serial->query('RESET cscan.policy');

amble('t');
($loaded, $self) = counts($parallel, 'beside another scan');
cmp_ok($self, '<', $chunks / 4, 'they leave to the ABM what both want');
cmp_ok($loaded, '>', $chunks / 2, 'which loads it');
$parallel->query('SELECT pg_advisory_unlock(1)');
is($other->result, $right, 'the other scan: the right answer');

SKIP:
{
	skip 'I/O workers come with 18', 6 if !$aio;
	$node->append_conf('postgresql.conf', "io_method = worker\n");
	$_->quit foreach ($parallel, $serial, $other);
	$node->restart;
	wait_for_abm($node);
	($parallel, $serial, $other) = map { session($node, name => $_) } qw(parallel serial other);
	$parallel->query($settings);
	($loaded, $self) = counts($parallel, 'with I/O workers');
	cmp_ok($self, '<', $chunks / 4, 'they copy for everybody');
	beside_another_table($serial, ', with I/O workers');
}

$node->stop;
done_testing();
