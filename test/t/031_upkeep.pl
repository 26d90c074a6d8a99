# The worker "cscan columns" keeps row groups up to date by itself: in each
# database, those first that are scanned most.  It waits for no lock, keeps nobody
# from dropping a database, and goes on after an error.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('upkeep', conf => "cscan.columns_naptime = 1s\ncscan.columns_share = 1\n");
my $rows = 20000;
my $launchers = q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns launcher');
# A group is not built again for less than a sixteenth of its blocks, which VACUUM may have left at first because of the worker's snapshot.
my $covers = q(SELECT covered * 10 >= blocks * 9 FROM cscan_columns_status WHERE index = '%s'::regclass);

# A table of some eight row groups, none of which can be stored yet.  Each row has a value out of line, which VACUUM
# cannot read: so it is the worker that stores them, whatever rows UPDATE and VACUUM put into one block.
sub make_stored
{
	my ($name, $db) = @_;
	sql($node, "CREATE TABLE $name (i int, long text, filler text) WITH (autovacuum_enabled = off); ALTER TABLE $name ALTER long SET STORAGE EXTERNAL; "
		  . "CREATE INDEX ${name}_columns ON $name USING cscan_columns (i, long) WITH (row_group_blocks = 64); "
		  . "INSERT INTO $name SELECT g, rpad(g::text, 2050, 'x'), repeat('x', 150) FROM generate_series(1, $rows) g; "
		  . "ANALYZE $name", $db);
	return;
}

sub covered
{
	my ($name, $db) = @_;
	return sql($node, "SELECT covered FROM cscan_columns_status WHERE index = '${name}_columns'::regclass", $db);
}

sub gets_covered
{
	my ($name, $what, $db) = @_;
	ok(poll($node, sprintf($covers, "${name}_columns"), 't', $db), $what);
	return;
}

sub right
{
	my ($name, $what, $db) = @_;
	my $query = "SELECT count(*), sum(i), sum(length(long)) FROM $name";
	is(sql($node, "SET enable_seqscan = off; $query", $db), sql($node, "SET cscan.columns = off; $query", $db), $what);
	is(sql($node, "SELECT count(*) FROM cscan_columns_verify('${name}_columns')", $db), '0', "$what, and so is each block");
	return;
}

sub make_visible
{
	my ($name, $db) = @_;
	vacuum_all($node, $name, $db);
	return;
}

sub set_naptime
{
	my ($value) = @_;
	set_conf($node, 'cscan.columns_naptime' => $value);
	return;
}

ok(poll($node, $launchers, '1'), 'there is a launcher');

### New groups, changed groups, and the last one

# No worker has a snapshot that keeps a block from being all-visible.
make_stored('t');
is(covered('t'), '0', 'at first nothing is covered');
set_naptime(0);
ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns'), '0'), 'nobody visits');
make_visible('t');
set_naptime("'1s'");
gets_covered('t', 'what has become all-visible is covered');
ok(poll($node, q(SELECT blocks % 64 > 0 AND covered = blocks AND why_not IS NULL FROM cscan_columns_status WHERE index = 't_columns'::regclass)), 'the last group, too');
right('t', 'answers are right');
sql($node, 'UPDATE t SET i = i + 1');
is(covered('t'), '0', 'after an update of all rows nothing is');
make_visible('t');
gets_covered('t', 'they are covered again');
right('t', 'answers are right after that');

# One block of a group is too little to build it again.
my $built = q(SELECT last_built FROM cscan_columns_status WHERE index = 't_columns'::regclass);
my $last = sql($node, $built);
sql($node, q(UPDATE t SET i = i + 1 WHERE ctid < '(1,0)'));
make_visible('t');
make_stored('u');
make_visible('u');
gets_covered('u', 'a second index is covered');
is(sql($node, $built), $last, 'meanwhile nothing was built for one block of the first');

### Every database, also a new one; none is kept from being dropped

