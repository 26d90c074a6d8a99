# Elevator's cursor waits for the slowest scan, and the others wait with it; but
# not for ever: one that has waited for 30 seconds for a chunk reads for itself,
# until the cursor moves again.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use Test::More;

# 8 chunks of 4 MB may be pinned.  A page has one row, so that the slow scan takes
# a page often enough not to count as stalled, and has its first chunk for 51 s.
my $node = new_node('patience', conf => q(
shared_buffers = 64MB
cscan.chunk_size = 4MB
));
sql($node, q(
	CREATE TABLE t WITH (fillfactor = 10) AS
		SELECT i, repeat('x', 700) AS filler FROM generate_series(1, 6000) i));
$node->restart;
wait_for_abm($node);

# The other one has to wait for it.  A slow scan that has no CPU for a moment counts
# as stalled, and nobody waits for it; then there is another pair.
my $waited = 0;
until ($waited > 25)
{
	my $slow = session($node, name => 'slow', policy => 'elevator');
	my $fast = session($node, name => 'fast', policy => 'elevator');
	sql($node, 'SELECT cscan_stat_reset()');

	$slow->send('SELECT count(*) FROM t WHERE slow(0.1)');
	ok(poll($node, 'SELECT chunks_done > 0 FROM cscan_scans'), 'a slow scan has its first chunk');

	$fast->query("SET statement_timeout = '120s'");
	$fast->send('SELECT count(*), sum(i) FROM t');
	is($fast->result(120), '6000|18003000', 'another one ends, with the right answer');
	ok(!$slow->done, 'long before the slow one');
	sql($node, 'SELECT pg_cancel_backend(' . $slow->pid . ')');
	$slow->result;
	like($slow->err, qr/canceling statement/, 'the slow one is cancelled');
	$_->quit foreach ($slow, $fast);
	nothing_left($node, 'after that', 't');
	$waited = sql($node, q(SELECT wait_time / 1000 FROM cscan_stat WHERE policy = 'elevator'));
}
cmp_ok(sql($node, q(SELECT self_reads FROM cscan_stat WHERE policy = 'elevator')), '>', 0, 'it has waited, and then read for itself');

$node->stop;
done_testing();
