# Neighbours: whoever else wants a table gets it.  VACUUM FREEZE, ALTER, TRUNCATE
# and DROP come through among scans that come and go; DROP DATABASE works right
# after the last query in it; an idle cursor holds up nobody but whom it would
# hold up in PostgreSQL itself; and there are always buffers left for the others.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $rows = 40000;
my $sum = $rows * ($rows + 1) / 2;
my $right = "$rows|$sum";

my $node = new_node('neighbours');
make_table($node, 't', $rows);
my $abm = wait_for_abm($node);

### VACUUM among scans

# Scans that follow each other: there is always one under way, and none is idle.
my @scans = map { session($node, name => $_, policy => $_) } @policies;
my $neighbour = session($node, name => 'neighbour');
my $looker = session($node, name => 'looker');

# Keeps the scans going until the statement of another session has ended.
sub among_scans
{
	my ($sql, $query, $expected) = @_;
	my ($queries, $wrong) = (0, 0);
	my $end = time + $CScanTest::limit;

	$_->send($query) foreach @scans;
	my $begun = 0;
	until (($begun && $neighbour->done) || time > $end)
	{
		# Scans may be short: whoever waits for the first sight of one must keep them coming.
		if (!$begun && $looker->query('SELECT count(*) > 0 FROM cscan_scans') eq 't')
		{
			$neighbour->send($sql);
			$begun = 1;
		}
		foreach my $s (@scans)
		{
			next unless $s->done;
			$queries++;
			$wrong++ unless $s->result =~ $expected && $s->err eq '';
			$s->send($query);
		}
		usleep(2000);
	}
	my $ended = $begun && $neighbour->done;
	foreach my $s (@scans)
	{
		$wrong++ unless $s->result =~ $expected && $s->err eq '';
		diag("$sql: " . $s->result . $s->err) unless $s->result =~ $expected;
	}
	ok($ended, "among scans: $sql");
	die "$sql did not end\n" unless $ended;
	is($neighbour->result . $neighbour->err, '', 'without an error');
	is($wrong, 0, 'and no scan is wrong');
	return;
}

my $query = slow_query('t', 2000, 0.02);
my $same = qr/^$rows\|$sum$/;
among_scans('VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t', $query, $same);
sql($node, 'UPDATE t SET v = v + 1 WHERE i % 50 = 0');
among_scans('VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t', $query, $same);
# The end of the table is empty: VACUUM would like to cut it off.
sql($node, "INSERT INTO t SELECT i + $rows, k, v, filler FROM t WHERE i <= 2000; DELETE FROM t WHERE i > $rows");
among_scans('VACUUM t', $query, $same);
among_scans('ANALYZE t', $query, $same);
among_scans('CREATE INDEX t_v ON t (v)', $query, $same);
among_scans('REINDEX TABLE t', $query, $same);
among_scans('ALTER TABLE t ADD COLUMN more int DEFAULT 7', $query, $same);
among_scans('ALTER TABLE t ALTER COLUMN more TYPE bigint', $query, $same);
among_scans('CLUSTER t USING t_v', $query, $same);
among_scans('VACUUM FULL t', $query, $same);
nothing_left($node, 'after these neighbours', 't');

### A cursor that is idle in the middle of its scan

