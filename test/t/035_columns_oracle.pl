# The oracle of indexes of columns: answers from columns are those of the tables, under one snapshot, on the primary and on a standby, while rows
# are written, tables vacuumed, altered and rewritten, row groups built by VACUUM, by functions and by the worker - and while all of that is
# killed in the middle, one step after the other, so that the server starts again and replays.
#
# CSCAN_COLUMNS_SECONDS says how long (20).  CSCAN_COLUMNS_SEED repeats what is drawn.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $seconds = $ENV{CSCAN_COLUMNS_SECONDS} || 20;
my $seed = $ENV{CSCAN_COLUMNS_SEED} || (time * 1000) % 1000000007;
my $rows = 6000;
my @tables = qw(a b p u);
my @indexes = qw(a_columns a_two b_columns u_columns p0_i_v_t_idx p1_i_v_t_idx);
alarm $seconds + $CScanTest::file_limit;
srand($seed);
note("CSCAN_COLUMNS_SEED=$seed");

my $primary = new_node('columns_oracle', init => { allows_streaming => 1 }, conf => q(
autovacuum = on
autovacuum_naptime = 1s
cscan.columns_naptime = 1s
cscan.columns_share = 0.5
max_standby_streaming_delay = -1
random_page_cost = 1
restart_after_crash = on
wal_keep_size = '1GB'
checkpoint_timeout = 30s
));
sql($primary, qq(
	CREATE TABLE a (i int, k int, v bigint, n numeric(8,2), d date, t text, filler text) WITH (fillfactor = 70);
	INSERT INTO a SELECT g, g % 100, g * 7919 % 1000, g / 7.0, date '2020-01-01' + g / 50, 'text ' || g % 37, repeat('x', 200) FROM generate_series(1, $rows) g;
	CREATE TABLE b (LIKE a);
	INSERT INTO b SELECT i, k, nullif(v, 5), n, nullif(d, date '2020-01-09'), CASE WHEN k < 3 THEN repeat(t, 300) ELSE t END, filler FROM a;
	CREATE TABLE p (LIKE a) PARTITION BY HASH (i);
	CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO p TABLE a;
	CREATE TABLE u (LIKE a);
	INSERT INTO u TABLE a;
	VACUUM ANALYZE;
	CREATE INDEX a_columns ON a USING cscan_columns (i, k, v, n, d, t) WITH (row_group_blocks = 64);
	CREATE INDEX a_two ON a USING cscan_columns (v, i) WITH (row_group_blocks = 128);
	CREATE INDEX b_columns ON b USING cscan_columns (t, d, n, v, k, i) WITH (row_group_blocks = 64);
	CREATE INDEX u_columns ON u USING cscan_columns (i, k, v, n, d, t) WITH (row_group_blocks = 64);
	CREATE INDEX ON p USING cscan_columns (i, v, t) WITH (row_group_blocks = 64);
	));

