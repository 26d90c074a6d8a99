# Blocks that are in shared buffers when the ABM loads their chunk are left as
# they were found: a hot page stays as hot as it was, and gets no hotter.

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

$node->stop;
done_testing();
