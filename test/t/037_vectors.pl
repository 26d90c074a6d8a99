# The oracle of CScan Aggregate: what random queries say is what they say with cscan.vectors off, over the pages of a table, over column runs, and
# over both, over partitions and the arms of a UNION ALL, of a table and of partitions in the order of keys that have bounds, with little memory and with much, alone and with workers; errors included.
#
# CSCAN_VECTORS_ROUNDS says how many queries (150).  CSCAN_VECTORS_SEED repeats what is drawn.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $rounds = $ENV{CSCAN_VECTORS_ROUNDS} || 150;
my $seed = $ENV{CSCAN_VECTORS_SEED} || (time * 1000) % 1000000007;
srand($seed);
note("CSCAN_VECTORS_SEED=$seed");
alarm 4 * $rounds + $CScanTest::file_limit;

my $node = new_node('vectors', conf => q(
cscan.min_table_size = 0
cscan.columns_naptime = 0
max_parallel_workers_per_gather = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
));

# Values at the edges of their types, nulls, numerics of other scales, and what a change of the table leaves.
sql($node, q(
	CREATE TABLE pages (i int, s smallint, b bigint, n numeric(12,2), m numeric(18,4), u numeric, d date, t timestamp, z timestamptz,
		f float8, o boolean, c char(3), v text, w varchar(20), big bigint);
	ALTER TABLE pages ALTER v SET STORAGE EXTERNAL;
	INSERT INTO pages SELECT
		CASE WHEN g % 97 = 0 THEN NULL WHEN g % 1009 = 0 THEN 2147483647 WHEN g % 1013 = 0 THEN -2147483648 ELSE g % 200 - 50 END,
		CASE WHEN g % 89 = 0 THEN NULL WHEN g % 503 = 0 THEN -32768 ELSE g % 30 END,
		CASE WHEN g % 83 = 0 THEN NULL ELSE g / 3 END,
		CASE WHEN g % 79 = 0 THEN NULL WHEN g % 1999 = 0 THEN 'NaN' WHEN g % 701 = 0 THEN 9999999999.99 ELSE (g % 5000 - 1000) / 100.0 END,
		CASE WHEN g % 601 = 0 THEN 99999999999999.9999 ELSE g % 700 / 7.0 END,
		CASE WHEN g % 73 = 0 THEN NULL WHEN g % 3 = 0 THEN (g % 50)::numeric ELSE (g % 50 || '.50')::numeric END,
		CASE WHEN g % 71 = 0 THEN NULL WHEN g % 1201 = 0 THEN 'infinity' ELSE date '2020-01-01' + g / 40 END,
		CASE WHEN g % 907 = 0 THEN '-infinity' ELSE timestamp '2020-01-01' + g * interval '37 minutes' END,
		CASE WHEN g % 67 = 0 THEN NULL ELSE timestamptz '2020-01-01 00:00+00' + g * interval '41 minutes' END,
		CASE WHEN g % 61 = 0 THEN NULL WHEN g % 5 = 0 THEN -0.0::float8 ELSE g % 40 END,
		CASE WHEN g % 59 = 0 THEN NULL ELSE g % 3 = 0 END,
		CASE WHEN g % 53 = 0 THEN NULL ELSE substr('abcde  ', g % 6, 1 + g % 3) END,
		CASE WHEN g % 47 = 0 THEN NULL WHEN g % 43 = 0 THEN '' WHEN g % 397 = 0 THEN repeat('value 1', 300 + g % 2) ELSE 'value ' || g % 23 END,
		CASE WHEN g % 41 = 0 THEN NULL ELSE repeat('xy', g % 9) END,
		CASE WHEN g % 1500 = 0 THEN 9223372036854775807 ELSE g * 1000003::bigint END
		FROM generate_series(1, 12000) g;
	ALTER TABLE pages ADD added int DEFAULT 7;
	UPDATE pages SET added = i WHERE b % 20 = 0;
	CREATE TABLE runs (LIKE pages);
	INSERT INTO runs TABLE pages;
	CREATE TABLE mixed (LIKE pages);
	INSERT INTO mixed TABLE pages;
	CREATE INDEX pages_n ON pages (s);
	VACUUM ANALYZE;
	CREATE INDEX ON runs USING cscan_columns (i, s, b, n, m, u, d, t, z, f, o, c, v, w, big, added) WITH (row_group_blocks = 64);
	CREATE INDEX ON mixed USING cscan_columns (i, s, b, n, m, u, d, t, z, f, o, c, v, w, big, added) WITH (row_group_blocks = 64);
	UPDATE mixed SET i = i + 1 WHERE i < 2147483647 AND b BETWEEN 500 AND 900;
	DELETE FROM mixed WHERE b BETWEEN 2000 AND 2100;
	CREATE TABLE ordered (LIKE pages) WITH (fillfactor = 40);
	INSERT INTO ordered SELECT * FROM pages ORDER BY b, t;
	CREATE INDEX ON ordered USING brin (t, b, z) WITH (pages_per_range = 4);
	VACUUM ANALYZE ordered;
	CREATE INDEX ON ordered USING cscan_columns (i, s, b, n, m, u, d, t, z, f, o, c, v, w, big, added) WITH (row_group_blocks = 64);
	UPDATE ordered SET i = i + 1 WHERE i < 2147483647 AND b BETWEEN 3900 AND 3920;
	CREATE TABLE parts (LIKE pages) PARTITION BY RANGE (b);
	CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
	CREATE TABLE parts2 (w varchar(20), c char(3), gone int, n numeric(12,2), big bigint, d date, u numeric, s smallint, b bigint, m numeric(18,4), o boolean,
		v text, z timestamptz, added int, f float8, t timestamp, i int);
	ALTER TABLE parts2 DROP gone;
	ALTER TABLE parts ATTACH PARTITION parts2 FOR VALUES FROM (1000) TO (2200);
	CREATE TABLE parts_rest PARTITION OF parts DEFAULT;
	INSERT INTO parts TABLE pages;
	VACUUM ANALYZE parts;
	CREATE INDEX ON parts2 USING cscan_columns (i, s, b, n, m, u, d, t, z, f, o, c, v, w, big, added) WITH (row_group_blocks = 64);
	CREATE INDEX ON parts1 (b);
	CREATE TABLE ordered_parts (LIKE pages) PARTITION BY RANGE (b);
	CREATE TABLE ordered_parts1 PARTITION OF ordered_parts FOR VALUES FROM (0) TO (1500) WITH (fillfactor = 40);
	CREATE TABLE ordered_parts2 (gone int, LIKE parts2) WITH (fillfactor = 40);
	ALTER TABLE ordered_parts2 DROP gone;
	ALTER TABLE ordered_parts ATTACH PARTITION ordered_parts2 FOR VALUES FROM (1500) TO (3000);
	CREATE TABLE ordered_parts_rest PARTITION OF ordered_parts DEFAULT WITH (fillfactor = 40);
	CREATE TABLE ordered_parts_none PARTITION OF ordered_parts FOR VALUES FROM (10000) TO (20000);
	INSERT INTO ordered_parts SELECT * FROM pages ORDER BY b, t;
	CREATE INDEX ON ordered_parts USING brin (t, b, z) WITH (pages_per_range = 4);
	VACUUM ANALYZE ordered_parts;
	CREATE INDEX ON ordered_parts2 USING cscan_columns (i, s, b, n, m, u, d, t, z, f, o, c, v, w, big, added) WITH (row_group_blocks = 64);
	UPDATE ordered_parts SET i = i + 1 WHERE i < 2147483647 AND b BETWEEN 2980 AND 3010;
	CREATE VIEW arms AS SELECT i, s, b, n, m, u, d, t, z, f, o, c, v, w, big, added FROM pages UNION ALL
		SELECT added, (s / 2)::smallint, b, n + 1, m, n, d, t, z, f, b > 500, c, v, 'arm', big, i FROM runs;
	));

