# Where few blocks are all-visible the worker "cscan columns" has the table vacuumed: sooner than autovacuum would come, but as it would,
# out of everybody's way, and never for nothing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# PostgreSQL's own autovacuum is on, and never comes.
my $never = join "\n", map { "autovacuum_$_ = 2147483647" } qw(vacuum_threshold vacuum_insert_threshold analyze_threshold);
my $node = new_node('upkeep_vacuum', conf => "autovacuum = on\n$never\ncscan.columns_naptime = 1s\ncscan.columns_share = 1\n");
my $at_work = q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan columns vacuum');

sub make
{
	my ($name, $with, $db) = @_;

	sql($node, "CREATE TABLE $name (i int, filler text) WITH (autovacuum_enabled = $with); "
		  . "INSERT INTO $name SELECT g, repeat('x', 150) FROM generate_series(1, 20000) g; VACUUM ANALYZE $name; "
		  . "CREATE INDEX ${name}_columns ON $name USING cscan_columns (i) WITH (row_group_blocks = 64)", $db);
	return;
}

# Changes the first row of one block in so many; how many blocks are all-visible then, before anybody can come.
sub change
{
	my ($name, $each, $db) = @_;

	return sql($node, "BEGIN; UPDATE $name SET i = i + 1 WHERE ctid IN (SELECT min(ctid) FROM $name GROUP BY (ctid::text::point)[0] "
		  . "HAVING (min(ctid)::text::point)[0]::int % $each = 0); "
		  . "SELECT all_visible FROM cscan_columns_status WHERE index = '${name}_columns'::regclass; COMMIT", $db);
}

# A group is not built again for less than a sixteenth of its blocks, which VACUUM may have left at first because of somebody's snapshot.
my $covered = 'covered * 10 >= blocks * 9';
sub covers
{
	my ($name, $what, $db) = @_;

	ok(poll($node, "SELECT $covered AND ($at_work) = 0 FROM cscan_columns_status WHERE index = '${name}_columns'::regclass", 't', $db), $what);
	return;
}

sub status
{
	my ($column, $name) = @_;
	return sql($node, "SELECT $column FROM cscan_columns_status WHERE index = '${name}_columns'::regclass");
}

sub vacuums
{
	my ($name) = @_;
	return sql($node, "SELECT vacuum_count || ' ' || autovacuum_count FROM pg_stat_all_tables WHERE relname = '$name'");
}

# Waits until the worker has visited each database, since it has visited another one twice.
my $visits = 0;
sub visited
{
	foreach (1 .. 2)
	{
		my $name = 'visit' . ++$visits;

		make($name, 'off', 'other');
		sql($node, "UPDATE $name SET i = i + 1", 'other');
		vacuum_all($node, $name, 'other');
		covers($name, "$name: the worker has been there", 'other');
		sql($node, "DROP TABLE $name", 'other');
	}
	return;
}

sql($node, 'CREATE DATABASE other');
sql($node, 'CREATE EXTENSION cscan', 'other');

### One row of each block, and of few

make('t', 'on');
make('off', 'off');
covers($_, "$_ is covered") foreach qw(t off);
my %before = map { $_ => vacuums($_) } qw(t off);
is(change($_, 1), '0', "$_: no block is all-visible") foreach qw(t off);
covers('t', 'all of it is covered again');
is(sql($node, q(SELECT count(*) FROM cscan_columns_verify('t_columns'))), '0', 'as it is in the table');
is(sql($node, 'SELECT sum(i) FROM t'), sql($node, 'SET cscan.enabled = off; SELECT sum(i) FROM t'), 'answers are right');
my ($manual, $auto) = split / /, $before{t};
is(vacuums('t'), $manual + 1 . " $auto", 'it was vacuumed once');
visited();
is(vacuums('off'), $before{off}, 'a table without autovacuum is not');
is(status('covered', 'off'), '0', 'and not covered');

$before{t} = vacuums('t');
cmp_ok(change('t', 20), '<', status('blocks', 't'), 'of each twentieth block');
visited();
is(vacuums('t'), $before{t}, 'that is too little');

set_conf($node, 'cscan.columns_vacuum' => 1);
change('t', 1);
visited();
is(vacuums('t'), $before{t}, 'a share of 1: never');
sql($node, 'ALTER SYSTEM RESET cscan.columns_vacuum');
set_conf($node, autovacuum => 'off');
visited();
is(vacuums('t'), $before{t}, 'nor where there is no autovacuum');
set_conf($node, autovacuum => 'on');
covers('t', 'then it is covered');

### An old snapshot

sql($node, 'SELECT pg_current_xact_id()');
my $reader = session($node, name => 'reader');
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t');
($manual, $auto) = split / /, vacuums('t');
change('t', 1);
ok(poll($node, q(SELECT vacuum_count FROM pg_stat_all_tables WHERE relname = 't'), $manual + 1), 'it is vacuumed beside an old snapshot');
visited();
is(vacuums('t'), $manual + 1 . " $auto", 'which helps little, and is not done again');
is(status('covered', 't'), '0', 'nothing is covered');
$reader->query('COMMIT');
covers('t', 'once the snapshot has gone it is covered');

