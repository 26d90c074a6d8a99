# Of a chunk only those pages are loaded that somebody wants: chunks of 64
# pages, of which each scan wants three or four here and there; under each policy, in a new server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('pieces', conf => qq(
shared_buffers = 64MB
cscan.chunk_size = 512kB
cscan.page_cost = 0
enable_seqscan = off
enable_indexscan = off
seq_page_cost = 10
random_page_cost = 10
));

# 2,353 pages of 17 rows: one page in 20 has a row of each kind, so the gaps are too long to be read through.
make_table($node, 't', 40000);
sql($node, 'CREATE INDEX t_kind ON t ((i % 340)); VACUUM ANALYZE t');
my $query = 'SELECT count(*), sum(i), count(DISTINCT (ctid::text::point)[0]) FROM t WHERE i % 340 =';
my %right = map { $_ => sql($node, "SET cscan.enabled = off; $query $_") } 5, 180;
my ($pages) = $right{5} =~ /\|(\d+)$/;
my ($others) = $right{180} =~ /\|(\d+)$/;
is("$pages $others", '118 118', 'pages that the two queries want');

# Blocks that the ABM has read since the server started. (It may give up at once what the kernel hands out in no time, and read it again.)
sub blocks_read { return stat_sum($node, 'blocks_read'); }

foreach my $policy (@policies)
{
	$node->restart;
	wait_for_abm($node);
	my $set = "SET cscan.policy = $policy";
	like(sql($node, "$set; EXPLAIN $query 5"), qr/Custom Scan \(CScan\).*Bitmap Index Scan on t_kind/s, "$policy: a bitmap drives it");
	is(sql($node, "$set; $query 5"), $right{5}, "$policy: a page here and there");
	is(blocks_read(), $pages, "$policy: these are loaded and no others");
	is(sql($node, "$set; $query 180"), $right{180}, "$policy: others of the same chunks");
	is(blocks_read(), $pages + $others, "$policy: these are loaded, and no others");
	is(stat_sum($node, 'self_reads'), 0, "$policy: by the ABM alone");

	# Four at once, of which each finds chunks half loaded, for others: none reads more than it would alone.
	$node->restart;
	wait_for_abm($node);
	my @sessions = map { session($node, name => "$policy $_", policy => $policy) } 0 .. 3;
	$sessions[$_]->send("$query " . (5, 180)[ $_ % 2 ]) foreach 0 .. 3;
	is($sessions[$_]->result, $right{ (5, 180)[ $_ % 2 ] }, "$policy: scan $_ of four") foreach 0 .. 3;
	cmp_ok(blocks_read(), '<=', 2 * ($pages + $others), "$policy: nothing but what they want");
	$_->quit foreach @sessions;
	nothing_left($node, $policy, 't');
}

# What it has read it reports in pg_stat_io before it goes to sleep, which may be for ten seconds.
SKIP:
{
	my $major = int(sql($node, 'SHOW server_version_num') / 10000);
	skip 'there is no pg_stat_io', 2 if $major < 16;
	my $bytes = $major < 18 ? 'reads * op_bytes' : 'read_bytes';
	foreach my $query_again (1, 2)
	{
		$node->restart;
		wait_for_abm($node);
		sql($node, "SELECT pg_stat_reset_shared('io')");
		sql($node, "$query 5");
		is(CScanTest::last_answer($node, "SELECT sum($bytes) / 8192 >= $pages FROM pg_stat_io WHERE backend_type = 'background worker' AND object = 'relation'",
				't', 5), undef, 'all that the ABM has read is in pg_stat_io');
	}
}

done_testing();