sql($node, 'CREATE DATABASE other');
sql($node, 'CREATE EXTENSION cscan', 'other');
make_stored('t', 'other');
make_visible('t', 'other');
gets_covered('t', 'another database is visited', 'other');
right('t', 'answers are right there', 'other');
sql($node, q(ALTER SYSTEM SET cscan.debug_fault = 'store-block delay'));
reload($node);
foreach my $round (1 .. 3)
{
	sql($node, 'UPDATE t SET i = i + 1', 'other');
	make_visible('t', 'other');
	ok(poll($node, q(SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'cscan columns' AND datname = 'other' AND state = 'active')),
		"round $round: the worker is busy in a database");
	if ($round < 3)
	{
		like(sql($node, q(SELECT query FROM pg_stat_activity WHERE backend_type = 'cscan columns' AND datname = 'other')),
			qr/^(row groups of index t_columns)?$/, 'and says with what');
		gets_covered('t', "round $round: it comes to its end", 'other');
	}
}
is(sql_fails($node, 'DROP DATABASE other'), 'it did not fail', 'the database can be dropped while the worker is busy there');
sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
reload($node);

### Locks: it waits for none

my $locker = session($node, name => 'locker');
sql($node, "UPDATE $_ SET i = i + 1") foreach qw(t u);
make_visible($_) foreach qw(t u);
$locker->query('BEGIN; LOCK TABLE t IN SHARE MODE');
sql($node, 'UPDATE u SET i = i + 1');
make_visible('u');
gets_covered('u', 'a table is looked after while another one is locked');
is(sql($node, 'SELECT count(*) FROM pg_locks WHERE NOT granted'), '0', 'and nobody waits');
$locker->query('COMMIT');
gets_covered('t', 'the locked one comes later');

# Who waits for the table's lock gets it from a worker in the middle of the first group.  The pass is not at its end then.
set_naptime(0);
ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns'), '0'), 'nobody visits now');
sql($node, 'UPDATE t SET i = i + 1');
make_visible('t');
my $waits = -s $node->logfile;
set_conf($node, 'cscan.debug_fault' => q('store-block wait 1'), 'cscan.columns_naptime' => q('1s'));
ok($node->wait_for_log(qr/waits at "store-block".*row groups? of index "t_columns"/s, $waits), 'the worker is in the first group');
$locker->send('BEGIN; LOCK TABLE t IN SHARE MODE');
ok(poll($node, 'SELECT count(*) FROM pg_locks WHERE NOT granted', '1'), 'somebody waits for the lock');
sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
reload($node);
$locker->result;
is(covered('t'), '0', 'and gets it before the group is built');
$locker->query('COMMIT');
gets_covered('t', 'that table comes later, too');

# Who waits for another lock, such as the index's, gets it as from autovacuum.
set_naptime(0);
ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns'), '0'), 'nobody visits for a while');
sql($node, 'UPDATE t SET i = i + 1');
make_visible('t');
$waits = -s $node->logfile;
set_conf($node, 'cscan.debug_fault' => q('store-block wait 1'), 'cscan.columns_naptime' => q('1s'));
ok($node->wait_for_log(qr/waits at "store-block".*row groups? of index "t_columns"/s, $waits), 'the worker is in a group once more');
$locker->query('ALTER INDEX t_columns SET (row_group_blocks = 64)');
sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
reload($node);
unlike(slurp_file($node->logfile, $waits), qr/ERROR: /, 'and gives it up without a word');
gets_covered('t', 'the group is built afterwards');

