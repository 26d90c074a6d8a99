/*-------------------------------------------------------------------------
 *
 * test_parts.c
 *		Cores and disk, against times worked out by hand.
 *
 *-------------------------------------------------------------------------
 */
#include "tests.h"

#include <string.h>

/* The next job to end is that one's, and ends then. */
static void
ends(Cores *cores, int owner, uint64_t time, const char *what)
{
	uint64_t	next = cores_next(cores);

	is_int((int64_t) next, (int64_t) time, "%s: the time", what);
	is_int(cores_pop(cores, next), owner, "%s: the job", what);
}

static void
test_fair_shares(void)
{
	Cores		cores;

	cores_init(&cores, 1);
	ok(cores_next(&cores) == SIM_NEVER, "no job, no end");
	cores_add(&cores, 0, 1, 100);
	cores_add(&cores, 0, 2, 300);

	/* Both at half: 200 for the first's 100; then 200 are left. */
	ends(&cores, 1, 200, "two jobs on a core, the short one");
	ends(&cores, 2, 400, "two jobs on a core, the long one");
	is_int((int64_t) cores.busy, 400, "the core was busy all the time");

	/* Alone for 50 of its 100, then one of three. */
	cores_add(&cores, 1000, 1, 100);
	cores_add(&cores, 1050, 2, 20);
	cores_add(&cores, 1050, 3, 500);
	ends(&cores, 2, 1110, "a third of a core");
	ends(&cores, 1, 1170, "then a half");
	ends(&cores, 3, 1620, "then all of it");
	is_int((int64_t) cores.busy, 400 + 620, "the core was busy from 1000 on");
	cores_free(&cores);

	cores_init(&cores, 2);
	cores_add(&cores, 0, 1, 100);
	cores_add(&cores, 0, 2, 100);
	cores_add(&cores, 0, 3, 200);
	ends(&cores, 1, 150, "three on two cores: equals end at one time");
	ends(&cores, 2, 150, "in the order in which they came");
	ends(&cores, 3, 250, "two cores do one job no faster");
	is_int((int64_t) cores.busy, 400, "two cores: all work was done");
	cores_free(&cores);

	cores_init(&cores, 2);
	cores_add_others(&cores, 3);
	cores_add(&cores, 0, 1, 100);
	ends(&cores, 1, 200, "one beside three others on two cores has a half");
	cores_free(&cores);
}

/* Many jobs at random: each job's share is the same, so is the sum of work. */
static void
test_many_jobs(void)
{
	Cores		cores;
	Random		random = {1};
	double		work[200];
	double		sum = 0;
	uint64_t	now = 0;
	bool		in_order = true;

	cores_init(&cores, 3);
	for (int i = 0; i < 200; i++)
	{
		work[i] = 1 + random_below(&random, 10000);
		sum += work[i];
		cores_add(&cores, 0, i, work[i]);
	}
	for (double last = 0; cores_next(&cores) != SIM_NEVER;)
	{
		int			owner;

		now = cores_next(&cores);
		owner = cores_pop(&cores, now);
		in_order &= work[owner] >= last;
		last = work[owner];
	}
	ok(in_order, "200 jobs end in the order of their work");
	ok(cores.busy >= sum - 1 && cores.busy <= sum + 400, "and take their work, rounded up at the most");
	cores_free(&cores);
}

static DiskRequest
request(int owner, uint32_t first, uint32_t nblocks)
{
	DiskRequest r = {owner, 0, first, first + nblocks, nblocks, 1, 0, false};

	return r;
}

/* The next request to be complete is that one's, and is then. */
static void
complete(Disk *disk, int owner, uint64_t time, const char *what)
{
	uint64_t	next = disk_next(disk);

	is_int((int64_t) next, (int64_t) time, "%s: the time", what);
	is_int(disk_pop(disk, next).owner, owner, "%s: the request", what);
}

static void
test_disk_times(void)
{
	Disk		disk;
	DiskRequest holes = {9, 0, 1000, 1300, 200, 3, 0, false};

	/* 8 kB take 100 us; a request 30 us more, a seek 1000 us. */
	disk_init(&disk, 81920000.0, 30, 1000);
	ok(disk_next(&disk) == SIM_NEVER, "no request, no end");
	disk_submit(&disk, 0, request(1, 0, 10));
	disk_submit(&disk, 0, request(2, 10, 10));
	disk_submit(&disk, 0, request(3, 50, 10));
	complete(&disk, 1, 30 + 1000 + 1000, "the first request");
	complete(&disk, 2, 2030 + 1000, "one that follows, its latency hidden, no seek");
	complete(&disk, 3, 3030 + 1000 + 1000, "one that does not follow");
	disk_submit(&disk, 6000, request(4, 60, 1));
	complete(&disk, 4, 6130, "one to an idle disk: its latency counts again");
	disk_submit(&disk, 7000, holes);
	complete(&disk, 9, 7030 + 3000 + 20000, "three runs, three seeks");
	is_int((int64_t) disk.nseeks, 5, "seeks");
	is_int((int64_t) disk.blocks, 231, "blocks");
	is_int((int64_t) disk.busy, 5 * 1000 + 23100, "busy while it seeks and transfers");
	disk_free(&disk);

	/* 3 us and a third a block: in the long run none is lost. */
	disk_init(&disk, 8192 * 300000.0, 0, 0);
	for (uint32_t i = 0; i < 300; i++)
		disk_submit(&disk, 0, request((int) i, i, 1));
	for (int i = 0; i < 299; i++)
		disk_pop(&disk, disk_next(&disk));
	ok(disk_next(&disk) == 1000 || disk_next(&disk) == 999, "300 blocks at 300,000 a second take 1 ms");
	disk_free(&disk);
}

