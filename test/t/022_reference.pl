# doc/reference.md against a running server: settings with their types, units,
# defaults, ranges and contexts; columns of the views; functions and who may call
# them; EXPLAIN keys and wait events, which are looked up in the sources.  Neither
# has one that the other has not.  Also the shared memory that the pages promise.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $page = slurp_file('doc/reference.md');

# The text below a heading, up to the next one of its level or above.
sub section
{
	my ($heading) = @_;
	my ($level) = $heading =~ /^(#+)/;
	my $same = length $level;

	return $1 if $page =~ /^\Q$heading\E\n(.*?)(?=^#{1,$same} |\z)/ms;
	fail("there is a section $heading");
	return '';
}

# The rows of the first table in a text, as lists of cells without the marks of code and links.
sub rows_in
{
	my ($text) = @_;
	my ($table) = $text =~ /((?:^\|.*\n)+)/m;
	my @rows;

	foreach my $line (split /\n/, $table || '')
	{
		my @cells = map { s/^\s+|\s+$//gr } split /(?<!\\)\|/, substr($line, 1), -1;
		pop @cells;
		push @rows, [ map { s/\[(.*?)\]\(.*?\)/$1/gr =~ s/`//gr } @cells ];
	}
	return @rows[ 2 .. $#rows ];
}

sub plain
{
	my ($text) = @_;
	return $text =~ s/`//gr =~ s/\s+/ /gr;
}

my $node = new_node('reference');

### Settings

my $settings = section('## Settings');
my %in_page = map { $_->[0] => join '|', @$_ } rows_in($settings);
my %in_server = map { (split /\|/)[0] => $_ } split /\n/, sql($node, q(
	SELECT name, vartype, unit, boot_val,
		CASE WHEN vartype = 'enum' THEN array_to_string(enumvals, ', ')
			WHEN min_val IS NOT NULL THEN min_val || ' to ' || max_val END, context
	FROM pg_settings WHERE name LIKE 'cscan.%'));

is(join(' ', sort keys %in_page), join(' ', sort keys %in_server), 'the settings');

# pg_settings has no ranges of strings, but the server has.
foreach my $name ('cscan.page_cost', 'cscan.buffer_share')
{
	my $range = (split /\|/, $in_page{$name})[4];
	my ($word, $low, $high) = $range =~ /^(\w+), (\S+) to (\S+)$/ or fail("$name: a word and a range");
	my @taken = grep { $node->psql('postgres', "ALTER SYSTEM SET $name = '$_'") == 0 } $word, $low, $high, $low - 0.001, $high + 0.001;

	is(join(' ', @taken), "$word $low $high", "$name: the server takes $range and no more");
	sql($node, "ALTER SYSTEM RESET $name");
	$in_server{$name} =~ s/\|\|(\w+)$/|$range|$1/;
}
is($in_page{$_}, $in_server{$_}, "$_: type, unit, default, range and context") foreach sort keys %in_server;

foreach my $line (split /\n/, sql($node, q(SELECT name, short_desc, extra_desc FROM pg_settings WHERE name LIKE 'cscan.%')))
{
	my ($name, @descriptions) = split /\|/, $line;
	my $where = $name =~ /debug/ ? section('### Settings for tests') : section("### $name");

	like(plain($where), qr/\Q$_\E/, "$name: the page says what pg_settings says") foreach grep { $_ ne '' } @descriptions;
}

### Views

my @views = split /\n/, sql($node, q(
	SELECT c.relname FROM pg_depend d JOIN pg_class c ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'cscan') ORDER BY 1));
is(join(' ', sort(section('## Views') =~ /^### (\w+)$/mg)), join(' ', @views), 'the views');
foreach my $view (@views)
{
	is(join("\n", map { join '|', @$_[ 0, 1 ] } rows_in(section("### $view"))),
		sql($node, "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
			WHERE attrelid = '$view'::regclass AND attnum > 0 ORDER BY attnum"),
		"$view: its columns and their types");
}

### Functions

my (%called, %described);
foreach my $row (rows_in(section('## Functions')))
{
	my ($names, $result, $callers) = @$row;

	foreach my $call ($names =~ /\w+\([^)]*\)/g)
	{
		$called{$call} = $callers eq 'everybody' ? 't' : 'f';
		$described{$call} = $result unless $result =~ /^the rows of the view/;
	}
}
sql($node, 'CREATE ROLE nobody_in_particular');
my %functions = map { (split /\t/)[0] => $_ } split /\n/, sql($node, q(
	SELECT concat_ws(E'\t', p.proname || '(' || CASE WHEN p.pronargs = 0 THEN '' ELSE pg_get_function_identity_arguments(p.oid) END || ')',
		has_function_privilege('nobody_in_particular', p.oid, 'EXECUTE'), pg_get_function_result(p.oid))
	FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'cscan')));
is(join(' ', sort keys %called), join(' ', sort keys %functions), 'the functions and their arguments');
foreach my $call (sort keys %functions)
{
	my (undef, $public, $result) = split /\t/, $functions{$call};

	is($called{$call}, $public, "$call: who may call it");
	is($described{$call}, $result, "$call: what it returns") if $described{$call};
}
is(sql($node, q(
	SELECT coalesce(string_agg(pg_describe_object(classid, objid, 0), ', '), 'none') FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND classid IN ('pg_class'::regclass, 'pg_proc'::regclass)
		AND obj_description(objid, classid::regclass::name) IS NULL
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'cscan'))),
	'none', 'objects of the extension without a comment');

### What the sources alone tell

my @files = glob 'src/*/*.c';
my $sources = join '', map { slurp_file($_) } @files;
my %keys = map { $_ => 1 } (slurp_file('src/exec/explain.c') . slurp_file('src/input/filter.c') . slurp_file('src/aggregate/explain.c')) =~ /(?:ExplainProperty\w+|ExplainOpenGroup|show_condition|show_blocks)\((?:css, )?"([^"]+)"/g;
is(join(', ', sort map { $_->[0] } rows_in(section('## EXPLAIN'))),
	join(', ', sort keys %keys), 'the EXPLAIN keys');
is(join(', ', sort map { $_->[0] } rows_in(section('## Wait events'))),
	join(', ', sort($sources =~ /cscan_wait_event\("(\w+)"\)/g)), 'the wait events');

### What it takes: doc/tuning.md and the README

my ($buffers, undef, $taken) = slurp_file('doc/tuning.md') =~ /^(\| 128 MB .*)\n(.*)\n(.*)$/m;
my @buffers = $buffers =~ /(\d+) GB/g;
my ($with_128, @taken) = $taken =~ /(\d+) MB/g;
my ($least, $with_64) = slurp_file('README.md') =~ /(\d+) MB of shared memory with 128 MB of `shared_buffers`, (\d+) MB with 64 GB/;
my $defaults = PostgreSQL::Test::Cluster->new('defaults');
my %taken = ('128MB' => $with_128, map { ("$buffers[$_]GB" => $taken[$_]) } 0 .. $#buffers);

sub shared_memory
{
	my ($shared_buffers, $libraries) = @_;
	my ($out) = run_command([ 'postgres', '-D', $defaults->data_dir, '-c', "shared_buffers=$shared_buffers",
		'-c', "shared_preload_libraries=$libraries", '-c', 'huge_pages=off', '-C', 'shared_memory_size' ]);

	return $out;
}

$defaults->init;
is("$least $with_64", "$taken{'128MB'} $taken{'64GB'}", "the README's shared memory is that of doc/tuning.md");
foreach my $shared_buffers (sort keys %taken)
{
	# PostgreSQL rounds both up.
	my $is = shared_memory($shared_buffers, 'cscan') - shared_memory($shared_buffers, '');

	ok(abs($is - $taken{$shared_buffers}) <= 1, "shared memory with $shared_buffers")
		or diag("$is MB, not $taken{$shared_buffers} MB");
}

$node->stop;
done_testing();
