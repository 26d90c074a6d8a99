# Scans below another extension's CustomScan nodes are CScans, too, at a CScan's
# price.  test/module puts such a node above each scan of a table.  It hands on
# rows as they come, and keeps the scan where extensions keep their children
# (custom_plans).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Cwd qw(abs_path);
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $config = $ENV{PG_CONFIG} || 'pg_config';
chomp(my $headers = `$config --includedir-server`);
# The server's own headers are not ours to keep free of warnings.
is(system('make', '-s', '-C', 'test/module', "PG_CONFIG=$config", 'with_llvm=no', "COPT=-Wall -Wextra -Werror -isystem $headers"),
	0, 'the other extension is built without a warning');
my $module = abs_path('test/module') . '/pass_through';

my $rows = 20000;
my $node = new_node('custom_plans', conf => "shared_preload_libraries = 'cscan, $module'\nenable_indexonlyscan = off\n");
make_table($node, 't', $rows);
sql($node, q(
	CREATE INDEX ON t (v);
	CREATE TABLE p (LIKE t) PARTITION BY RANGE (i);
	CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (9000);
	CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (9000) TO (100000);
	INSERT INTO p TABLE t;
	VACUUM ANALYZE t, p));
my $pages = sql($node, q(SELECT pg_relation_size('t') / 8192));

my $whole = 'SELECT count(*), sum(i) FROM t';
my $bitmaps = 'SET cscan.page_cost = 0; SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off';
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
  . 'SET max_parallel_workers_per_gather = 2';
my $above = qr/Custom Scan \(PassThrough\)[^\n]*\n +-> +/;
my %queries = (
	'whole' => [ '', $whole, qr/${above}Custom Scan \(CScan\) on t / ],
	'without columns' => [ '', 'SELECT count(*) FROM t', qr/${above}Custom Scan \(CScan\) on t / ],
	'system columns' => [ '', 'SELECT max(ctid), min(tableoid::regclass::text), sum(v) FROM t WHERE k < 50', qr/${above}Custom Scan \(CScan\) on t / ],
	'range' => [ '', q(SELECT count(*), sum(i) FROM t WHERE ctid >= '(100,3)' AND ctid < '(900,2)'), qr/${above}Custom Scan \(CScan\) on t / ],
	'bitmap' => [ $bitmaps, 'SELECT count(*), sum(i) FROM t WHERE v < 30',
		qr/${above}Custom Scan \(CScan\) on t [^\n]*\n(?! *-> +BitmapAnd)(?:[^\n]*\n)*? +-> +Bitmap Index Scan on t_v_idx / ],
	'parallel' => [ $parallel, $whole, qr/Gather .*${above}Parallel Custom Scan \(CScan\) on t /s ],
	'partitions' => [ '', 'SELECT count(*), sum(i) FROM p',
		qr/Append .*${above}Custom Scan \(CScan\) on p1 .*${above}Custom Scan \(CScan\) on p2 /s ],
	'rescans' => [ 'SET enable_memoize = off; SET enable_material = off',
		'SELECT sum(n), sum(s) FROM (VALUES (0), (1), (2)) x (x), LATERAL (SELECT count(*) n, sum(i) s FROM t WHERE k >= x) y',
		qr/Nested Loop .*${above}Custom Scan \(CScan\) on t /s ],
	'in a subquery' => [ '', 'SELECT (SELECT sum(i) FROM t), (SELECT count(*) FROM p1)',
		qr/${above}Custom Scan \(CScan\) on t .*${above}Custom Scan \(CScan\) on p1 /s ],
	'rows that are locked' => [ '', 'SELECT count(*), sum(i) FROM (SELECT i FROM t WHERE k < 3 FOR UPDATE) x',
		qr/LockRows .*${above}Custom Scan \(CScan\) on t /s ]);

foreach my $order ("cscan, $module", "$module, cscan")
{
	my $where = $order =~ /^cscan/ ? 'cscan first' : 'cscan last';

	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$order'\n");
	$node->restart;
	wait_for_abm($node);
	foreach my $name (sort keys %queries)
	{
		my ($prepare, $query, $plan) = @{ $queries{$name} };

		# An extension that is loaded before cscan wraps paths before cscan has added its bitmaps.
		next if $name eq 'bitmap' && $where eq 'cscan last';
		like(sql($node, "$prepare; EXPLAIN $query"), $plan, "$where, $name: a CScan is below the other extension's node");
		my $wanted = sql($node, "$prepare; SET cscan.enabled = off; SET pass_through.enabled = off; $query");
		is(sql($node, "$prepare; SET cscan.policy = $_; $query"), $wanted, "$where, $name, $_: right") foreach @policies;
	}
	is(sql($node, "SELECT relation, is_cscan FROM cscan_why_not('$whole')"), 't|t', "$where: cscan_why_not() finds it");
	my $scans = stat_sum($node, 'scans');
	sql($node, $whole);
	is(stat_sum($node, 'scans') - $scans, 1, "$where: it is announced");
	nothing_left($node, $where, qw(t p1 p2));

	# The plan that has a CScan has its price, if the other extension has left it to wrap.
	my ($own) = sql($node, "SET cscan.enabled = off; EXPLAIN $whole") =~ /Seq Scan on t  \(cost=0\.00\.\.([0-9.]+)/;
	my $explained = sql($node, "EXPLAIN $whole");
	my ($outer) = $explained =~ /\(PassThrough\)  \(cost=0\.00\.\.([0-9.]+)/;
	my ($inner) = $explained =~ /\(CScan\) on t  \(cost=0\.00\.\.([0-9.]+)/;
	my $discount = $where eq 'cscan first' ? $pages * 0.5 : 0;
	is(sprintf('%.2f %.2f', $own - $outer, $own - $inner), sprintf('%.2f %.2f', $discount, $discount), "$where: its price");
}

$node->stop;
done_testing();
