# With cscan.drop_behind the operating system does not keep a second copy of what
# chunks have been read from it, but a chunk that it had before it keeps.  With
# auto it keeps as much as it has room for.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use CScanTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'cscan.drop_behind needs Linux' if $^O ne 'linux';

# One chunk in 64 is let in where there is no room. The kernel may drop 2 MB as one
# or not at all; of smaller chunks too many would share these with one that is let in.
my $node = new_node('behind', conf => "autovacuum = off\ncscan.drop_behind = off\ncscan.chunk_size = 512kB\n");
make_table($node, 't', 100000);
make_table($node, 'u', 25000);
sql($node, 'CREATE EXTENSION pg_prewarm');
sql($node, 'VACUUM (FREEZE) t');
my $file = $node->data_dir . '/' . sql($node, q(SELECT pg_relation_filepath('t')));
$node->restart;
my $size = -s $file;

# What has been read from storage by this process so far, in bytes.
sub storage_reads
{
	open my $io, '<', '/proc/self/io' or die "/proc/self/io: $!";
	my ($bytes) = join('', <$io>) =~ /^read_bytes: (\d+)/m;
	return $bytes;
}

# The share of the file that is not in the page cache; then all of it is.
sub missing
{
	my $before = storage_reads();

	open my $in, '<:raw', $file or die "$file: $!";
	while (sysread $in, my $buffer, 1024 * 1024) { }
	return (storage_reads() - $before) / $size;
}

# A third of the file comes into the page cache, a bit of each part, as lookups
# do it: backwards, so that the kernel does not read ahead.
sub read_strays
{
	open my $in, '<:raw', $file or die "$file: $!";
	for (my $place = $size - $size % 24576; $place > 0; $place -= 24576)
	{
		sysseek $in, $place, 0 or die "$file: $!";
		sysread $in, my $buffer, 8192;
	}
}

# The first half of the file is in the page cache; it is read backwards, too.
sub read_half
{
	my $piece = 1024 * 1024;

	open my $in, '<:raw', $file or die "$file: $!";
	for (my $number = int($size / 2 / $piece) - 1; $number >= 0; $number--)
	{
		sysseek $in, $number * $piece, 0 or die "$file: $!";
		sysread $in, my $buffer, $piece;
	}
	return;
}

# A library for LD_PRELOAD, if there is a compiler.
sub library
{
	my ($name, $source) = @_;
	my $path = PostgreSQL::Test::Utils::tempdir() . "/$name";

	open my $file, '>', "$path.c" or die "$path.c: $!";
	print $file $source;
	close $file;
	return system('cc', '-shared', '-fPIC', '-o', "$path.so", "$path.c") == 0 ? "$path.so" : undef;
}

# In it mincore() finds nothing.
sub blind_mincore
{
	return library('blind', <<'END');
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int mincore(void *start, size_t length, unsigned char *pages)
{
	(void) start;
	memset(pages, 0, (length - 1) / sysconf(_SC_PAGESIZE) + 1);
	return 0;
}
END
}

# It counts what mincore() is asked for in a file, a byte for each 4 kB, and says
# how far the kernel reads ahead.
sub counted_mincore
{
	my ($asked, $read_ahead) = @_;

	return library('counted', <<"END");
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int mincore(void *start, size_t length, unsigned char *pages)
{
	static const char zeros[1 << 16];
	ssize_t n = length / 4096;
	int file = open("$asked", O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (n > (ssize_t) sizeof(zeros) || write(file, zeros, n) != n)
		return -1;
	close(file);
	return syscall(SYS_mincore, start, length, pages);
}
static FILE *other(const char *name, const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *) = (FILE *(*)(const char *, const char *)) dlsym(RTLD_NEXT, name);
	return real(strncmp(path, "/sys/", 5) == 0 ? "$read_ahead" : path, mode);
}
FILE *fopen(const char *path, const char *mode) { return other("fopen", path, mode); }
FILE *fopen64(const char *path, const char *mode) { return other("fopen64", path, mode); }
END
}

sub start_with
{
	my ($library) = @_;

	$node->stop;
	local $ENV{LD_PRELOAD} = join ':', grep { $_ } $ENV{LD_PRELOAD}, $library;
	$node->start;
	ok(abm_serves($node, 'u'), 'the worker serves');
	return;
}

