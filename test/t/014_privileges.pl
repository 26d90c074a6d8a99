# What somebody without privileges can learn of others, set for others, and hold
# up: scans that are begun and left, in as many cursors as can be registered, by
# one session or by many, once or again and again.
# (test/pgtap/privileges.sql has what one session can show.)

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
my $whole = 'SELECT count(*), sum(i) FROM t';
my $max_scans = 16;

# A cursor reads the head of its table before it registers: one chunk, 8 pages.
my $head = 200;

# How long the ABM may hold a chunk whose scans are all idle, in seconds.
my $soon = 3;

my $node = new_node('privileges', conf => "cscan.max_scans = $max_scans\nlog_lock_waits = off\n");
make_table($node, $_, $rows) foreach qw(t u);
sql($node, q(
	CREATE ROLE hostile LOGIN;
	CREATE ROLE victim LOGIN;
	CREATE ROLE ender LOGIN IN ROLE pg_signal_backend;
	GRANT SELECT ON t TO hostile;
	GRANT SELECT ON t, u TO victim;
	CREATE TABLE secret_table AS TABLE u;
	ALTER TABLE secret_table OWNER TO victim));
my $abm = wait_for_abm($node);

# A statement of a role: what it says, or its error.
sub as_role
{
	my ($role, $sql, $options) = @_;
	local $ENV{PGUSER} = $role;
	local $ENV{PGOPTIONS} = $options if $options;
	my ($out, $err, $timed_out) = ('', '', 0);

	# It dies where there is no connection.
	eval
	{
		$node->psql('postgres', $sql, stdout => \$out, stderr => \$err, timeout => $CScanTest::limit, timed_out => \$timed_out);
		1;
	} or $err = $@;
	die "took longer than $CScanTest::limit seconds: $sql\n" if $timed_out;
	return $err ne '' ? $err : $out;
}

sub session_of
{
	my ($role, $name, %how) = @_;
	local $ENV{PGUSER} = $role;
	return session($node, name => $name, %how);
}

### Settings

is(as_role('hostile', 'SELECT current_user, rolsuper FROM pg_roles WHERE rolname = current_user'), 'hostile|f', 'hostile is nobody');
foreach my $setting ("cscan.buffer_share = 0", "cscan.chunk_size = '1MB'", 'cscan.max_scans = 1', "cscan.debug_fault = 'chunk kill'",
	'cscan.enabled = off', 'cscan.policy = elevator', 'cscan.min_table_size = 0', 'cscan.page_cost = 10')
{
	my ($name) = $setting =~ /^(\S+)/;
	my $server_wide = $name =~ /share|chunk_size|max_scans|fault/;

	like(as_role('hostile', "ALTER SYSTEM SET $setting"), qr/ERROR: .*permission denied/, "ALTER SYSTEM SET $setting: not for hostile");
	like(as_role('hostile', "ALTER DATABASE postgres SET $setting"), qr/ERROR: .*(must be owner|cannot be changed)/, "nor ALTER DATABASE");
	like(as_role('hostile', "ALTER ROLE victim SET $setting"), qr/ERROR: .*(permission denied|cannot be changed|must)/, 'nor ALTER ROLE of another one');
	next unless $server_wide;
	my $refused = qr/ERROR: .*(permission denied|cannot be changed)/;
	like(as_role('hostile', "ALTER ROLE hostile SET $setting"), $refused, 'nor ALTER ROLE of itself');
	like(as_role('hostile', "SET $setting"), $refused, 'nor SET');
	my ($value) = $setting =~ /= (.*)/;
	$value = "'$value'" unless $value =~ /^'/;
	like(as_role('hostile', "SELECT set_config('$name', $value, false)"), $refused, 'nor set_config()');
	like(as_role('hostile', "UPDATE pg_settings SET setting = $value WHERE name = '$name'"), $refused, 'nor UPDATE pg_settings');
	like(as_role('hostile', "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql SET $setting AS 'SELECT 1'; SELECT pg_temp.f()"), $refused,
		'nor a function that would set it');
	$value =~ s/ /\\ /g;
	$value =~ s/'//g;
	like(as_role('hostile', 'SELECT 1', "-c $name=$value"), qr/(permission denied|cannot be (changed|set))/, 'nor as it connects');
}
is(as_role('hostile', 'SELECT pg_reload_conf()') =~ /permission denied/, 1, 'nor has it the configuration loaded anew');
like(as_role('hostile', 'SELECT cscan_stat_reset()'), qr/permission denied for function cscan_stat_reset/, 'nor cscan_stat_reset()');
like(as_role('hostile', "SELECT pg_terminate_backend($abm)"), qr/ERROR: .*(permission denied|must)/, 'nor does it end the ABM');
like(as_role('ender', "SELECT pg_terminate_backend($abm)"), qr/ERROR: .*(permission denied|must)/, 'nor does a member of pg_signal_backend');
is(abm_pid($node), $abm, 'which is still there');