{
	my $cursor = session($node, name => 'cursor');
	my $other = session($node, name => 'another scan');

	$cursor->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t');
	is(scalar(split /\n/, $cursor->query('FETCH 5000 FROM c')), 5000, 'a cursor is in the middle of its scan');
	is(sql($node, 'SELECT count(*) FROM cscan_scans'), '1', 'it is registered');

	# Core's own pin stays, on the page that the cursor is at; no other.
	ok(poll($node, q(SELECT count(*) <= 1 FROM pg_buffercache
		WHERE relfilenode = pg_relation_filenode('t') AND pinning_backends > 0)),
		'soon nothing is pinned but the page that it is at');
	is($other->query('SELECT count(*), sum(i) FROM t'), $right, 'another scan is not held up');

	# VACUUM does not wait for a page unless it must freeze; then only for that one.
	$other->query('UPDATE t SET v = v + 1 WHERE i % 100 = 0; VACUUM t');
	is($other->err, '', 'VACUUM is not held up');
	$other->send('VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t');
	my $rest = $cursor->query('FETCH ALL FROM c');
	is(scalar(split /\n/, $rest), $rows - 5000, 'the cursor goes on to its end');
	$cursor->query('COMMIT');
	$other->result;
	is($other->err, '', 'VACUUM FREEZE is through');
	nothing_left($node, 'after the cursor', 't');

	# A cursor that has not begun, and one that is through but not closed, pin nothing.
	$cursor->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t; DECLARE d CURSOR FOR SELECT i FROM t WHERE i < 50');
	$cursor->query('FETCH ALL FROM d');
	$other->query('VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t');
	is($other->err, '', 'VACUUM FREEZE beside cursors that have not begun, or are through');
	is(sql($node, 'SELECT count(*) FROM cscan_scans'), '0', 'which are not registered');
	$cursor->query('COMMIT');

	# It closes, with the scan not at its end.
	$cursor->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t; FETCH 5000 FROM c; CLOSE c');
	is(sql($node, 'SELECT count(*) FROM cscan_scans'), '0', 'CLOSE ends the registration');
	$other->query('VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t');
	is($other->err, '', 'VACUUM FREEZE after CLOSE, in the same transaction');
	$cursor->query('COMMIT');

	# The cursor's own session wants the table for itself: the ABM must let go of
	# its lock, and the scan goes on without it.
	$cursor->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t; FETCH 5000 FROM c');
	$cursor->query('LOCK TABLE t IN ACCESS EXCLUSIVE MODE');
	is($cursor->err, '', 'ACCESS EXCLUSIVE for the session of an open cursor');
	is(sql($node, q(SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND mode = 'AccessShareLock'
		AND pid = (SELECT pid FROM pg_stat_activity WHERE backend_type = 'cscan abm'))), '0', 'the ABM has no lock then');
	is(scalar(split /\n/, $cursor->query('FETCH ALL FROM c')), $rows - 5000, 'and the cursor goes on to its end');
	$cursor->query('COMMIT');
	nothing_left($node, 'after the lock', 't');
	$_->quit foreach ($cursor, $other);
}

### A scan that goes on all the time

# An idle scan is let go of anyway.  These take a page every so often, so that
# they never count as stalled.

sql($node, 'CREATE EXTENSION pg_visibility');
make_table($node, 's', $rows);
sql($node, 'CREATE TABLE t_rows AS TABLE s');

# Asks until the answer is the expected one, as long as the scan goes on and it
# has taken less than so many chunks more.
sub while_it_ambles
{
	my ($scan, $chunks, $sql, $expected) = @_;
	my $end = time + $CScanTest::limit;
	my ($got, $now, $first);

	while (time < $end)
	{
		# -1: it is over.
		($got, $now) = split /\n/, sql($node, "$sql; SELECT coalesce(max(chunks_done), -1) FROM cscan_scans WHERE pid = " . $scan->pid);
		return 1 if $got eq $expected && $now >= 0;
		$first = $now unless defined $first;
		last if $now < 0 || $now >= $first + $chunks;
		usleep(10_000);
	}
	diag("$scan->{name}: $sql\nlast answer: $got");
	return 0;
}

