"""What is measured.  An experiment is a row of EXPERIMENTS; a new one is a new row.

Each run of a streams experiment starts cold: the server is restarted, the page cache has none of its files, and all of its
shared memory is resident, so that the memory limit leaves the page cache what was asked for and nothing more.  The
variants of one run follow each other in an order drawn from the seed; the streams, drawn from the seed too, are the same
in every run and for every variant.

    EXPERIMENTS               name -> Streams or Warm
    TARGETS                   (experiment, variant, reference) -> {measure: at most this ratio to the reference}
    chosen(name, variants)    those of the variants that an experiment has
    Rig                       one cluster, its limits and settings; Rig.measure(name, variants, run) -> rows
"""
import random
import statistics
import threading
import time
from dataclasses import dataclass

from . import data
from .cluster import DATABASE, Failure
from .limits import MB, ReadAhead, drop_page_cache, open_limit, touch_shared_memory, use_free_memory
from .progress import note
from .workload import POLICIES, VARIANTS, AllQueries, FullScans, Ranges, check_plan, query, run_streams

BLOCK = 8192
BACKENDS = 12 * MB          # of the memory limit, for what is neither shared memory nor page cache (as measured)
PER_BACKEND = 3 * MB // 2
PER_RANGES = 9 * MB // 4    # with queries of several kinds and their indexes
PER_QUERY = 12 * MB         # of TPC-H, with its sorts and hash tables
SMALLEST_CACHE = 32 * MB    # with less, the server's own programs do not stay in memory

DEFAULTS = ('postgres', *POLICIES)


@dataclass
class Streams:
    """Streams of queries at one time, started delay seconds apart."""
    about: str
    work: object                # FullScans, Ranges or AllQueries
    delay: float = 1.0
    limited: bool = True        # is the bandwidth limited?
    repeat: int = 1             # runs for each one asked for
    variants: tuple = DEFAULTS
    free: tuple = ()            # those whose plans are the planner's own choice
    reference: tuple = ('postgres',)    # ratios are to the fastest of these
    memory: int = PER_BACKEND   # that a stream needs beside the page cache
    long: bool = False          # does it run only when it is named?

    @property
    def database(self):
        return self.work.database

    def guess(self, table, bandwidth):
        """Seconds for one variant, before anything is known: half of what is scanned is read."""
        scan = table / (bandwidth if self.limited and bandwidth else 500 * MB)
        return 4 + max(self.delay * self.work.count, scan * (1 + self.work.volume) / 2)


@dataclass
class Warm:
    """Queries on a table that is all in shared buffers, the variants in turn, many times, on one server."""
    about: str
    rounds: int = 10            # for each run asked for
    repeat: int = 1
    variants: tuple = DEFAULTS
    long: bool = False
    database: str = DATABASE

    def guess(self, table, bandwidth):
        return 3 + self.rounds * 2.0


SIZES = (1, 10, 50, 100)

EXPERIMENTS = {
    'fast10': Streams('ten FAST scans, started 1 s apart', FullScans('F' * 10)),
    'mix10': Streams('five FAST and five SLOW scans, started 1 s apart', FullScans('FS' * 5)),
    'cold1': Streams('one cold FAST scan alone', FullScans('F'), repeat=2),
    'cold1-nolimit': Streams('one cold FAST scan alone, no limit on the disk', FullScans('F'), limited=False, repeat=2),
    'warm1': Warm('one scan of a table that is all in shared buffers, CScan forced'),
    'range1': Streams('one cold FAST scan alone, of a range of 60 % of an ordered table', Ranges(1, (60,)),
                      variants=('postgres', 'brin', 'seqscan', 'relevance', 'relevance-btree'), free=DEFAULTS,
                      reference=('postgres', 'brin', 'seqscan')),
    'ranges16-fast': Streams('16 streams, started 1 s apart, of FAST scans of 1, 10, 50 and 100 % of an ordered table',
                             Ranges(16, SIZES), variants=('postgres', 'brin', *POLICIES), free=DEFAULTS,
                             memory=PER_RANGES),
    'ranges16-mix': Streams('16 streams, started 1 s apart, of such scans, half of them SLOW',
                            Ranges(16, SIZES, ('FAST', 'SLOW')), variants=('postgres', 'brin', *POLICIES), free=DEFAULTS,
                            memory=PER_RANGES),
    'workers4': Streams('four FAST scans of all of it, started 1 s apart, without and with two parallel workers each',
                        Ranges(4, (100,)), variants=('relevance', 'relevance-workers'), reference=('relevance',),
                        memory=3 * PER_BACKEND),
    'idle4': Streams('four FAST scans of all of it, started 1 s apart, alone and beside 200 clients that have stopped in the middle',
                     Ranges(4, (100,)), variants=('relevance', 'relevance-idle'), reference=('relevance',)),
    'tpch1': Streams('the 22 queries of TPC-H, one after the other', AllQueries(1), free=DEFAULTS, memory=PER_QUERY,
                     long=True),
    'tpch4': Streams('four streams at one time of the 22 queries of TPC-H, each in its own order', AllQueries(4), delay=0.0,
                     free=DEFAULTS, memory=PER_QUERY, long=True),
}

