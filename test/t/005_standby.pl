# A hot standby: its scans are cooperative, too, with an Active Buffer Manager of
# its own, and what that holds never stops replay.  VACUUM, TRUNCATE, DROP and
# rewrites on the primary are replayed while a scan is under way on the standby
# (which may be cancelled for it, as any query may), and after.  Promotion in the
# middle of a scan leaves it alone.

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

my $primary = new_node('primary', init => { allows_streaming => 1 });
make_table($primary, $_, $rows) foreach qw(t u);
$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', qq(
max_standby_streaming_delay = 500ms
hot_standby_feedback = off
));
$standby->start;

replayed($primary, $standby, 'the tables');
my $abm = wait_for_abm($standby);
isnt($abm, '', 'the standby has an ABM');
ok(is_cscan($standby, 'SELECT * FROM t'), 'its plans have a CScan');
foreach my $policy (@policies)
{
	is(sql($standby, "SET cscan.policy = $policy; SELECT count(*), sum(i) FROM t"), $right, "$policy: right");
}
cmp_ok(stat_sum($standby, 'chunks_loaded'), '>', 0, 'its ABM loads chunks');
nothing_left($standby, 'after queries on the standby', 't', 'u');

### The primary works on a table that is being scanned on the standby

# What a session was told, without where.
sub fate
{
	my ($err) = $_[0]->err =~ /((?:ERROR|FATAL): .*)/s;

	# Whether it slept just then, or scanned, is chance.
	return defined $err ? $err =~ s/^psql:[^ ]* //mgr =~ s/^CONTEXT: .*\z//msr : '';
}

my $cancelled = qr/conflict with recovery/;
my $n = 0;
foreach my $work (
	'DELETE FROM d WHERE i % 3 = 0; VACUUM d',
	'UPDATE d SET v = v + 1 WHERE i % 2 = 0; VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) d',
	'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) d',
	'ALTER TABLE d ADD COLUMN more int',
	'VACUUM FULL d',
	'TRUNCATE d',
	'DROP TABLE d')
{
	my $policy = $policies[ $n++ % @policies ];
	my $s = session($standby, name => "scan on the standby, $policy", policy => $policy);
	my $core = session($standby, name => "PostgreSQL's own scan on the standby");
	my $cursor = session($standby, name => 'cursor on the standby', policy => $policy);
	my $idle = session($standby, name => 'finished query on the standby', policy => $policy);

	sql($primary, 'DROP TABLE IF EXISTS d; CREATE TABLE d AS TABLE t');
	replayed($primary, $standby, "a table for: $work");
	my $before = sql($standby, 'SELECT count(*), sum(i) FROM d');

	is($idle->query('SELECT count(*), sum(i) FROM d'), $before, "a query before: $work");
	$cursor->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM d');
	is(scalar(split /\n/, $cursor->query('FETCH 1000 FROM c')), 1000, "a cursor is open before: $work");
	my $loaded = stat_sum($standby, 'chunks_loaded');
	$core->query('SET cscan.enabled = off');
	$_->send(slow_query('d', 1000, 0.1)) foreach ($s, $core);
	ok(poll($standby, "SELECT sum(chunks_loaded) > $loaded FROM cscan_stat"), 'a scan is under way');
	sql($primary, $work);
	replayed($primary, $standby, $work);
	my $answer = $s->result;
	ok(($answer eq $before && $s->err eq '') || $s->err =~ $cancelled, "the scan is right, or cancelled: $work")
	  or diag("$answer " . $s->err);

	# Whoever happens to be at a page that replay wants for itself is cancelled for its pin, and the other may not be.
	my @fates = ($answer . fate($s), $core->result . fate($core));
	if (grep { /holding shared buffer pin/ } @fates)
	{
		is(scalar(grep { $_ ne $before && !/$cancelled/ } @fates), 0, "PostgreSQL's own scan is right or cancelled, too: $work")
		  or diag("@fates");
	}
	else
	{
		is($fates[0], $fates[1], "so is PostgreSQL's own scan: $work");
	}
	my $rest = $cursor->query('FETCH ALL FROM c');
	ok(scalar(split /\n/, $rest) == $rows - 1000 || $cursor->err =~ /conflict|current transaction is aborted|server closed/,
		"the cursor is right, or cancelled: $work") or diag(length($rest) . ' ' . $cursor->err);
	$_->quit foreach ($s, $core, $cursor, $idle);
	nothing_left($standby, "after: $work", 't');
	is(sql($standby, 'SELECT count(*), sum(i) FROM d'), sql($primary, 'SELECT count(*), sum(i) FROM d'),
		"as on the primary after: $work") unless $work =~ /DROP/;
}
is(abm_pid($standby), $abm, 'the ABM is the same');

