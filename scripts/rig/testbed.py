"""The servers that are measured: cold, under limits, watched.

Each run starts cold: the server is restarted, the page cache has none of its files, and all of its shared memory is resident,
so that the memory limit leaves the page cache what was asked for and nothing more.

    Rig(cluster, settings, answers)     one cluster, its limits and settings: start(), prepare(), close() or leave(); close() happens even if
                                        this process is killed
    CacheLimit                          keeps the page cache at what was asked for where sessions use memory by megabytes
    Watch, Reads                        what the operating system, and cscan, count while a run lasts
    usual_buffers(scale), usual_chunk(scale)
                                        shared_buffers in bytes and cscan.chunk_size in kB that go with a scale of TPC-H
    share_of(setting)                   cscan.buffer_share as a number
    manager_cpu(limit)                  seconds of CPU that cscan's worker has used
"""
import contextlib
import math
import random
import statistics
import threading
import time
from dataclasses import dataclass

from .cluster import Failure
from .data import COLUMNS, TEN
from .guard import Guard
from .limits import MB, ReadAhead, competitors, cpu_of_all, drop_page_cache, lateness, open_limit, pace, scheduled, touch_shared_memory, use_free_memory
from .progress import note

BLOCK = 8192
CHUNK_BLOCKS = 512          # where there is no cscan
BACKENDS = 12 * MB          # of the memory limit, for what is neither shared memory nor page cache (as measured)
SMALLEST_CACHE = 32 * MB    # with less, the server's own programs do not stay in memory
CHUNK, SMALLEST_CHUNK = 4096, 512   # kB: cscan's default, which is for scale 1, and the least that does not cost CPU
MANAGER = 'cscan abm'       # in its title
SESSION = '[local]'         # in theirs: of clients that came by a socket
STAT = ('scans', 'chunks_delivered', 'chunks_loaded', 'blocks_read', 'evictions', 'self_reads', 'waits', 'wait_time', 'wakeups')


def usual_buffers(scale):
    return int(max(16, 192 * scale)) * MB


def share_of(setting):
    """cscan.buffer_share as a number: auto gives scans alone all that it may."""
    return 0.75 if str(setting).lower() == 'auto' else float(setting)


def usual_chunk(scale):
    """A smaller table has as many chunks, but not too small ones."""
    return min(CHUNK, max(SMALLEST_CHUNK, 2 ** int(math.log2(CHUNK * scale))))


@dataclass
class Settings:
    bandwidth: float        # bytes a second
    shared_buffers: int     # bytes
    page_cache: int         # bytes
    direct_io: bool
    extra: dict             # server settings by name
    timeout: int            # seconds for a query
    seed: int
    read_ahead: int | None = None   # kB; None: as it is
    chunk_size: int | None = None   # kB; None: cscan's default
    queries: tuple | None = None    # names, of those that queries.py has; None: all
    cpus: float | None = None       # worth of time that the server may use; None: as much as there is


