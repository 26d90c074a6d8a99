# Families where something goes wrong: their place goes to others in mid-scan, and there is another one for what is left, or none;
# an error, an interrupt or the end of the session at each step; loops that have a family in one pass and none in the next; tables
# that are attached, detached, emptied and dropped meanwhile; members that are no plain tables.  All rows come, each once, and nothing stays behind.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $rows = 20000;
my $right = "$rows|" . $rows * ($rows + 1) / 2;
my @tables = qw(t f f_1 f_2 f_3 f_4);

my $node = new_node('families', conf => "cscan.max_scans = 2\ncscan.debug_fault = ''\n");
make_table($node, 't', $rows);
sql($node, qq(
	CREATE TABLE f (LIKE t) PARTITION BY RANGE (i);
	CREATE TABLE f_1 PARTITION OF f FOR VALUES FROM (1) TO (5001);
	CREATE TABLE f_2 PARTITION OF f FOR VALUES FROM (5001) TO (10001);
	CREATE TABLE f_3 PARTITION OF f FOR VALUES FROM (10001) TO (10011);
	CREATE TABLE f_4 PARTITION OF f FOR VALUES FROM (10011) TO (20001);
	INSERT INTO f TABLE t;
	CREATE INDEX ON f (k);
	VACUUM ANALYZE f;
	));
my $abm = wait_for_abm($node);
my $gatekeeper = session($node, name => 'gatekeeper');
my $only_bitmaps = 'SET cscan.page_cost = 0; SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off';
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
  . 'SET max_parallel_workers_per_gather = 2';

### In mid-scan the place goes to others