static void
slice(Disk *disk, uint64_t now, uint32_t nblocks, uint64_t done, const char *what)
{
	disk_submit(disk, now, request(1, disk->head, nblocks));
	complete(disk, 1, done, what);
}

/* 8 kB take 10 us, and in each 100 ms there may be 1,000 times as many. */
static void
test_disk_slices(void)
{
	Disk		disk;

	disk_init(&disk, 81920000.0, 0, 0);
	disk_add_slices(&disk, 100000, 819200000.0);
	slice(&disk, 5000, 1000, 15000, "a whole slice, at the disk's own speed");
	slice(&disk, 15000, 500, 110000, "half of the next, when that begins");
	slice(&disk, 150000, 200, 152000, "what is left of a slice can be had at once");
	slice(&disk, 215000, 1300, 228000, "and in the next, too");
	slice(&disk, 228000, 1, 305010, "nothing more");
	slice(&disk, 395000, 1, 395010, "one each");
	slice(&disk, 495000, 1, 495010, "in three slices:");
	slice(&disk, 595000, 3999, 705020, "all of it in the third; with the next one's 1,000 that leaves 2");
	slice(&disk, 900000, 2001, 1100010, "after a pause it begins anew");
	is_int((int64_t) disk.busy, 900300, "busy is what the bandwidth is");
	disk_free(&disk);

	/* No disk is slower than its limit. */
	disk_init(&disk, 81920000.0, 0, 0);
	disk_add_slices(&disk, 100000, 1.0);
	slice(&disk, 0, 1500, 150000, "a disk that is as quick as its limit");
	disk_free(&disk);
}

static void
test_page_cache(void)
{
	Disk		disk;
	uint32_t	files[2] = {1000, 1000};
	DiskRequest other = request(5, 0, 64);

	disk_init(&disk, 81920000.0, 0, 1000);
	disk_add_cache(&disk, 3 * EXTENT_BLOCKS, false, files, 2);
	disk_submit(&disk, 0, request(1, 0, 128));
	complete(&disk, 1, 13800, "two extents that are not there");
	disk_submit(&disk, 20000, request(2, 64, 64));
	complete(&disk, 2, 20000 + 64, "one that is, which is copied");
	disk_submit(&disk, 20064, request(3, 160, 128));
	complete(&disk, 3, 20064 + 12800 + 1000, "two more: one has to go");
	disk_submit(&disk, 40000, request(4, 0, 128));
	complete(&disk, 4, 40000 + 13800, "it is the one used least recently, and then the other goes");
	other.file = 1;
	disk_submit(&disk, 60000, other);
	complete(&disk, 5, 60000 + 7400, "another file's extents are others");
	is_int((int64_t) disk.blocks, 128 + 128 + 128 + 64, "blocks off the disk");
	disk_free(&disk);
}

/* Ten extents, again and again, where there is room for four. */
static void
test_drop_behind(bool drop_behind, int64_t blocks)
{
	Disk		disk;
	uint32_t	files[1] = {1000};

	disk_init(&disk, 81920000.0, 0, 0);
	disk_add_cache(&disk, 4 * EXTENT_BLOCKS, drop_behind, files, 1);
	for (uint32_t i = 0; i < 30; i++)
	{
		disk_submit(&disk, disk.done_at, request((int) i, i % 10 * EXTENT_BLOCKS, EXTENT_BLOCKS));
		disk_pop(&disk, disk_next(&disk));
	}
	is_int((int64_t) disk.blocks, blocks, drop_behind ? "what there is room for stays" : "all have gone when they are read again");
	disk_free(&disk);
}

void
test_parts(void)
{
	test_fair_shares();
	test_many_jobs();
	test_disk_times();
	test_disk_slices();
	test_page_cache();
	test_drop_behind(false, 30 * EXTENT_BLOCKS);
	test_drop_behind(true, (10 + 6 + 6) * EXTENT_BLOCKS);
}
