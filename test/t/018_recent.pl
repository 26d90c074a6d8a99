# Where nobody has scanned a table for a while, its loads begin with what is
# still in memory.  While several scans are under way, what others bring into
# memory is next; a scan that is alone goes on in order.  Row groups of an index
# of columns are looked for, too.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use Test::More;

plan skip_all => 'only Linux tells what is in its page cache' if $^O ne 'linux';

my $node = new_node('recent');
my @shares = (0.3, 0.7);
sql($node, 'CREATE EXTENSION pg_prewarm');
make_table($node, $_, 50000) foreach 'u', map { 't' . 10 * $_ } @shares;
my $nchunks = int((sql($node, q(SELECT relpages FROM pg_class WHERE relname = 't3')) + 7) / 8);
my $traces = 0;
my $tells;						# does the file system tell what is in the page cache?

# Counts a table, slowly while something is done; the trace's records of it, each as kind, flag and chunk.
sub records
{
	my ($table, $name, $meanwhile, $nscans, $every) = @_;
	my $trace = "recent.$traces";
	my $path = $node->data_dir . "/$trace";
	my @records;

	$traces++;
	set_conf($node, 'cscan.trace' => "'$trace'");
	poll($node, "SELECT count(*) = 1 FROM pg_ls_dir('.') f WHERE f = '$trace'") or die 'no trace';
	my $holder = session($node, name => 'holder');
	my @scans = map { session($node, name => "$name, scan $_") } 1 .. ($nscans || 1);
	$holder->query('SELECT pg_advisory_lock(1)') if $meanwhile;
	$_->send(ambling_query($table, $every || 50, 1, 0.01)) foreach @scans;
	$meanwhile->() if $meanwhile;
	$holder->quit;
	like($_->result, qr/^50000\|/, "$_->{name}: the answer") foreach @scans;
	$_->quit foreach @scans;
	nothing_left($node, $name, $table);
	set_conf($node, 'cscan.trace' => "''");

	# Complete with a record of kind 129.
	poll($node, "SELECT get_byte(pg_read_binary_file('$trace', size - 32, 1), 0) = 129 FROM pg_stat_file('$trace')")
	  or die 'the trace has no end';

	open my $in, '<:raw', $path or die "$path: $!";
	read $in, my $header, 64;
	while (read $in, my $record, 32)
	{
		push @records, [ unpack 'C C x22 V', $record ];
	}
	return @records;
}

# The same; the chunks that were loaded, in this order.
sub loads
{
	return map { $_->[2] } grep { $_->[0] == 52 && $_->[1] == 3 } records(@_);
}

# What has been read from storage by this process so far, in bytes.
sub storage_reads
{
	open my $io, '<', '/proc/self/io' or die "/proc/self/io: $!";
	my ($bytes) = join('', <$io>) =~ /^read_bytes: (\d+)/m;
	return $bytes;
}

# Of the table's file only so much, from its end back, is in the page cache then;
# false if the file system keeps the rest.
sub leave
{
	my ($table, $share) = @_;
	my $file = $node->data_dir . '/' . sql($node, "SELECT pg_relation_filepath('$table')");
	my $before = storage_reads();

	system('dd', "of=$file", 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none') == 0 or die 'dd failed';
	open my $in, '<:raw', $file or die "$file: $!";
	seek $in, int((1 - $share) * $nchunks) * 8 * 8192, 0;
	while (sysread $in, my $buffer, 64 * 1024) { }
	return storage_reads() - $before > 0.9 * $share * -s $file;
}

# u takes the shared buffers, all of them: cscan takes no more than its share.
sub flush
{
	my ($table) = @_;
	sql($node, 'CHECKPOINT');
	poll($node, qq(SELECT pg_prewarm('u') > 0 AND NOT EXISTS
		(SELECT FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('$table'))))
	  or die "$table stays in shared buffers";
	return;
}

foreach my $share (@shares)
{
	my $table = 't' . 10 * $share;
	my ($first) = loads($table, "$table, at first");
	cmp_ok($first, '<', 0.2 * $nchunks, "$table, at first: from the start");

	flush($table);
	my $left = leave($table, $share);
	$tells ||= $left;
	($first) = loads($table, "$table, again");
  SKIP:
	{
		skip 'the file system has no storage below a page cache', 2 if !$left;
		cmp_ok($first, '>', (0.95 - $share) * $nchunks, "$table, again: from what is still there");
		cmp_ok($first, '<', (1.1 - $share) * $nchunks, "$table, again: from the first of it");
	}
}

# Another file under the same name has no past.
sql($node, 'TRUNCATE t3; INSERT INTO t3 TABLE u');
my ($first) = loads('t3', 'another file');
cmp_ok($first, '<', 0.2 * $nchunks, 'another file: from the start');

# What others bring into shared buffers is next, before what follows.  At first nothing of the table is there.
foreach my $nscans (1, 2)
{
	flush('t3');
	my @brought = map { int(0.8 * $nchunks) + $_ } 0 .. 4;
	my $name = "$nscans, brought";
	my @loads = loads('t3', $name, sub {
		poll($node, 'SELECT count(*) FROM cscan_scans', $nscans);
		poll($node, 'SELECT count(*) > 0 FROM cscan_chunks');
		sql($node, "SELECT pg_prewarm('t3', 'buffer', 'main', 8 * $brought[0], 8 * $brought[4] + 7)");
		my $loaded = stat_sum($node, 'chunks_loaded') + 20;
		ok(poll($node, "SELECT sum(chunks_loaded) > $loaded FROM cscan_stat"), "$name: slowly"); }, $nscans);
	# A chunk that the scan finds in memory when its turn comes is not loaded at all.
	my %at = map { $_ => $nchunks } @brought;
	$at{ $loads[$_] } = $_ foreach reverse 0 .. $#loads;
	cmp_ok($at{$_}, $nscans > 1 ? '<' : '>', 0.5 * $nchunks, "$name: chunk $_ is number $at{$_} of $nchunks") foreach @brought;
}

# An index of columns is in the page cache, and not in shared buffers.  The ABM sees it before a group is loaded.
SKIP:
{
	skip 'the file system does not tell what is in the page cache', 6 if !$tells;
	make_table($node, 'g', 50000);
	sql($node, 'CREATE INDEX gc ON g USING cscan_columns (i, k) WITH (row_group_blocks = 64)');
	set_conf($node, 'random_page_cost' => '1');
	flush('gc');
	my $ngroups = sql($node, q(SELECT ceil(pg_relation_size('g') / 8192.0 / 64)));
	# A scan that is at one batch of 1,024 rows for a quarter of a second counts as idle.
	my %seen = map { $_->[2] => 1 } grep { $_->[0] == 59 && $_->[1] == 1 } records('g', 'columns', sub {
		ok(poll($node, q(SELECT count(*) FROM cscan_scans WHERE relid = 'gc'::regclass), 2), 'columns: two scans of the index');
		my $some = stat_sum($node, 'chunks_loaded') + 5;
		ok(poll($node, "SELECT sum(chunks_loaded) > $some FROM cscan_stat"), 'columns: slowly'); }, 2, 200);
	cmp_ok(scalar(keys %seen), '>', 0.5 * $ngroups, 'columns: most of the groups are seen in memory before they are loaded');
}

$node->stop;
done_testing();
