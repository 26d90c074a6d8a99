# Company: cscan beside other libraries in shared_preload_libraries, before them
# and behind them.  The server starts, the ABM is there, CScans give the right
# answers, the others see what they would see, and nothing stays behind.
#
# pg_stat_statements and auto_explain come with PostgreSQL.  What else is not
# installed is left out, with a note.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 40000;
my $right = "$rows|" . $rows * ($rows + 1) / 2;
my $whole = 'SELECT count(*), sum(i) FROM t';
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
  . 'SET max_parallel_workers_per_gather = 2';

my $node = new_node('company', conf => qq(
max_worker_processes = 16
compute_query_id = on
enable_indexonlyscan = off
));
make_table($node, $_, $rows) foreach qw(t u);
sql($node, 'ALTER TABLE t ADD PRIMARY KEY (i); CREATE INDEX t_k ON t (k); ALTER TABLE u ADD PRIMARY KEY (i); ANALYZE t, u');
my $pages = sql($node, q(SELECT pg_relation_size('t') / 8192));

### Who is there

my $lib = sql($node, q(SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'));
my %have;
foreach my $name (qw(pg_hint_plan pg_qualstats pg_cron pg_repack))
{
	$have{$name} = -e "$lib/$name.so";
	note("$name is not installed: left out") unless $have{$name};
}

# pg_repack is a program and functions, not a library to be loaded at start.
my @company = ('pg_stat_statements', 'auto_explain', grep { $have{$_} } qw(pg_hint_plan pg_qualstats pg_cron));

my %conf = (
	pg_stat_statements => q(
pg_stat_statements.track = all
pg_stat_statements.track_planning = on
),
	auto_explain => q(
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_verbose = on
auto_explain.log_buffers = on
),
	pg_qualstats => q(
pg_qualstats.sample_rate = 1
),
	pg_cron => q(
cron.database_name = 'postgres'
cron.use_background_workers = on
));
$node->append_conf('postgresql.conf', $conf{$_} || '') foreach @company;

# What was written to the server's log since it was so long.
sub logged_since
{
	my ($size) = @_;
	return slurp_file($node->logfile, $size);
}

### In both orders

foreach my $order ([ 'cscan', @company ], [ reverse(@company), 'cscan' ])
{
	my $list = join(', ', @$order);
	my $where = $order->[0] eq 'cscan' ? 'cscan first' : 'cscan last';

	note("shared_preload_libraries = '$list'");
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$list'\n");
	$node->restart;
	is(sql($node, 'SHOW shared_preload_libraries'), $list, "$where: the server starts with $list");
	my $abm = wait_for_abm($node);
	like($abm, qr/^\d+$/, "$where: there is an ABM");
	sql($node, "CREATE EXTENSION IF NOT EXISTS $_") foreach grep { $_ ne 'cscan' && $_ ne 'auto_explain' } @$order;

	# A query under each policy, seen by those who look on.
	sql($node, 'SELECT pg_stat_statements_reset()');
	my $size = -s $node->logfile;
	foreach my $policy (@policies)
	{
		is(sql($node, "SET cscan.policy = $policy; $whole"), $right, "$where, $policy: right");
		my $plan = sql($node, "SET cscan.policy = $policy; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $whole");
		like($plan, qr/Custom Scan \(CScan\) on t .*rows=$rows.*CScan Policy: $policy/s, "$where, $policy: a CScan");
	}
	my $log = logged_since($size);
	my $seen = () = $log =~ /duration: [^\n]* plan:\n\s*Query Text: \Q$whole\E\n(?:(?!Query Text).)*?Custom Scan \(CScan\) on public\.t /sg;
	cmp_ok($seen, '>=', scalar @policies, "$where: auto_explain has logged a CScan for each query");
	ok($log =~ /CScan Policy: $_\n/, "$where: and its policy, $_") foreach @policies;
	ok($log =~ /CScan Chunks: [1-9]/, "$where: and its counts");

	my $seen_as = q(FROM pg_stat_statements WHERE toplevel AND query = 'SELECT count(*), sum(i) FROM t');
	is(sql($node, "SELECT calls, rows $seen_as"), @policies . '|' . @policies, "$where: pg_stat_statements has counted the queries");
	is(sql($node, "SELECT shared_blks_hit + shared_blks_read >= " . @policies * $pages . " $seen_as"), 't', "$where: and their pages");
	is(sql($node, "SELECT plans, total_plan_time > 0 $seen_as"), @policies . '|t', "$where: and their planning");

	# Several at once.
	my @many = map { session($node, name => "$where, scan $_ of 8", policy => $policies[$_ % @policies]) } 1 .. 8;
	$_->send(slow_query('t', 4000, 0.01)) foreach @many;
	is($_->result . $_->err, $right, "$_->{name}: right") foreach @many;
	$_->quit foreach @many;

	# Other kinds of CScans.
	$size = -s $node->logfile;
	is(sql($node, "$parallel; $whole"), $right, "$where: a parallel query is right");
	like(logged_since($size), qr/Gather.*Parallel Custom Scan \(CScan\) on public\.t .*loops=[23]/s,
		"$where: auto_explain has logged its parallel CScan");
	my $bitmap = 'SET enable_seqscan = off; SET enable_indexscan = off; SET cscan.page_cost = 0';
	like(sql($node, "$bitmap; EXPLAIN (ANALYZE) SELECT * FROM t WHERE k < 20"), qr/Custom Scan \(CScan\) on t .*Bitmap Index Scan on t_k/s,
		"$where: a CScan with a bitmap");
	is(sql($node, "$bitmap; SELECT count(*), sum(k) FROM t WHERE k < 20"), '8000|76000', "$where: and it is right");
	is(sql($node, "PREPARE p (int) AS $whole WHERE i > \$1; SET plan_cache_mode = force_generic_plan; SET enable_indexscan = off; "
		. 'SET enable_bitmapscan = off; EXECUTE p (0); EXECUTE p (0)'), "$right\n$right", "$where: a prepared statement is right");
	is(scalar(split /\n/, sql($node, 'BEGIN; DECLARE c CURSOR FOR SELECT i FROM t; MOVE 1000 FROM c; FETCH ALL FROM c; COMMIT')),
		$rows - 1000, "$where: a cursor has all its rows");
	is(sql($node, 'SELECT count(*) FROM t JOIN u USING (k) WHERE t.i <= 1000 AND u.i <= 1000'), '10000', "$where: a join is right");
	is(sql($node, 'DO $$ BEGIN PERFORM FROM t, generate_series(1, 2) WHERE v = -1; END $$; SELECT 1'), '1', "$where: a query in a function");
	like(sql_fails($node, 'SELECT 1 / (i - 30000) FROM t'), qr/division by zero/, "$where: a query that fails, fails");
	is(sql($node, q(SELECT is_cscan FROM cscan_why_not('SELECT * FROM t'))), 't', "$where: cscan_why_not knows its CScan");
	my $modified = sql($node, 'BEGIN; UPDATE t SET v = v WHERE v = 3; DELETE FROM u; SELECT count(*) FROM u; ROLLBACK');
	is($modified, '0', "$where: UPDATE and DELETE");

	# Hints.  A Seq Scan that was hinted is a CScan like any other one.
	if ($have{pg_hint_plan})
	{
		my $small = 'SELECT count(*), sum(i) FROM t WHERE k = 7';
		my $answer = '400|' . 400 * 7 + 100 * 400 * 399 / 2;
		my $load = 'SET pg_hint_plan.enable_hint = on';
		my %hints = (
			'SeqScan(t)' => qr/(Seq Scan on t|Custom Scan \(CScan\) on t(?!.*Bitmap))/s,
			'NoSeqScan(t)' => qr/(Index|Bitmap Heap) Scan|Custom Scan \(CScan\) on t.*Bitmap Index Scan/s,
			'IndexScan(t)' => qr/Index Scan using t_k on t/,
			'IndexScan(t t_k)' => qr/Index Scan using t_k on t/,
			'BitmapScan(t)' => qr/Bitmap Index Scan on t_k/,
			'BitmapScan(t t_k) Set(cscan.enabled off)' => qr/Bitmap Heap Scan on t.*Bitmap Index Scan on t_k/s,
			'SeqScan(t) Set(cscan.enabled off)' => qr/Seq Scan on t/,
			'TidScan(t)' => qr/Scan/,
			'SeqScan(t) Set(cscan.policy elevator)' => qr/Scan/,
			'Rows(t t #10)' => qr/Scan/,
		);

		$answer = sql($node, "SET cscan.enabled = off; $small");
		foreach my $hint (sort keys %hints)
		{
			my $plan = sql($node, "$load; EXPLAIN /*+ $hint */ $small");
			like($plan, $hints{$hint}, "$where: the hint $hint works");
			note("$hint: " . join(' ', $plan =~ /((?:Parallel )?(?:Seq Scan|Index Scan|Bitmap Heap Scan|Bitmap Index Scan|Custom Scan \(CScan\)) (?:using \w+ )?on \w+)/g));
			is(sql($node, "$load; /*+ $hint */ $small"), $answer, "$where: with $hint it is right");
		}
		# A condition that all rows meet: without a hint a scan of all of it is best by far.
		my $all = 'SELECT count(*), sum(i), min(v) >= 0 FROM t WHERE i > 0';
		like(sql($node, "$load; EXPLAIN $all"), qr/(Seq Scan|CScan\)) on t/, "$where: without a hint all of it is scanned");
		foreach my $hint (qw(IndexScan(t) NoSeqScan(t)))
		{
			my $plan = sql($node, "$load; EXPLAIN /*+ $hint */ $all");
			like($plan, qr/Index (Only )?Scan/, "$where: the hint $hint holds against it");
			unlike($plan, qr/CScan(?!.*Bitmap)/s, "$where: and leaves no CScan of all of it");
			is(sql($node, "$load; /*+ $hint */ $all"), "$right|t", "$where: and it is right");
		}
		like(sql($node, "$load; EXPLAIN /*+ BitmapScan(t) */ $all"), qr/Bitmap Index Scan on t_pkey/,
			"$where: the hint BitmapScan(t) holds against it");
		like(sql($node, "$load; EXPLAIN /*+ SeqScan(t) */ $whole"), qr/Custom Scan \(CScan\) on t/, "$where: SeqScan(t) leaves a CScan where one would be");
		like(sql($node, "$load; EXPLAIN /*+ Parallel(t 2 hard) */ $whole"), qr/Gather.*Parallel Custom Scan \(CScan\) on t/s,
			"$where: the hint Parallel(t 2 hard) works");
		is(sql($node, "$load; /*+ Parallel(t 2 hard) */ $whole"), $right, "$where: and it is right");
		foreach my $join (qw(HashJoin MergeJoin NestLoop))
		{
			my $joined = 'SELECT count(*) FROM t JOIN u USING (i) WHERE u.k = 7 AND t.v < 500';
			my $name = { HashJoin => 'Hash Join', MergeJoin => 'Merge Join', NestLoop => 'Nested Loop' }->{$join};
			like(sql($node, "$load; EXPLAIN /*+ Leading((t u)) $join(t u) */ $joined"), qr/$name/, "$where: the hint $join(t u) works");
			is(sql($node, "$load; /*+ Leading((t u)) $join(t u) */ $joined"), sql($node, "SET cscan.enabled = off; $joined"),
				"$where: and it is right");
		}
		is(sql($node, "$load; SET pg_hint_plan.debug_print = off; /*+ NoSuchHint(t) */ $whole"), $right, "$where: a hint that does not exist");
	}

	# It looks at the conditions of PostgreSQL's own scans, and of no custom scan.
	if ($have{pg_qualstats})
	{
		sql($node, 'SELECT pg_qualstats_reset()');
		is(sql($node, 'SELECT count(*) FROM t WHERE v = 77'), '40', "$where: a query with a condition");
		my $quals = sql($node, q(SELECT count(*) FROM pg_qualstats WHERE lrelid = 't'::regclass));
		note("$where: pg_qualstats has seen $quals conditions of a CScan");
		is(sql($node, 'SET cscan.enabled = off; SELECT count(*) FROM t WHERE v = 77'), '40', "$where: and without a CScan");
		is(sql($node, q(SELECT count(*) FROM pg_qualstats WHERE lrelid = 't'::regclass) ), '1', "$where: pg_qualstats collects");
	}

	nothing_left($node, "$where, after these queries", 't', 'u');

	# A background worker's query.
	# Before 1.5 it knows no seconds: one wait for the next minute is enough.
	my $seconds = $have{pg_cron} && sql($node, q(SELECT string_to_array(substring(extversion FROM '^\d+\.\d+'), '.')::int[] >= '{1,5}'
		FROM pg_extension WHERE extname = 'pg_cron')) eq 't';
	if ($have{pg_cron} && ($seconds || $where eq 'cscan first'))
	{
		my $when = $seconds ? '1 second' : '* * * * *';
		my $scans = stat_sum($node, 'scans');

		sql($node, 'DROP TABLE IF EXISTS cron_answers; CREATE TABLE cron_answers (n bigint, s bigint)');
		sql($node, "SELECT cron.schedule('scan', '$when', 'INSERT INTO cron_answers SELECT count(*), sum(i) FROM t')");
		# Once a minute, at its beginning.
		local $CScanTest::limit = 75;
		ok(poll($node, 'SELECT count(*) > 0 FROM cron_answers'), "$where: pg_cron has run a query");
		is(sql($node, q(SELECT DISTINCT * FROM cron_answers)), $right, "$where: it is right");
		cmp_ok(stat_sum($node, 'scans'), '>', $scans, "$where: it was a CScan");
		sql($node, q(SELECT cron.unschedule('scan')));
		ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'pg_cron'), '0'), "$where: the job is over");
		nothing_left($node, "$where, after pg_cron", 't');
	}

	# A table is made anew under the scans of it.
	if ($have{pg_repack} && -x "$lib/../bin/pg_repack")
	{
		my @scans = map { session($node, name => "$where, $_ beside pg_repack", policy => $_) } @policies;
		my ($out, $err) = ('', '');

		sql($node, 'CREATE EXTENSION IF NOT EXISTS pg_repack');
		my $file = sql($node, q(SELECT pg_relation_filenode('t')));
		$_->send(slow_query('t', 2000, 0.02)) foreach @scans;
		poll($node, 'SELECT count(*) > 0 FROM cscan_scans');
		my $run = IPC::Run::start([ "$lib/../bin/pg_repack", '-h', $node->host, '-p', $node->port, '-d', 'postgres', '-t', 'public.t',
			'--no-kill-backend', '-T', '50' ], '>', \$out, '2>', \$err, IPC::Run::timeout($CScanTest::limit));
		is($_->result . $_->err, $right, "$_->{name}: right") foreach @scans;
		$run->finish;
		is($run->result(0), 0, "$where: pg_repack is through") or diag("$out$err");
		isnt(sql($node, q(SELECT pg_relation_filenode('t'))), $file, "$where: the table is another file");
		$_->send($whole) foreach @scans;
		is($_->result . $_->err, $right, "$_->{name}: right again") foreach @scans;
		$_->quit foreach @scans;
		sql($node, 'DROP EXTENSION pg_repack');
		nothing_left($node, "$where, after pg_repack", 't');
	}

	# The ABM goes and comes, and the whole server.
	is(abm_pid($node), $abm, "$where: the ABM has been the same all the time");
	sql($node, "SELECT pg_terminate_backend($abm)");
	isnt(wait_for_abm($node, $abm), $abm, "$where: another ABM comes");
	is(sql($node, $whole), $right, "$where: a query is right");
	nothing_left($node, "$where, at the end", 't', 'u');
	unlike(slurp_file($node->logfile), qr/PANIC: |TRAP: |was terminated by signal/, "$where: nothing has crashed");
	sql($node, "DROP EXTENSION IF EXISTS $_ CASCADE") foreach grep { $_ ne 'cscan' && $_ ne 'auto_explain' } @$order;
}

$node->stop;
done_testing();