class Rig:
    def __init__(self, cluster, settings, answers):
        self.cluster, self.settings, self.answers = cluster, settings, answers
        self.limit = open_limit(cluster.home)
        self.read_ahead = ReadAhead(self.limit.disk)
        self.guard = Guard(self.undo)
        try:
            if settings.read_ahead is not None:
                self.read_ahead.set(settings.read_ahead)
            if settings.cpus:
                self.limit.apply_cpus(settings.cpus)
            self.cscan = cluster.has_cscan
        except OSError as error:
            self.close()
            raise Failure(f'the read-ahead or the CPUs cannot be set: {error}')

    def random(self, *what):
        """Drawn from the seed and from what it is for, so that it is the same however a run was resumed."""
        return random.Random('/'.join(map(str, (self.settings.seed, *what))))

    def undo(self):
        try:
            self.cluster.close()
        finally:
            try:
                self.limit.release()
            finally:
                self.read_ahead.release()

    def close(self):
        self.undo()
        self.guard.release()

    def leave(self):
        """The server outlives this process, without limits."""
        self.limit.release()
        self.read_ahead.release()
        self.guard.release()

    def start(self, shared_buffers, bandwidth, page_cache, **more):
        """A cold server under the limits, of which its planner knows. page_cache None: as much as there is."""
        self.cluster.stop()
        drop_page_cache(self.cluster.data)
        options = {'shared_buffers': f'{shared_buffers // MB}MB'}
        if page_cache:
            cache = 0 if self.settings.direct_io else self.settings.page_cache
            options['effective_cache_size'] = f'{(shared_buffers + cache) // MB}MB'
        if self.cscan:
            options['shared_preload_libraries'] = 'cscan'
        if self.settings.direct_io:
            options['debug_io_direct'] = 'data'
        self.limit.apply(None, None)
        self.cluster.start({**options, **more, **self.settings.extra}, self.limit)
        if not bandwidth:
            use_free_memory()
        shared = touch_shared_memory(self.limit) if page_cache else None
        if page_cache and shared is None and self.limit.kind != 'none':
            raise Failure("the server's shared memory is not to be seen in /proc, so its page cache cannot be limited")
        # The limits come last, so that starting is quick and shared memory has its place.
        self.limit.apply(bandwidth, shared + page_cache + BACKENDS if shared else None)
        return shared

    def chunks(self, kilobytes=None):
        """Server settings for chunks of that size, or of the one that goes with the scale."""
        kilobytes = kilobytes or self.settings.chunk_size
        return {'cscan.chunk_size': f'{kilobytes}kB'} if kilobytes and self.cscan else {}

    def chunk_blocks(self):
        with self.cluster.connect('postgres') as connection:
            row = connection.execute("SELECT setting::int FROM pg_settings WHERE name = 'cscan.chunk_size'").fetchone()
        return row[0] * 1024 // BLOCK if row else CHUNK_BLOCKS

    def describe_io(self):
        """The settings on which it depends how fast a server reads, as they will be."""
        self.start(self.settings.shared_buffers, None, None)
        with self.cluster.connect('postgres') as connection:
            found = connection.execute("""SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('io_method', 'io_workers', 'io_combine_limit',
                'io_max_combine_limit', 'effective_io_concurrency', 'seq_page_cost', 'random_page_cost', 'synchronize_seqscans', 'cscan.buffer_share',
                'cscan.drop_behind', 'cscan.page_cost') ORDER BY name""").fetchall()
        self.cluster.stop()
        return ', '.join(f'{name} {value}' for name, value in found)

    def describe(self):
        """What the running server may use, as the simulator has to know it; bytes, and blocks for chunks."""
        with self.cluster.connect('postgres') as connection:
            def one(sql):
                return connection.execute(sql).fetchone()[0]
            return {'shared_buffers': one("SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers'") * BLOCK,
                    'buffer_share': share_of(one("SELECT current_setting('cscan.buffer_share')")) if self.cscan else 0.0,
                    'drop_behind': one("SELECT current_setting('cscan.drop_behind')") if self.cscan else 'off',
                    'chunk_blocks': self.chunk_blocks(), 'page_cache': self.settings.page_cache}

    def prepare(self, database, hidden):
        """The views of this very build, unless indexes of columns depend on them; all indexes of lineitem, where it has one, but the
        hidden one, whatever an earlier run has hidden."""
        with self.cluster.connect(database) as connection:
            if self.cscan and database not in (COLUMNS, TEN):
                connection.execute('DROP EXTENSION IF EXISTS cscan; CREATE EXTENSION cscan')
            connection.execute("""UPDATE pg_index SET indisvalid = NOT indisvalid
                WHERE indrelid = to_regclass('lineitem') AND indisvalid = (indexrelid::regclass::text = %s)""", (hidden,))


def manager_cpu(limit):
    """Seconds of CPU that the manager has used."""
    return sum(ran for ran, _, _ in scheduled(limit.processes(), MANAGER).values())


class CacheLimit:
    """From begin() on the memory limit follows what sessions use, so that what they do not need is no page cache.

    A session that knows 1,500 partitions has up to 80 MB, more in one moment than in another; all of them together have more than
    the table.
    """
    EVERY = 0.05        # seconds

    def __init__(self, limit, kept):
        """kept: shared memory and page cache in bytes"""
        self.limit, self.kept = limit, kept
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def begin(self):
        if self.limit.anonymous() is not None:
            self.follow()
            self.thread.start()

    def follow(self):
        with contextlib.suppress(OSError):      # the kernel has not found enough to drop; the next time it does
            self.limit.apply_memory(self.kept + self.limit.anonymous() + BACKENDS)

    def work(self):
        while not self.stop.wait(self.EVERY):
            self.follow()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        if self.thread.is_alive():
            self.thread.join()