WARM = {
    'count': 'SELECT count(*) FROM hot',
    'FAST': query('FAST', 'hot'),
    # Projects three columns of every row and throws them away before they reach the client.
    'project': 'SELECT l_orderkey, l_extendedprice, l_comment FROM hot OFFSET 1000000000',
}

TARGETS = {
    ('fast10', 'relevance', 'postgres'): {'mean': 0.85, 'seconds': 0.95, 'bytes': 0.95},
    ('fast10', 'elevator', 'postgres'): {'mean': 0.85, 'seconds': 0.95, 'bytes': 0.95},
    ('mix10', 'relevance', 'postgres'): {'FAST': 0.6, 'seconds': 0.85, 'bytes': 0.8},
    ('cold1', 'relevance', 'postgres'): {'seconds': 1.03},
    ('cold1-nolimit', 'relevance', 'postgres'): {'seconds': 1.03},
    ('warm1', 'relevance', 'postgres'): {'count': 1.03, 'FAST': 1.03, 'project': 1.03},
    ('ranges16-fast', 'relevance', 'postgres'): {'stream': 0.2, 'bytes': 0.3},
    ('ranges16-fast', 'relevance', 'brin'): {'stream': 0.6, 'bytes': 0.7},
    ('ranges16-mix', 'relevance', 'postgres'): {'stream': 0.27, 'bytes': 0.35},
    ('ranges16-mix', 'relevance', 'brin'): {'stream': 0.45, 'bytes': 0.55},
    ('workers4', 'relevance-workers', 'relevance'): {'bytes': 1.2},
    ('idle4', 'relevance-idle', 'relevance'): {'seconds': 1.05, 'stream': 1.05},
    ('tpch4', 'relevance', 'postgres'): {'seconds': 0.85},
}


def chosen(name, variants):
    return [variant for variant in variants if variant in EXPERIMENTS[name].variants]


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