{
	my $holder = session($node, name => 'who holds the key');
	my $waiter = session($node, name => 'who wants the table');

	# Who waits for the table waits for its active scans, too.  So the ABM serves
	# them as before, and lets go when the last of them has ended, or idles.
	foreach my $policy (@policies)
	{
		my $scan = session($node, name => "$policy, ambling", policy => $policy);
		my ($own, $wanted) = ($scan->pid, $waiter->pid);

		# The locks on the table: those that the ABM has, that somebody waits for,
		# that the scan has.
		my $locks = qq(SELECT concat_ws(' ',
			count(*) FILTER (WHERE pid = $abm AND granted),
			count(*) FILTER (WHERE pid = $wanted AND NOT granted),
			count(*) FILTER (WHERE pid = $own AND granted))
			FROM pg_locks WHERE relation = 's'::regclass);

		$holder->query('SELECT pg_advisory_lock(2)');
		$scan->send(ambling_query('s', 17, 2, 0.02));
		ok(poll($node, $locks, '1 0 1'), "$policy: a scan is under way, and the ABM has its lock");
		ok(poll($node, 'SELECT count(*) > 0 FROM cscan_chunks'), "$policy: and chunks");

		# What a page costs the next scan
		is(sql($node, q(SELECT page_cost('t_rows'))), '1.00', "$policy: a page of a table without scans costs what it costs PostgreSQL");
		ok(while_it_ambles($scan, 60, q(SELECT page_cost('s')), '0.75'), "$policy: beside one scan a page costs less");

		# Somebody waits for a while and gives up.
		my $self_reads = stat_sum($node, 'self_reads');
		my $taken = "SELECT coalesce(max(chunks_done), 0) FROM cscan_scans WHERE pid = $own";
		$waiter->send(q(BEGIN; LOCK TABLE s IN ACCESS EXCLUSIVE MODE));
		ok(while_it_ambles($scan, 60, $locks, '1 1 1'), "$policy: somebody waits for the table, and the ABM keeps it");
		my $soon = sql($node, $taken) + 20;
		ok(while_it_ambles($scan, 60, "SELECT max(chunks_done) >= $soon FROM cscan_scans WHERE pid = $own", 't'),
			"$policy: the scan goes on");
		is(sql($node, $locks), '1 1 1', "$policy: as before");
		is(stat_sum($node, 'self_reads'), $self_reads, "$policy: and reads nothing for itself");
		sql($node, 'SELECT pg_cancel_backend(' . $waiter->pid . ')');
		$waiter->result;
		like($waiter->err, qr/canceling statement due to user request/, "$policy: who waits gives up");
		$waiter->query('ROLLBACK');

		# The next one stays.
		$waiter->send(q(BEGIN; LOCK TABLE s IN ACCESS EXCLUSIVE MODE));
		ok(while_it_ambles($scan, 60, $locks, '1 1 1'), "$policy: again somebody waits for the table");
		$holder->query('SELECT pg_advisory_unlock(2)');
		is($scan->result . $scan->err, $right, "$policy: the scan is right");
		is(stat_sum($node, 'self_reads'), $self_reads, "$policy: it has read nothing for itself");
		is($waiter->result . $waiter->err, '', "$policy: then the other one has the table");
		is(sql($node, q(SELECT pid, mode FROM pg_locks WHERE relation = 's'::regclass AND granted)),
			$waiter->pid . '|AccessExclusiveLock', "$policy: for itself");
		$waiter->query('COMMIT');
		nothing_left($node, "$policy, after who wanted the table", 's');

		# A scan that idles does not count.
		$scan->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM s; MOVE 5000 FROM c');
		$waiter->send(q(BEGIN; LOCK TABLE s IN ACCESS EXCLUSIVE MODE));
		ok(poll($node, $locks, '0 1 1'), "$policy: the ABM does not hold a table whose scan idles");
		$scan->query('COMMIT');
		is($waiter->result . $waiter->err, '', "$policy: its end lets the other one have it");
		$waiter->query('COMMIT');
		$scan->quit;
	}

	# A chunk's pins go when VACUUM waits for one of its pages.  A fast scan has the
	# ABM load chunks that one that ambles wants, too; so they stay pinned until it
	# has read them.  Nobody can freeze the page that it has pinned itself, and
	# VACUUM would go behind it from page to page: so it ambles where nothing is to
	# be frozen.  These two policies take chunks in their order, and let a fast scan
	# go ahead of a slow one.
	foreach my $policy ('normal', 'attach')
	{
		my $scan = session($node, name => "$policy, ambling", policy => $policy);
		my $fast = session($node, name => "$policy, fast", policy => $policy);
		my $pins = q(SELECT count(*) FROM pg_buffercache
			WHERE relfilenode = pg_relation_filenode('s') AND pinning_backends > 0);
		my $thawed = q(SELECT count(*) FROM pg_visibility_map('s') WHERE NOT all_frozen);

		# In the second half of the table all rows are to be frozen, and there are
		# dead ones.
		sql($node, 'TRUNCATE s; INSERT INTO s SELECT * FROM t_rows WHERE i <= 20000');
		sql($node, 'VACUUM (FREEZE) s');
		is(sql($node, $thawed), '0', "$policy: half of the table is frozen");
		sql($node, 'INSERT INTO s SELECT * FROM t_rows WHERE i > 20000; UPDATE s SET v = v + 1 WHERE i > 20000 AND i % 50 = 0');
		my $xid = sql($node, 'SELECT pg_current_xact_id()');
		cmp_ok(sql($node, $thawed), '>', 1000, "$policy: the other half is not");

		$holder->query('SELECT pg_advisory_lock(2)');
		$scan->send(ambling_query('s', 17, 2, 0.05));
		ok(poll($node, 'SELECT count(*) FROM cscan_scans', '1'), "$policy: a scan is under way");
		# If that has no CPU for a moment, nothing is kept for it; then once more.
		my $pinned = 0;
		foreach my $try (1 .. 10)
		{
			is($fast->query('SELECT count(*), sum(i) FROM s') . $fast->err, $right, "$policy: a fast one is right") if $try == 1;
			$fast->query('SELECT count(*), sum(i) FROM s') if $try > 1;
			last if ($pinned = sql($node, $pins)) > 200;
		}
		cmp_ok($pinned, '>', 200, "$policy: many pages are pinned for the other one");

		my $done = sql($node, 'SELECT chunks_done FROM cscan_scans');
		$waiter->send('VACUUM (FREEZE) s');
		my ($now, $end) = ($done, time + $CScanTest::limit);
		until ($waiter->done || time > $end)
		{
			$now = sql($node, 'SELECT coalesce(max(chunks_done), -1) FROM cscan_scans');
			last if $now < 0 || $now >= $done + $pinned / 8 / 2;
			usleep(10_000);
		}
		ok($waiter->done, "$policy: VACUUM FREEZE is through before the slow one has read half as many");
		ok(!$scan->done, "$policy: while it goes on");
		note("$policy: $pinned pages were pinned; the slow one has taken chunk $done to $now; now pinned: " . sql($node, $pins));
		$holder->query('SELECT pg_advisory_unlock(2)');
		is($waiter->result . $waiter->err, '', "$policy: VACUUM FREEZE: without an error");
		is($scan->result . $scan->err, $right, "$policy: the ambling one is right");
		is(sql($node, $thawed), '0', "$policy: all pages are frozen");
		is(sql($node, q(SELECT count(*) FROM pg_check_frozen('s'))), '0', "$policy: and all their rows");
		is(sql($node, qq(SELECT relfrozenxid::text::bigint >= $xid FROM pg_class WHERE oid = 's'::regclass)), 't',
			"$policy: and so it is recorded");
		nothing_left($node, "$policy, after VACUUM FREEZE", 's');
		$_->quit foreach ($scan, $fast);
	}
	$_->quit foreach ($holder, $waiter);
	sql($node, 'DROP TABLE s, t_rows');
}

