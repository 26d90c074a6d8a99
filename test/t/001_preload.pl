# Loading and settings: without preload there is a warning, an error with a hint
# and PostgreSQL's own plans; with it there is one Active Buffer Manager for all
# databases.  Settings take effect where they are made, a reload of
# cscan.buffer_share even in the middle of a scan.  Each older version of the
# extension can be updated to what a fresh installation gives.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 40000;
my $sum = $rows * ($rows + 1) / 2;
my $right = "$rows|$sum";

### Without preload

my $node = new_node('preload', bare => 1, conf => "shared_preload_libraries = ''\n");
my ($out, $err);

$node->psql('postgres', 'CREATE EXTENSION cscan', stdout => \$out, stderr => \$err);
like($err, qr/WARNING: .*cscan is not loaded.*HINT: .*shared_preload_libraries = 'cscan'.*restart/s,
	'CREATE EXTENSION warns without preload');
is(sql($node, q(SELECT count(*) FROM pg_extension WHERE extname = 'cscan')), '1',
	'and creates the extension');

foreach my $use ('SELECT * FROM cscan_scans', 'SELECT * FROM cscan_chunks',
	'SELECT * FROM cscan_relations', 'SELECT * FROM cscan_stat', 'SELECT * FROM cscan_stat_scheduler',
	'SELECT cscan_stat_reset()', q(SELECT * FROM cscan_why_not('SELECT 1')))
{
	like(sql_fails($node, $use), qr/ERROR: .*HINT: .*shared_preload_libraries.*'cscan'.*restart/s,
		"without preload: $use");
}

is(sql($node, 'SELECT is_cscan, reason FROM cscan_why_not()'),
	'f|cscan is not loaded by shared_preload_libraries', 'cscan_why_not without a query says so, too');

make_table($node, 't', $rows);
unlike(sql($node, 'EXPLAIN SELECT * FROM t'), qr/CScan/, 'without preload the plan is plain');
unlike(sql($node, q(LOAD 'cscan'; SET cscan.policy = elevator; EXPLAIN SELECT * FROM t)), qr/CScan/,
	'also in a session that loads the library');