# What an answer is: the rows, in an order, or that there was an error.
sql($node, q(
	CREATE FUNCTION answer(q text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE r text;
	BEGIN
		EXECUTE 'SELECT coalesce(string_agg(x::text, E''\n'' ORDER BY x::text), ''no row'') FROM (' || q || ') x' INTO r;
		RETURN r;
	EXCEPTION WHEN OTHERS THEN
		RETURN 'error';
	END $$;
	CREATE FUNCTION has_aggregate(q text) RETURNS int LANGUAGE plpgsql AS $$
	DECLARE line text; found int = 0;
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || q LOOP
			found := greatest(found, CASE WHEN line ~ 'CScan Aggregate' THEN 1 WHEN line ~ 'CScan Border Key' THEN 2 WHEN line ~ 'CScan Vector Filter' THEN 3 ELSE 0 END);
		END LOOP;
		RETURN found;
	EXCEPTION WHEN OTHERS THEN
		RETURN 0;
	END $$;
	));

sub one { return $_[ int(rand(@_)) ]; }
sub chance { return rand(100) < $_[0]; }

my @integers = qw(i s b big added);
my @numbers = (@integers, qw(n m));

sub integer
{
	my ($depth) = @_;
	return chance(75) ? one(@integers) : one('0', '1', '-3', '1000', '70000', '5000000000') if $depth == 0 || chance(30);
	return 'CASE WHEN ' . condition(1) . ' THEN ' . integer($depth - 1) . (chance(30) ? ' WHEN ' . condition(0) . ' THEN ' . integer(0) : '') .
		(chance(60) ? ' ELSE ' . one(integer(0), 'NULL') : '') . ' END' if chance(8);
	return compared_case($depth) if chance(6);
	return 'coalesce(' . join(', ', map { integer(0) } 1 .. one(1, 2, 3)) . ')' if chance(5);
	return '(' . integer($depth - 1) . one(' + ', ' - ', ' * ', ' / ', ' % ') . integer($depth - 1) . ')' if chance(90);
	return '(- ' . integer($depth - 1) . ')';
}

sub numeric
{
	my ($depth) = @_;
	return chance(70) ? one(qw(n m u)) : one('0.5', '1', '12.345', '0.00', '-7') if $depth == 0 || chance(30);
	return 'CASE WHEN ' . condition(0) . ' THEN ' . numeric($depth - 1) . one(' END', ' ELSE ' . numeric(0) . ' END', ' ELSE 0 END') if chance(6);
	return '(' . numeric($depth - 1) . one(' + ', ' - ', ' * ', ' / ') . numeric($depth - 1) . ')' if chance(80);
	return integer($depth - 1) . '::numeric';
}

my %values = (
	i => ['3', '-50', '2147483647', '100', '1.5', 'NULL'], s => ['7', '-32768'], b => ['1000', '3999', '2500'], big => ['9223372036854775807', '5000015000'],
	n => ['0.00', '12.34', '12.345', '-5', q('NaN'), '1e30'], m => ['50', '14.2857', '3.14159265'], u => ['25', '25.50', '7.0'],
	d => [q(date '2020-06-01'), q(timestamp '2020-06-01 12:00'), q('infinity'), q(timestamptz '2020-06-01 00:00+02'), q(date '2020-03-01' + interval '10 days')],
	t => [q(timestamp '2020-05-01'), q(date '2020-07-15'), q('-infinity'), q(timestamptz '2020-05-01 12:00+00')],
	z => [q(timestamptz '2020-08-01 00:00+02'), q(date '2020-04-04'), q(timestamp '2020-03-29 02:30')],
	f => ['3', '0', '12.5'], c => [q('ab'), q('c  '), q('')], v => [q('value 7'), q(''), q('zzz')], w => [q('xy'), q('xyxyxyxy')]);

# CASE x WHEN y
sub compared_case
{
	my ($depth) = @_;
	my $column = one(sort keys %values);
	my ($what, @with) = chance(60) ? ($column, @{ $values{$column} }) : (integer(1), integer(0), integer(0), '5');

	return "CASE $what" . join('', map { ' WHEN ' . one(@with) . ' THEN ' . integer($depth - 1) } 1 .. one(1, 2, 3)) .
		one('', ' ELSE ' . integer(0)) . ' END';
}

# Of long strings some are compressed, and some are not in their rows.
sub string_condition
{
	my $column = one(qw(v w c));
	my @patterns = ('', '%', 'value 1%', '%1', '%e%1%', 'value 1', 'v%', '%ue 2', 'xy%xy', '% ', '%c%', '_alue 1', 'value\\\\_%');
	my @strings = map { "'$_'" } '', 'value 7', 'value 11', 'xyxy', 'ab', 'bc ', 'c', 'value 1' x 300;

	return "$column " . one('LIKE', 'NOT LIKE', '~~') . " '" . one(@patterns) . q(') if chance(60);
	return "$column " . one('IN', 'NOT IN') . ' (' . join(', ', one(@strings), one(@strings), one(@strings, 'NULL')) . ')' if chance(60);
	return one(@strings) . one(' = ', ' <> ') . $column;
}

sub condition
{
	my ($depth) = @_;
	if ($depth > 0 && chance(60))
	{
		return 'NOT (' . condition($depth - 1) . ')' if chance(15);
		return '(' . condition($depth - 1) . one(' AND ', ' OR ') . condition($depth - 1) . ')';
	}
	my $column = one(sort keys %values);
	my $value = one(@{ $values{$column} });
	my $kind = int(rand(10));
	return string_condition() if $kind == 9;
	return "$column " . one('<', '<=', '=', '>=', '>', '<>') . " $value" if $kind < 4;
	return integer(2) . one(' < ', ' >= ', ' = ') . integer(1) if $kind == 4;
	return "$column IS " . one('NULL', 'NOT NULL') if $kind == 5;
	return one('o', 'NOT o', 'o IS TRUE', 'o IS NOT FALSE') if $kind == 6;
	return "$column " . one('IN', 'NOT IN') . ' (' . join(', ', $value, one(@{ $values{$column} })) . ')' if $kind == 7 && $column !~ /^[dtz]/;
	return one(q(v LIKE 'value 1%'), q(v ~ '[13]$'), q(substr(v, 7)::int > 3), 'length(w) > 6', 'f > i', 'f * 2 < s', 'f IN (0, 3, 7.5)', time_field() . ' IS NOT NULL', q(extract(month FROM d) = 3), q(extract(dow FROM t) IN (0, 6)), q(t::date > '2020-03-01'), q(z::date < '2020-09-01'), q(extract(hour FROM z) < 8), q(z AT TIME ZONE 'Asia/Tokyo' > '2020-02-02'), q(f <> 'NaN'), q(v || w < 'value 5'), 'n > m', 'd < t', 'i + s > b', 'abs(i) < 20', 'u < n');
}

sub aggregate
{
	my $sum = one('sum', 'avg', 'min', 'max', 'count');
	my $kind = int(rand(11));
	my $text;
	if ($kind < 2)    { $text = 'count(*)' }
	elsif ($kind < 5) { $text = "$sum(" . integer(2) . ')' }
	elsif ($kind < 7) { $text = "$sum(" . numeric(2) . ')' }
	elsif ($kind == 10) { $text = 'count(DISTINCT ' . one(qw(i s b n m u d t z f v w c o added), integer(1), numeric(1), 'v || w', '7') . ')' }
	elsif ($kind == 7) { $text = one('min', 'max', 'count') . '(' . one(qw(d t z v f w u c n)) . ')' }
	else { $text = one('sum(f)', 'avg(f)', 'sum(f + i)', 'sum(f * 0.5)', 'avg(f - s)', 'sum(f / 4)', 'round(stddev(f)::numeric, 6)', 'round(var_pop(f * 0.5)::numeric, 6)', q(sum(CASE WHEN v LIKE 'value 1%' THEN f END)), 'avg(coalesce(f, 0))', 'count(f * f)', 'count(1 / f)', 'bool_and(o)', 'bool_or(o)', 'stddev(s)', 'sum(m * n)', 'count(DISTINCT i)', 'sum(CASE WHEN o THEN i END)', 'max(length(v))', 'regr_count(s, i)') }
	my $numeric = $kind >= 5 && $kind < 7 || $text =~ /\([un]\)/;
	$text .= ' FILTER (WHERE ' . condition(1) . ')' if chance(15);
	# Nor which of them is the least or the greatest.
	return $numeric && $text =~ /^m/ ? "trim_scale($text)" : $text;
}

# Fields of dates and timestamps; equal numerics look alike.
sub time_field
{
	my $field = one(qw(second minute hour day week month quarter year dow isodow doy epoch));
	return zoned_field($field) if chance(40);
	return one("extract($field FROM t)", "date_part('$field', t)", 'd::timestamp', 't::date') if chance(40);
	return "extract($field FROM d)" if $field !~ /second|minute|hour/ && chance(40);
	return "date_trunc('" . one(qw(second minute hour day week month quarter year)) . "', t)";
}

my @zones = qw(UTC Europe/Berlin America/New_York Australia/Lord_Howe Asia/Kathmandu America/Sao_Paulo Africa/Casablanca);

sub zoned_field
{
	my ($field) = @_;
	my $zone = one(@zones, 'EST', 'utc', 'Europe/Nowhere');
	return one("extract($field FROM z)", "date_part('$field', z)", 'z::date', 'z::timestamp', 't::timestamptz', 'd::timestamptz', "z AT TIME ZONE '$zone'", "t AT TIME ZONE '$zone'",
		"(z AT TIME ZONE '$zone')::date", "extract($field FROM z AT TIME ZONE '$zone')") if chance(50);
	$field = one(qw(second minute hour day week month quarter year));
	return one("date_trunc('$field', z)", "date_trunc('$field', d)", "date_trunc('$field', z, '$zone')");
}

sub keys_of
{
	my @keys;
	return (one(qw(b b t z)), chance(30) ? one(qw(v s u)) : ()) if chance(15);
	push @keys, one(qw(s o d c v w n m i b f added), 'i % 7', 'f * 2', 's + 1', 'v || w', 'upper(c)', 'b / 100', time_field(), time_field(), 'u', 'n * 2', '1 + 1') for 1 .. one(0, 0, 1, 1, 2, 3);
	return @keys;
}

sub query
{
	my ($table) = @_;
	my @keys = keys_of();
	my @aggregates = map { aggregate() } 1 .. one(1, 2, 4);
	my $where = chance(70) ? ' WHERE ' . join(' AND ', map { condition(2) } 1 .. one(1, 1, 2, 3)) : '';
	my $having = chance(15) ? ' HAVING count(*) > ' . one(1, 10) : '';
	my $group = @keys ? ' GROUP BY ' . join(', ', map { "($_)" } @keys) : '';
	# Equal numerics may look different; which one a group shows is anybody's choice.
	my @shown = map { /^[nmu]$/ ? "trim_scale($_)" : $_ } @keys;
	my $n = 0;
	return 'SELECT DISTINCT ' . join(', ', map { "$_ AS x" . $n++ } @shown) . " FROM $table$where" if @keys && chance(15);
	return 'SELECT ' . join(', ', map { "$_ AS x" . $n++ } @shown, @aggregates) . " FROM $table$where$group$having";
}

# Rows, of a CScan that filters batches
sub rows_of
{
	my ($table) = @_;
	my $n = 0;
	return 'SELECT ' . join(', ', map { "$_ AS x" . $n++ } map { one(sort(keys %values), qw(o added), 'i % 7', 'v || w') } 1 .. one(1, 2, 4)) .
		" FROM $table WHERE " . join(' AND ', map { condition(one(0, 1, 2)) } 1 .. one(1, 2, 3));
}

my ($differ, $aggregated, $bordered, $filtered, $errors, $asked, $rows) = (0, 0, 0, 0, 0, 0, 0);
foreach my $round (1 .. $rounds)
{
	my $table = one(qw(pages runs mixed parts parts arms ordered ordered ordered_parts ordered_parts));
	my $is_rows = chance(25);
	my $query = $is_rows ? rows_of($table) : query($table);
	my $settings = join('; ', 'SET cscan.columns = ' . one('on', 'on', 'off'), 'SET work_mem = ' . one(q('64kB'), q('4MB')), 'SET hash_mem_multiplier = 1',
		'SET enable_seqscan = ' . one('on', ($table =~ /pages|parts|arms/ ? 'on' : 'off')), 'SET max_parallel_workers_per_gather = ' . one(0, 0, 2), 'SET cscan.policy = ' . one(qw(relevance normal)), 'SET timezone = ' . one(map { "'$_'" } @zones));
	$query =~ s/'/''/g;
	my $found = sql($node, "$settings; SELECT has_aggregate('$query')");
	$aggregated += $found == 1 || $found == 2;
	$bordered += $found == 2;
	$filtered += $found == 3;
	$rows += $is_rows;
	my $got = sql($node, "$settings; SELECT answer('$query'); SET cscan.vectors = off; SELECT answer('$query')");
	my @lines = split /\n/, $got, -1;
	my $half = @lines / 2;
	my ($with, $without) = (join("\n", @lines[ 0 .. $half - 1 ]), join("\n", @lines[ $half .. $#lines ]));
	$query =~ s/''/'/g;
	$errors += $without eq 'error';
	$asked++;
	next if $with eq $without;
	$differ++;
	diag("round $round: $settings; $query\nwith:\n" . substr($with, 0, 600) . "\nwithout:\n" . substr($without, 0, 600)) if $differ <= 5;
}
is($differ, 0, "$asked queries, $aggregated of them with CScan Aggregates, $bordered with borders, $filtered with vector filters, $errors of them errors: all the same");
cmp_ok($aggregated * 2, '>', $asked - $rows, 'most of those that aggregate have CScan Aggregates');
cmp_ok($bordered, '>', 0, 'some have borders');
cmp_ok($filtered * 2, '>', $rows, 'most of the others have vector filters');

$node->stop;
done_testing();
