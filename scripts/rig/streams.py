"""Experiments with streams of queries, and with queries in memory.

An experiment, or each point of one, is an object with

    about, database (or databases), variants, reference, repeat     see Streams
    guess(table, bandwidth)                 seconds for one variant, before anything is known
    measure(rig, variants, run, place)      yields a row for each of the variants; run and place (the names of the experiment
                                            and the point) are what chance is drawn from
    ratio(mine, theirs, measure)            where it has its own: from the rows of two variants, or None

    Streams     streams of queries at one time         Alone    each query alone, cold: what latencies are normalised by
    Warm        queries on a table in shared buffers   Costs    CPU time for a block
    WarmMembers the same on a table of 1,500 partitions

    databases(one, variants)        what data.load() has to have loaded for it
    times(result)                   what a row has of workload.run_streams()'s

A row of Streams says what was asked of which server, so that the simulator can be asked the same (simulate.py): "queries" has
for each stream [kind, percent, first block, the one behind the last] of each query, "server" what it may use.
"""
import contextlib
import os
import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from . import data
from .cluster import DATABASE
from .limits import MB, USUAL_PACE, pace, slices, time_reads
from .progress import note, say
from .seeks import Seeks
from .testbed import BLOCK, CacheLimit, Reads, Watch, manager_cpu, share_of
from .trace import loads
from .workload import POLICIES, VARIANTS, check_plan, query, run_streams, side_by_side, span_of

PER_BACKEND = 3 * MB // 2
PER_RANGES = 9 * MB // 4    # with queries of several kinds and their indexes
PER_QUERY = 12 * MB         # of TPC-H, with its sorts and hash tables

DEFAULTS = ('postgres', *POLICIES)
TRACE = 'bench.trace'       # in the data directory
READ_SIZE = 512 * 1024      # of a read that measures the disk
START = 3                   # seconds that a server takes to stop and to start
CPU = {'FAST': 0.8, 'SLOW': 4.0}    # seconds for a GB, for guesses
GB = 1024 * MB


