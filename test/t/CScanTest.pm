# What the TAP tests share: a small server with cscan in it, psql sessions that
# can be left working, and the check that nothing stays behind a query.
#
# Nothing here waits without bound.  What takes longer than $limit seconds dies,
# which fails the file; a file that takes longer than $file_limit dies, too.

package CScanTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(new_node sql sql_fails poll make_table session abm_pid
  wait_for_abm abm_serves wait_waiting nothing_left lockable stat_sum is_cscan set_conf reload fresh vacuum_all
  slow_query ambling_query gated_query server_is_up signal_pid replayed @policies);

# The working directory is the top of the sources.
our @policies = slurp_file('src/policy/policies.h') =~ /^\tPOLICY\(\w+, (\w+)\)/mg;
die 'src/policy/policies.h lists no policy' unless @policies;
our $limit = 60;
our $file_limit = 480;

# So long (s) one answer may take where it is asked for again and again.
our $ask_limit = 10;

# What is still there so long after its query has leaked (nothing_left).
our $soon = 10;

$SIG{ALRM} = sub { die "the test file took longer than $file_limit seconds\n" };
alarm $file_limit;

# Small buffers and small chunks: a table of 20 MB has some 320 chunks, of which
# 64 can be held.
our $conf = qq(
shared_preload_libraries = 'cscan'
shared_buffers = 8MB
max_connections = 40
cscan.chunk_size = 64kB
cscan.min_table_size = 0
cscan.page_cost = 0.5
cscan.columns_naptime = 0
max_parallel_workers_per_gather = 0
autovacuum = off
jit = off
restart_after_crash = on
log_statement = none
log_lock_waits = on
);

# new_node(NAME, init => {...}, conf => TEXT): makes and starts a server.
sub new_node
{
	my ($name, %how) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%{ $how{init} || {} });
	$node->append_conf('postgresql.conf', $conf . ($how{conf} || ''));
	$node->start;
	prepare($node) unless $how{bare};
	return $node;
}

