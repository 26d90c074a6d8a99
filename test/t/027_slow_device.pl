# A slow device: each step of a load (128 kB) takes 10 ms longer, and a chunk of
# 160 steps more than a second and a half.  The ABM works all that time, so no
# scan may take it for stuck and read for itself.  And a load that takes so long
# holds up nobody: a scan that waits can be cancelled, and a table that the ABM
# has held can be locked and dropped as soon as its last scan has ended.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Three chunks of 20 MB, and room for all of them; a row on each page.
my $rows = 7000;
my $right = "$rows|" . $rows * ($rows + 1) / 2;
my $node = new_node('slow', conf => q(
shared_buffers = 352MB
cscan.chunk_size = 20MB
cscan.debug_fault = 'abm-read delay'
));
sql($node, qq(
	CREATE TABLE t WITH (fillfactor = 10) AS
		SELECT i, repeat('x', 700) AS filler FROM generate_series(1, $rows) i;
	VACUUM ANALYZE t));
my $pages = sql($node, q(SELECT pg_relation_size('t') / 8192));

# Four scans of a cold table, of which one is cancelled, and a small table that is
# dropped meanwhile.  Returns how often scans have read for themselves, and how
# many blocks the ABM has read.
sub scan_slowly
{
	my ($policy) = @_;

	make_table($node, 'u', 3400);
	$node->restart;
	my $abm = wait_for_abm($node);
	ok(poll($node, 'SELECT is_cscan FROM cscan_why_not()'), "$policy: the ABM is there");

	# A scan of the small table is under way, until nobody holds the key.
	my $holder = session($node, name => "$policy, who holds the key");
	my $small = session($node, name => "$policy, scan of the small table", policy => $policy);
	$holder->query('SELECT pg_advisory_lock(2)');
	$small->query('SET cscan.debug_small_scans = on');
	$small->send(ambling_query('u', 17, 2, 0.05) . '; BEGIN; LOCK TABLE u IN ACCESS EXCLUSIVE MODE NOWAIT; COMMIT; DROP TABLE u');
	ok(poll($node, qq(SELECT count(*) FROM pg_locks JOIN cscan_chunks c ON c.relid = relation
		WHERE relation = 'u'::regclass AND pid = $abm AND c.state = 'ready'), 1),
		"$policy: the ABM holds a small table");

	my @scans = map { session($node, name => "$policy, scan $_", policy => $policy) } 1 .. 4;
	$_->send('SELECT count(*), sum(i) FROM t') foreach @scans;
	my $cancelled = pop @scans;
	ok(poll($node, q(SELECT count(*) > 0 AND (SELECT count(*) = 4 FROM cscan_scans WHERE relid = 't'::regclass AND blocked_since IS NOT NULL)
		FROM cscan_chunks WHERE relid = 't'::regclass AND state = 'loading')),
		"$policy: four scans wait for a load");

	sql($node, 'SELECT pg_cancel_backend(' . $cancelled->pid . ')');
	$cancelled->result;
	like($cancelled->err, qr/canceling statement due to user request/, "$policy: one of them is cancelled");
	$holder->query('SELECT pg_advisory_unlock(2)');
	is($small->result . $small->err, '3400|' . 3400 * 3401 / 2, "$policy: the small table is scanned, locked and dropped");
	is(scalar(grep { $_->done } @scans), 0, "$policy: while the others wait");
	is($_->result . $_->err, $right, "$_->{name}: right") foreach @scans;
	nothing_left($node, $policy, 't');
	$_->quit foreach ($holder, $small, $cancelled, @scans);
	return (stat_sum($node, 'self_reads'), stat_sum($node, 'blocks_read'));
}

# The three ways in which scans wait: for any chunk, for the next one, for the cursor.
foreach my $policy (qw(relevance normal elevator))
{
	my ($self_reads, $blocks_read) = scan_slowly($policy);

	# An ABM that had no CPU for a second would count as stuck once, for each of the three scans that wait; not in each chunk.
	cmp_ok($self_reads, '<=', 3, "$policy: scans do not read for themselves");
	cmp_ok($blocks_read, '>=', $pages, "$policy: the ABM has read the table");
}

$node->stop;
done_testing();