### Sixteen scans at once, and ALTER TABLE

{
	my @many = map { session($node, name => "scan $_ of 16", policy => $policies[$_ % @policies]) } 1 .. 16;

	$neighbour->query('SET lock_timeout = 0');
	my $scans = stat_sum($node, 'scans');
	$_->send(slow_query('t', 400, 0.02)) foreach @many;
	ok(poll($node, "SELECT sum(scans) >= $scans + 16 FROM cscan_stat"), 'sixteen scans are under way');
	$neighbour->send('ALTER TABLE t DROP COLUMN more');
	$neighbour->result;
	is($neighbour->err, '', 'ALTER TABLE gets through sixteen scans');
	is($_->result, $right, "$_->{name}: right") foreach @many;

	# In a transaction that stays open others can have the lock no sooner.
	$_->send(slow_query('t', 4000, 0.02)) foreach @many;
	$neighbour->query(q(SET lock_timeout = '50s'; BEGIN; ALTER TABLE t ADD COLUMN again int; SELECT count(*) FROM t));
	is($neighbour->err, '', 'ALTER TABLE and a scan of its own in one transaction');
	$neighbour->query('COMMIT');
	is($_->result, $right, "$_->{name}: right again") foreach @many;
	$_->quit foreach @many;
	nothing_left($node, 'after sixteen scans', 't');
}

### Buffers for the others

# Eight scans while new sessions start and others want pages.
{
	my @many = map { session($node, name => "scan $_ of 8", policy => $policies[$_ % @policies]) } 1 .. 8;
	set_conf($node, 'cscan.buffer_share' => 0.75);
	poll($node, 'SHOW cscan.buffer_share', '0.75');
	my $loaded = stat_sum($node, 'chunks_loaded');
	$_->send(slow_query('t', 1000, 0.01)) foreach @many;
	poll($node, "SELECT sum(chunks_loaded) > $loaded + 3 FROM cscan_stat");
	is(session($node, name => "new session $_")->query('SELECT count(*) FROM pg_class WHERE relname = $$t$$'), '1',
		"new session $_, among eight scans with the largest share") foreach 1 .. 3;
	is($_->result, $right, "$_->{name}: right") foreach @many;
	is(sql($node, q(SELECT count(*) <= 768 FROM pg_buffercache WHERE pinning_backends > 0)), 't', 'few pages are pinned');
	$_->quit foreach @many;
	set_conf($node, 'cscan.buffer_share' => 0.5);
	nothing_left($node, 'after eight scans', 't');
}

### An idle cursor beside a scan that never waits

