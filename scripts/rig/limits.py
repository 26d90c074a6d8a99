"""How fast a server may read, how much it may cache, and how much it has read.

A database server on a fast disk with gigabytes of page cache never waits for storage, so a measurement of shared reads
needs a known bandwidth and a known cache.  Linux has both in its control groups:

    version 1   blkio.throttle.read_bps_device, memory.limit_in_bytes, blkio.throttle.io_service_bytes and io_serviced, cpuacct.usage,
                cpu.cfs_quota_us
    version 2   io.max, memory.max, io.stat, cpu.stat, cpu.max

Invariant: only processes that are started through wrap() are in the group, and the group goes away in release().

    limit = open_limit(data_directory)           the best that this machine allows
    limit.kind, limit.why                        'cgroup v1', 'cgroup v2' or 'none', and in the last case the reason
    limit.wrap(argv)                             the command that runs argv inside the group
    limit.apply(bandwidth, memory)               bytes a second and bytes, None: no limit
    limit.apply_memory(memory)                   the latter alone
    limit.apply_cpus(cpus)                       CPUs' worth of time that the group may use, None: no limit; OSError if that is not possible
    limit.anonymous()                            bytes that are neither page cache nor shared memory, None if unknown
    limit.bytes_read()                           bytes read from the disk so far by the group (no group: by the machine)
    limit.requests()                             read requests so far, in the same way
    limit.cpu()                                  seconds of CPU that the group has used, None if unknown
    limit.page_cache()                           bytes of page cache that the group holds, None if unknown
    limit.release()                              processes that still run leave the group, and the group is removed

    slices(ends, size)                           of reads of so many bytes, one after the other, and when each was done: see below
    time_reads(limit, path, size, number)        such reads of a file by a process in the group, past the page cache; None if that is not possible

    ReadAhead(limit.disk)                        the kernel's read-ahead: get(), set(kilobytes), release()

    touch_shared_memory(limit)                   makes a server's shared memory resident and returns its size
    drop_page_cache(directory)                   the files of a directory leave the page cache
    use_free_memory()                            the machine's free memory is really there
    cpu_of_all()                                 seconds of CPU that the machine has used
    scheduled(processes, title)                  those of these with such a title, and of each: seconds of CPU so far, seconds that it waited for one, how often
    lateness(samples)                            of several such answers, one after the other: seconds that each wait took on average, None: nobody ran
    pace()                                       microseconds of CPU that a fixed piece of work takes now
    competitors(processes)                       how many sessions have a process that runs or waits for a CPU, these processes left out
"""
import contextlib
import mmap
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

MB = 1024 * 1024
UNLIMITED_V1 = -1
PERIOD = 20000          # us, in which a group may use its share of CPU time: short, so that it looks like slower CPUs
USUAL_PACE = 320.0      # of a CPU of 2025; all that matters is that figures of different times are for the same one


def disk_of(path):
    """The whole disk under a path as 'major:minor', or None if the file system has no block device of its own."""
    device = os.stat(path).st_dev
    number = f'{os.major(device)}:{os.minor(device)}'
    node = Path('/sys/dev/block') / number
    if not node.exists():
        return None
    node = node.resolve()
    if (node / 'partition').exists():
        node = node.parent
    return (node / 'dev').read_text().strip()


def mounts(fstype):
    """(directory, options) of every mount of a type."""
    rows = [line.split() for line in Path('/proc/mounts').read_text().splitlines()]
    return [(Path(row[1]), row[3].split(',')) for row in rows if row[2] == fstype]


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


class ReadAhead:
    """How far the kernel reads ahead on a disk, in kB.  What was there before comes back in release()."""

    def __init__(self, disk):
        self.path = Path(f'/sys/dev/block/{disk}/queue/read_ahead_kb')
        self.before = self.get()

    def get(self):
        """None if that is not known."""
        return int(self.path.read_text()) if self.path.exists() else None

    def set(self, kilobytes):
        """OSError if it cannot be changed."""
        write(self.path, str(kilobytes))

    def release(self):
        if self.get() != self.before:
            self.set(self.before)