class Rig:
    def __init__(self, cluster, settings, answers):
        self.cluster, self.settings, self.answers = cluster, settings, answers
        self.limit = open_limit(cluster.home)
        self.read_ahead = ReadAhead(self.limit.disk)
        if settings.read_ahead is not None:
            try:
                self.read_ahead.set(settings.read_ahead)
            except OSError as error:
                self.limit.release()
                raise Failure(f'the read-ahead cannot be set: {error}')
        self.cscan = cluster.has_cscan
        self.random = random.Random(settings.seed)

    def close(self):
        self.cluster.close()
        self.limit.release()
        self.read_ahead.release()

    def start(self, shared_buffers, bandwidth, page_cache, **more):
        """A cold server under the limits, of which its planner knows. page_cache None: as much as there is."""
        self.cluster.stop()
        drop_page_cache(self.cluster.data)
        options = {'shared_buffers': f'{shared_buffers // MB}MB'}
        if page_cache:
            options['effective_cache_size'] = f'{(shared_buffers + self.settings.page_cache) // MB}MB'
        if self.cscan:
            options['shared_preload_libraries'] = 'cscan'
        if self.settings.direct_io:
            options['debug_io_direct'] = 'data'
        self.limit.apply(None, None)
        self.cluster.start({**options, **more, **self.settings.extra}, self.limit)
        if not bandwidth:
            use_free_memory()
        shared = touch_shared_memory(self.limit) if page_cache else None
        # The limits come last, so that starting is quick and shared memory has its place.
        self.limit.apply(bandwidth, shared + page_cache + BACKENDS if shared else None)
        return shared

    def measure(self, name, variants, run):
        """One run of an experiment under each variant: a list of rows."""
        experiment = EXPERIMENTS[name]
        variants = chosen(name, variants)
        order = self.random.sample(variants, len(variants))
        measure = self.warm if isinstance(experiment, Warm) else self.streams
        for row in measure(experiment, order):
            yield {'major': self.cluster.major, 'experiment': name, 'run': run, **row}

    def prepare(self, database, hidden):
        """The views of this very build; all indexes of lineitem but the hidden one, whatever an earlier run has hidden."""
        with self.cluster.connect(database) as connection:
            if self.cscan:
                connection.execute('DROP EXTENSION IF EXISTS cscan; CREATE EXTENSION cscan')
            connection.execute("""UPDATE pg_index SET indisvalid = NOT indisvalid
                WHERE indrelid = 'lineitem'::regclass AND indisvalid = (indexrelid::regclass::text = %s)""", (hidden,))

    def streams(self, experiment, variants):
        bandwidth = self.settings.bandwidth if experiment.limited else None
        facts = data.load(self.cluster, experiment.database)
        for name in variants:
            variant = VARIANTS[name]
            plan = '' if name in experiment.free else variant.plan
            streams = experiment.work.streams(facts, random.Random(self.settings.seed))
            self.start(self.settings.shared_buffers, bandwidth, self.settings.page_cache + len(streams) * experiment.memory
                       + variant.idle * PER_BACKEND, max_connections=50 + variant.idle)
            self.prepare(experiment.database, variant.hidden)
            watch, reads = Watch(self.cluster.major, name, self.limit), Reads(self.cluster, experiment.database, variant.policy)
            with watch, reads:
                result = run_streams(self.cluster, experiment.database, name, plan, streams, experiment.delay,
                                     self.settings.timeout, at_start=watch.begin)
            self.cluster.stop()
            self.answers.check(f'{name} on {self.cluster.major}', result.answers)
            kinds = {}
            for kind, seconds in result.latencies:
                kinds.setdefault(kind, []).append(seconds)
            yield {'variant': name, 'seconds': result.seconds, 'stream': statistics.mean(result.streams),
                   'mean': statistics.mean(s for _, s in result.latencies), 'rate': reads.rate,
                   'delivered': reads.delivered, 'loaded': reads.loaded,
                   'bytes': watch.bytes, 'page_cache': watch.page_cache, 'latencies': result.latencies,
                   **{kind: statistics.mean(seconds) for kind, seconds in kinds.items()}}

    def warm(self, experiment, variants):
        """Fresh every run, so that the place of the buffers in memory differs from run to run, too."""
        self.start(128 * MB, None, None)
        hot = data.load_hot(self.cluster)
        self.start(max(1024 * MB, hot * 5 // 2), None, None)
        rows = {variant: {'variant': variant, 'pairs': {query: [] for query in WARM}} for variant in variants}
        sessions = {}
        for variant in variants:
            forced = {'cscan.min_table_size': 0} if self.cscan else {}
            sessions[variant] = self.cluster.connect(**VARIANTS[variant].settings, **forced, statement_timeout=f'{self.settings.timeout}s')
        some = sessions[variants[0]]
        some.execute('CREATE EXTENSION IF NOT EXISTS pg_prewarm')
        some.execute("SELECT pg_prewarm('hot')")
        for variant, session in sessions.items():
            for sql in WARM.values():
                check_plan(session, sql, variant, VARIANTS[variant].plan)
                self.answers.check(f'{variant} on {self.cluster.major}', [(sql, session.execute(sql).fetchall())])
        read = self.limit.bytes_read()
        for number in range(experiment.rounds):
            note(f'PostgreSQL {self.cluster.major}, warm: round {number + 1} of {experiment.rounds}')
            for query, sql in WARM.items():
                for variant in self.random.sample(variants, len(variants)):
                    start = time.perf_counter()
                    sessions[variant].execute(sql).fetchall()
                    rows[variant]['pairs'][query].append(time.perf_counter() - start)
        read = (self.limit.bytes_read() or 0) - (read or 0)
        for session in sessions.values():
            session.close()
        self.cluster.stop()
        for row in rows.values():
            for query, seconds in row['pairs'].items():
                row[query] = statistics.median(seconds)
            row['bytes'] = read
            yield row


class Watch:
    """While a run lasts: shows the time, counts the bytes read since begin(), keeps the largest page cache that was seen."""

    def __init__(self, major, variant, limit):
        self.what, self.limit, self.bytes, self.page_cache = f'PostgreSQL {major}, {variant}', limit, None, None
        self.stop = threading.Event()

    def begin(self):
        self.time, self.before = time.time(), self.limit.bytes_read()
        self.thread.start()

    def work(self):
        while not self.stop.wait(0.25):
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
            after = self.limit.bytes_read()
            self.bytes = None if after is None else after - self.before


class Reads:
    """What cscan reads under a policy while a run lasts.  Invariant: it delivers chunks, or the run was in vain.

    rate is in bytes a second, from the first load to the end of the run: planning and what finds the rows are left out.
    delivered and loaded are numbers of chunks.  Without a policy, or a load, they are None.
    """

    def __init__(self, cluster, database, policy):
        self.cluster, self.database, self.policy = cluster, database, policy
        self.first = self.rate = self.delivered = self.loaded = None
        self.stop = threading.Event()

    def count(self, measure):
        """Since the server was started."""
        return int(self.connection.execute(f'SELECT sum({measure}) FROM cscan_stat').fetchone()[0])

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
                    self.rate = (self.count('blocks_read') - self.first[1]) * BLOCK / (end - self.first[0])