### The same with no scan under way, but many just before

{
	sql($primary, 'CREATE TABLE d AS TABLE t');
	replayed($primary, $standby, 'another table');
	my @scans = map { session($standby, name => "scan $_", policy => $policies[$_ % @policies]) } 1 .. 6;
	foreach my $work ('UPDATE d SET v = 1 WHERE i % 10 = 0', 'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) d', 'VACUUM FULL d', 'TRUNCATE d')
	{
		$_->send('SELECT count(*), sum(i) FROM d') foreach @scans;
		is(join(' ', map { $_->result } @scans), join(' ', ($right) x 6), "six scans before: $work");
		sql($primary, $work);
		replayed($primary, $standby, $work);
	}
	is($scans[0]->query('SELECT count(*) FROM d'), '0', 'the table is empty');
	sql($primary, 'DROP TABLE d; CREATE DATABASE other');
	replayed($primary, $standby, 'a database');
	$_->quit foreach @scans;
	my $in_other = session($standby, name => 'in another database', db => 'other');
	sql($primary, 'CREATE TABLE t AS SELECT i, repeat($$x$$, 400) AS filler FROM generate_series(1, 20000) i', 'other');
	replayed($primary, $standby, 'a table in it');
	is($in_other->query('SELECT count(*) FROM t'), '20000', 'a scan in it');
	$in_other->quit;
	sql($primary, 'DROP DATABASE other');
	replayed($primary, $standby, 'DROP DATABASE');
	nothing_left($standby, 'after DROP DATABASE', 't', 'u');
}

### The ABM ends on the standby

$abm = wait_for_abm($standby);
sql($standby, "SELECT pg_terminate_backend($abm)");
isnt(wait_for_abm($standby, $abm), $abm, 'another ABM starts on the standby');

### Promotion in the middle of scans

{
	my $gatekeeper = session($standby, name => 'gatekeeper');
	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	my @scans = map { session($standby, name => $_, policy => $_) } @policies;
	$_->send(gated_query('t', 20000, 1)) foreach @scans;
	ok(wait_waiting($standby, scalar @scans), 'a scan under each policy is in the middle of their table');
	my $working = session($standby, name => 'a scan that works');
	$working->send(slow_query('u', 1000, 0.05));
	$abm = abm_pid($standby);
	is(sql($standby, 'SELECT pg_promote(true, 60)'), 't', 'the standby is promoted');
	ok(poll($standby, 'SELECT NOT pg_is_in_recovery()'), 'it is no standby any more');
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	is($_->result, $right, "$_->{name}: right, across the promotion") foreach (@scans, $working);
	$_->quit foreach (@scans, $working, $gatekeeper);
	is(abm_pid($standby), $abm, 'the ABM is the same');
	nothing_left($standby, 'after the promotion', 't', 'u');

	my $loaded = stat_sum($standby, 'chunks_loaded');
	sql($standby, 'INSERT INTO t SELECT * FROM u; VACUUM (FREEZE) t');
	is(sql($standby, 'SELECT count(*) FROM t'), 2 * $rows, 'the promoted server can be written to');
	cmp_ok(stat_sum($standby, 'chunks_loaded'), '>', $loaded, 'and its ABM serves');
	sql($standby, 'DROP TABLE t');
}

$primary->stop;
$standby->stop;
done_testing();