# A scan that keeps its place, since one with helpers never counts as idle.  It gets one as soon as the ABM has seen that somebody
# else is idle, so it is begun again until then.
sub keep_place
{
	my ($n) = @_;
	my $until = time + $CScanTest::limit;
	my $s = session($node, name => "keeper $n");

	$s->query($parallel);
	while (time < $until)
	{
		$s->send(ambling_query('t', 20, 2, 0.05));
		poll($node, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND @{[$s->pid]} IN (pid, leader_pid)");
		return $s if sql($node, 'SELECT count(*) FROM cscan_scans WHERE pid = ' . $s->pid);
		sql($node, 'SELECT pg_cancel_backend(' . $s->pid . ')');
		$s->result;
		usleep(20_000);
	}
	die "there is no place for keeper $n\n";
}

my %kinds = (whole => ['', ''], bitmap => [ $only_bitmaps, ' AND k BETWEEN 0 AND 99' ], columns => [ 'SET cscan.columns = on', '' ]);
set_conf($node, 'cscan.columns', 'off');
sql($node, 'CREATE INDEX f_columns ON f USING cscan_columns (i, k) WITH (row_group_blocks = 64)');
my $turn = 0;
foreach my $policy (@policies)
{
	foreach my $kind (sort keys %kinds)
	{
		my ($prepare, $condition) = @{ $kinds{$kind} };
		my $s = session($node, name => "$policy, $kind", policy => $policy);

		foreach my $places ('another place', 'no other place')
		{
			my $what = "$policy, $kind, $places";
			my $query = gated_query('f', 2000 + 5500 * ($turn++ % 4), 1) . $condition;

			$gatekeeper->query('SELECT pg_advisory_lock(1), pg_advisory_lock(2)');
			$s->query($prepare) if $prepare;
			like(sql($node, "$prepare; EXPLAIN $query"), qr/Append.*CScan.*CScan.*CScan/s, "$what: a family");
			$s->send($query);
			ok(wait_waiting($node, 1), "$what: in mid-scan");
			is(sql($node, 'SELECT count(*), max(tables) FROM cscan_scans'), '1|3', "$what: one scan of three tables, as the fourth is small");
			my $left = sql($node, 'SELECT chunks_total - chunks_done FROM cscan_scans');

			my @keepers = map { keep_place($_) } 1 .. 2;
			is(sql($node, 'SELECT count(*) FROM cscan_scans WHERE pid = ' . $s->pid), '0', "$what: others have got both places");
			if ($places eq 'another place')
			{
				$gatekeeper->query('SELECT pg_advisory_unlock(2)');
				$_->result foreach @keepers;
			}
			my $scans = stat_sum($node, 'scans');
			$gatekeeper->query('SELECT pg_advisory_unlock(1)');
			is($s->result . $s->err, $right, "$what: all rows, each once");

			# A chunk that is left alone is not announced; which is the last depends on what is in memory.
			is(stat_sum($node, 'scans') - $scans, $places eq 'another place' && $left > 1 ? 1 : 0,
				"$what: what was left, $left chunks, was announced as it could be");
			$gatekeeper->query('SELECT pg_advisory_unlock(2)') if $places ne 'another place';
			is(join(' ', map { $_->result . $_->err } @keepers), "$right $right", "$what: so it is with the others");
			$_->quit foreach @keepers;
			is($s->query($query) . $s->err, $right, "$what: once more, without loss");
			nothing_left($node, $what, @tables);
		}
		$s->quit;
	}
}

# Members that have had no chunk as yet are read in chunks, too, where no other place is to be had.
foreach my $kind (sort keys %kinds)
{
	my ($prepare, $condition) = @{ $kinds{$kind} };
	my $s = session($node, name => "$kind, explained", policy => 'normal');

	$gatekeeper->query('SELECT pg_advisory_lock(1), pg_advisory_lock(2)');
	$s->query($prepare) if $prepare;
	$s->send('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' . gated_query('f', 2000, 1) . $condition);
	ok(wait_waiting($node, 1), "$kind: in mid-scan");
	my @keepers = map { keep_place($_) } 1 .. 2;
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	my $plan = $s->result . $s->err;
	$gatekeeper->query('SELECT pg_advisory_unlock(2)');
	$_->result foreach @keepers;
	$_->quit foreach ($s, @keepers);

	my @chunks = $plan =~ /CScan Chunks: (\d+)/g;
	my @alone = $plan =~ /CScan Chunks Self-Read: (\d+)/g;
	is(scalar(grep { $alone[$_] > $chunks[$_] } 0 .. $#chunks), 0, "$kind: no more of each than were announced") or diag($plan);
	cmp_ok($chunks[-1], '>', $kind eq 'columns' ? 5 : 10, "$kind: and these were many");
	like($plan, qr/CScan Index: f_4/, "$kind: they are row groups") if $kind eq 'columns';
	nothing_left($node, "$kind, explained", @tables);
}

sql($node, q(CREATE FUNCTION chunks_of(name text) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE plan jsonb;
	BEGIN
		EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) SELECT sum(i) FROM ' || name INTO plan;
		RETURN jsonb_path_query_first(plan, 'strict $.**."CScan Chunks"');
	END $$));

# The chunks are smaller by the time that there is another place: some of a new one may have been read.
foreach my $kind (sort grep { $_ ne 'columns' } keys %kinds)
{
	my ($prepare, $condition) = @{ $kinds{$kind} };
	my $s = session($node, name => "$kind, other chunks", policy => 'normal');

	$gatekeeper->query('SELECT pg_advisory_lock(1), pg_advisory_lock(2)');
	$s->query($prepare) if $prepare;
	$s->send(gated_query('f', 2000, 1) . $condition);
	ok(wait_waiting($node, 1), "$kind: in mid-scan");
	my @keepers = map { keep_place($_) } 1 .. 2;
	set_conf($node, 'cscan.buffer_share', '0.05');
	$gatekeeper->query('SELECT pg_advisory_unlock(2)');
	$_->result foreach @keepers;
	$_->quit foreach @keepers;
	ok(poll($node, q(SELECT chunks_of('f_4') > pg_relation_size('f_4') / 8192 / 7)), "$kind: chunks are smaller now");
	is(sql($node, 'SELECT count(*) FROM cscan_scans'), '0', "$kind: there are places");
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	is($s->result . $s->err, $right, "$kind: with other chunks all rows come, each once");
	$s->quit;
	set_conf($node, 'cscan.buffer_share', '0.5');
	nothing_left($node, "$kind, other chunks", @tables);
}

sql($node, 'DROP INDEX f_columns');
delete $kinds{columns};

# Where no place is to be had from the beginning, nobody waits for one.
{
	my $s = session($node, name => 'without a place');
	$gatekeeper->query('SELECT pg_advisory_lock(2)');
	my @keepers = map { keep_place($_) } 1 .. 2;
	is(sql($node, 'SELECT count(*) FROM cscan_scans'), '2', 'both places are taken');
	is($s->query('SELECT count(*), sum(i) FROM f') . $s->err, $right, 'a family without a place: right');
	is($s->query("$only_bitmaps; SELECT count(*), sum(i) FROM f WHERE k BETWEEN 0 AND 99") . $s->err, $right, 'likewise with bitmaps');
	is($s->query("$parallel; SELECT count(*), sum(i) FROM f WHERE k BETWEEN 0 AND 99") . $s->err, $right, 'and with workers');
	$gatekeeper->query('SELECT pg_advisory_unlock(2)');
	is(join(' ', map { $_->result . $_->err } @keepers), "$right $right", 'those that had the places: right');
	$_->quit foreach ($s, @keepers);
	nothing_left($node, 'after families without a place', @tables);
}

$gatekeeper->quit;
$node->append_conf('postgresql.conf', "cscan.max_scans = 16\n");
$node->restart;
$abm = wait_for_abm($node);

### A loop that has a family in one pass, one member in the next, and then none

{
	my $s = session($node, name => 'loop');
	my $loop = 'SELECT max(n), sum(c), count(*) FROM (SELECT c, registered(c) AS n
		FROM generate_series(0, 59) x, LATERAL (SELECT count(*) AS c FROM f WHERE i <= (ARRAY[15000, 3000, 0])[x % 3 + 1]) y OFFSET 0) z';

	# PostgreSQL asks a volatile function each time, and a view's function once.
	sql($node, 'CREATE FUNCTION registered(bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
		BEGIN RETURN (SELECT count(*) FROM cscan_scans); END $$');
	$s->query('SET enable_memoize = off; SET enable_material = off');
	foreach my $policy (@policies)
	{
		my $got = $s->query("SET cscan.policy = $policy; $loop");
		my ($registered, $sum, $passes) = split /\|/, $got;
		is("$sum|$passes" . $s->err, 20 * 18000 . '|60', "$policy: a loop with a family now and then is right");
		cmp_ok($registered, '<=', 4, "$policy: and what it registers it gives back, or uses again");
		nothing_left($node, "$policy, after the loop", @tables);
	}

	# A member of a chunk and a half registers by itself in each other pass, and rests while there is a family.
	sql($node, qq(
		CREATE TABLE g (LIKE t) PARTITION BY RANGE (i);
		CREATE TABLE g_1 PARTITION OF g FOR VALUES FROM (1) TO (2001);
		CREATE TABLE g_2 PARTITION OF g FOR VALUES FROM (2001) TO (4001);
		CREATE TABLE g_small PARTITION OF g FOR VALUES FROM (4001) TO (5001);
		INSERT INTO g SELECT * FROM t WHERE i <= 4000;
		));
	my $i = 4000;
	while (sql($node, q(SELECT pg_relation_size('g_small') / 8192)) < 12)
	{
		sql($node, "INSERT INTO g SELECT * FROM t WHERE i > $i AND i <= $i + 10");
		$i += 10;
	}
	sql($node, 'VACUUM ANALYZE g');
	is($s->query("SELECT max(registered(c)) <= 2, sum(c) FROM (SELECT c FROM generate_series(0, 99) x,
		LATERAL (SELECT count(*) AS c FROM g WHERE i > (ARRAY[0, 4000])[x % 2 + 1]) y OFFSET 0) z") . $s->err,
		't|' . (50 * $i + 50 * ($i - 4000)), 'a member that is alone in each other pass does not register anew each time');
	nothing_left($node, 'after a member that is alone in each other pass', @tables, qw(g g_1 g_2 g_small));
	$s->quit;
}

### Something goes wrong at each step

my $whole = 'SELECT count(*), sum(i) FROM f';
my $bitmap = "$whole WHERE k BETWEEN 0 AND 99";
my $rescan = 'SELECT sum(n), sum(s) FROM (VALUES (0), (0)) x (x), LATERAL (SELECT count(*) n, sum(i) s FROM f WHERE i > x + 0) y';
my %steps = (
	(map { $_ => [ $_, '', $whole ] } qw(begin register registered chunk page leave left)),
	bitmap => [ 'bitmap', $only_bitmaps, $bitmap, 2 ],
	rescan => [ 'rescan', 'SET enable_memoize = off', $rescan ],
	worker => [ 'join', "$parallel; SET parallel_leader_participation = off", $whole ],
	'worker at a page' => [ 'page', "$parallel; $only_bitmaps; SET parallel_leader_participation = off", $bitmap, 200 ],
	'leader that makes bitmaps' => [ 'bitmap', "$parallel; $only_bitmaps", $bitmap, 2 ]);

$turn = 0;
foreach my $step (sort keys %steps)
{
	my ($place, $prepare, $query, $number) = @{ $steps{$step} };

	$number ||= 1;
	foreach my $action (qw(error memory wait fatal))
	{
		my $s = session($node, name => "$action at $step", policy => $policies[ $turn++ % @policies ]);
		my %told = (
			error => qr/injected error at "$place"/, memory => qr/out of memory\nDETAIL:  Injected at "$place"/,
			fatal => qr/injected fatal error at "$place"/,
			wait => qr/canceling statement due to statement timeout/);

		# When it has left it does not listen.
		next if $action eq 'wait' && $place =~ /^le/;
		$s->query("SET statement_timeout = '300ms'") if $action eq 'wait';
		$s->query("$prepare; SET cscan.debug_fault = '$place $action $number'");
		$s->query($query);
		like($s->err, $told{$action}, "$step, $action: it is told");
		next if $action eq 'fatal';
		is($s->query("SET statement_timeout = 0; RESET cscan.debug_fault; $query") . $s->err, $step eq 'rescan' ? 2 * $rows . '|' . $rows * ($rows + 1) : $right,
			"$step, $action: then its query is right");
		$s->quit;
	}
	nothing_left($node, $step, @tables);
}

### Its tables come and go

{
	my %readers;
	my $ddl = session($node, name => 'DDL');
	my @changes = (
		'ALTER TABLE f ATTACH PARTITION more FOR VALUES FROM (30001) TO (40001)',
		'BEGIN; TRUNCATE more; ROLLBACK',
		'BEGIN; ALTER TABLE f DETACH PARTITION f_3; INSERT INTO f_3 SELECT 1, 1, 1, filler FROM t; ROLLBACK',
		'VACUUM (FULL) more', 'ALTER TABLE more ALTER COLUMN filler SET STORAGE EXTERNAL',
		'ALTER TABLE f DETACH PARTITION more CONCURRENTLY',
		'DROP TABLE more; CREATE TABLE more AS SELECT i + 30000 AS i, k, v, filler FROM t WHERE i <= 3000');
	my %seen;

	$ddl->query("CREATE TABLE more AS SELECT i + 30000 AS i, k, v, filler FROM t WHERE i <= 3000");
	foreach my $policy (@policies)
	{
		my $s = $readers{$policy} = session($node, name => "reader, $policy", policy => $policy);

		$s->query("PREPARE q AS SELECT count(*) || ' ' || count(DISTINCT i) FROM f WHERE i > \$1");
		$s->query($turn++ % 2 ? $parallel : 'SET plan_cache_mode = force_generic_plan');
	}
	foreach my $round (1 .. 5)
	{
		$_->send(join '; ', ('EXECUTE q(0)') x 8) foreach values %readers;
		foreach my $change (@changes)
		{
			$ddl->query($change);
			is($ddl->err, '', "round $round: " . substr($change, 0, 40));
		}
		foreach my $s (values %readers)
		{
			$seen{$_}++ foreach split /\n/, $s->result;
			is($s->err, '', "round $round: $s->{name} has no error");
		}
	}
	delete $seen{"$_ $_"} foreach ($rows, $rows + 3000);
	is(join(', ', %seen), '', 'whoever reads meanwhile finds the new table, or does not');
	$_->quit foreach ($ddl, values %readers);
	nothing_left($node, 'after tables that came and went', @tables);
}

### Members of other kinds beside, and members elsewhere

{
	my ($host, $port) = ($node->host, $node->port);
	my $place = $node->basedir . '/elsewhere';
	my @kinds = ('CScan', 'Foreign Scan', 'Seq Scan on m_access_method');

	mkdir $place or die "$place: $!";
	sql($node, qq(
		CREATE TABLESPACE elsewhere LOCATION '$place';
		CREATE ACCESS METHOD another TYPE TABLE HANDLER heap_tableam_handler;
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'postgres', async_capable 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER loopback;
		CREATE TABLE m (LIKE t) PARTITION BY RANGE (i);
		CREATE TABLE m_1 PARTITION OF m FOR VALUES FROM (1) TO (5001);
		CREATE TABLE m_2 PARTITION OF m FOR VALUES FROM (5001) TO (10001) TABLESPACE elsewhere;
		CREATE TABLE m_unlogged (LIKE t);
		ALTER TABLE m_unlogged SET UNLOGGED;
		CREATE TABLE m_access_method (LIKE t) USING another;
		ALTER TABLE m ATTACH PARTITION m_unlogged FOR VALUES FROM (10001) TO (12001);
		ALTER TABLE m ATTACH PARTITION m_access_method FOR VALUES FROM (12001) TO (14001);
		CREATE TABLE there_1 AS SELECT * FROM t WHERE i BETWEEN 14001 AND 16000;
		CREATE TABLE there_2 AS SELECT * FROM t WHERE i BETWEEN 16001 AND 18000;
		CREATE FOREIGN TABLE m_foreign_1 PARTITION OF m FOR VALUES FROM (14001) TO (16001) SERVER loopback OPTIONS (table_name 'there_1');
		CREATE FOREIGN TABLE m_foreign_2 PARTITION OF m FOR VALUES FROM (16001) TO (18001) SERVER loopback OPTIONS (table_name 'there_2');
		CREATE TABLE m_default PARTITION OF m DEFAULT;
		INSERT INTO m SELECT * FROM t WHERE i <= 14000 OR i > 18000;
		VACUUM ANALYZE m_1, m_2, m_unlogged, m_access_method, m_default, there_1, there_2;
		));
	foreach my $policy (@policies)
	{
		my $s = session($node, name => $policy, policy => $policy);

		foreach my $with ('', 'SET enable_async_append = off', $parallel)
		{
			my $what = "$policy, mixed members" . ($with && ", $with");
			my $plan = $s->query("$with; EXPLAIN (COSTS OFF) SELECT count(*), sum(i) FROM m");

			is(join(', ', grep { $plan =~ /\Q$_/ } @kinds), join(', ', @kinds), "$what: of all kinds");
			is($s->query('SELECT count(*), sum(i) FROM m') . $s->err, $right, "$what: right");
			is($s->query('SELECT count(*), count(DISTINCT y.i) FROM generate_series(1, 20000, 3000) x,
				LATERAL (SELECT i FROM m WHERE i BETWEEN x AND x + 2999) y') . $s->err, "$rows|$rows", "$what: again and again, pruned");
			is($s->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*), sum(i) FROM m; COMMIT') . $s->err, $right, "$what: serializable");
		}
		$s->quit;
	}
	nothing_left($node, 'after mixed members', qw(m m_1 m_2 m_unlogged m_default));
}

is(abm_pid($node), $abm, 'the ABM is the same');
$node->stop;

### Members of at most one chunk: a page costs less where they share, in a family, and nowhere else

{
	my $large = new_node('large', conf => "cscan.chunk_size = '4MB'\ncscan.page_cost = 1\n");

	make_table($large, 't', $rows);
	sql($large, q(
		CREATE TABLE f (LIKE t) PARTITION BY RANGE (i);
		CREATE TABLE f_1 PARTITION OF f FOR VALUES FROM (1) TO (5001);
		CREATE TABLE f_2 PARTITION OF f FOR VALUES FROM (5001) TO (20001);
		INSERT INTO f TABLE t;
		VACUUM ANALYZE f;
		CREATE FUNCTION cost_of_f_1(query text) RETURNS numeric LANGUAGE plpgsql AS $$
			DECLARE
				plan jsonb;
			BEGIN
				EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
				RETURN jsonb_path_query_first(plan, 'strict $.** ? (@."Relation Name" == "f_1")')->>'Total Cost';
			END $$;
		CREATE FUNCTION page_cost_of_f_1(query text) RETURNS numeric LANGUAGE plpgsql AS $$
			DECLARE
				full_cost numeric := cost_of_f_1(query);
				half_cost numeric;
			BEGIN
				SET LOCAL cscan.page_cost = 0.5;
				half_cost := cost_of_f_1(query);
				SET LOCAL cscan.page_cost = 1;
				RETURN 1 - round((full_cost - half_cost) / (SELECT relpages FROM pg_class WHERE relname = 'f_1'), 2);
			END $$));
	my $settings = 'SET max_parallel_workers_per_gather = 0; ';
	foreach (
		[ 'SELECT * FROM f', '0.50|t' ],
		[ 'SELECT count(*) FROM f', '0.50|t' ],
		[ 'SELECT * FROM f ORDER BY v LIMIT 3', '0.50|t' ],
		[ 'SELECT * FROM f_1 UNION ALL SELECT * FROM f_2', '0.50|t' ],
		[ 'SELECT * FROM f_1', '1.00|f' ],
		[ 'SELECT * FROM f WHERE i < 5001', '1.00|f' ],
		[ 'SELECT * FROM f LIMIT 3', '1.00|f' ],
		[ 'SELECT * FROM f FOR UPDATE', '1.00|f' ],
		[ 'UPDATE f SET v = 0', '1.00|f' ])
	{
		my ($query, $is) = @$_;
		is(sql($large, $settings . "SELECT page_cost_of_f_1('$query'), bool_or(family IS NOT NULL) FROM cscan_why_not('$query') WHERE relation = 'f_1'::regclass"),
			$is, "$query: what a page costs, and whether there is a family");
	}
	is(sql($large, $settings . q(SET enable_partitionwise_join = on; SET enable_nestloop = off; SET enable_mergejoin = off;
		SELECT page_cost_of_f_1('SELECT * FROM f JOIN f g USING (i)'))), '1.00', 'below a join of partitions, too');
	$large->stop;
}

### Partitions that have more chunks of the usual size than there are numbers: the same query reads larger ones

{
	my $many = new_node('many', conf => "cscan.chunk_size = '64kB'\n");
	my @files;

	sql($many, q(
		CREATE TABLE f (i int, v text) PARTITION BY LIST (i);
		SELECT format('CREATE TABLE f_%s PARTITION OF f FOR VALUES IN (%s)', n, n) FROM generate_series(1, 20) n \gexec
		INSERT INTO f SELECT n, 'v' FROM generate_series(1, 20) n));
	@files = split /\n/, sql($many, "SELECT pg_relation_filepath(relid) FROM pg_partition_tree('f') WHERE isleaf");
	is(scalar(@files), 20, 'there are partitions');
	sql($many, 'VACUUM ANALYZE f');
	$many->stop;
	truncate $many->data_dir . "/$_", 1024 * 1024 * 1024 or die "$_: $!" foreach @files;
	$many->start;
	my $s = session($many);
	$s->send('SET max_parallel_workers_per_gather = 0; SELECT count(*) FROM f');
	ok(poll($many, "SELECT count(*) = 1 AND min(tables) = 20 FROM cscan_scans"), 'all partitions of a GB each are one scan');
	is(sql($many, 'SELECT min(chunks_total) FROM cscan_scans'), 20 * 2048, '... of chunks of 512 kB');
	sql($many, 'SELECT pg_cancel_backend(' . $s->pid . ')');
	$s->result;
	nothing_left($many, 'after many chunks', 'f_1');
	$many->stop;
}
done_testing();