### What there is to see

{
	my $victim = session_of('victim', 'victim');
	my $all = q(SELECT count(*) FILTER (WHERE relid = 'secret_table'::regclass) FROM cscan_scans);

	$victim->query('BEGIN; DECLARE c CURSOR FOR SELECT * FROM secret_table WHERE i < 30000; MOVE 1000 FROM c');
	is(sql($node, $all), '1', 'a scan of a table that hostile may not read');
	like(as_role('hostile', 'SELECT * FROM secret_table'), qr/permission denied/, 'which it may not');
	is(as_role('hostile', 'SELECT count(*) FROM cscan_scans'), '0', 'hostile does not see the scan');
	is(as_role('hostile', 'SELECT count(*) FROM cscan_scans()'), '0', 'nor by the function');
	is(as_role('victim', 'SELECT count(*) FROM cscan_scans'), '1', 'victim does');

	# Not even that anybody reads it
	is(as_role('hostile', "SELECT count(*) FROM $_"), '0', "$_ tells nothing of it") foreach qw(cscan_relations cscan_chunks);
	is(sql($node, q(SELECT string_agg(c.relname || '.' || attname, ' ') FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
		WHERE c.relname IN ('cscan_chunks', 'cscan_relations', 'cscan_stat') AND attnum > 0 AND
			attname ~ 'pid|query|user|role|name|range|blocked' AND attname <> 'users')), '', 'none of these has a column that says who, or what he asked');
	foreach my $view (qw(cscan_scans cscan_chunks cscan_relations cscan_stat))
	{
		foreach my $change ("DELETE FROM $view", "INSERT INTO $view DEFAULT VALUES", "DROP VIEW $view", "CREATE OR REPLACE VIEW $view AS SELECT 1")
		{
			like(as_role('hostile', $change), qr/ERROR: /, "hostile: $change");
		}
	}

	# Another's function, run by victim, shows hostile its own scans only.
	is(as_role('hostile', 'SET ROLE victim; SELECT count(*) FROM cscan_scans') =~ /permission denied/, 1, 'hostile cannot be victim');
	like(as_role('hostile', q(SELECT * FROM cscan_why_not('SELECT * FROM secret_table'))), qr/permission denied for table secret_table/,
		'cscan_why_not plans nothing of it for hostile');
	like(as_role('hostile', q(PREPARE p AS SELECT 1; SELECT * FROM cscan_why_not('EXECUTE p'))), qr/ERROR: .*utility/, 'nor a statement that would run another one');
	$victim->query('COMMIT');

	# Nor does who scans a table himself see what others do there: victim is at its beginning, hostile far behind that.
	my $hostile = session_of('hostile', 'hostile', policy => 'normal');
	my $behind = 200;
	my $there = 'SELECT count(*) FROM cscan_chunks WHERE chunk < ' . $behind;
	$hostile->query('BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; MOVE ' . ($behind + 20) * 8 * 17 . ' FROM c');
	$victim->query("SET cscan.policy = normal; BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; MOVE 1000 FROM c");
	is(sql($node, 'SELECT count(*) FROM cscan_scans'), '2', 'two scans of a table');
	is(sql($node, 'SELECT scans FROM cscan_relations'), '2', 'a superuser is told that there are two');
	is(as_role($_, 'SELECT scans FROM cscan_relations'), '1', "$_ is told of one") foreach qw(hostile victim);
	# While victim is idle the ABM may let go of them.
	my $seen = 0;
	foreach my $round (1 .. 100)
	{
		$victim->query('MOVE 200 FROM c');
		$seen = sql($node, $there);
		last if $seen > 0;
	}
	cmp_ok($seen, '>', 0, 'a superuser sees chunks that victim has had loaded');
	is(as_role('hostile', $there), '0', 'hostile does not');
	is(as_role('hostile', 'SELECT count(*) FROM cscan_chunks WHERE greatest(interested, starved, users) > 1'), '0', 'and is told of its own interest only');
	$_->query('COMMIT') foreach ($victim, $hostile);
	$_->quit foreach ($victim, $hostile);
	nothing_left($node, 'after what there is to see', 't');
}

