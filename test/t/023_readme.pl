# The README as a new user follows it, from the restart on: its configuration, and
# each statement in order, whose output is compared.  (scripts/check-package follows
# its section on installing.)  The queries of doc/monitoring.md and
# doc/troubleshooting.md are run likewise.
#
# Behind <!-- figures vary --> each number may be another one; behind <!-- rows vary -->
# a statement must only succeed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The fenced blocks of a page: language, text, line, and what varies.
sub blocks_of
{
	my ($file) = @_;
	my $page = slurp_file($file);
	my @blocks;

	while ($page =~ /^(?:<!-- (\w+) vary -->\n)?```(\w+)\n(.*?)^```$/msg)
	{
		push @blocks, { vary => $1 || 'nothing', language => $2, text => $3, line => 1 + (substr($page, 0, $-[0]) =~ tr/\n//) };
	}
	return @blocks;
}

# What a psql session shows: pairs of a statement and its output.
sub statements_in
{
	my ($text) = @_;
	my @pairs;
	my $ended = 1;

	foreach my $line (split /\n/, $text)
	{
		if ($line =~ /^=# (.*)/)
		{
			push @pairs, [ $1, '' ];
			$ended = $1 =~ /;$/;
		}
		elsif (!$ended)
		{
			$pairs[-1][0] .= "\n$line";
			$ended = $line =~ /;$/;
		}
		else
		{
			$pairs[-1][1] .= "$line\n";
		}
	}
	return @pairs;
}

# Spaces at line ends, empty lines and notices are no part of what a page shows.  Where
# figures vary so do the widths of columns.
sub shown
{
	my ($output, $vary) = @_;

	$output =~ s/^psql:.*NOTICE: .*\n//mg;
	$output =~ s/[ \t]+$//mg;
	$output =~ s/\n+/\n/g;
	if ($vary eq 'figures')
	{
		$output =~ s/\d+(\.\d+)?/N/g;
		$output =~ s/-+/-/g;
		$output =~ s/ +/ /g;
	}
	return $output;
}

my $node = PostgreSQL::Test::Cluster->new('readme');
my $session;
my $connected;

sub run_sql
{
	my ($file, $block) = @_;

	foreach my $pair (statements_in($block->{text}))
	{
		my ($statement, $expected) = @$pair;
		my $got = $session->query($statement, 120) . "\n" . $session->err;

		if ($block->{vary} eq 'rows')
		{
			my ($columns) = map { join ' ', /\w+/g } split /\n/, $expected;

			is($session->err, '', "$file, line $block->{line}: $statement");
			is(join(' ', (split /\n/, $got)[0] =~ /\w+/g), $columns, 'and its columns');
			next;
		}
		is(shown($got, $block->{vary}), shown($expected, $block->{vary}), "$file, line $block->{line}: $statement");
	}
	return;
}

my @readme = blocks_of('README.md');
my ($conf) = grep { $_->{language} eq 'ini' } @readme;

$node->init;
$node->append_conf('postgresql.conf', $conf->{text});
$node->start;
wait_for_abm($node);
$session = session($node, name => 'reader', aligned => 1);
my $server_is_there;
foreach my $block (@readme)
{
	$server_is_there = 1 if $block->{language} eq 'ini';
	next unless $server_is_there;
	run_sql('README.md', $block) if $block->{language} eq 'sql';
	if ($block->{language} eq 'sh')
	{
		local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'postgres', PATH => $node->config_data('--bindir') . ":$ENV{PATH}");
		my ($out, $err) = ('', '');

		IPC::Run::run([ 'sh', '-c', $block->{text} ], '>', \$out, '2>', \$err);
		is($err, '', "README.md, line $block->{line} complains of nothing: $block->{text}");
		is(scalar(() = $out =~ /^\(1 row\)$/mg), 4, 'and has four answers');
		cmp_ok(sql($node, 'SELECT max(1.0 * chunks_delivered / nullif(chunks_loaded, 0)) FROM cscan_stat'), '>', 1.5,
			'then chunks have been shared');
	}
}

sql($node, 'ALTER SYSTEM RESET cscan.buffer_share; CREATE EXTENSION cscan');
$node->reload;
foreach my $file ('doc/monitoring.md', 'doc/troubleshooting.md')
{
	run_sql($file, $_) foreach grep { $_->{language} eq 'sql' } blocks_of($file);
}
$session->quit;
$node->stop;
done_testing();
