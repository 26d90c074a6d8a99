# An index of columns while others write, vacuum and crash: what it stores is what
# the table has, on the primary and on a standby, whoever goes in the middle.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $primary = new_node('columns', init => { allows_streaming => 1, extra => ['--data-checksums'] }, conf => q(
wal_consistency_checking = 'all'
checkpoint_timeout = 1h
));
my $check = q(SELECT covered, stale, (SELECT count(*) FROM cscan_columns_verify('c')) AS wrong FROM cscan_columns_state('c'));

sub state
{
	my ($node) = @_;
	return sql($node || $primary, $check);
}

sub right
{
	my ($name, $node) = @_;
	return is(sql($node || $primary, q(SELECT block, problem FROM cscan_columns_verify('c') LIMIT 3)), '', "$name: the index has what the table has");
}

# VACUUM that waits for a block which somebody has pinned, so that all that can be all-visible is.
my $vacuum = 'VACUUM (FREEZE, INDEX_CLEANUP on) t';

sub new_table
{
	my ($kind) = @_;
	sql($primary, "DROP TABLE IF EXISTS t; CREATE $kind TABLE t (id int, v int, w int, x text) WITH (fillfactor = 60)");
	sql($primary, q(INSERT INTO t SELECT i, i, 0, 'x' || i % 100 FROM generate_series(1, 30000) i));
	sql($primary, $vacuum);
	sql($primary, 'CREATE INDEX c ON t USING cscan_columns (id, v, x) WITH (row_group_blocks = 64)');
	return;
}

### Others write while a group is built