# What a writer took back can go whatever snapshots there are.
my $writer = session($node, name => 'writer');
sql($node, 'SELECT pg_current_xact_id()');
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t');
($manual, $auto) = split / /, vacuums('t');
$writer->query('BEGIN; UPDATE t SET i = i + 1 WHERE ctid IN (SELECT min(ctid) FROM t GROUP BY (ctid::text::point)[0])');
ok(poll($node, q(SELECT vacuum_count FROM pg_stat_all_tables WHERE relname = 't'), $manual + 1), 'it is vacuumed beside a writer');
$writer->query('ROLLBACK');
covers('t', 'once that has gone it is covered, beside the old snapshot');
$_->query('ROLLBACK') foreach ($reader, $writer);

### It gives way, and comes again

$writer->query('BEGIN; LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE');
$before{t} = vacuums('t');
change('t', 1);
visited();
is(vacuums('t'), $before{t}, 'a table that is locked is left alone');
is(sql($node, 'SELECT count(*) FROM pg_locks WHERE NOT granted'), '0', 'nobody waits');
$writer->query('COMMIT');
covers('t', 'its turn comes later');

# VACUUM cannot help this one, and it is scanned most.
make('stubborn', 'on');
sql($node, 'ALTER TABLE stubborn SET (vacuum_index_cleanup = off); CREATE INDEX ON stubborn (i)');
sql($node, join '; ', 'SET enable_seqscan = off', ('SELECT sum(i) FROM stubborn') x 20);
change('stubborn', 1);
ok(poll($node, q(SELECT vacuum_count > 1 FROM pg_stat_all_tables WHERE relname = 'stubborn')), 'a table that VACUUM cannot help is vacuumed');
change('t', 1);
ok(poll($node, "SELECT $covered AND pg_current_xact_id() IS NOT NULL FROM cscan_columns_status WHERE index = 't_columns'::regclass"),
	'another one gets its turn');
sql($node, 'DROP TABLE stubborn');

set_conf($node, autovacuum_vacuum_cost_delay => "'100ms'", autovacuum_vacuum_cost_limit => 1);
$before{t} = vacuums('t');
change('t', 1);
ok(poll($node, $at_work, '1'), 'it is at work, slowly');
is(sql_fails($node, "SET lock_timeout = '60s'; ALTER TABLE t ADD COLUMN more int"), 'it did not fail', 'who needs the table gets it');
is(vacuums('t'), $before{t}, 'and it is not done');
sql($node, 'DROP TABLE t');
ok(poll($node, $at_work, '0'), 'a table that is dropped is left');
make('t', 'on', 'other');
change('t', 1, 'other');
ok(poll($node, $at_work . q( AND datname = 'other'), '1'), 'it is at work in another database');
is(sql_fails($node, 'DROP DATABASE other'), 'it did not fail', 'which can be dropped');
ok(poll($node, $at_work, '0'), 'it has ended');

### No worker is free for it

# Places: the ABM, two launchers, a visit, and one that a parallel query has.  No transaction number is used meanwhile.
sql($node, "ALTER SYSTEM RESET autovacuum_vacuum_cost_$_") foreach qw(delay limit);
make('t', 'on');
covers('t', 'another table');
$node->append_conf('postgresql.conf', "max_worker_processes = 5\nlog_min_messages = debug1\ncscan.columns_naptime = 0\n");
$node->restart;
wait_for_abm($node);
my $holder = session($node, name => 'who holds the key');
my $parallel = session($node, name => 'parallel');
$holder->query('SELECT pg_advisory_lock(2)');
change('t', 1);
$before{t} = vacuums('t');
$parallel->query('SET cscan.enabled = off; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; '
	  . 'SET max_parallel_workers_per_gather = 1');
$parallel->send(ambling_query('t', 50, 2, 0.5));
ok(poll($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'), '1'), 'a parallel query has the last place');
my $log = -s $node->logfile;
set_conf($node, 'cscan.columns_naptime' => "'1s'");
for (1 .. 600)
{
	last if (() = slurp_file($node->logfile, $log) =~ /starting background worker process "cscan columns"/g) > 3;
	select undef, undef, undef, 0.1;
}
is(vacuums('t'), $before{t}, 'it is visited, and not vacuumed');
is(scalar(() = slurp_file($node->logfile, $log) =~ /no background worker is free to vacuum table "t".*\n.*max_worker_processes/g), 1, 'which the log says once');
$holder->query('SELECT pg_advisory_unlock(2)');
isnt($parallel->result . $parallel->err, '', 'the query ends');
covers('t', 'then it is vacuumed');
$_->quit foreach ($holder, $parallel);
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|server process .* was terminated/, 'nothing crashed');
$node->stop;
done_testing();
