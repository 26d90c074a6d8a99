"""What is measured.  An experiment is a row of EXPERIMENTS; a new one is a new row.

Each run of a streams experiment starts cold: the server is restarted, the page cache has none of its files, and all of its
shared memory is resident, so that the memory limit leaves the page cache what was asked for and nothing more.  The
variants of one run follow each other in an order drawn from the seed.

    EXPERIMENTS          name -> Streams or Warm
    TARGETS              (experiment, variant) -> {measure: at most this ratio to postgres}
    Rig                  one cluster, its limits and settings; Rig.measure(name, variants, run) -> rows
"""
import random
import statistics
import threading
import time
from dataclasses import dataclass

from . import data
from .limits import MB, drop_page_cache, open_limit, touch_shared_memory, use_free_memory
from .progress import note
from .workload import FAST, VARIANTS, check_plan, full_scans, run_streams

BACKENDS = 12 * MB          # of the memory limit, for what is neither shared memory nor page cache (as measured)
PER_BACKEND = 3 * MB // 2
SMALLEST_CACHE = 32 * MB    # with less, the server's own programs do not stay in memory


@dataclass
class Streams:
    """Full scans of lineitem at one time, started delay seconds apart."""
    about: str
    letters: str
    delay: float = 1.0
    limited: bool = True    # is the bandwidth limited?
    repeat: int = 1         # runs for each one asked for

    def guess(self, table, bandwidth):
        """Seconds for one variant, before anything is known: half of the scans read for themselves."""
        scan = table / (bandwidth if self.limited and bandwidth else 500 * MB)
        return 4 + max(self.delay * len(self.letters), scan * (1 + len(self.letters)) / 2)


@dataclass
class Warm:
    """Queries on a table that is all in shared buffers, the variants in turn, many times, on one server."""
    about: str
    rounds: int = 10        # for each run asked for
    repeat: int = 1

    def guess(self, table, bandwidth):
        return 3 + self.rounds * 2.0


EXPERIMENTS = {
    'fast10': Streams('ten FAST scans, started 1 s apart', 'F' * 10),
    'mix10': Streams('five FAST and five SLOW scans, started 1 s apart', 'FS' * 5),
    'cold1': Streams('one cold FAST scan alone', 'F', repeat=2),
    'cold1-nolimit': Streams('one cold FAST scan alone, no limit on the disk', 'F', limited=False, repeat=2),
    'warm1': Warm('one scan of a table that is all in shared buffers, CScan forced'),
}

WARM = {
    'count': 'SELECT count(*) FROM hot',
    'FAST': FAST.format(table='hot'),
    # Projects three columns of every row and throws them away before they reach the client.
    'project': 'SELECT l_orderkey, l_extendedprice, l_comment FROM hot OFFSET 1000000000',
}

TARGETS = {
    ('fast10', 'relevance'): {'mean': 0.85, 'seconds': 0.95, 'bytes': 0.95},
    ('fast10', 'elevator'): {'mean': 0.85, 'seconds': 0.95, 'bytes': 0.95},
    ('mix10', 'relevance'): {'FAST': 0.6, 'seconds': 0.85, 'bytes': 0.8},
    ('cold1', 'relevance'): {'seconds': 1.03},
    ('cold1-nolimit', 'relevance'): {'seconds': 1.03},
    ('warm1', 'relevance'): {'count': 1.03, 'FAST': 1.03, 'project': 1.03},
}


@dataclass
class Settings:
    bandwidth: float        # bytes a second
    shared_buffers: int     # bytes
    page_cache: int         # bytes
    direct_io: bool
    extra: dict             # server settings by name
    timeout: int            # seconds for a query
    seed: int


class Rig:
    def __init__(self, cluster, settings, answers):
        self.cluster, self.settings, self.answers = cluster, settings, answers
        self.limit = open_limit(cluster.home)
        self.cscan = cluster.has_cscan
        self.random = random.Random(settings.seed)

    def close(self):
        self.cluster.close()
        self.limit.release()

    def variant(self, name):
        return VARIANTS[name] if self.cscan else {}

    def start(self, shared_buffers, bandwidth, page_cache):
        """A cold server under the limits. page_cache None: as much as there is."""
        self.cluster.stop()
        drop_page_cache(self.cluster.data)
        options = {'shared_buffers': f'{shared_buffers // MB}MB'}
        if self.cscan:
            options['shared_preload_libraries'] = 'cscan'
        if self.settings.direct_io:
            options['debug_io_direct'] = 'data'
        self.limit.apply(None, None)
        self.cluster.start({**options, **self.settings.extra}, self.limit)
        if not bandwidth:
            use_free_memory()
        shared = touch_shared_memory(self.limit) if page_cache else None
        # The limits come last, so that starting is quick and shared memory has its place.
        self.limit.apply(bandwidth, shared + page_cache + BACKENDS if shared else None)
        return shared

    def measure(self, name, variants, run):
        """One run of an experiment under each variant: a list of rows."""
        experiment = EXPERIMENTS[name]
        order = self.random.sample(variants, len(variants))
        measure = self.warm if isinstance(experiment, Warm) else self.streams
        for row in measure(experiment, order):
            yield {'major': self.cluster.major, 'experiment': name, 'run': run, **row}

    def streams(self, experiment, variants):
        bandwidth = self.settings.bandwidth if experiment.limited else None
        for variant in variants:
            streams = full_scans(experiment.letters)
            room = self.settings.page_cache + len(streams) * PER_BACKEND
            self.start(self.settings.shared_buffers, bandwidth, room)
            with Watch(self.cluster.major, variant, self.limit) as watch:
                result = run_streams(self.cluster, variant, streams, experiment.delay, self.variant(variant),
                                     self.settings.timeout, at_start=watch.begin)
            self.cluster.stop()
            self.answers.check(f'{variant} on {self.cluster.major}', result.answers)
            row = {'variant': variant, 'seconds': result.seconds, 'mean': statistics.mean(s for _, s in result.latencies),
                   'bytes': watch.bytes, 'page_cache': watch.page_cache, 'latencies': result.latencies}
            for kind in ('FAST', 'SLOW'):
                seconds = [s for k, s in result.latencies if k == kind]
                if seconds:
                    row[kind] = statistics.mean(seconds)
            yield row

    def warm(self, experiment, variants):
        """Fresh every run, so that the place of the buffers in memory differs from run to run, too."""
        self.start(128 * MB, None, None)
        hot = data.load_hot(self.cluster)
        self.start(max(1024 * MB, hot * 5 // 2), None, None)
        rows = {variant: {'variant': variant, 'pairs': {query: [] for query in WARM}} for variant in variants}
        sessions = {}
        for variant in variants:
            forced = {'cscan.min_table_size': 0} if self.cscan else {}
            sessions[variant] = self.cluster.connect(**self.variant(variant), **forced, statement_timeout=f'{self.settings.timeout}s')
        some = sessions[variants[0]]
        some.execute('CREATE EXTENSION IF NOT EXISTS pg_prewarm')
        some.execute("SELECT pg_prewarm('hot')")
        for variant, session in sessions.items():
            for sql in WARM.values():
                check_plan(session, sql, variant, 'hot')
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