# The extension, the functions that make scans slow, or stop them, and what a page
# of the next scan is estimated to cost (cscan.page_cost = auto).
sub prepare
{
	my ($node, $db) = @_;

	sql($node, q(
		CREATE EXTENSION cscan;
		CREATE EXTENSION pg_buffercache;
		CREATE FUNCTION gate(key bigint) RETURNS boolean LANGUAGE plpgsql AS
			$$ BEGIN PERFORM pg_advisory_lock_shared(key), pg_advisory_unlock_shared(key); RETURN true; END $$;
		CREATE FUNCTION slow(s float8) RETURNS boolean LANGUAGE plpgsql AS
			$$ BEGIN PERFORM pg_sleep(s); RETURN true; END $$;
		CREATE FUNCTION amble(key bigint, s float8) RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE AS
			$$ BEGIN
				IF pg_try_advisory_lock_shared(key) THEN
					PERFORM pg_advisory_unlock_shared(key);
				ELSE
					PERFORM pg_sleep(s);
				END IF;
				RETURN true;
			END $$;
		CREATE FUNCTION page_cost(rel regclass) RETURNS numeric LANGUAGE plpgsql SET cscan.page_cost = 'auto' AS
			$$ DECLARE
				own json;
				cscan json;
			BEGIN
				EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM ' || rel INTO cscan;
				SET LOCAL cscan.enabled = off;
				EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM ' || rel INTO own;
				SET LOCAL cscan.enabled = on;
				RETURN 1 - round(((own #>> '{0,Plan,Total Cost}')::numeric - (cscan #>> '{0,Plan,Total Cost}')::numeric) /
					(pg_relation_size(rel) / 8192), 2);
			END $$;
		), $db);
	return;
}

# sql(NODE, SQL [, DATABASE]): its output; dies if it fails or takes too long.
sub sql
{
	my ($node, $sql, $db) = @_;
	my ($out, $err) = run_sql($node, $sql, $db);

	die "failed: $sql\n$err" unless defined $out;
	return $out;
}

# What the server says on standard error where that is expected.
sub sql_fails
{
	my ($node, $sql, $db) = @_;
	my ($out, $err) = run_sql($node, $sql, $db);

	return defined $out ? 'it did not fail' : $err;
}

# One psql for each server runs all of that in the database postgres: to start one, and a backend, costs more than most statements do.  It
# is as good as a new one: what a session can leave behind is taken away.  It is another one after an error, or when its backend has gone.
# Other databases have none, since it would be in the way of DROP DATABASE; nor have other users and options.
my %kept;

END { local $?; %kept = (); }

# Is the kept psql one for this database and environment?
sub may_keep
{
	my ($db) = @_;
	return (!$db || $db eq 'postgres') && !$ENV{PGOPTIONS} && !$ENV{PGUSER};
}

# Output (undef: it failed) and what came on standard error.
sub run_sql
{
	my ($node, $sql, $db) = @_;
	my $keep = may_keep($db);
	my $psql = $keep ? delete $kept{ $node->name } : undef;

	undef $psql unless $psql && kill(0, $psql->pid);
	eval { $psql ||= session($node, name => 'psql', db => $db, stop => 1); };
	die $@ if $@ =~ /^the test file took/;
	return (undef, $@) unless $psql;
	my ($out, $err) = ($psql->query($sql), $psql->err);
	return (undef, $err) if $psql->{gone};
	if (!$keep)
	{
		$psql->quit;
	}
	else
	{
		$psql->query('SET client_min_messages = error; SET log_min_messages = error; ROLLBACK; SELECT pg_stat_force_next_flush(); DISCARD ALL');
		$kept{ $node->name } = $psql unless $psql->{gone};
	}
	return ($out, $err);
}

# The next statement gets a new backend.
sub fresh
{
	my ($node) = @_;
	delete $kept{ $node->name };
	return;
}

# The next statement sees the new configuration: a backend that is there may be told of it too late.
sub reload
{
	my ($node) = @_;
	fresh($node);
	$node->reload;
	return;
}

# poll(NODE, SQL [, EXPECTED]): asks until the answer is the expected one.
sub poll
{
	my ($node, $sql, $expected, $db) = @_;
	my $got = last_answer($node, $sql, defined $expected ? $expected : 't', $limit, $db);

	return 1 if !defined $got;
	diag("gave up after $limit seconds: $sql\nlast answer: $got");
	return 0;
}

# The same, for so many seconds; undef, or else the last answer.  One psql asks all the time, the kept one if there is one; another one
# comes if there was no server, or if the statement failed.
sub last_answer
{
	my ($node, $sql, $expected, $seconds, $db) = @_;
	my $until = time + $seconds;
	my $keep = may_keep($db);
	my $psql = $keep ? delete $kept{ $node->name } : undef;

	undef $psql unless $psql && kill(0, $psql->pid);
	for (;;)
	{
		my $got;
		eval { $psql ||= session($node, name => 'poll', db => $db, stop => 1); $got = $psql->query($sql, $ask_limit); };
		die $@ if $@ =~ /^the test file took/;
		undef $psql if !defined $got || $psql->{gone};
		$got = '' unless defined $got;
		if ($got eq $expected || time > $until)
		{
			if ($psql && $keep)
			{
				$kept{ $node->name } = $psql;
			}
			elsif ($psql)
			{
				$psql->quit;
			}
			return $got eq $expected ? undef : $got;
		}
		usleep(20_000);
	}
}

# Vacuums a table with an index of columns until each of its blocks is all-visible: the worker may have a snapshot at first.  Without
# INDEX_CLEANUP a few pages with dead items may stay as they are.
sub vacuum_all
{
	my ($node, $name, $db) = @_;
	return if poll($node, "VACUUM (INDEX_CLEANUP on) $name; SELECT bool_and(all_visible = blocks) FROM cscan_columns_status WHERE relation = '$name'::regclass", 't', $db);
	diag(sql($node, q(SELECT concat_ws(' ', pid, datname, backend_type, state, wait_event, backend_xmin, left(query, 60)) FROM pg_stat_activity ORDER BY pid)));
	$node->psql($db || 'postgres', "VACUUM (VERBOSE, INDEX_CLEANUP on) $name", stderr => \my $said);
	die "$name cannot be vacuumed:\n$said\n";
}

# Can one connect?  A backend that is there may not have heard yet that another one has crashed.
sub server_is_up
{
	my ($node) = @_;
	fresh($node);
	return poll($node, 'SELECT 1', '1');
}

# A table whose rows are numbered from 1 on; 17 of them on a page.
sub make_table
{
	my ($node, $name, $rows, $db) = @_;
	sql($node, qq(
		CREATE TABLE $name AS
			SELECT i, i % 100 AS k, (i * 7919::bigint) % 1000 AS v, repeat('x', 400) AS filler
			FROM generate_series(1, $rows) i;
		VACUUM ANALYZE $name;
		), $db);
	return;
}

# Counts and sums a table, pausing for SECONDS at each of so many rows.
sub slow_query
{
	my ($table, $every, $seconds) = @_;
	return "SELECT count(*), sum(i) FROM $table "
	  . "WHERE CASE WHEN i % $every = 0 THEN slow($seconds) ELSE true END";
}

# The same, but only as long as somebody holds advisory lock KEY: so it is in the
# middle of its table until all that is to be seen was seen.
sub ambling_query
{
	my ($table, $every, $key, $seconds) = @_;
	return "SELECT count(*), sum(i) FROM $table WHERE i % $every <> 0 OR amble($key, $seconds)";
}

# Counts and sums a table; waits at row ROW until nobody holds advisory lock KEY.
sub gated_query
{
	my ($table, $row, $key) = @_;
	return "SELECT count(*), sum(i) FROM $table "
	  . "WHERE CASE WHEN i = $row THEN gate($key) ELSE true END";
}

# Waits until so many processes wait at a gate.
sub wait_waiting
{
	my ($node, $n) = @_;
	return poll($node,
		"SELECT count(*) >= $n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
}

sub is_cscan
{
	my ($node, $query, $db) = @_;
	return sql($node, "EXPLAIN $query", $db) =~ /Custom Scan \(CScan\)/;
}

# A sum over all policies in cscan_stat.
sub stat_sum
{
	my ($node, $column) = @_;
	return sql($node, "SELECT sum($column) FROM cscan_stat");
}

sub abm_pid
{
	my ($node) = @_;
	return sql($node, q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'cscan abm'));
}

# Waits until there is an ABM, other than OLD where that is given.
sub wait_for_abm
{
	my ($node, $old) = @_;
	$old ||= 0;
	poll($node, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cscan abm' AND pid <> $old", '1')
	  or die "there is no Active Buffer Manager\n";
	return abm_pid($node);
}

# Scans a table until the ABM has loaded a chunk: a new one may not be ready yet,
# and while one that has no CPU does nothing, scans read for themselves.  (Whole
# rows: an index could count them.)
sub abm_serves
{
	my ($node, $table) = @_;
	my $loaded = stat_sum($node, 'chunks_loaded');
	return poll($node, "DO 'BEGIN PERFORM count(x) FROM $table x; END'; SELECT sum(chunks_loaded) > $loaded FROM cscan_stat");
}

# All that the primary has done so far is replayed on the standby, soon.
sub replayed
{
	my ($primary, $standby, $what) = @_;
	# Its commit flushes all that came before it.
	sql($primary, q(SELECT pg_logical_emit_message(true, 'mark', '')));
	my $lsn = sql($primary, 'SELECT pg_current_wal_flush_lsn()');
	return ok(poll($standby, "SELECT pg_last_wal_replay_lsn() >= '$lsn'::pg_lsn"), "replayed: $what");
}

sub signal_pid
{
	my ($signal, $pid) = @_;
	die "no process to send $signal to\n" unless $pid =~ /^[1-9][0-9]*$/;
	kill($signal, $pid) == 1 or die "cannot send $signal to $pid: $!\n";
	return;
}

sub set_conf
{
	my ($node, %settings) = @_;
	sql($node, "ALTER SYSTEM SET $_ = $settings{$_}") foreach sort keys %settings;
	reload($node);
	return;
}

# Nothing may stay behind the queries: no scan, no chunk, no pin on any table, whatever its database, no lock on these tables, and no file
# that the ABM keeps open though it has gone.  One test.
sub nothing_left
{
	my ($node, $name, @tables) = @_;
	my %checks = (
		'scans' => 'cscan_scans',
		'chunks' => 'cscan_chunks',
		'relations' => 'cscan_relations',
		'pins' => 'pg_buffercache WHERE relfilenode >= 16384 AND pinning_backends > 0',
		'locks of the ABM' => q(pg_locks JOIN pg_stat_activity USING (pid) WHERE backend_type = 'cscan abm'),
		'locks on databases' => q(pg_locks WHERE locktype = 'object' AND classid = 'pg_database'::regclass));

	$checks{"locks on $_"} = "pg_locks WHERE relation = '$_'::regclass" foreach @tables;
	my $all = join ' UNION ALL ', map { "SELECT '$_' AS what, count(*) AS n FROM $checks{$_}" } sort keys %checks;
	my $left = last_answer($node, "SELECT coalesce(string_agg(n || ' ' || what, ', ' ORDER BY what), 'nothing') FROM ($all) c WHERE n > 0",
		'nothing', $soon);
	$left = open_files($node) unless defined $left;
	return is(defined $left ? $left : 'nothing', 'nothing', "$name: nothing is left behind");
}

# Files of the data directory that have been removed while the ABM had them open, and that it has not closed soon; undef if there are none.
sub open_files
{
	my ($node) = @_;
	my $until = time + $soon;

	for (;;)
	{
		my $pid = abm_pid($node);
		my @gone = $pid ? removed_files($pid) : ();
		return undef unless @gone;
		return 'open: ' . join ', ', @gone if time > $until;
		usleep(20_000);
	}
}

# Of those that a process has open.
sub removed_files
{
	my ($pid) = @_;
	my @open = grep { defined } map { readlink } glob "/proc/$pid/fd/*";

	die "cannot see what process $pid has open\n" if !@open && -d "/proc/$pid";
	return grep { m{/(?:base|global|pg_tblspc)/.* \(deleted\)$} } @open;
}

# Nobody has a lock on the table that a query on it has just used: one test.  Not
# even the ABM, which would give it to whoever waited.
sub lockable
{
	my ($node, $name, $table) = @_;
	return is(sql_fails($node, "BEGIN; LOCK TABLE $table IN ACCESS EXCLUSIVE MODE NOWAIT; ROLLBACK"),
		'it did not fail', "$name: LOCK $table NOWAIT works at once");
}

### A psql that can be left working

package CScanTest::Session;

use Time::HiRes qw(time usleep);

sub CScanTest::session
{
	my ($node, %how) = @_;
	my $self = bless {
		in => '', out => '', err => '', number => 0,
		name => $how{name} || 'session',
	}, 'CScanTest::Session';
	my $db = $how{db} || 'postgres';
	my @command = ($node->installed_command('psql'), $how{aligned} ? '-X' : '-XAtq', '-d', $node->connstr($db),
		'-v', 'ON_ERROR_STOP=' . ($how{stop} || 0), '-f', '-');

	local $ENV{PGOPTIONS} = $how{options} if $how{options};
	$self->{timer} = IPC::Run::timer($CScanTest::limit);
	$self->{run} = IPC::Run::start(\@command, '<', \$self->{in}, '>', \$self->{out},
		'2>', \$self->{err}, $self->{timer});
	$self->query("SET cscan.policy = $how{policy}") if $how{policy};
	($self->{pid}) = $self->query('SELECT pg_backend_pid()') =~ /^\s*(\d+)$/m;
	die "$self->{name} could not connect: $self->{err}\n" unless $self->{pid};
	return $self;
}

sub pid { return $_[0]->{pid}; }

# Sends statements and does not wait for them.
sub send
{
	my ($self, $sql) = @_;
	my $mark = '<<' . ++$self->{number} . '>>';
	$self->{sql} = $sql;
	$self->{out} = $self->{err} = '';
	$self->{collected} = 0;
	$self->{in} .= "$sql\n;\n\\echo $mark\n\\warn $mark\n";
	$self->{run}->pump_nb if $self->{run}->pumpable;
	return;
}

# Have the statements ended?
sub done
{
	my ($self) = @_;
	my $mark = quotemeta('<<' . $self->{number} . '>>');
	eval { $self->{run}->pump_nb if $self->{run}->pumpable; };
	return 1 if $self->{out} =~ /^$mark\n/m && $self->{err} =~ /$mark\n/;
	return $self->{gone} = 1 unless $self->{run}->pumpable;
	return 0;
}

# Waits until psql says something or ends, so many seconds at most.
sub listen
{
	my ($self, $seconds) = @_;

	return unless $self->{run}->pumpable;
	$self->{timer}->start($seconds > 1 ? $seconds : 1);
	eval { $self->{run}->pump; };
	die $@ if $@ =~ /^the test file took/;
	return;
}

# Waits for the statements that were sent: their output.  What came on standard
# error is in err().
sub result
{
	my ($self, $seconds) = @_;
	my $until = time + ($seconds || $CScanTest::limit);
	my $mark = quotemeta('<<' . $self->{number} . '>>');

	return $self->{out} if $self->{collected};
	until ($self->done)
	{
		die "$self->{name} took longer than "
		  . ($seconds || $CScanTest::limit) . " seconds: $self->{sql}\n"
		  if time > $until;
		$self->listen($until - time);
	}
	$self->{out} =~ s/^$mark\n//m;
	$self->{err} =~ s/(psql:<stdin>:\d+: )?$mark\n//;
	$self->{out} =~ s/\n\z//;
	$self->{collected} = 1;
	return $self->{out};
}

sub query
{
	my ($self, $sql, $seconds) = @_;
	$self->send($sql);
	return $self->result($seconds);
}

sub err { return $_[0]->{err}; }

sub quit
{
	my ($self) = @_;
	return unless $self->{run};
	$self->{in} .= "\\q\n";
	my $until = time + $CScanTest::limit;
	while ($self->{run}->pumpable)
	{
		eval { $self->{run}->pump_nb; };
		last if $@ || time > $until;
		usleep(2_000);
	}
	eval { $self->{run}->kill_kill; };
	delete $self->{run};
	return;
}

sub DESTROY
{
	my ($self) = @_;
	local ($@, $?);
	eval { $self->{run}->kill_kill(grace => 1); } if $self->{run};
	return;
}

1;