class NoLimit:
    """No group: nothing is limited, and reads are those of the whole disk."""
    kind = 'none'

    def __init__(self, disk, why):
        self.disk, self.why = disk, why

    def wrap(self, argv):
        return argv

    def apply(self, bandwidth, memory):
        pass

    def apply_cpus(self, cpus):
        if cpus:
            raise OSError(self.why)

    def disk_stat(self, number):
        for line in Path('/proc/diskstats').read_text().splitlines():
            field = line.split()
            if f'{field[0]}:{field[1]}' == self.disk:
                return int(field[number])
        return None

    def bytes_read(self):
        sectors = self.disk_stat(5)
        return None if sectors is None else sectors * 512

    def requests(self):
        return self.disk_stat(3)

    def cpu(self):
        return None

    def page_cache(self):
        return None

    def anonymous(self):
        return None

    def processes(self):
        return []

    def release(self):
        pass


class Group:
    """What the two versions have in common: directories that a process joins by writing its id to cgroup.procs."""
    why = ''

    def __init__(self, disk, directories):
        self.disk, self.directories = disk, directories
        for directory in directories:
            for old in directory.parent.glob('cscan-*'):        # left by a run that was killed
                if not Path('/proc', old.name.split('-')[-1]).exists():
                    try:
                        old.rmdir()
                    except OSError:                             # its server still runs
                        pass
            directory.mkdir(exist_ok=True)

    def wrap(self, argv):
        join = 'for f; do shift; [ "$f" = -- ] && break; echo $$ >"$f" || exit 1; done; exec "$@"'
        return ['sh', '-c', join, 'sh'] + [str(d / 'cgroup.procs') for d in self.directories] + ['--'] + argv

    def processes(self):
        return [int(pid) for pid in (self.directories[0] / 'cgroup.procs').read_text().split()]

    def memory_stat(self):
        rows = (line.split() for line in (self.memory / 'memory.stat').read_text().splitlines())
        return {row[0]: int(row[1]) for row in rows}

    def release(self):
        for directory in self.directories:
            for attempt in range(50):
                if not directory.exists():
                    break
                try:
                    for pid in (directory / 'cgroup.procs').read_text().split():
                        write(self.home_of(directory) / 'cgroup.procs', pid)
                    directory.rmdir()
                except OSError:                                 # a process that is just ending
                    time.sleep(0.1)

    def home_of(self, directory):
        return directory.parent


class GroupV1(Group):
    kind = 'cgroup v1'

    def __init__(self, disk, name):
        found = {}
        for directory, options in mounts('cgroup'):
            for controller in ('blkio', 'memory', 'cpuacct', 'cpu'):
                if controller in options:
                    found[controller] = directory / name
        if not {'blkio', 'memory'} <= set(found):
            raise OSError('no cgroup v1 controllers blkio and memory')
        self.blkio, self.memory, self.cpuacct, self.cpus = found['blkio'], found['memory'], found.get('cpuacct'), found.get('cpu')
        super().__init__(disk, list(dict.fromkeys(found.values())))
        write(self.memory / 'memory.swappiness', '0')

    def apply(self, bandwidth, memory):
        write(self.blkio / 'blkio.throttle.read_bps_device', f'{self.disk} {int(bandwidth or 0)}')
        self.apply_memory(memory)

    def apply_memory(self, memory):
        write(self.memory / 'memory.limit_in_bytes', str(int(memory or UNLIMITED_V1)))

    def apply_cpus(self, cpus):
        if not self.cpus:
            raise OSError('no cgroup v1 controller cpu')
        write(self.cpus / 'cpu.cfs_period_us', str(PERIOD))
        write(self.cpus / 'cpu.cfs_quota_us', str(int(cpus * PERIOD) if cpus else UNLIMITED_V1))

    def reads(self, name):
        match = re.search(rf'^{self.disk} Read (\d+)$', (self.blkio / f'blkio.throttle.{name}').read_text(), re.M)
        return int(match.group(1)) if match else 0

    def bytes_read(self):
        return self.reads('io_service_bytes')

    def requests(self):
        return self.reads('io_serviced')

    def cpu(self):
        return int((self.cpuacct / 'cpuacct.usage').read_text()) / 1e9 if self.cpuacct else None

    def page_cache(self):
        stat = self.memory_stat()
        return stat['cache'] - stat['shmem']

    def anonymous(self):
        return self.memory_stat()['rss']


