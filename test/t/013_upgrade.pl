# The extension comes and goes while scans run.  Its functions and views are all
# that it consists of in a database: queries use the library whether it is there
# or not.  (scripts/check-upgrade has pg_upgrade.)

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
my $whole = 'SELECT count(*), sum(i) FROM t';

my $node = new_node('upgrade');
make_table($node, 't', $rows);
my $abm = wait_for_abm($node);

# From another database one sees what goes on while this one has no views.
sql($node, 'CREATE DATABASE looker');
CScanTest::prepare($node, 'looker');
my $scanning = 'SELECT count(*) FROM cscan_scans';

my $gatekeeper = session($node, name => 'gatekeeper');
my $dropper = session($node, name => 'who drops');
my @scans = map { session($node, name => "$_, a query", policy => $_) } @policies;
my @cursors = map { session($node, name => "$_, a cursor", policy => $_) } @policies;

# A query and a cursor under each policy, in the middle of the table.
sub in_the_middle
{
	$gatekeeper->query('SELECT pg_advisory_lock(1)');
	$_->send(gated_query('t', $rows / 2, 1)) foreach @scans;
	wait_waiting($node, scalar @scans) or die "the scans do not come to their gate\n";
	foreach my $c (@cursors)
	{
		$c->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t');
		$c->{seen} = [ split /\n/, $c->query('FETCH 5000 FROM c') ];
	}
	is(sql($node, $scanning, 'looker'), 2 * @policies, 'a query and a cursor under each policy are in the middle');
	return;
}

sub they_end
{
	my ($what) = @_;
	$gatekeeper->query('SELECT pg_advisory_unlock(1)');
	is($_->result . $_->err, $right, "$_->{name}: right, $what") foreach @scans;
	foreach my $c (@cursors)
	{
		my %distinct = map { $_ => 1 } @{ $c->{seen} }, split(/\n/, $c->query('FETCH ALL FROM c'));
		my ($n, $s) = (0, 0);
		$n++, $s += $_ foreach keys %distinct;
		is("$n|$s" . $c->err, $right, "$c->{name}: each row, $what");
		$c->query('COMMIT');
	}
	is(sql($node, $scanning, 'looker'), '0', "$what: no scan is left");
	return;
}

### DROP EXTENSION and CREATE EXTENSION under scans

in_the_middle();
$dropper->query('DROP EXTENSION cscan');
is($dropper->err, '', 'DROP EXTENSION under scans');
is(sql($node, q(SELECT count(*) FROM pg_class c, pg_proc p WHERE relname LIKE 'cscan%' OR proname LIKE 'cscan%')), '0',
	'its views and functions are gone');
is(sql($node, $scanning, 'looker'), 2 * @policies, 'the scans are still there');
like(sql_fails($node, 'SELECT * FROM cscan_scans'), qr/relation "cscan_scans" does not exist/, 'but not to be seen in this database');
they_end('the extension dropped');

ok(is_cscan($node, $whole), 'without the extension the plan has a CScan');
my $scans = sql($node, 'SELECT sum(scans) FROM cscan_stat', 'looker');
is(sql($node, $whole), $right, 'and it is right');
cmp_ok(sql($node, 'SELECT sum(scans) FROM cscan_stat', 'looker'), '>', $scans, 'it was registered');

in_the_middle();
$dropper->query('CREATE EXTENSION cscan');
is($dropper->err, '', 'CREATE EXTENSION under scans');
is(sql($node, $scanning), 2 * @policies, 'its views show them');
they_end('the extension made');
nothing_left($node, 'after CREATE EXTENSION', 't');

### In a transaction, with a scan of its own in the middle

{
	my $own = session($node, name => 'who has a scan himself');

	foreach my $end ('ROLLBACK', 'COMMIT')
	{
		$own->query('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t; MOVE 5000 FROM c; DROP EXTENSION cscan');
		is($own->err, '', "DROP EXTENSION behind a cursor of its own, $end");
		is(scalar(split /\n/, $own->query('FETCH 5000 FROM c')), 5000, 'the cursor goes on');
		$own->query('CREATE EXTENSION cscan');
		is($own->query($scanning), '1', 'CREATE EXTENSION in the same transaction: there is the scan');
		is(scalar(split /\n/, $own->query('FETCH ALL FROM c')), $rows - 10000, 'which goes on to its end');
		$own->query($end);
		is($own->err, '', $end);
		is($own->query($whole), $right, 'and a query is right');
	}
	nothing_left($node, 'after these transactions', 't');

	# Plans that were made before.
	$own->query("PREPARE scan AS $whole; PREPARE look AS $scanning; SET plan_cache_mode = force_generic_plan; EXECUTE scan; EXECUTE look");
	sql($node, 'DROP EXTENSION cscan');
	is($own->query('EXECUTE scan'), $right, 'a prepared query is right without the extension');
	$own->query('EXECUTE look');
	like($own->err, qr/ERROR: .*does not exist/, 'one that looks at a view fails');
	sql($node, 'CREATE EXTENSION cscan');
	is($own->query('EXECUTE look'), '0', 'until the extension is there again');
	is($own->query('EXECUTE scan'), $right, 'the prepared query is right with it');
	$own->quit;
}

### Who uses the views

sql($node, 'CREATE VIEW mine AS SELECT pid, relid::regclass FROM cscan_scans');
like(sql_fails($node, 'DROP EXTENSION cscan'), qr/view mine depends on view cscan_scans/, 'DROP EXTENSION does not take views of others along');
is(sql($node, $scanning), '0', 'and does nothing');
sql($node, 'DROP EXTENSION cscan CASCADE; CREATE EXTENSION cscan');
like(sql_fails($node, 'SELECT * FROM mine'), qr/does not exist/, 'unless with CASCADE');

### UPDATE to the version that is there

$dropper->query('ALTER EXTENSION cscan UPDATE');
like($dropper->err, qr/NOTICE: .*already installed/, 'ALTER EXTENSION UPDATE has nothing to do');

### Dumped and restored

{
	my $dump = $node->backup_dir . '/dump.sql';
	mkdir $node->backup_dir;
	sql($node, 'CREATE DATABASE restored');
	$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'pg_dump');
	my $text = slurp_file($dump);
	like($text, qr/CREATE EXTENSION (IF NOT EXISTS )?cscan /, 'a dump makes the extension');
	unlike($text, qr/CREATE (VIEW|FUNCTION) (public\.)?cscan/, 'and not its members');
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'it can be restored');
	is(sql($node, $whole, 'restored'), $right, 'a query in the restored database is right');
	is(sql($node, q(SELECT count(*) FROM cscan_stat), 'restored'), scalar @policies, 'and the views are there');
}

nothing_left($node, 'at the end', 't');
is(abm_pid($node), $abm, 'the ABM has been the same all the time');
$_->quit foreach ($gatekeeper, $dropper, @scans, @cursors);
$node->stop;
done_testing();