# A standstill of five seconds, as of a disk, is followed by a rest of four minutes - until the share is another one.
set_naptime(0);
ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns'), '0'), 'nobody visits before a standstill');
sql($node, 'UPDATE t SET i = i + 1');
make_visible('t');
$waits = -s $node->logfile;
set_conf($node, 'cscan.debug_fault' => q('store-block wait 1'), 'cscan.columns_naptime' => q('1s'), 'cscan.columns_share' => '0.02');
ok($node->wait_for_log(qr/waits at "store-block".*row groups? of index "t_columns"/s, $waits), 'the worker stands still');
sleep 5;
sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
reload($node);
ok(poll($node, q(SELECT covered > 0 FROM cscan_columns_status WHERE index = 't_columns'::regclass)), 'it goes on');
sql($node, 'UPDATE u SET i = i + 1');
make_visible('u');
set_conf($node, 'cscan.columns_share' => '1');
gets_covered($_, "$_ is covered soon, as the share has changed") foreach qw(t u);

### Those first that are scanned most

set_naptime(0);
ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns'), '0'), 'a nap of 0: no worker is there');
foreach my $first (qw(t u))
{
	my $second = $first eq 't' ? 'u' : 't';

	my $scans = "SELECT coalesce(sum(idx_scan) FILTER (WHERE indexrelname = '${first}_columns'), 0) > "
	  . "coalesce(sum(idx_scan) FILTER (WHERE indexrelname = '${second}_columns'), 0) FROM pg_stat_all_indexes";
	for (1 .. 60)
	{
		sql($node, join '; ', 'SET enable_seqscan = off', ("SELECT sum(i) FROM $first") x 5);
		last if sql($node, $scans) eq 't';
	}
	foreach my $name (qw(t u))
	{
		sql($node, "UPDATE $name SET i = i + 1");
		make_visible($name);
		is(covered($name), '0', "$name is not covered, as nobody visits");
	}
	set_naptime("'1s'");
	gets_covered($_, "$_ is covered") foreach qw(t u);
	set_naptime(0);
	is(sql($node, "SELECT min(last_built) FILTER (WHERE index = '${first}_columns'::regclass) < min(last_built) FILTER (WHERE index = '${second}_columns'::regclass) "
		  . 'FROM cscan_columns_status'), 't', "$first, scanned more, came before $second");
}

### Errors, and an end of the worker

sql($node, "UPDATE $_ SET i = i + 1") foreach qw(t u);
make_visible($_) foreach qw(t u);
my $log = -s $node->logfile;
sql($node, q(ALTER SYSTEM SET cscan.debug_fault = 'store-written error 1'));
set_naptime("'1s'");
ok($node->wait_for_log(qr/injected error.*CONTEXT:  while building row groups of index "[tu]_columns"/s, $log), 'an error is in the server log');
# Each worker comes there a first time.
sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
reload($node);
gets_covered($_, "$_ is covered all the same") foreach qw(t u);
foreach my $fault ('store-begun fatal 1', 'store-published fatal 1')
{
	# Else a worker might have built all before the fault is there.
	set_naptime(0);
	ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns'), '0'), "$fault: nobody visits");
	sql($node, "UPDATE $_ SET i = i + 1") foreach qw(t u);
	make_visible($_) foreach qw(t u);
	$log = -s $node->logfile;
	sql($node, "ALTER SYSTEM SET cscan.debug_fault = '$fault'");
	set_naptime("'1s'");
	ok($node->wait_for_log(qr/injected fatal error/, $log), "$fault: it is in the server log");
	sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
	reload($node);
	gets_covered($_, "$fault: $_ is covered all the same") foreach qw(t u);
}
right($_, "$_ is right in the end") foreach qw(t u);

# A value that cannot be read, in the first group.
make_stored('bad');
sql($node, q(CREATE EXTENSION pg_surgery; SELECT heap_force_kill((SELECT reltoastrelid FROM pg_class WHERE relname = 'bad'), ARRAY['(0,1)'::tid])));
$log = -s $node->logfile;
make_visible('bad');
ok($node->wait_for_log(qr/chunk number.*for toast value.*while building row groups of index "bad_columns"/s, $log), 'a value cannot be read');
ok(poll($node, q(SELECT covered >= blocks - 64 AND covered < blocks FROM cscan_columns_status WHERE index = 'bad_columns'::regclass)), 'all other groups are built');
sql($node, 'DROP TABLE bad');