new_table('');
is(state(), sql($primary, q(SELECT pg_relation_size('t') / 8192 || '|0|0')), 'all blocks are covered');
sql($primary, 'UPDATE t SET v = -v WHERE id = 1');
# Room for rows that are inserted, in block 7
sql($primary, 'DELETE FROM t WHERE id BETWEEN 800 AND 880');
sql($primary, $vacuum);
foreach my $place (qw(store-begun store-block store-written))
{
	# The building session stands still; the other one changes few rows of the group, too few for VACUUM to build it anew.
	my $s = session($primary, name => "a writer at $place");
	my $log = -s $primary->logfile;

	sql($primary, 'UPDATE t SET v = v + 1 WHERE id = 2');
	sql($primary, $vacuum);
	$s->query("SET cscan.debug_fault = '$place wait 1'");
	$s->send(q(SELECT cscan_columns_fill('c')));
	$primary->wait_for_log(qr/waits at "$place"/, $log);
	sql($primary, 'UPDATE t SET v = v + 1 WHERE id = 400; UPDATE t SET v = v + 1 WHERE id = 400; DELETE FROM t WHERE id = 700; UPDATE t SET w = w + 1 WHERE id = 50');
	like(sql($primary, 'INSERT INTO t VALUES (3, 3, 3, 3) RETURNING ctid'), qr/^\([1-9],/, "$s->{name}: a row comes into the group");
	reload($primary);
	is($s->result . $s->err, '1', "$s->{name}: the group is built");
	right($s->{name});
	sql($primary, $vacuum);
	right("$s->{name}, vacuumed");
	sql($primary, q(SELECT cscan_columns_fill('c')));
	right("$s->{name}, built again");
	$s->quit;
}

### The building session goes

foreach my $kind ('', 'UNLOGGED')
{
	new_table($kind);
	foreach my $action ('error', 'fatal', 'kill')
	{
		foreach my $place (qw(store-begun store-block store-written store-published))
		{
			my $name = "$kind $action at $place";
			my $crash = $action eq 'kill';
			my $log = -s $primary->logfile;

			# Two blocks of each group: too few for VACUUM.
			sql($primary, q(UPDATE t SET v = v + 1 WHERE id % 4000 = 7));
			sql($primary, $vacuum);
			sql($primary, 'CHECKPOINT') if $place eq 'store-written';
			my $before = state();
			my $s = session($primary, name => $name);
			my $number = $place eq 'store-block' ? 100 : 2;
			$s->query("SET cscan.debug_fault = '$place $action $number'");
			$s->send(q(SELECT cscan_columns_fill('c')));
			eval { $s->result; };
			like($s->err, $crash ? qr/connection/ : qr/injected.* at "$place"/, "$name: it has come there");
			# Until then the server takes connections, and ends them.
			$primary->wait_for_log(qr/was terminated by signal 9/, $log) if $crash;
			server_is_up($primary) or die "the server does not come up\n";
			$s->quit;
			if ($kind eq 'UNLOGGED' && $crash)
			{
				is(state(), '0|0|0', "$name: empty, as its table is");
				new_table($kind);
				next;
			}
			my ($covered, $stale, $wrong) = split /\|/, state();
			is($wrong, 0, "$name: right");
			# Records that no commit has flushed are lost in a crash: of groups, and of VACUUM.
			isnt("$covered|$stale|$wrong", $before, "$name: some groups were built before") unless $crash;
			sql($primary, $vacuum);
			sql($primary, q(SELECT cscan_columns_fill('c')));
			is(state(), sql($primary, q(SELECT pg_relation_size('t') / 8192 || '|0|0')), "$name: all is built afterwards");
		}
	}
	# No page is lost by that: those of all these generations are used again.
	cmp_ok(sql($primary, q(SELECT 100 * unused_pages / pages FROM cscan_columns_state('c'))), '<', 60, "$kind: pages are used again");
}

### A standby

new_table('');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('columns_standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

foreach my $round (1 .. 3)
{
	sql($primary, "UPDATE t SET v = v + 1 WHERE id % 1000 = $round; DELETE FROM t WHERE id % 500 = $round");
	replayed($primary, $standby, "changes $round");
	right("standby, changes $round", $standby);
	sql($primary, $vacuum);
	sql($primary, q(SELECT cscan_columns_fill('c')));
	replayed($primary, $standby, "built again $round");
	right("standby, built again $round", $standby);
	is(state($standby), state(), "standby, round $round: as much as on the primary");
}
sql($primary, 'CREATE UNLOGGED TABLE u AS SELECT 1 AS i; CREATE INDEX u_columns ON u USING cscan_columns (i)');
replayed($primary, $standby, 'an unlogged table');
is(sql($standby, q(SELECT why_not FROM cscan_columns_status WHERE index = 'u_columns'::regclass)), 'an unlogged index is empty on a standby',
	'an unlogged index on the standby');
like(sql_fails($standby, q(SELECT * FROM cscan_columns_verify('u_columns'))), qr/is not valid/, 'nor is it verified there');
like(sql_fails($standby, q(SELECT cscan_columns_fill('c'))), qr/recovery is in progress/, 'a standby builds nothing');
unlike(slurp_file($standby->logfile), qr/FATAL:  inconsistent page found/, 'each record gave the same page');
$standby->promote;
ok(poll($standby, 'SELECT NOT pg_is_in_recovery()'), 'promoted');
right('promoted', $standby);
sql($standby, 'UPDATE t SET v = v + 1 WHERE id % 1000 = 5');
sql($standby, $vacuum);
sql($standby, q(SELECT cscan_columns_fill('c')));
right('promoted, and built', $standby);
$standby->stop;

### The view waits for nobody

my $locker = session($primary, name => 'locker');
$locker->query('BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE');
is(sql($primary, q(SET statement_timeout = '20s'; SELECT why_not FROM cscan_columns_status WHERE index = 'c'::regclass)),
	'another session has locked the table or the index', 'a locked table');
$locker->query('ROLLBACK');
$locker->quit;

### Everything at once

# Sessions that change rows at random, one that vacuums, one that builds, one that looks.
my @work = (
	(map { "UPDATE t SET v = v + 1 WHERE id % 977 = $_" } 1 .. 2),
	'UPDATE t SET w = w + 1 WHERE id % 977 = 3',
	'INSERT INTO t SELECT i, i, i, i FROM generate_series(1, 300) i',
	'DELETE FROM t WHERE id % 977 = 5',
	'BEGIN; UPDATE t SET v = 0 WHERE id % 977 = 6; ROLLBACK',
	$vacuum,
	q(SELECT cscan_columns_fill('c')));
my $until = time + 6;
my @sessions = map { session($primary, name => "worker $_") } 0 .. 3;
my ($rounds, $wrong) = (0, '');
my $seed = $ENV{CSCAN_COLUMNS_SEED} || int(time * 1000) % 1000000007;
note("CSCAN_COLUMNS_SEED=$seed");
srand($seed);
while (time < $until && $wrong eq '')
{
	foreach my $s (@sessions)
	{
		$s->send($work[ rand @work ]);
	}
	$wrong .= sql($primary, q(SELECT block, problem FROM cscan_columns_verify('c') LIMIT 3)) if $rounds % 3 == 0;
	$wrong .= join '', grep { !/deadlock detected/ } map { $_->result; $_->err } @sessions;
	$rounds++;
}
is($wrong, '', "$rounds rounds at random: right");
right('at random, in the end');
sql($primary, $vacuum);
sql($primary, q(SELECT cscan_columns_fill('c')));
right('at random, built');
$_->quit foreach @sessions;

### Dump, and an index that is begun concurrently while others write

my $dump = $primary->backup_dir . '/dump.sql';
$primary->command_ok([ 'pg_dump', '-p', $primary->port, '-h', $primary->host, '-t', 't', '-f', $dump, 'postgres' ], 'pg_dump');
like(slurp_file($dump), qr/CREATE INDEX c ON public\.t USING cscan_columns \(id, v, x\) WITH \(row_group_blocks='64'\)/, 'the dump has the index');
my $writer = session($primary, name => 'writer');
$writer->query('BEGIN; UPDATE t SET v = v + 1 WHERE id = 11');
my $builder = session($primary, name => 'builder');
$builder->send('CREATE INDEX CONCURRENTLY d ON t USING cscan_columns (v)');
ok(poll($primary, q(SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONC%' AND wait_event_type = 'Lock'), '1'), 'CREATE INDEX CONCURRENTLY waits');
is(sql($primary, q(SELECT why_not FROM cscan_columns_status WHERE index = 'd'::regclass)),
	'the index is being built, or a build of it has failed: REINDEX it', 'the view says so');
$writer->query('COMMIT');
is($builder->result . $builder->err, '', 'and goes on');
is(sql($primary, q(SELECT covered, stale, groups FROM cscan_columns_state('d'))), '0|0|0', 'the index is empty');
sql($primary, $vacuum);
sql($primary, q(SELECT cscan_columns_fill('d')));
is(sql($primary, q(SELECT block, problem FROM cscan_columns_verify('d'))), '', 'and right once it is filled');
$_->quit foreach ($writer, $builder);

### A temporary table of another session, which nobody else can read

my $owner = session($primary, name => 'owner of a temporary table');
$owner->query('CREATE TABLE permanent (i int, filler text); CREATE INDEX ON permanent USING cscan_columns (i); '
	  . 'CREATE TEMP TABLE of_owner (LIKE permanent INCLUDING ALL); '
	  . q(INSERT INTO of_owner SELECT g, repeat('x', 500) FROM generate_series(1, 3000) g; VACUUM ANALYZE of_owner));
my $of_owner = $owner->query(q(SELECT format('%s.%s', relnamespace::regnamespace, relname) FROM pg_class WHERE relname = 'of_owner'));
like(sql($primary, "EXPLAIN SELECT i FROM $of_owner"), qr/^Seq Scan/, 'a query of it can be planned');
is(sql($primary, q(SELECT why_not FROM cscan_columns_status WHERE relation::text LIKE '%of_owner')), 'an index of a temporary table stays empty', 'and the view goes on');
$owner->quit;

### A damaged index ends queries that read it, but no VACUUM that has nothing to tell it

sql($primary, q(CREATE TABLE damaged AS SELECT g AS i, repeat('x', 500) AS filler FROM generate_series(1, 3000) g));
sql($primary, 'VACUUM ANALYZE damaged');
sql($primary, 'CREATE INDEX damaged_i ON damaged USING cscan_columns (i) WITH (row_group_blocks = 64)');
my $damaged = $primary->data_dir . '/' . sql($primary, q(SELECT pg_relation_filepath('damaged_i')));
$primary->stop;
open my $fh, '+<:raw', $damaged or die "cannot open $damaged: $!";
seek $fh, 8192, 0;
print {$fh} "\0" x 16384;
close $fh;
$primary->start;
my $read = 'SET enable_seqscan = off; SELECT count(*) FROM damaged WHERE i > 0';
like(sql_fails($primary, $read), qr/index "damaged_i" is damaged.*REINDEX it.*cscan\.columns = off/s, 'a query fails, and says what to do');
is(sql($primary, "SET cscan.columns = off; $read"), '3000', 'as that says, the table can be read');
my $before_vacuum = -s $primary->logfile;
is(sql_fails($primary, 'VACUUM (INDEX_CLEANUP on) damaged'), 'it did not fail', 'VACUUM comes to its end');
like(slurp_file($primary->logfile, $before_vacuum), qr/WARNING:  could not build row groups of index "damaged_i"/, 'with a warning');
sql($primary, 'REINDEX INDEX damaged_i');
is(sql($primary, $read), '3000', 'REINDEX mends it');

done_testing();