is(sql($node, q(LOAD 'cscan'; SELECT count(*), sum(i) FROM t)), $right, 'and its result is right');
is(sql($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan abm')), '0',
	'there is no ABM');
sql($node, 'DROP EXTENSION cscan; DROP TABLE t');

### With preload

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'cscan'\n");
$node->restart;

($out, $err) = ('', '');
$node->psql('postgres', 'CREATE EXTENSION cscan', stdout => \$out, stderr => \$err);
is($err, '', 'with preload CREATE EXTENSION says nothing');
sql($node, 'DROP EXTENSION cscan');
sql($node, 'DROP EXTENSION plpgsql');
sql($node, 'CREATE EXTENSION cscan; DROP EXTENSION cscan');
ok(1, 'CREATE EXTENSION needs no procedural language');
sql($node, 'CREATE EXTENSION plpgsql');
CScanTest::prepare($node);
make_table($node, 't', $rows);

wait_for_abm($node);
is(sql($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan abm')), '1',
	'one process is the ABM');
ok(is_cscan($node, 'SELECT * FROM t'), 'the plan has a CScan');
is(sql($node, 'SELECT count(*), sum(i) FROM t'), $right, 'the result is right');
ok(abm_serves($node, 't'), 'the ABM loads chunks');
unlike(sql($node, 'SET cscan.enabled = off; EXPLAIN SELECT * FROM t'), qr/CScan/,
	'cscan.enabled = off gives the plain plan');
nothing_left($node, 'a query', 't');

$node->restart;
wait_for_abm($node);
is(stat_sum($node, 'scans'), '0', 'after a restart the counters begin anew');
is(sql($node, 'SELECT count(*), sum(i) FROM t'), $right, 'after a restart the result is right');
ok(abm_serves($node, 't'), 'and the ABM serves');

### cscan.policy by session, role, database and client

sub policy_of
{
	my ($options, $user, $db) = @_;
	local $ENV{PGOPTIONS} = $options if $options;
	fresh($node);
	my $shown = sql($node, ($user ? "SET SESSION AUTHORIZATION $user; RESET SESSION AUTHORIZATION;" : '')
		. 'SHOW cscan.policy; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM t', $db);
	my ($used) = $shown =~ /CScan Policy: (\w+)/;
	my ($set) = $shown =~ /\A(\w+)$/m;
	return "$set $used";
}

is(policy_of(), 'relevance relevance', 'the policy by default');
foreach my $policy (@policies)
{
	my $before = sql($node, "SELECT scans FROM cscan_stat WHERE policy = '$policy'");
	is(policy_of("-c cscan.policy=$policy"), "$policy $policy", "PGOPTIONS: $policy");
	is(sql($node, "SELECT scans - $before FROM cscan_stat WHERE policy = '$policy'"), '1',
		"and it is counted as $policy");
}
like(sql_fails($node, 'SET cscan.policy = lru'), qr/HINT: .*@{[join(', ', @policies)]}/,
	'an unknown policy is refused');

my $me = sql($node, 'SELECT current_user');
sql($node, qq(ALTER DATABASE postgres SET cscan.policy = attach));
is(policy_of(), 'attach attach', 'ALTER DATABASE SET cscan.policy');
sql($node, qq(ALTER ROLE "$me" SET cscan.policy = elevator));
is(policy_of(), 'elevator elevator', 'ALTER ROLE SET cscan.policy');
is(policy_of('-c cscan.policy=normal'), 'normal normal', 'PGOPTIONS comes before both');
sql($node, qq(ALTER ROLE "$me" RESET cscan.policy; ALTER DATABASE postgres RESET cscan.policy));
is(policy_of(), 'relevance relevance', 'RESET');

### cscan.buffer_share, by reload

# From 0 to more; returns when that is in force.  A session that shows the new share does not tell
# whether the ABM has it, too.
sub share
{
	my ($share) = @_;

	set_conf($node, 'cscan.buffer_share' => $share);
	poll($node, 'SHOW cscan.buffer_share', $share);
	abm_serves($node, 't') or die "the ABM loads nothing\n";
	return;
}

set_conf($node, 'cscan.buffer_share' => 0);
poll($node, 'SHOW cscan.buffer_share', '0');
ok(!is_cscan($node, 'SELECT * FROM t'), 'cscan.buffer_share = 0: the plan is plain');
like(sql($node, q(SELECT reason FROM cscan_why_not('SELECT * FROM t'))), qr/cscan\.buffer_share/,
	'and cscan_why_not says why');
is(sql($node, 'SELECT count(*), sum(i) FROM t'), $right, 'the result is right');
share(0.25);
ok(is_cscan($node, 'SELECT * FROM t'), 'back again, the plan has a CScan');
is(sql($node, 'SELECT count(*), sum(i) FROM t'), $right, 'the result is right');

like(sql_fails($node, 'ALTER SYSTEM SET cscan.buffer_share = 0.9'), qr/must be "auto" or a number from 0 to 0\.75/,
	'more than 0.75 is refused');

# In the middle of scans that wait at a gate, all at the same page.
my $pinned = q(SELECT count(*) FROM pg_buffercache
	WHERE relfilenode = pg_relation_filenode('t') AND pinning_backends > 0);
my $gatekeeper = session($node, name => 'gatekeeper');
$gatekeeper->query('SELECT pg_advisory_lock(1)');
my @scans;
my $first = stat_sum($node, 'chunks_loaded');
foreach my $policy (@policies)
{
	my $s = session($node, name => $policy, policy => $policy);
	$s->send(gated_query('t', 20000, 1));
	push @scans, $s;
}
ok(wait_waiting($node, scalar @scans), 'a scan under each policy is in the middle of their table');
cmp_ok(stat_sum($node, 'chunks_loaded'), '>', $first, 'the ABM serves them');
set_conf($node, 'cscan.buffer_share' => 0);
ok(poll($node, $pinned, '1'), 'with cscan.buffer_share = 0 only the page at the gate is pinned');
my $self_reads = stat_sum($node, 'self_reads');
$gatekeeper->query('SELECT pg_advisory_unlock(1)');
is($_->result, $right, "$_->{name}: right, with the share gone in the middle of it") foreach @scans;
cmp_ok(stat_sum($node, 'self_reads'), '>', $self_reads, 'they read for themselves');
nothing_left($node, 'after a share of 0', 't');

$gatekeeper->query('SELECT pg_advisory_lock(1)');
share(0.5);
$_->send(gated_query('t', 20000, 1)) foreach @scans;
ok(wait_waiting($node, scalar @scans), 'and again');
set_conf($node, 'cscan.buffer_share' => 0);
ok(poll($node, $pinned, '1'), 'the share is taken away');
share(0.1);
my $loaded = stat_sum($node, 'chunks_loaded');
$gatekeeper->query('SELECT pg_advisory_unlock(1)');
is($_->result, $right, "$_->{name}: right, with the share gone and back in the middle of it") foreach @scans;
cmp_ok(stat_sum($node, 'chunks_loaded'), '>', $loaded, 'and the ABM served them again');
nothing_left($node, 'after a share of 0.1', 't');

# And under scans that work.
foreach my $share (0.5, 0, 0.75, 0.01, 0, 0.5)
{
	set_conf($node, 'cscan.buffer_share' => $share);
	my $before = stat_sum($node, 'scans');
	$_->send(slow_query('t', 1000, 0.01)) foreach @scans;
	poll($node, "SELECT sum(scans) > $before FROM cscan_stat") if $share > 0;
	set_conf($node, 'cscan.buffer_share' => 0.5 - $share / 2);
	is($_->result, $right, "$_->{name}: right, with the share changed from $share under it") foreach @scans;
}
nothing_left($node, 'after many shares', 't');

### Two databases, one ABM

sql($node, 'CREATE DATABASE second');
CScanTest::prepare($node, 'second');
make_table($node, 't2', $rows, 'second');
$gatekeeper->query('SELECT pg_advisory_lock(1)');
my $gatekeeper2 = session($node, name => 'gatekeeper in the second database', db => 'second');
$gatekeeper2->query('SELECT pg_advisory_lock(1)');
my $other = session($node, name => 'second database', db => 'second');
$scans[0]->send(gated_query('t', 20000, 1));
$other->send(gated_query('t2', 20000, 1));
ok(wait_waiting($node, 2), 'a scan in each of two databases');
is(sql($node, q(SELECT string_agg(datname, ' ' ORDER BY datname) FROM cscan_relations
	JOIN pg_database d ON d.oid = datid WHERE chunks_loaded > 0)),
	'postgres second', 'the ABM has loaded chunks for both');
is(sql($node, q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan abm')), '1',
	'there is still one ABM');
$gatekeeper->query('SELECT pg_advisory_unlock(1)');
$gatekeeper2->query('SELECT pg_advisory_unlock(1)');
is($scans[0]->result, $right, 'the first database: right');
is($other->result, $right, 'the second database: right');
$_->quit foreach ($other, $gatekeeper, $gatekeeper2, @scans);
nothing_left($node, 'after two databases', 't');

### Upgrade scripts

# Everything that the catalogues say of the extension's members, oids aside.
my $members = q(
	WITH m AS (
		SELECT classid, objid FROM pg_depend
		WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND
			refobjid = (SELECT oid FROM pg_extension WHERE extname = 'cscan'))
	SELECT o.type, o.identity, obj_description(m.objid, c.relname),
		p.proowner::regrole, p.proacl, p.procost, p.prorows, p.provolatile, p.proparallel,
		p.proisstrict, p.prosecdef, p.proleakproof, p.probin, pg_get_functiondef(p.oid),
		r.relkind, r.relowner::regrole, r.relacl, r.reloptions,
		CASE WHEN r.relkind = 'v' THEN pg_get_viewdef(r.oid) END,
		(SELECT string_agg(concat_ws(' ', a.attnum, a.attname, a.attacl, col_description(r.oid, a.attnum),
				format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY a.attnum)
			FROM pg_attribute a WHERE a.attrelid = r.oid AND a.attnum > 0)
	FROM m JOIN pg_class c ON c.oid = m.classid
		CROSS JOIN pg_identify_object(m.classid, m.objid, 0) o
		LEFT JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
		LEFT JOIN pg_class r ON m.classid = 'pg_class'::regclass AND r.oid = m.objid
	ORDER BY 1, 2);

sql($node, 'CREATE DATABASE fresh');
sql($node, 'CREATE EXTENSION cscan', 'fresh');
my $fresh = sql($node, $members, 'fresh');
is(sql($node, q(SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class JOIN pg_depend ON objid = pg_class.oid
	WHERE classid = 'pg_class'::regclass AND deptype = 'e' AND relkind = 'v' AND
		refobjid = (SELECT oid FROM pg_extension WHERE extname = 'cscan')), 'fresh'),
	'cscan_chunks cscan_columns_status cscan_relations cscan_scans cscan_stat cscan_stat_scheduler', 'a fresh installation has its views');

sql($node, 'DROP EXTENSION cscan', 'fresh');
is(sql($node, q(SELECT count(*) FROM pg_proc WHERE proname LIKE 'cscan%'), 'fresh'), '0',
	'DROP EXTENSION leaves nothing');
sql($node, 'CREATE EXTENSION cscan', 'fresh');
is(sql($node, $members, 'fresh'), $fresh, 'CREATE EXTENSION again gives the same');

my $default = sql($node, q(SELECT default_version FROM pg_available_extensions WHERE name = 'cscan'));
my @older = split /\n/, sql($node, qq(SELECT version FROM pg_available_extension_versions
	WHERE name = 'cscan' AND version <> '$default' ORDER BY version));
foreach my $old (@older)
{
	(my $db = "from_$old") =~ tr/a-z0-9/_/c;
	sql($node, "CREATE DATABASE $db");
	sql($node, "CREATE EXTENSION cscan VERSION '$old'; ALTER EXTENSION cscan UPDATE", $db);
	is(sql($node, 'SELECT extversion FROM pg_extension WHERE extname = $$cscan$$', $db), $default,
		"$old can be updated to $default");
	is(sql($node, $members, $db), $fresh, "and is then as if $default had been installed");
}

# Each script is on a way to the newest version, and this server has it.
foreach my $script (glob "$FindBin::RealBin/../../sql/cscan--*--*.sql")
{
	my ($from, $to) = $script =~ /cscan--(.+)--(.+)\.sql$/;
	is(sql($node, qq(SELECT count(*) FROM pg_extension_update_paths('cscan')
		WHERE source = '$from' AND target = '$default' AND path LIKE '$from--$to%')), '1',
		"cscan--$from--$to.sql leads to $default");
}

$node->stop;
done_testing();
