# The README as a new user follows it, from the restart on: its configuration, and
# each block of statements in order, whose output is compared.  (scripts/check-package
# follows its section on installing.)  The queries of the guide in doc/ are run likewise.
#
# A block of SQL can be pasted.  The block of text behind it shows what psql prints; one
# without must only succeed.  Behind <!-- figures vary --> each number may be another one;
# behind <!-- rows vary --> only the columns are compared.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The fenced blocks of a page: language, text, what is shown behind it, line, and what varies.
sub blocks_of
{
	my ($file) = @_;
	my $page = slurp_file($file);
	my @blocks;

	while ($page =~ /^(?:<!-- (\w+) vary -->\n)?```(\w+)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?/msg)
	{
		push @blocks, { vary => $1 || 'nothing', language => $2, text => $3, shows => $4, line => 1 + (substr($page, 0, $-[0]) =~ tr/\n//) };
	}
	return @blocks;
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

sub run_sql
{
	my ($file, $block) = @_;
	my $where = "$file, line $block->{line}";
	my $got = $session->query($block->{text}, 120) . "\n";

	is(shown($session->err, 'nothing'), '', "$where complains of nothing: $block->{text}");
	return unless defined $block->{shows};
	if ($block->{vary} eq 'rows')
	{
		my ($is, $expected) = map { join ' ', (split /\n/, $_)[0] =~ /\w+/g } $got, $block->{shows};

		is($is, $expected, "$where: the columns");
		return;
	}
	is(shown($got, $block->{vary}), shown($block->{shows}, $block->{vary}), "$where: what it prints");
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

sql($node, 'ALTER SYSTEM RESET cscan.buffer_share');
reload($node);
foreach my $file (map { "doc/$_.md" } qw(tuning monitoring troubleshooting))
{
	run_sql($file, $_) foreach grep { $_->{language} eq 'sql' } blocks_of($file);
}
$session->quit;
$node->stop;
done_testing();