class GroupV2(Group):
    kind = 'cgroup v2'

    def __init__(self, disk, name):
        for root, _ in mounts('cgroup2'):
            if {'io', 'memory', 'cpu'} <= set((root / 'cgroup.controllers').read_text().split()):
                break
        else:
            raise OSError('no cgroup v2 controllers io, memory and cpu')
        self.control, self.switched = root / 'cgroup.subtree_control', []
        active = self.control.read_text().split()
        for controller in ('io', 'memory', 'cpu'):
            if controller not in active:
                write(self.control, '+' + controller)
                self.switched.append(controller)
        self.group = self.memory = root / name
        super().__init__(disk, [self.group])
        if (self.group / 'memory.swap.max').exists():
            write(self.group / 'memory.swap.max', '0')

    def apply(self, bandwidth, memory):
        write(self.group / 'io.max', f'{self.disk} rbps={int(bandwidth) if bandwidth else "max"}')
        self.apply_memory(memory)

    def apply_memory(self, memory):
        write(self.group / 'memory.max', str(int(memory) if memory else 'max'))

    def apply_cpus(self, cpus):
        write(self.group / 'cpu.max', f'{int(cpus * PERIOD) if cpus else "max"} {PERIOD}')

    def reads(self, name):
        match = re.search(rf'^{self.disk} .*?{name}=(\d+)', (self.group / 'io.stat').read_text(), re.M)
        return int(match.group(1)) if match else 0

    def release(self):
        super().release()
        for controller in self.switched:                        # as it was found
            write(self.control, '-' + controller)

    def bytes_read(self):
        return self.reads('rbytes')

    def requests(self):
        return self.reads('rios')

    def cpu(self):
        return int(re.search(r'^usage_usec (\d+)', (self.group / 'cpu.stat').read_text(), re.M).group(1)) / 1e6

    def page_cache(self):
        stat = self.memory_stat()
        return stat['file'] - stat['shmem']

    def anonymous(self):
        return self.memory_stat()['anon']


def open_limit(directory):
    disk = disk_of(directory)
    if disk is None:
        return NoLimit(disk, f'the file system of {directory} is on no block device of its own')
    if os.geteuid() != 0:
        return NoLimit(disk, 'control groups need root')
    reasons = []
    for version in (GroupV1, GroupV2):
        limit = None
        try:
            limit = version(disk, f'cscan-{os.getpid()}')
            limit.apply(1024 * MB, 1024 * MB)                   # does this machine really allow it?
            limit.apply(None, None)
            return limit
        except (OSError, KeyError) as error:
            reasons.append(str(error))
            if limit:
                limit.release()
    return NoLimit(disk, '; '.join(reasons))


READS = """
import mmap, os, sys, time
file, size, number = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), int(sys.argv[2]), int(sys.argv[3])
page, room = mmap.mmap(-1, size), os.fstat(file).st_size // size
for i in range(number):
    if os.preadv(file, [page], i % room * size) != size:
        sys.exit(1)
    print(time.monotonic())
"""