my $old = sql($node, q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'cscan columns launcher'));
sql($node, "SELECT pg_terminate_backend($old)");
ok(poll($node, "$launchers AND pid <> $old", '1'), 'there is another launcher after one has been terminated');

### More indexes than a visit has time for

# Nothing of these has changed, but a look at each takes a while.  The last one has something to be built.
sql($node, 'CREATE DATABASE many');
sql($node, 'CREATE EXTENSION cscan', 'many');
sql($node, q(CREATE TABLE p (i int) PARTITION BY LIST (i);
	DO $$ BEGIN FOR i IN 1 .. 600 LOOP EXECUTE format('CREATE TABLE p%s PARTITION OF p FOR VALUES IN (%s)', i, i); END LOOP; END $$;
	CREATE INDEX ON p USING cscan_columns (i)), 'many');
set_naptime(0);
ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns'), '0'), 'nobody visits now');
make_stored('last', 'many');
make_visible('last', 'many');
set_naptime("'1s'");
gets_covered('last', 'the last of 600 indexes has its turn', 'many');
right('last', 'it is right', 'many');

# However long the group takes that the worker is building
set_naptime(0);
ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns'), '0'), 'nobody visits once more');
sql($node, 'UPDATE last SET i = i + 1', 'many');
make_visible('last', 'many');
my $in_group = -s $node->logfile;
set_conf($node, 'cscan.debug_fault' => q('store-block wait 1'), 'cscan.columns_naptime' => q('1s'));
ok($node->wait_for_log(qr/waits at "store-block".*row groups? of index "last_columns"/s, $in_group), 'the worker is in a group of the other database');
is(sql_fails($node, 'DROP DATABASE many'), 'it did not fail', 'which can be dropped');
sql($node, 'ALTER SYSTEM RESET cscan.debug_fault');
reload($node);

### An index of very many row groups

# In such an index the worker does not look for all free pages.  It puts each group where the one before has been.
set_naptime(0);
ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns'), '0'), 'nobody visits a large index');
set_conf($node, 'cscan.debug_few_groups' => '0');
make_stored('large');
make_visible('large');
my @pages;
foreach my $round (0 .. 4)
{
	sql($node, 'UPDATE large SET i = i + 1') if $round > 0;
	make_visible('large');
	is(covered('large'), '0', "round $round: nothing is covered");
	set_naptime("'1s'");
	gets_covered('large', "round $round: what can be covered is");
	set_naptime(0);
	ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns'), '0'), "round $round: the worker has ended");
	push @pages, sql($node, q(SELECT pages FROM cscan_columns_status WHERE index = 'large_columns'::regclass));
}
my $group_pages = sql($node, q(SELECT (pages - unused_pages) / groups FROM cscan_columns_status WHERE index = 'large_columns'::regclass));
note "pages: @pages, of a group: $group_pages";
cmp_ok($pages[4] - $pages[2], '<', $group_pages, 'built again, the groups go where they have been');
is(sql($node, q(SELECT count(*) FROM cscan_columns_verify('large_columns'))), '0', 'and each block is right');
sql($node, 'DROP TABLE large');
sql($node, 'ALTER SYSTEM RESET cscan.debug_few_groups');
set_naptime("'1s'");

### No worker is free

$node->append_conf('postgresql.conf', "max_worker_processes = 2\nmax_logical_replication_workers = 0\n");
$log = -s $node->logfile;
$node->restart;
ok($node->wait_for_log(qr/no background worker is free to keep row groups up to date.*max_worker_processes/s, $log), 'it is said if no worker is free');
is(sql($node, 'SELECT count(*) FROM t'), $rows, 'and nothing else suffers');

$locker->quit;
$node->stop;

done_testing();