class Watch:
    """While a run lasts: shows the time, keeps the largest page cache that was seen; counts from begin() on what was used.

    used: bytes and requests that were read, seeks if these are watched, seconds of CPU, and those that others on this machine have used; how
    many sessions of others ran or wanted to, and how long the manager, and sessions, waited for a CPU each time that they wanted one, on average;
    the pace of the CPUs, as pace() has it; None what is not known.
    """

    def __init__(self, major, variant, limit, seeks=None):
        self.what, self.limit, self.seeks, self.page_cache = f'PostgreSQL {major}, {variant}', limit, seeks, None
        self.used = dict.fromkeys(('bytes', 'requests', 'seeks', 'cpu', 'cpu of others', 'others', 'late', 'sessions late', 'pace'))
        self.others, self.manager, self.sessions, self.paces = [], [], [], []
        self.stop = threading.Event()

    def count(self):
        cpu = self.limit.cpu()
        return {'bytes': self.limit.bytes_read(), 'requests': self.limit.requests(), 'seeks': self.seeks and self.seeks.count(), 'cpu': cpu,
                'cpu of others': None if cpu is None else cpu_of_all() - cpu}

    def begin(self):
        self.time, self.before = time.time(), self.count()
        self.look()
        self.thread.start()

    def look(self):
        processes = self.limit.processes()
        self.manager.append(scheduled(processes, MANAGER))
        self.sessions.append(scheduled(processes, SESSION))

    def work(self):
        while not self.stop.wait(0.25):
            self.others.append(competitors(self.limit.processes()))
            self.look()
            self.paces.append(pace())
            if self.seeks:
                self.seeks.count()
            cache = self.limit.page_cache()
            if cache is not None:
                self.page_cache = max(self.page_cache or 0, cache)
            note(f'{self.what}: {time.time() - self.time:.0f} s')

    def __enter__(self):
        self.thread = threading.Thread(target=self.work, daemon=True)
        return self

    def __exit__(self, *_):
        self.stop.set()
        if self.thread.is_alive():
            self.thread.join()
            self.used.update({name: None if value is None else value - self.before[name] for name, value in self.count().items()})
            if self.paces:
                self.used['pace'] = statistics.harmonic_mean(self.paces)    # that much work was done while it was that
            # Without a group nobody knows who is who.
            if self.used['cpu'] is not None and self.others:
                self.used.update(others=statistics.mean(self.others), late=lateness(self.manager), **{'sessions late': lateness(self.sessions)})


class Reads:
    """What cscan does under a policy while a run lasts.  Invariant: it delivers chunks, or the run was in vain.

    rate is in bytes a second, from the first load to the end of the run: planning and what finds the rows are left out.
    delivered and loaded are numbers of chunks, stat is all that cscan_stat has; scheduling is what the scheduler's lock was held
    for, in seconds, where the extension counts that.  Without a policy, or a load, they are None.
    """

    def __init__(self, cluster, database, policy):
        self.cluster, self.database, self.policy = cluster, database, policy
        self.first = self.rate = self.delivered = self.loaded = self.scheduling = self.stat = None
        self.stop = threading.Event()

    def one(self, sql):
        return self.connection.execute(sql).fetchone()[0]

    def count(self, measure):
        """Since the server was started."""
        return int(self.one(f'SELECT sum({measure}) FROM cscan_stat'))

    def work(self):
        while not self.first and not self.stop.wait(0.01):
            blocks = self.count('blocks_read')
            if blocks:
                self.first = time.perf_counter(), blocks

    def __enter__(self):
        if self.policy:
            self.connection = self.cluster.connect(self.database)
            self.thread = threading.Thread(target=self.work, daemon=True)
            self.thread.start()
        return self

    def __exit__(self, kind, *_):
        end = time.perf_counter()
        self.stop.set()
        if self.policy:
            self.thread.join()
            with self.connection:
                if not kind and not self.count('chunks_delivered'):
                    raise Failure(f'with policy {self.policy} no query was given a chunk by cscan')
                if not kind and self.first:
                    self.delivered, self.loaded = self.count('chunks_delivered'), self.count('chunks_loaded')
                    self.stat = {name: self.count(name) for name in STAT}
                    self.rate = (self.count('blocks_read') - self.first[1]) * BLOCK / (end - self.first[0])
                    if self.one("SELECT to_regclass('cscan_stat_scheduler') IS NOT NULL"):
                        self.scheduling = self.one('SELECT lock_time FROM cscan_stat_scheduler') / 1000
