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
my @scans = map { session($node, name => "scan $_", policy => $policies[$_ % 4]) } 1 .. 4;
my $neighbour = session($node, name => 'neighbour');

# Keeps the scans going until the statement of another session has ended.
sub among_scans
{
	my ($sql, $query, $expected) = @_;
	my ($queries, $wrong) = (0, 0);
	my $end = time + $CScanTest::limit;

	$_->send($query) foreach @scans;
	poll($node, 'SELECT count(*) > 0 FROM cscan_chunks');
	$neighbour->send($sql);
	until ($neighbour->done || time > $end)
	{
		foreach my $s (@scans)
		{
			next unless $s->done;
			$queries++;
			$wrong++ unless $s->result =~ $expected && $s->err eq '';
			$s->send($query);
		}
		usleep(2000);
	}
	my $ended = $neighbour->done;
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

### Sixteen scans at once, and ALTER TABLE

{
	my @many = map { session($node, name => "scan $_ of 16", policy => $policies[$_ % 4]) } 1 .. 16;

	$neighbour->query('SET lock_timeout = 0');
	$_->send(slow_query('t', 4000, 0.02)) foreach @many;
	ok(poll($node, 'SELECT count(*) > 0 FROM cscan_scans'), 'sixteen scans are under way');
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
	my @many = map { session($node, name => "scan $_ of 8", policy => $policies[$_ % 4]) } 1 .. 8;
	set_conf($node, 'cscan.buffer_share' => 0.75);
	poll($node, 'SHOW cscan.buffer_share', '0.75');
	$_->send(slow_query('t', 1000, 0.01)) foreach @many;
	poll($node, 'SELECT count(*) > 3 FROM cscan_chunks');
	is(session($node, name => "new session $_")->query('SELECT count(*) FROM pg_class WHERE relname = $$t$$'), '1',
		"new session $_, among eight scans with the largest share") foreach 1 .. 3;
	is($_->result, $right, "$_->{name}: right") foreach @many;
	is(sql($node, q(SELECT count(*) <= 768 FROM pg_buffercache WHERE pinning_backends > 0)), 't', 'few pages are pinned');
	$_->quit foreach @many;
	set_conf($node, 'cscan.buffer_share' => 0.5);
	nothing_left($node, 'after eight scans', 't');
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
sql($node, 'CREATE DATABASE gone');
make_table($node, 'x', 20000, 'gone');
is(sql($node, 'SELECT count(*) FROM x', 'gone'), '20000', 'a query in a database');
$neighbour->query('CREATE DATABASE copy TEMPLATE gone');
is($neighbour->err, '', 'CREATE DATABASE from it right after');
$neighbour->query('ALTER DATABASE copy RENAME TO copied; DROP DATABASE copied; DROP DATABASE gone');
is($neighbour->err, '', 'ALTER and DROP DATABASE');

nothing_left($node, 'after all', 't');
is(abm_pid($node), $abm, 'the ABM has been the same all the time');
$_->quit foreach (@scans, $neighbour);
$node->stop;
done_testing();