# The rows of a query from columns and from the tables, and whether there were columns.
sql($primary, q(
	CREATE FUNCTION rows_of(q text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE r text;
	BEGIN
		EXECUTE format('SELECT count(*) || %L || coalesce(md5(string_agg(x::text, %L ORDER BY x::text COLLATE "C")), %L) FROM (%s) x', ' rows, ', '|', 'none', q) INTO r;
		RETURN r;
	END $$;
	CREATE FUNCTION twice(q text, workers int) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE line text; plan text := ''; columns text; heap text;
	BEGIN
		PERFORM set_config('max_parallel_workers_per_gather', workers::text, true), set_config('parallel_setup_cost', '0', true),
			set_config('parallel_tuple_cost', '0', true), set_config('min_parallel_table_scan_size', '0', true);
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
		FOR line IN EXECUTE 'EXPLAIN ' || q LOOP plan := plan || line; END LOOP;
		columns := rows_of(q);
		PERFORM set_config('cscan.enabled', 'off', true), set_config('enable_seqscan', 'on', true), set_config('max_parallel_workers_per_gather', '0', true);
		heap := rows_of(q);
		PERFORM set_config('cscan.enabled', 'on', true);
		RETURN CASE WHEN columns = heap THEN 'same' ELSE columns || ' but ' || heap END || CASE WHEN plan LIKE '%CScan Index%' THEN ' columns' ELSE '' END;
	END $$));

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('columns_oracle_standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\n");
$standby->start;

sub up_to { return int rand($_[0] + 1); }
sub any { return $_[rand @_]; }

sub check
{
	my $t = any(@tables);
	my ($i, $k) = (up_to($rows), up_to(99));
	my @columns = $t eq 'p' ? qw(i v t) : qw(i k v n d t);
	my $some = join ', ', grep { rand() < 0.5 } @columns;
	my $where = any('true', "i BETWEEN $i AND $i + 1500", "v < $k * 10", "t = 'text " . up_to(40) . "'", "t LIKE 'text 1%' AND i > $i", 'v IS NULL', "i < $i OR v = $k");
	my $query = 'SELECT ' . any($some || 'i', 'count(*), sum(v), min(t)', 'i, v') . " FROM $t WHERE $where";

	$query = "SELECT x.i, x.v, y.t FROM $t x JOIN " . any(@tables) . " y ON y.i = x.i AND y.v = x.v WHERE x.i BETWEEN $i AND $i + 500" if rand() < 0.1;
	return 'BEGIN ISOLATION LEVEL ' . any('REPEATABLE READ', 'REPEATABLE READ', 'REPEATABLE READ, READ ONLY') . '; SET LOCAL cscan.policy = ' . any(@policies)
	  . "; SELECT twice(\$q\$$query\$q\$, " . any(0, 0, 0, 2) . '); COMMIT';
}

sub change
{
	my ($t, $k) = (any(@tables), up_to(99));

	return any("UPDATE $t SET v = v + 1 WHERE k = $k", "UPDATE $t SET v = (v * 31 + 7) % 1000, t = 'text ' || v % 50 WHERE i % 150 = $k", "DELETE FROM $t WHERE k = $k AND v < 200",
		"INSERT INTO $t SELECT i, k, v + 1, n, d, t, filler FROM a WHERE k = $k", "DELETE FROM $t WHERE ctid = ANY (ARRAY(SELECT ctid FROM $t OFFSET " . 2 * $rows . '))',
		"BEGIN; UPDATE $t SET v = NULL WHERE k = $k; ROLLBACK", "BEGIN; DELETE FROM $t WHERE k = $k; SAVEPOINT s; INSERT INTO $t SELECT i + 1, k, v, n, d, t, filler FROM b WHERE k = $k; "
		  . 'ROLLBACK TO s; COMMIT', "UPDATE $t SET filler = filler WHERE i BETWEEN $k * 50 AND $k * 50 + 200",
		"MERGE INTO u USING a ON u.i = a.i AND a.k = $k WHEN MATCHED THEN UPDATE SET v = a.v WHEN NOT MATCHED AND a.k = $k THEN INSERT VALUES (a.i, a.k, a.v, a.n, a.d, a.t, a.filler)");
}

sub build
{
	my ($t, $index) = (any(qw(a b u p0 p1)), any(@indexes));
	return any(("VACUUM $t") x 3, "VACUUM (INDEX_CLEANUP on) $t", "VACUUM (FREEZE) $t", ("SELECT cscan_columns_fill('$index')") x 4, "REINDEX INDEX $index",
		"REINDEX INDEX CONCURRENTLY $index");
}

sub maintain
{
	my $t = any(qw(a b u p0 p1));
	return any((build()) x 12, "VACUUM FULL $t", "ANALYZE $t", 'CHECKPOINT', 'ALTER TABLE b ADD COLUMN IF NOT EXISTS extra int DEFAULT 5; ALTER TABLE b DROP COLUMN IF EXISTS extra',
		'DROP INDEX a_two; CREATE INDEX a_two ON a USING cscan_columns (v, i) WITH (row_group_blocks = 128)',
		'CREATE INDEX CONCURRENTLY IF NOT EXISTS later ON u USING cscan_columns (v, t, i); DROP INDEX IF EXISTS later',
		'BEGIN; ALTER TABLE p DETACH PARTITION p1; ALTER TABLE p ATTACH PARTITION p1 FOR VALUES WITH (MODULUS 2, REMAINDER 1); COMMIT',
		'BEGIN; TRUNCATE u; INSERT INTO u TABLE a; COMMIT', 'BEGIN; TRUNCATE u; ROLLBACK', 'BEGIN; ALTER TABLE u ALTER v TYPE numeric; ROLLBACK',
		'SELECT count(*) FROM cscan_columns_status', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type LIKE 'cscan %'");
}

my $may_fail = qr/could not serialize access|deadlock detected|tuple to be (updated|deleted|locked) was already|lock timeout|conflict with recovery|does not exist|already exists|invalid index|affect row a second time|statement timeout/;

# REINDEX CONCURRENTLY drops an index that a query on a standby has just found in the catalog.
my $may_fail_there = qr/could not open relation with OID/;
my (@sessions, %query_of, %busy, @wrong, %seen);
my ($checks, $columns, $changes, $crashes, $verified) = (0) x 5;

sub begin_sessions
{
	@sessions = ();
	foreach my $one ((map { [ 'check', $primary ] } 1 .. 3), (map { [ 'check', $standby ] } 1 .. 2), (map { [ 'change', $primary ] } 1 .. 2), [ 'maintain', $primary ])
	{
		my $s = session($one->[1], name => $one->[0]);

		$s->query("SET statement_timeout = '100s'; SET lock_timeout = '3s'");
		$s->{role} = $one->[0];
		$s->{where} = $one->[1] == $standby ? 'standby' : 'primary';
		push @sessions, $s;
	}
	%busy = ();
	return;
}

sub collect
{
	my ($s) = @_;
	my $answer = $s->result;

	if ($s->{role} eq 'check' && $answer =~ /^same/ && $s->err eq '')
	{
		$checks++;
		$columns++ if $answer =~ /columns/;
		$seen{ $s->{where} }++ if $answer =~ /columns/;
		return;
	}
	$changes++ if $s->{role} ne 'check';
	return if $s->{where} eq 'standby' && $s->err =~ $may_fail_there && ($s->query('ROLLBACK') || 1);
	if (($s->{role} eq 'check' && $answer ne '' && $s->err eq '') || ($s->err =~ /ERROR|FATAL|PANIC/ && $s->err !~ $may_fail))
	{
		push @wrong, "$s->{where}: $query_of{$s}\n  $answer " . $s->err;
	}
	$s->query('ROLLBACK');
	return;
}

# All sessions work until then, and have ended.
sub work
{
	my ($until) = @_;
	my $silent = time;

	for (;;)
	{
		my $over = time > $until || @wrong > 5;
		my $moved = 0;

		foreach my $s (@sessions)
		{
			if ($busy{$s})
			{
				next unless $s->done;
				$busy{$s} = 0;
				collect($s);
				$moved = 1;
			}
			next if $over;
			$query_of{$s} = $s->{role} eq 'check' ? check() : $s->{role} eq 'change' ? change() : maintain();
			$s->send($query_of{$s});
			$busy{$s} = 1;
		}
		$silent = time if $moved;
		return if $over && !grep { $_ } values %busy;
		die 'stuck: ' . join("\n", map { $query_of{$_} } grep { $busy{$_} } @sessions) . "\n" if time > $silent + $CScanTest::limit + 60;
		usleep(1000) unless $moved;
	}
}

# Somebody who builds or writes is killed at a step, and the server with him; or the worker or any backend is.
sub crash
{
	my $log = -s $primary->logfile;

	# The others are in the middle of something.
	foreach my $s (grep { $_->{where} eq 'primary' } @sessions)
	{
		$s->send($s->{role} eq 'check' ? check() : $s->{role} eq 'change' ? change() : maintain());
	}
	if (rand() < 0.7)
	{
		my $victim = session($primary, name => 'victim');

		sql($primary, 'UPDATE ' . any(@tables) . ' SET v = v + 1 WHERE k = ' . up_to(99));
		$victim->query("SET cscan.debug_fault = '" . any(qw(store-begun store-block store-written store-published)) . ' kill ' . (1 + up_to(3)) . q('; SET lock_timeout = '2s'));
		foreach (1 .. 10)
		{
			$victim->send(build());
			eval { $victim->result; };
			last if $victim->{gone} || $victim->err =~ /connection/;
		}
	}
	else
	{
		my $pid = sql($primary, q(SELECT pid FROM pg_stat_activity WHERE backend_type IN ('client backend', 'cscan columns', 'cscan columns vacuum', 'autovacuum worker')
			AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1));
		kill 'KILL', $pid if $pid;
	}
	# If none has come there, the postmaster goes.
	my $gone = eval { $primary->wait_for_log(qr/all server processes terminated; reinitializing/, $log) if slurp_file($primary->logfile, $log) =~ /was terminated by signal 9/; 1 };
	if (slurp_file($primary->logfile, $log) !~ /was terminated by signal 9/)
	{
		$primary->stop('immediate');
		$primary->start;
	}
	server_is_up($primary) or die "the server does not come up\n";
	foreach my $s (@sessions)
	{
		eval { $s->result(60) };
		eval { $s->quit };
	}
	$crashes++;
	return $gone;
}

# Each block that an index covers is as in the table, and so it is on the standby.
sub verify
{
	foreach my $server ($primary, $standby)
	{
		my $wrong = sql($server, join ' UNION ALL ', map { "SELECT '$_', v::text FROM cscan_columns_verify('$_') v" } @indexes);

		push @wrong, ($server == $standby ? 'standby' : 'primary') . ": verify: $wrong" if $wrong ne '';
	}
	$verified++;
	return;
}

my $end = time + $seconds;
while ((time < $end || $crashes < 2) && !@wrong)
{
	begin_sessions();
	work(time + 6);
	last if @wrong;
	crash();
	poll($standby, q(SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'), '1') or die "the standby does not stream\n";
	sql($primary, 'DROP INDEX IF EXISTS later, later_ccnew');
	sql($primary, join '; ', map { "REINDEX INDEX $_" } split /\n/, sql($primary, q(SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid AND indexrelid::regclass::text !~ '_cc')));
	sql($primary, join '; ', map { "DROP INDEX $_" } split /\n/, sql($primary, q(SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid)));
	sql($primary, 'CREATE INDEX IF NOT EXISTS a_two ON a USING cscan_columns (v, i) WITH (row_group_blocks = 128)');
	my $lsn = sql($primary, q(SELECT pg_logical_emit_message(true, 'mark', ''); SELECT pg_current_wal_flush_lsn()));
	$lsn =~ s/.*\n//;
	poll($standby, "SELECT pg_last_wal_replay_lsn() >= '$lsn'::pg_lsn") or die "the standby does not follow\n";
	verify();
}
is(join("\n", @wrong), '', "answers are the same, and blocks as in the tables (seed $seed)");
note("$checks checks, $columns of them read columns; $changes changes; $crashes crashes; verified $verified times");
cmp_ok($columns, '>', $seconds, 'columns were read often enough');
cmp_ok($seen{standby} || 0, '>', $seconds / 5, 'on the standby, too');
cmp_ok($changes, '>', $seconds, 'rows changed beside them');
cmp_ok($crashes, '>', 1, 'the server crashed');
unlike(slurp_file($_->logfile), qr/PANIC|TRAP|invalid page|incorrect resource manager/, 'nothing is damaged') foreach ($primary, $standby);
$standby->stop('immediate');
$primary->stop('immediate');
done_testing();