### Scans of a parallel query, which never lose their places

{
	my $key = session($node, name => 'who has the key');
	my $hostile = session_of('hostile', 'hostile');
	my $victim = session_of('victim', 'victim');
	my $parallel = join('; ', map { "SET $_ = 0" } qw(parallel_setup_cost parallel_tuple_cost min_parallel_table_scan_size));

	$key->query('SELECT pg_advisory_lock(7)');
	$hostile->query("$parallel; SET max_parallel_workers_per_gather = 2");
	$hostile->send('SELECT pg_advisory_lock(7) FROM (' . join(' UNION ALL ', ('SELECT i FROM t') x 40) . ') x LIMIT 1');
	ok(poll($node, q(SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)),
		'a parallel query of 40 scans that nobody reads from');
	my $held = sql($node, 'SELECT count(*) FROM cscan_scans WHERE pid = ' . $hostile->pid);
	cmp_ok($held, '>', 0, 'it has places');
	cmp_ok($held, '<=', 4, 'but few');
	$victim->query('BEGIN; ' . join('; ', map { "DECLARE c$_ CURSOR FOR SELECT * FROM u; MOVE 1000 FROM c$_" } 1 .. 5));
	is(sql($node, 'SELECT count(*) FROM cscan_scans WHERE pid = ' . $victim->pid), '5', 'others have theirs');
	$key->query('SELECT pg_advisory_unlock(7)');
	$hostile->result;
	$victim->query('COMMIT');
	$_->quit foreach ($key, $hostile, $victim);
	nothing_left($node, 'after the parallel query', 't', 'u');
}

### As many cursors as there is room for

# The ABM's pins are those that no cursor has itself: each has one page pinned,
# the one that its last row came from; one for the cursors of one session.  Those
# that found no place read for themselves, and ahead as PostgreSQL's own do.
sub pins
{
	return sql($node, q(SELECT coalesce(sum(pinning_backends), 0) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('t')));
}

sub wait_unpinned
{
	my ($own) = @_;
	my $begun = time;
	my $pins;

	while (time < $begun + $CScanTest::limit)
	{
		$pins = pins();
		last if $pins <= $own;
		usleep(20_000);
	}
	my $took = time - $begun;
	note(sprintf("pins: %d, of the cursors: %d, after %.2f s", $pins, $own, $took));
	return ($pins, $took);
}

my $number = 0;