# The scan has its next chunk each time that it wants one, and nothing else tells
# the ABM anything: it has to look by itself.
make_table($node, 'u', 20000);
{
	my $cursor = session($node, name => 'idle cursor', policy => 'relevance');
	my $scan = session($node, name => 'steady scan', policy => 'relevance');
	my $done = 'SELECT chunks_done FROM cscan_scans WHERE pid = ' . $scan->pid;

	$cursor->query('BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT i FROM u; FETCH 1000 FROM c');
	is(sql($node, 'SELECT pid FROM cscan_scans'), $cursor->pid, 'an open cursor has a place');
	$scan->send(slow_query('t', 136, 0.025));
	ok(poll($node, "SELECT ($done) >= 30"), 'a scan has read 30 chunks in 0.75 s or more');
	is(sql($node, "SELECT count(*) FROM pg_locks WHERE pid = $abm AND relation = 'u'::regclass"), '0',
		'meanwhile the ABM has let go of the table of an idle cursor');
	sql($node, 'SELECT pg_cancel_backend(' . $scan->pid . ')');
	$scan->result;
	$cursor->query('ROLLBACK');
	$_->quit foreach ($cursor, $scan);
	nothing_left($node, 'after that', 't', 'u');
}

### DROP DATABASE, and moving one

foreach my $policy (@policies)
{
	sql($node, 'CREATE DATABASE gone');
	make_table($node, 'x', 20000, 'gone');
	my @in = map { session($node, name => "scan $_ in a database that goes", db => 'gone', policy => $policy) } 1 .. 2;
	$_->send('SELECT count(*) FROM x') foreach @in;
	is($_->result, '20000', "$policy: $_->{name}") foreach @in;
	$_->quit foreach @in;
	$neighbour->query('DROP DATABASE gone');
	is($neighbour->err, '', "$policy: DROP DATABASE right after the last query");
}

# With queries under way; these end, and then all is gone.
sql($node, 'CREATE DATABASE gone');
CScanTest::prepare($node, 'gone');
make_table($node, 'x', 20000, 'gone');
{
	my @in = map { session($node, name => "scan $_ in a database that goes", db => 'gone', policy => $policies[$_]) } 0 .. 3;
	$_->send(slow_query('x', 100, 0.05)) foreach @in;
	ok(poll($node, 'SELECT count(*) > 0 FROM cscan_chunks'), 'scans are under way in the database');
	$neighbour->query('DROP DATABASE gone WITH (FORCE)');
	is($neighbour->err, '', 'DROP DATABASE WITH (FORCE) among scans');
	$_->result, $_->quit foreach @in;
}

# The ABM has the database's lock once for each table.  They all have to go, and none may come back, even if
# that takes longer than a refused lock is waited for.  The database is a copy of files: nothing of it is in memory.
sql($node, 'CREATE DATABASE model');
CScanTest::prepare($node, 'model');
sql($node, q(
	CREATE TABLE p (i int, k int) PARTITION BY LIST (k);
	DO $$ BEGIN FOR k IN 0..59 LOOP EXECUTE format('CREATE TABLE p_%s PARTITION OF p FOR VALUES IN (%s)', k, k); END LOOP; END $$;
	INSERT INTO p SELECT i, i / 1000 FROM generate_series(0, 60 * 1000 - 1) i;
	ANALYZE p), 'model');
sql($node, 'CREATE DATABASE gone TEMPLATE model STRATEGY file_copy');
sql($node, 'DROP DATABASE model');
{
	my $in = session($node, name => 'a scan of 60 partitions in a database that goes', db => 'gone');
	$in->query('SET cscan.debug_small_scans = on');
	$in->send(slow_query('p', 40, 0.02));
	ok(poll($node, "SELECT count(*) > 60 FROM pg_locks WHERE pid = $abm"), 'a scan of 60 partitions is under way');
	set_conf($node, 'cscan.debug_fault' => "'abm-unlock delay'");
	$neighbour->query('DROP DATABASE gone WITH (FORCE)');
	is($neighbour->err, '', 'DROP DATABASE WITH (FORCE) beside it');
	$in->result;
	like($in->err, qr/terminating connection/, 'it did not wait for the scan to end');
	sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
	reload($node);
	$in->quit;
}
sql($node, 'CREATE DATABASE gone');
make_table($node, 'x', 20000, 'gone');
is(sql($node, 'SELECT count(*) FROM x', 'gone'), '20000', 'a query in a database');
$neighbour->query('CREATE DATABASE copy TEMPLATE gone');
is($neighbour->err, '', 'CREATE DATABASE from it right after');
$neighbour->query('ALTER DATABASE copy RENAME TO copied; DROP DATABASE copied; DROP DATABASE gone');
is($neighbour->err, '', 'ALTER and DROP DATABASE');

nothing_left($node, 'after all', 't');
is(abm_pid($node), $abm, 'the ABM has been the same all the time');
$_->quit foreach (@scans, $neighbour, $looker);
$node->stop;
done_testing();