def time_reads(limit, path, size, number):
    done = subprocess.run(limit.wrap([sys.executable, '-c', READS, str(path), str(size), str(number)]), text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [float(line) for line in done.stdout.split()] if done.returncode == 0 else None


def slices(ends, size):
    """A control group's limit is kept on the average: in each slice of time the disk reads as fast as it can what is allowed for all of it.

    The length of such a slice (seconds) and how fast that is (bytes a second); nothing if the disk was always as quick as that.
    """
    times = [after - before for before, after in zip(ends, ends[1:])]
    if not times:
        return {}
    usual = statistics.median(times)
    begins = [end for end, time in zip(ends[1:], times) if time > max(10 * usual, 0.004)]
    if len(begins) < 3:
        return {}
    return {'slice': statistics.median(after - before for before, after in zip(begins, begins[1:])), 'own_bandwidth': size / usual}


def touch_shared_memory(limit):
    """Reads every page of the server's shared memory once, so that all of it is charged to the group.

    A page of shared_buffers takes memory when it is first used.  Without this, a scan that uses few buffers (PostgreSQL's
    ring) would leave the rest of the memory limit to the page cache, and the variants would not be given the same cache.
    """
    for pid in limit.processes():
        try:
            maps = Path(f'/proc/{pid}/maps').read_text()
            areas = re.findall(r'^(\w+)-(\w+) rw-s \S+ \S+ \d+\s+/dev/zero', maps, re.M)
            areas = [(int(low, 16), int(high, 16)) for low, high in areas]
            if not areas:
                continue
            with open(f'/proc/{pid}/mem', 'rb', buffering=0) as memory:
                for low, high in areas:
                    for address in range(low, high, MB):
                        memory.seek(address)
                        memory.read(min(MB, high - address))
            return sum(high - low for low, high in areas)
        except (OSError, ValueError):                           # the process has ended, or may not be read
            continue
    return None


def cpu_of_all():
    """Idle and waiting for storage are left out, and what the host took."""
    ticks = [int(number) for number in Path('/proc/stat').read_text().split('\n', 1)[0].split()[1:8]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf('SC_CLK_TCK')


def scheduled(processes, title):
    found = {}
    for pid in processes:
        try:
            if title in Path(f'/proc/{pid}/cmdline').read_text():
                ran, waited, times = Path(f'/proc/{pid}/schedstat').read_text().split()
                found[pid] = int(ran) / 1e9, int(waited) / 1e9, int(times)
        except OSError:                                         # it has ended, or this kernel does not count
            pass
    return found


def private(processes, title):
    """Bytes that those processes have of their own: no shared memory, no files."""
    found = 0
    for pid in processes:
        with contextlib.suppress(OSError):                      # it has ended
            if title in Path(f'/proc/{pid}/cmdline').read_text():
                lines = Path(f'/proc/{pid}/status').read_text().splitlines()
                found += sum(1024 * int(line.split()[1]) for line in lines if line.startswith('RssAnon:'))
    return found


def lateness(samples):
    first, last = {}, {}
    for sample in samples:
        first, last = {**sample, **first}, {**last, **sample}
    waited = sum(last[pid][1] - first[pid][1] for pid in last)
    times = sum(last[pid][2] - first[pid][2] for pid in last)
    return waited / times if times > 0 else None


def pace():
    """A CPU's clock, and others who share it, change this by the minute."""
    begin = time.thread_time()
    sum(range(20000))
    return (time.thread_time() - begin) * 1e6


def competitors(processes):
    """A session has one share of the CPUs (sched_autogroup_enabled), however many of its processes want one; a backend is one of its own."""
    found, known = set(), {str(pid) for pid in [*processes, os.getpid()]}
    for process in Path('/proc').glob('[0-9]*'):
        if process.name in known:
            continue
        try:
            state, _, _, session = (process / 'stat').read_text().rpartition(')')[2].split()[:4]
        except OSError:                                         # it has ended
            continue
        if state == 'R':
            found.add(session if session != '0' else process.name)
    return len(found)


def drop_page_cache(directory):
    for folder, _, files in os.walk(directory):
        for name in files:
            try:
                handle = os.open(os.path.join(folder, name), os.O_RDONLY)
            except OSError:
                continue
            try:
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)


def use_free_memory():
    """Writes to memory that is free, and gives it back.

    The host of a virtual machine may take free memory away, and puts it in place again, page by page, when it is used. Into
    such pages a scan's data is copied at a third of the speed, and which variant is hit is chance.
    """
    with open('/proc/meminfo') as file:
        available = next(int(line.split()[1]) * 1024 for line in file if line.startswith('MemAvailable:'))
    size = min(4096 * MB, available // 2)
    mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE).close()