# hostile_cursors(SESSIONS, CURSORS): that many sessions with that many cursors
# each, a few rows read from each; and how many pages these are at.
sub hostile_cursors
{
	my ($sessions, $cursors, $enabled) = @_;
	my @hostile;
	my $pins = 0;

	foreach my $n (1 .. $sessions)
	{
		my $s = session_of('hostile', "hostile $n", policy => $policies[$number++ % @policies]);
		my %pages;
		$s->query('SET cscan.enabled = ' . ($enabled // 'on') . '; BEGIN');
		foreach my $c (1 .. $cursors)
		{
			my $row = $s->query("DECLARE c$c CURSOR FOR SELECT ctid FROM t; MOVE $head FROM c$c; FETCH 1 FROM c$c");
			$pages{$1} = 1 if $row =~ /^\((\d+),/;
		}
		$pins += keys %pages;
		push @hostile, $s;
	}
	return ($pins, @hostile);
}

foreach my $how ([ 1, $max_scans ], [ 4, $max_scans / 4 ], [ $max_scans, 1 ], [ 4, $max_scans ])
{
	my ($sessions, $cursors) = @$how;
	my $name = "$sessions sessions with $cursors cursors each";
	my $ahead = 0;
	if ($sessions * $cursors > $max_scans)
	{
		my ($ignored, @plain) = hostile_cursors($sessions, $cursors, 'off');
		$ahead = pins();
		$_->quit foreach @plain;
	}
	my ($own, @hostile) = hostile_cursors($sessions, $cursors);
	$own += $ahead;

	is(sql($node, 'SELECT count(*) FROM cscan_scans'), $max_scans, "$name: all that can be registered are hostile's");
	cmp_ok($own, '>', 0, "$name: they have pages");
	my ($pins, $took) = wait_unpinned($own);
	cmp_ok($pins, '<=', $own, "$name: nothing is pinned but what the cursors are at, and read ahead");
	cmp_ok($took, '<', $soon, "$name: soon");
	is(sql($node, q(SELECT count(*) FROM cscan_chunks WHERE users > 0 AND state = 'loading')), '0', "$name: nothing is being loaded");

	# The others find no place, and no fault.
	foreach my $policy (@policies)
	{
		is(as_role('victim', $whole, "-c cscan.policy=$policy"), $right, "$name: victim is right, $policy");
		is(as_role('victim', 'SELECT count(*), sum(i) FROM u', "-c cscan.policy=$policy"), $right, "$name: on another table, too");
	}
	is(sql($node, 'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) u; ALTER TABLE u ALTER v TYPE bigint; TRUNCATE secret_table; SELECT 1'), '1',
		"$name: another table is not held up");

	# With one place free.
	$hostile[0]->query('CLOSE c1');
	foreach my $policy (@policies)
	{
		is(as_role('victim', $whole, "-c cscan.policy=$policy"), $right, "$name, but one: victim is right, $policy");
	}

	# Whoever wants the table waits for hostile's locks, and not for the ABM's.
	my $owner = session($node, name => 'owner');
	my $pids = join(', ', map { $_->pid } @hostile);
	my $blocked_by = 'SELECT count(*) > 0 AND bool_and(b = ANY (ARRAY[' . $pids . '])) FROM unnest(pg_blocking_pids(' . $owner->pid . ')) b';

	$owner->send('ALTER TABLE t ADD COLUMN more int DEFAULT 7');
	ok(poll($node, $blocked_by), "$name: ALTER TABLE waits for hostile only");
	is(sql($node, "SELECT count(*) FROM pg_locks WHERE pid = $abm AND relation = 't'::regclass"), '0', "$name: the ABM has no lock");
	$_->query('COMMIT') foreach @hostile;
	is($owner->result . $owner->err, '', "$name: when hostile's transactions end, it is through");

	# Likewise for a page; VACUUM waits for one after another.
	my ($own2, @again) = hostile_cursors(2, 2);
	wait_unpinned($own2);
	$owner->send('VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t');
	usleep(200_000);
	$_->query('ROLLBACK') foreach @again;
	is($owner->result . $owner->err, '', "$name: and so is VACUUM FREEZE");
	$owner->query('ALTER TABLE t DROP COLUMN more');
	is($owner->err, '', "$name: and ALTER TABLE");
	$_->quit foreach (@hostile, @again, $owner);
	nothing_left($node, "after $name", 't', 'u');
	sql($node, 'INSERT INTO secret_table TABLE u');
}
is(as_role('victim', $whole), $right, 'when hostile is gone: right');

### A hostile session that is killed in the middle of it

{
	my ($own, @hostile) = hostile_cursors(4, 4);

	sql($node, 'SELECT pg_terminate_backend(' . $_->pid . ')') foreach @hostile;
	ok(poll($node, 'SELECT count(*) FROM cscan_scans', '0'), 'terminated: no scan is left');
	$_->quit foreach @hostile;
	is(as_role('victim', $whole), $right, 'and victim is right');
	nothing_left($node, 'after hostile sessions were terminated', 't');
}

### Again and again

# Cursors are opened, some rows are fetched, hostile sleeps, and begins anew:
# eight sessions that together want more scans than can be registered.  VACUUM
# FREEZE waits for each page that a cursor is at; these are not always the same,
# or it would wait forever, as it would for plain scans.
{
	my $script = $node->basedir . '/hostile.sql';
	my ($out, $err) = ('', '');

	append_to_file($script, "\\set pause random(1, 300)\nBEGIN;\n"
		. join('', map { "\\set n random($head, 5000)\nDECLARE c$_ CURSOR FOR SELECT i FROM t WHERE v >= 0;\nMOVE :n FROM c$_;\nFETCH 1 FROM c$_;\n" } 1 .. 3)
		. "\\sleep :pause ms\nMOVE 300 FROM c1;\n\\sleep :pause ms\nEND;\n");
	my $pgbench = IPC::Run::start([ $node->installed_command('pgbench'), '-n', '-U', 'hostile', '-h', $node->host, '-p', $node->port,
		'-c', '8', '-T', '1000', '-f', $script, 'postgres' ], '>', \$out, '2>', \$err);

	ok(poll($node, "SELECT count(*) > $max_scans / 2 FROM cscan_scans"), 'hostile sessions open cursors again and again');
	foreach my $round (1 .. 2)
	{
		foreach my $policy (@policies)
		{
			is(as_role('victim', $whole, "-c cscan.policy=$policy"), $right, "among these victim is right, $policy");
		}
		my @many = map { session_of('victim', "victim $_ of 8", policy => $policies[$_ % @policies]) } 1 .. 8;
		$_->send($whole) foreach @many;
		is($_->result . $_->err, $right, "$_->{name}: right") foreach @many;
		$_->quit foreach @many;

		foreach my $wanted ('VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t', 'ALTER TABLE t ADD COLUMN more int DEFAULT 7',
			'ALTER TABLE t DROP COLUMN more', 'CREATE INDEX t_v ON t (v)', 'REINDEX INDEX t_v', 'CLUSTER t USING t_v', 'DROP INDEX t_v',
			'VACUUM FULL t')
		{
			my $owner = session($node, name => 'owner');
			$owner->query($wanted);
			is($owner->err, '', "among these: $wanted");
			$owner->quit;
		}
		is(sql($node, "BEGIN; TRUNCATE t; INSERT INTO t TABLE u; COMMIT; SELECT 1"), '1', 'among these: TRUNCATE, and all rows again');
		is(as_role('victim', $whole), $right, 'and victim is right');
	}
	is(sql($node, q(SELECT count(*) FROM pg_stat_activity WHERE usename = 'hostile')), '8', 'hostile sessions are still at it');
	my $until = time + $CScanTest::limit;
	sql($node, q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'hostile'));
	while ($pgbench->pumpable && time < $until)
	{
		eval { $pgbench->pump_nb; };
		usleep(10_000);
	}
	eval { $pgbench->finish; };
	unlike($err, qr/ERROR: (?!.*terminat)/, 'hostile sessions got no errors until they were ended') or diag($err);
	ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE usename = 'hostile'), '0'), 'hostile is gone');
	nothing_left($node, 'after all', 't', 'u');
}

