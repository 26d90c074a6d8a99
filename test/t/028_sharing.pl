# What the scans that ended lately have shared makes the next one cheaper, with
# cscan.page_cost = auto.  Scans that have shared nothing leave it PostgreSQL's
# price.  (What scans that run now do to it is in 006_neighbours.pl.)
#
# Half of what was seen is forgotten in 30 seconds.  It weighs no more than 256
# chunks: ten scans of 40 chunks outweigh twenty that came before.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use Test::More;

my $node = new_node('sharing');

# 40 chunks, of which the ABM can hold all, and some 300.
my $rows = 5440;
my $right = "$rows|" . $rows * ($rows + 1) / 2;
make_table($node, 'shared', $rows);
make_table($node, 'alone', 40000);
$node->restart;
wait_for_abm($node);
abm_serves($node, 'alone') or die "the ABM does not serve\n";

# The planner's price is that of cscan_page_cost(), but for what is forgotten between two looks.
my $price = q(SELECT page_cost('shared'));
sub says_so
{
	my ($name, $when) = @_;

	is(sql($node, "SET cscan.page_cost = auto; SELECT abs(cscan_page_cost('$name') - page_cost('$name')) < 0.05"), 't', "$when: cscan_page_cost() says so");
	return;
}
is(sql($node, $price), '1.00', 'a page of a table that was never scanned costs what it costs PostgreSQL');
says_so('shared', 'never scanned');
is(sql($node, "SET cscan.page_cost = 0.7; SELECT cscan_page_cost('shared')"), '0.7', 'a number is a number');

### Scans that share

# A slow scan wants what is loaded for a fast one, so that the others find it.
my $holder = session($node, name => 'who holds the key');
my $slow = session($node, name => 'slow');
sql($node, 'VACUUM FULL shared');
$holder->query('SELECT pg_advisory_lock(2)');
$slow->send(ambling_query('shared', 17, 2, 0.02));
ok(poll($node, 'SELECT count(*) FROM cscan_scans', '1'), 'a scan is under way');
is(sql($node, 'SELECT count(*), sum(i) FROM shared'), $right, "scan $_ beside it: right") foreach 1 .. 20;
$holder->query('SELECT pg_advisory_unlock(2)');
is($slow->result . $slow->err, $right, 'the slow one: right');
$slow->quit;
is(sql($node, 'SELECT count(*) FROM cscan_scans'), '0', 'no scan is left');

# If the slow one has no CPU for a moment, something is read twice.
cmp_ok(sql($node, $price), '<', 0.8, 'after scans that shared most of their chunks a page costs less');
says_so('shared', 'shared');
is(sql($node, q(SELECT page_cost('alone'))), '1.00', 'that of another table costs as much as before');

### Scans that share nothing

# Each reads a file that nobody has read.
foreach my $scan (1 .. 3)
{
	sql($node, 'VACUUM FULL alone');
	my $loaded = stat_sum($node, 'chunks_loaded');
	sql($node, 'SELECT count(*), sum(i) FROM alone');
	cmp_ok(stat_sum($node, 'chunks_loaded') - $loaded, '>', 200, "scan $scan alone: the ABM loads its chunks");
	is(sql($node, q(SELECT page_cost('alone'))), '1.00', "scan $scan alone: the next one costs what it costs PostgreSQL");
}
sql($node, 'VACUUM FULL shared; SELECT count(*), sum(i) FROM shared') foreach 1 .. 10;
cmp_ok(sql($node, $price), '>', 0.6, 'after scans that shared nothing a page of a table that was shared costs more again');
says_so('shared', 'in the end');

### What has no such price

sql($node, 'CREATE VIEW v AS SELECT 1; CREATE INDEX btree ON shared (i); CREATE SEQUENCE s');
foreach my $other (qw(v btree s))
{
	like(sql_fails($node, "SET cscan.page_cost = auto; SELECT cscan_page_cost('$other')"), qr/"$other" is neither a table nor an index of columns/, "$other: refused");
}
nothing_left($node, 'in the end', qw(shared alone));

$holder->quit;
$node->stop;
done_testing();