sub forget
{
	system('dd', "of=$file", 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none') == 0 or die 'dd failed';
}

sub begin
{
	$node->restart;
	ok(abm_serves($node, 'u'), 'the worker serves');
	return;
}

# Of t nothing is in shared buffers then: a chunk that is found there is not
# loaded, and what the kernel reads ahead of it, 8 MB or so, not dropped.
sub evict
{
	poll($node, q(SELECT pg_prewarm('u') > 0 AND NOT EXISTS
		(SELECT FROM pg_buffercache WHERE relfilenode = pg_relation_filenode('t')))) or die 't stays in shared buffers';
	return;
}

sub scan
{
	my $before = stat_sum($node, 'blocks_read');

	evict();
	is(sql($node, 'SELECT count(*) FROM t'), '100000', "$_[0]: a scan");
	cmp_ok((stat_sum($node, 'blocks_read') - $before) * 8192, '>', 0.9 * $size, "$_[0]: the worker has loaded it");
	return;
}

# Appends to the configuration, whose last word counts.
sub set
{
	$node->append_conf('postgresql.conf', "cscan.drop_behind = $_[0]");
	return;
}

SKIP:
{
	forget();
	skip 'the file system has no storage below a page cache', 1 if missing() < 0.9;

	forget();
	begin();
	scan('off');
	cmp_ok(missing(), '<', 0.5, 'off: the kernel keeps what was read');

	set('on');
	begin();
	forget();
	scan('on');
	cmp_ok(missing(), '>', 0.8, 'on: it does not');

	forget();
	read_strays();
	begin();
	scan('on, a third there before');
	cmp_ok(missing(), '>', 0.8, 'on: it does not keep what lookups have left there');

	missing();
	begin();
	scan('on, all there before');
	cmp_ok(missing(), '<', 0.5, 'on: it keeps what it had before');

	# The worker has to remember what it has let in: it goes on from here.
	set('auto');
	begin();
	forget();
	scan('auto');
	cmp_ok(missing(), '<', 0.5, 'auto: at first all is kept');

	forget();
	scan('auto, what was kept has gone');
	cmp_ok(missing(), '>', 0.8, 'auto: there seems to be no room, so no more is kept');

	forget();
	read_half();
	scan('auto, half there before');
	my $missing = missing();
	cmp_ok($missing, '>', 0.35, 'auto: hardly more is kept');
	cmp_ok($missing, '<', 0.65, 'auto: than what was there before');

	forget();
	scan("auto, what is kept stays, $_") foreach 1 .. 20;
	cmp_ok(missing(), '<', 0.2, 'auto: as there is room, more and more is kept');
	nothing_left($node, 'after that', 't');

	# A file system that has a cache of its own, and does not say what is there.
	my $library = blind_mincore() or skip 'there is no compiler', 15;
	start_with($library);
	foreach my $time (qw(first second third))
	{
		forget();
		scan("auto, the kernel cannot tell, the $time time");
		cmp_ok(missing(), '<', 0.5, 'auto: all is kept where nobody can tell what is there');
	}

	# Behind a load only so much is looked up as the kernel may read ahead.
	my $path = PostgreSQL::Test::Utils::tempdir();
	$library = counted_mincore("$path/asked", "$path/read_ahead") or die 'there is no compiler any more';
	append_to_file("$path/asked", '');
	start_with($library);
	foreach my $kilobytes (8192, 128)
	{
		unlink "$path/read_ahead";
		append_to_file("$path/read_ahead", "$kilobytes\n");
		nothing_left($node, "read-ahead of $kilobytes kB", 't');
		evict();
		my $loads = stat_sum($node, 'chunks_loaded');
		my $asked = -s "$path/asked";
		sql($node, q(SELECT count(*) FROM t WHERE ctid < '(100,0)'));
		$asked = 4 * ((-s "$path/asked") - $asked);
		is(stat_sum($node, 'chunks_loaded') - $loads, 2, "read-ahead of $kilobytes kB: two chunks are loaded");
		cmp_ok($asked, $kilobytes == 128 ? '<' : '>', 4096, "read-ahead of $kilobytes kB: $asked kB are looked up");
	}
}

$node->stop;
done_testing();