### One that goes on slowly

# A page now and then is no stall, so its chunks stay.  Others, under the
# policies that do not wait for the slowest scan, do not wait for it.
{
	my $slow = session_of('hostile', 'slow one', policy => 'relevance');

	$slow->send('SELECT count(pg_sleep(0.1)) FROM t WHERE i % 17 = 0');
	ok(poll($node, 'SELECT count(*) FROM cscan_scans', '1'), 'one scan takes a page now and then');
	my $done = sql($node, 'SELECT max(chunks_done) FROM cscan_scans');
	foreach my $policy (grep { $_ ne 'elevator' } @policies)
	{
		is(as_role('victim', $whole, "-c cscan.policy=$policy"), $right, "beside it victim is right, $policy");
	}
	my $now = sql($node, 'SELECT max(chunks_done) FROM cscan_scans');
	cmp_ok($now - $done, '<', 40, 'and has not waited for it');
	note("it has taken chunk $done to $now");
	sql($node, 'SELECT pg_cancel_backend(' . $slow->pid . ')');
	$slow->result;
	like($slow->err, qr/canceling statement/, 'it is cancelled');
	$slow->quit;
	nothing_left($node, 'after the slow one', 't');
}

is(abm_pid($node), $abm, 'the ABM has been the same all the time');
unlike(slurp_file($node->logfile), qr/PANIC: |TRAP: |was terminated by signal/, 'nothing has crashed');
$node->stop;
done_testing();