@dataclass
class Streams:
    """Streams of queries at one time, started delay seconds apart."""
    about: str
    work: object                # FullScans, Ranges, Mix or AllQueries
    delay: float = 1.0
    limited: bool = True        # is the bandwidth limited?
    repeat: int = 1             # runs for each one asked for
    variants: tuple = DEFAULTS
    free: tuple = ()            # those whose plans are the planner's own choice
    reference: tuple = ('postgres',)    # ratios are to the fastest of these
    memory: int = PER_BACKEND   # that a stream needs beside the page cache
    stretch: bool = False       # do the delay and the size of chunks go with the scale?
    normalised: bool = False    # are latencies compared with those of Alone?
    buffers: float | None = None    # shared_buffers as a share of the table; None: as the settings say
    pool: float | None = None       # cscan's share of them as a share of the table
    cache: float | None = None      # page cache as a share of the table; None: as the settings say
    chunks: int | None = None       # of the table
    server: dict = field(default_factory=dict)  # settings of the server
    follow: bool = False        # does the memory that a stream needs vary a lot?
    traced: bool = False        # with each load's time and chunk, and queries explained
    seeks: bool = False         # are the disk's seeks counted?
    panel: str = ''             # of a chart, and where in it:
    x: float | None = None

    @property
    def database(self):
        return self.work.database

    def guess(self, table, bandwidth):
        """A third of what is scanned is read, and two CPUs are there."""
        scan = table / (bandwidth if self.limited and bandwidth else 500 * MB)
        delay = self.delay * (min(1.0, table / (880 * MB)) if self.stretch else 1)
        cpu = self.work.volume * table / GB * (CPU['FAST'] * (1 - self.work.slow) + CPU['SLOW'] * self.work.slow) / 2
        return START + max(delay * self.work.count, scan * (1 + self.work.volume / 3), cpu)

    def shared_buffers(self, rig, table):
        share = self.buffers
        if self.pool:
            share = self.pool / share_of(rig.settings.extra.get('cscan.buffer_share', 0.5))
        return int(share * table) // MB * MB if share else rig.settings.shared_buffers

    def facts(self, rig, database):
        return data.load(rig.cluster, database)

    def measure(self, rig, variants, run, place):
        for name in variants:
            yield self.measure_one(rig, name, run)

    def measure_one(self, rig, name, run):
        bandwidth = rig.settings.bandwidth if self.limited else None
        variant = VARIANTS[name]
        database = variant.database or self.database
        facts = self.facts(rig, database)
        plan = '' if name in self.free else variant.plan
        streams = self.work.streams(facts, random.Random(rig.settings.seed))
        more = rig.chunks(max(64, facts['bytes'] // self.chunks // 1024) if self.chunks else None) if self.stretch else {}
        more.update({**self.server, **(variant.server if rig.cscan else {})})
        page_cache = int(self.cache * facts['bytes']) if self.cache else rig.settings.page_cache
        trace = rig.cluster.data / TRACE if self.traced and variant.policy else None
        if trace:
            trace.unlink(missing_ok=True)           # the server wants to make it
            more['cscan.trace'] = TRACE
        shared = rig.start(self.shared_buffers(rig, facts['bytes']), bandwidth,
                           page_cache + len(streams) * (self.memory + variant.memory) + variant.idle * PER_BACKEND,
                           max_connections=50 + variant.idle, **more)
        rig.prepare(database, variant.hidden)
        delay = self.delay * (rig.cluster.scale if self.stretch else 1)
        server = {**rig.describe(), 'bandwidth': bandwidth, 'delay': delay, 'blocks': facts['bytes'] // BLOCK, 'cores': os.cpu_count()}
        with contextlib.ExitStack() as stack:
            seeks = stack.enter_context(Seeks(rig.limit.disk)) if self.seeks else None
            follow = shared and (self.follow or any(VARIANTS[one].memory for one in self.variants))     # all of them, that none has more
            cache = stack.enter_context(CacheLimit(rig.limit, shared + page_cache)) if follow else None
            watch = stack.enter_context(Watch(rig.cluster.major, name, rig.limit, seeks))
            reads = stack.enter_context(Reads(rig.cluster, database, variant.policy))
            result = run_streams(rig.cluster, database, name, plan, streams, delay, rig.settings.timeout,
                                 at_start=lambda: (cache and cache.begin(), watch.begin()),
                                 chunk=rig.chunk_blocks() if self.traced else None)
        if seeks and seeks.why:
            say(f'seeks are not counted: {seeks.why}')
        rig.cluster.stop()
        traced = {}
        if trace:
            traced['loads'] = loads(trace)
            trace.unlink()
        rig.answers.check(f'{name} on {rig.cluster.major}', result.answers)
        sizes = [size for _, size, _, _ in result.latencies]
        return {'variant': name, **times(result), 'rate': reads.rate,
                'delivered': reads.delivered, 'loaded': reads.loaded, 'scheduling': reads.scheduling, 'stat': reads.stat,
                'server': server, 'queries': [[asked(one, result.plans[one.sql], facts) for one in stream] for stream in streams],
                **watch.used, 'page_cache': watch.page_cache,
                'processed': None if None in sizes else sum(sizes) / 100 * facts['bytes'], **traced}


def times(result):
    """Of a run of streams: its own, the means of a stream, a query and each kind of query, and all of them."""
    kinds = {}
    for kind, _, seconds, _ in result.latencies:
        kinds.setdefault(kind, []).append(seconds)
    return {'seconds': result.seconds, 'stream': statistics.mean(result.streams),
            'mean': statistics.mean(latency[2] for latency in result.latencies), 'latencies': result.latencies, 'streams': result.streams,
            **{kind: statistics.mean(seconds) for kind, seconds in kinds.items()}}


def asked(query, plan, facts):
    """The blocks of a query of lineitem, which its plan makes a bitmap of, or not; None of others, and where it is partitioned."""
    if query.kind not in CPU or 'places' not in facts:
        return None
    first, end = 0, facts['bytes'] // BLOCK
    if query.begin is not None and 'lineitem_shipdate' in plan:
        first, end = data.blocks_of(facts, query.begin, query.begin + query.size, data.BRIN_BLOCKS if '_brin' in plan else 1)
    return [query.kind, query.size, first, end]


def databases(one, variants):
    if hasattr(one, 'databases'):
        return dict.fromkeys(one.databases)
    return dict.fromkeys(VARIANTS[name].database or one.database for name in variants)


@dataclass
class Alone:
    """One query after the other, none on a row that an earlier one since the server's start has read."""
    about: str
    database: str = data.TPCH
    variants: tuple = ('relevance', 'postgres')
    reference: tuple = ('postgres',)
    repeat: int = 1

    # Of each server that is started; the median counts of those that are there twice or more.
    packs = ((100,), (50, 10, 5, 5, 5, 2, 2, 2, 1, 1, 1), (30, 20, 20, 10, 10))

    def guess(self, table, bandwidth):
        scan = table / (bandwidth or 500 * MB)
        return sum(START + sum(pack) / 100 * max(scan, cpu * table / GB) for pack in self.packs for cpu in CPU.values())

    def measure(self, rig, variants, run, place):
        facts = data.load(rig.cluster, self.database)
        for name in variants:
            latencies, begin = [], time.perf_counter()
            for kind in CPU:
                for pack in self.packs:
                    note(f'PostgreSQL {rig.cluster.major}, {name}: {kind} alone')
                    rig.start(rig.settings.shared_buffers, rig.settings.bandwidth, rig.settings.page_cache + PER_RANGES, **rig.chunks())
                    rig.prepare(self.database, VARIANTS[name].hidden)
                    streams = [side_by_side(kind, pack, facts['days'])]
                    result = run_streams(rig.cluster, self.database, name, '', streams, 0.0, rig.settings.timeout)
                    rig.cluster.stop()
                    rig.answers.check(f'{name} on {rig.cluster.major}', result.answers)
                    latencies += result.latencies
            yield {'variant': name, 'seconds': time.perf_counter() - begin, 'latencies': latencies}


@dataclass
class Costs:
    """CPU time for a block, in us: a query's own, all in memory, and the manager's who loads it; and a scan's for a wait.

    As many queries run at one time as in Table 2: they share CPUs and caches, and so each needs more than alone.  All of them are
    for CPUs of USUAL_PACE, whatever these were when each of them was measured.
    """
    about: str
    database: str = data.TPCH
    variants: tuple = ('relevance',)
    reference: tuple = ('relevance',)
    repeat: int = 1
    rounds: int = 3
    sessions: int = 16

    def guess(self, table, bandwidth):
        return 2 * START + sum(CPU.values()) * (self.rounds + 1) * self.sessions / 2 * table / GB

    def measure(self, rig, variants, run, place):
        facts = data.load(rig.cluster, self.database)
        blocks, name = facts['bytes'] // BLOCK, variants[0]
        queries = {kind: span_of(kind, 0, 100, facts['days']).sql for kind in CPU}
        begin, costs = time.perf_counter(), {}
        rig.start(facts['bytes'] * 3 // 2 // MB * MB, None, None, **rig.chunks())
        rig.prepare(self.database, VARIANTS[name].hidden)
        with contextlib.ExitStack() as stack:
            sessions = [stack.enter_context(rig.cluster.connect(self.database, **VARIANTS[name].settings)) for _ in range(self.sessions)]
            sessions[0].execute('CREATE EXTENSION IF NOT EXISTS pg_prewarm')
            sessions[0].execute("SELECT pg_prewarm('lineitem')")
            for kind, sql in queries.items():
                self.cpu(rig, sessions, sql)        # finds its indexes, and what else it needs
                costs[kind] = statistics.median(self.cpu(rig, sessions, sql)[0] for _ in range(self.rounds)) / blocks * 1e6
        cold = [self.cold(rig, name, queries['FAST']) for _ in range(self.rounds)]
        costs['load'] = statistics.median(loading / read for _, loading, read, _ in cold) * 1e6
        costs['wait'] = max(0.0, statistics.median((all - loading - costs['FAST'] * blocks / 1e6) / waits for all, loading, _, waits in cold) * 1e6)
        disk = self.disk(rig)
        rig.cluster.stop()
        yield {'variant': name, 'seconds': time.perf_counter() - begin, 'costs': costs, 'disk': disk}

    def disk(self, rig):
        """How the limit of bandwidth is kept (limits.slices), from what may be read in a second."""
        if rig.settings.bandwidth is None:
            return {}
        with rig.cluster.connect(self.database) as session:
            path = rig.cluster.data / session.execute("SELECT pg_relation_filepath('lineitem')").fetchone()[0]
        ends = time_reads(rig.limit, path, READ_SIZE, rig.settings.bandwidth // READ_SIZE)
        return slices(ends, READ_SIZE) if ends else {}

    def cold(self, rig, name, sql):
        """Seconds of CPU in all, and of them the manager's, with CPUs of USUAL_PACE; blocks that it has read, and waits."""
        rig.start(rig.settings.shared_buffers, rig.settings.bandwidth, rig.settings.page_cache + PER_RANGES, **rig.chunks())
        with rig.cluster.connect(self.database, **VARIANTS[name].settings) as session:
            session.execute('SELECT count(*) FROM nation')
            session.execute('EXPLAIN ' + sql)
            before = manager_cpu(rig.limit)
            all, factor = self.cpu(rig, [session], sql)
            loading = (manager_cpu(rig.limit) - before) * factor
            read, waits = session.execute('SELECT sum(blocks_read), sum(waits) FROM cscan_stat').fetchone()
        return all, loading, float(read or 1), float(waits or 1)

    def cpu(self, rig, sessions, sql):
        """Of a session, with CPUs of USUAL_PACE, and what these make of a second of now; the whole server's are divided, where they are known."""
        with ThreadPoolExecutor(len(sessions)) as pool:
            before, start, paces = rig.limit.cpu(), time.perf_counter(), [pace()]
            running = [pool.submit(lambda session: session.execute(sql).fetchall(), session) for session in sessions]
            while wait(running, 0.1).not_done:
                paces.append(pace())
            for one in running:
                one.result()
            used = time.perf_counter() - start if before is None else (rig.limit.cpu() - before) / len(sessions)
        factor = USUAL_PACE / statistics.harmonic_mean(paces)
        return used * factor, factor


WARM = {
    'count': 'SELECT count(*) FROM hot',
    'FAST': query('FAST', 'hot'),
    # Projects three columns of every row and throws them away before they reach the client.
    'project': 'SELECT l_orderkey, l_extendedprice, l_comment FROM hot OFFSET 1000000000',
}


@dataclass
class Warm:
    """Queries on a table that is all in shared buffers, the variants in turn, many times, on one server.

    It is fresh every run, so that the place of the buffers in memory differs from run to run, too.
    """
    queries = WARM              # name -> SQL
    about: str
    rounds: int = 10            # for each run asked for
    repeat: int = 1
    variants: tuple = DEFAULTS
    reference: tuple = ('postgres',)
    database: str = DATABASE
    where = DATABASE            # its table is, which data.load() does not know

    def guess(self, table, bandwidth):
        return 3 + self.rounds * 2.0

    def start(self, rig):
        rig.start(128 * MB, None, None)
        hot = data.load_hot(rig.cluster)
        rig.start(max(1024 * MB, hot * 5 // 2), None, None)

    def connect(self, rig, variant, **settings):
        return rig.cluster.connect(self.where, **VARIANTS[variant].settings, **settings, statement_timeout=f'{rig.settings.timeout}s')

    def load(self, session):
        session.execute("SELECT pg_prewarm('hot')")

    def finish(self, session):
        """What load() or start() has left."""

    def prepare(self, session, variant, rig):
        for sql in self.queries.values():
            check_plan(session, sql, variant, VARIANTS[variant].plan)
            rig.answers.check(f'{variant} on {rig.cluster.major}', [(sql, session.execute(sql).fetchall())])

    def time(self, session, name):
        start = time.perf_counter()
        session.execute(self.queries[name]).fetchall()
        return time.perf_counter() - start

    def measure(self, rig, variants, run, place):
        self.start(rig)
        rows = {variant: {'variant': variant, 'pairs': {name: [] for name in self.queries}} for variant in variants}
        sessions = {}
        for variant in variants:
            forced = {'cscan.min_table_size': 0} if rig.cscan else {}
            sessions[variant] = self.connect(rig, variant, **forced)
        some = next(session for variant, session in sessions.items() if VARIANTS[variant].plan)
        some.execute('CREATE EXTENSION IF NOT EXISTS pg_prewarm')
        self.load(some)
        for variant, session in sessions.items():
            self.prepare(session, variant, rig)
        read, order = rig.limit.bytes_read(), rig.random(*place, run, 'order')
        for number in range(self.rounds):
            note(f'PostgreSQL {rig.cluster.major}, warm: round {number + 1} of {self.rounds}')
            for name in self.queries:
                for variant in order.sample(variants, len(variants)):
                    rows[variant]['pairs'][name].append(self.time(sessions[variant], name))
        read = (rig.limit.bytes_read() or 0) - (read or 0)
        self.finish(some)
        for session in sessions.values():
            session.close()
        rig.cluster.stop()
        for row in rows.values():
            for name, seconds in row['pairs'].items():
                row[name] = statistics.median(seconds)
            row['bytes'] = read
            yield row


ONE_MEMBER = 'SELECT count(*) FROM resident WHERE member = $1'
MEMBERS = {
    'count': 'SELECT count(*) FROM resident',
    'planning': 'EXPLAIN (SUMMARY, FORMAT JSON) SELECT count(*) FROM resident',
    'start': 'EXECUTE one_member(750)',             # of 1 MB
    'start, one row': 'EXECUTE one_member(0)',
}


@dataclass
class WarmMembers(Warm):
    """Execution with 1,500 partitions of 1 MB, planning alone, and execution of a generic plan that run-time pruning leaves one partition of."""
    queries = MEMBERS
    where = data.RESIDENT
    SHORT = 15

    def guess(self, table, bandwidth):
        return 10 + self.rounds * 2.5

    def start(self, rig):
        rig.cluster.stop()
        rig.start(data.load_resident(rig.cluster) * 5 // 2, None, None, **data.MANY_LOCKS)

    def load(self, session):
        session.execute("SELECT sum(pg_prewarm(relid)) FROM pg_partition_tree('resident') WHERE isleaf")

    def prepare(self, session, variant, rig):
        session.execute('SET plan_cache_mode = force_generic_plan')
        session.execute(f'PREPARE one_member(integer) AS {ONE_MEMBER}')
        for name, sql in self.queries.items():
            if name != 'planning':
                check_plan(session, sql, variant, VARIANTS[variant].plan)
                rig.answers.check(f'{variant} on {rig.cluster.major}', [(sql, session.execute(sql).fetchall())])

    def time(self, session, name):
        """What takes milliseconds is done several times for each that is taken down."""
        return statistics.median(self.once(session, name) for _ in range(1 if name == 'count' else self.SHORT))

    def once(self, session, name):
        if name == 'planning':
            return session.execute(self.queries[name]).fetchone()[0][0]['Planning Time'] / 1000
        return super().time(session, name)
