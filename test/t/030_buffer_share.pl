# cscan.buffer_share = auto: the share rises while scans would gain and nobody
# else misses, falls while others miss, and can be fixed and set free again by a
# reload.  Results are right throughout.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $rows = 80000;
my $right = "$rows|" . $rows * ($rows + 1) / 2;
my $buffers = 4096;
my $floor = $buffers / 8;

# A table of more pages than there are buffers, and another one for those who miss.
my $node = new_node('share', conf => "shared_buffers = 32MB\nbgwriter_delay = 50ms\ncscan.buffer_share = auto\n");
make_table($node, 't', $rows);
make_table($node, 'other', $rows);
cmp_ok(sql($node, q(SELECT pg_relation_size('t') / 8192)), '>', $buffers, 'a table does not fit in memory');
sql($node, qq(CREATE EXTENSION pg_prewarm;
	-- Scan the table, or read the other one into buffers, until nobody holds that lock.
	CREATE FUNCTION scan_until(key bigint) RETURNS text LANGUAGE plpgsql AS \$\$
	DECLARE n bigint; s bigint; scans int := 0;
	BEGIN
		LOOP
			SELECT count(*), sum(i) FROM t INTO n, s;
			IF n || '|' || s <> '$right' THEN RETURN n || '|' || s; END IF;
			scans := scans + 1;
			EXIT WHEN pg_try_advisory_lock_shared(key);
		END LOOP;
		RETURN CASE WHEN scans > 0 THEN '$right' END;
	END \$\$;
	CREATE FUNCTION miss_until(key bigint) RETURNS text LANGUAGE plpgsql AS \$\$
	BEGIN
		LOOP
			PERFORM pg_prewarm('other', 'buffer');
			EXIT WHEN pg_try_advisory_lock_shared(key);
		END LOOP;
		RETURN 'done';
	END \$\$));
wait_for_abm($node);

# New sessions miss, too: ask in one that is there.
my $observer = session($node, name => 'observer');

sub share_becomes
{
	my ($condition, $name) = @_;
	my $until = time + $CScanTest::limit;
	my $answer = '';

	while (time < $until)
	{
		$answer = $observer->query("SELECT $condition, * FROM cscan_stat_scheduler");
		return pass($name) if $answer =~ /^t/;
		usleep(50_000);
	}
	diag("last answer: $answer");
	return fail($name);
}

# Pages of the table that are pinned.
my $pins = q(SELECT count(*) FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('t') AND pinning_backends > 0);

sub pins_become
{
	my ($condition, $name) = @_;
	return ok(poll($node, "SELECT n $condition FROM ($pins) p(n)"), $name);
}

# The tables were made beside it, so it may have fallen.
is($observer->query('SELECT buffer_share BETWEEN 0.125 AND 0.25, scans_lost FROM cscan_stat_scheduler'), 't|0',
	'auto begins with a quarter');

### Scans alone: two slow ones, and some quick ones that need what these have not read yet

my $gatekeeper = session($node, name => 'gatekeeper');
$gatekeeper->query('SELECT pg_advisory_lock(1), pg_advisory_lock(2)');
my @slow = map { session($node, name => "slow scan $_") } 1, 2;
$slow[$_]->send(ambling_query('t', 100 + $_, 1, 0.15)) foreach 0, 1;
my $quick = session($node, name => 'quick scans');
$quick->send('SELECT scan_until(1)');
share_becomes('scans_lost > 0', 'scans lose what they want');
share_becomes('buffer_share >= 0.5', 'the share rises');
pins_become("> $floor", 'and they have more pinned than the least share');

### Somebody else reads through shared buffers

my $misses = session($node, name => 'misses');
$misses->send('SELECT miss_until(2)');
share_becomes('buffer_share = 0.125', 'others miss: the share falls to the floor');
share_becomes('others_taken > 64', 'and the view says what they take');

# What scans read just now they pin themselves.
pins_become('<= ' . ($floor + 10), 'the pins go');
is($observer->query('SELECT pg_sleep(2); SELECT buffer_share FROM cscan_stat_scheduler') =~ s/^\n//r, '0.125', 'it stays there meanwhile');

$gatekeeper->query('SELECT pg_advisory_unlock(2)');
is($misses->result, 'done', 'they end');
share_becomes('buffer_share > 0.125', 'and it rises again, after a pause');

### Reloads

sub reload_share
{
	my ($share) = @_;
	set_conf($node, 'cscan.buffer_share' => $share);
	return;
}

reload_share('0.1');
share_becomes('buffer_share = 0.1', 'a number holds');
pins_become('<= ' . ($buffers / 10 + 10), 'also for pins');
is($observer->query('SELECT pg_sleep(2); SELECT buffer_share FROM cscan_stat_scheduler') =~ s/^\n//r, '0.1',
	'and does not move, whatever scans lose');
reload_share('0');
share_becomes('buffer_share = 0', 'none');
reload_share('auto');
share_becomes('buffer_share >= 0.125', 'auto begins with the share that was, or the least');
share_becomes('buffer_share > 0.25', 'and rises');

$gatekeeper->query('SELECT pg_advisory_unlock(1)');
is($_->result, $right, "$_->{name}: right") foreach @slow, $quick;
nothing_left($node, 'at the end', 't');

### Plans

ok(is_cscan($node, 'SELECT * FROM t'), 'with auto, plans have CScans');
is(sql($node, 'SELECT is_cscan FROM cscan_why_not()'), 't', 'and there is no reason why not');

# The crash of the ABM does not make the share begin anew.
my $share = $observer->query('SELECT buffer_share FROM cscan_stat_scheduler');
my $abm = abm_pid($node);
signal_pid('TERM', $abm);
wait_for_abm($node, $abm);
is($observer->query('SELECT buffer_share FROM cscan_stat_scheduler'), $share, 'another ABM goes on with the same share');

$_->quit foreach $observer, $gatekeeper, @slow, $quick, $misses;
$node->stop;
done_testing();
