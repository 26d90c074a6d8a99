"""Aggregates over a table that is all in shared buffers: PostgreSQL's own, CScan's over pages and over an index of columns, and
DuckDB's with one thread, over the same rows in the same order in a file of its own.

    Vectors     single queries             Workers     the same with two parallel workers
    Orders      a GROUP BY of 1.5 million groups at scale 1 that follow the table's order, with little work_mem
    OrdersCold  the same on a cold table under limits, and the memory that it takes
    Unsupported scans of which nothing is computed on vectors
    Beside      streams of queries on a cold table under limits, which hold for DuckDB, too

DuckDB is the version that is installed (duck.py).
"""
import contextlib
import random
import statistics
import threading
import time
from dataclasses import dataclass

from . import data, duck
from .cluster import DATABASE
from .duck import DUCKDB
from .limits import MB, private
from .progress import note
from .streams import START, Streams, Warm, times
from .testbed import SESSION, Watch
from .workload import CONDITIONS, TEMPLATES, VARIANTS, check_plan

YEAR = CONDITIONS['FAST']
QUERIES = {
    'Q6': TEMPLATES['FAST'].format(table='lineitem', where='true'),
    'Q6, a year': TEMPLATES['FAST'].format(table='lineitem', where=YEAR),
    'Q1': TEMPLATES['SLOW'].format(table='lineitem', where=CONDITIONS['SLOW']),
    'count': 'SELECT count(*) FROM lineitem',
    'sum': 'SELECT sum(l_extendedprice) FROM lineitem',
}
BY_ORDER = 'SELECT l_orderkey, sum(l_quantity) AS quantity, count(*) FROM lineitem GROUP BY l_orderkey'
ORDERS = {
    'orders': f'SELECT count(*), sum(quantity) FROM ({BY_ORDER} OFFSET 0) AS one',
    'first row': f'SELECT count(*) FROM ({BY_ORDER} LIMIT 1) AS one',
}
UNSUPPORTED = {
    'rows': 'SELECT l_orderkey, l_extendedprice, l_comment FROM lineitem OFFSET 1000000000',
    'condition': 'SELECT l_orderkey FROM lineitem WHERE l_linenumber & 8 = 8',
    'window': 'SELECT max(n) FROM (SELECT row_number() OVER () AS n FROM lineitem) AS one',
}
EVERY = 0.005               # seconds between two looks at a backend's memory


@dataclass
class Vectors(Warm):
    queries = QUERIES
    where = data.COLUMNS
    rounds: int = 5
    variants: tuple = ('postgres', 'relevance', 'columns', DUCKDB)
    aggregated = r'CScan Aggregate'

    def start(self, rig):
        self.size = data.load(rig.cluster, self.where)['bytes']
        rig.start(max(1024 * MB, self.size * 3 // 2), None, None)
        rig.prepare(self.where, '')

    def connect(self, rig, variant, **settings):
        if variant == DUCKDB:
            return duck.connect(rig)
        return super().connect(rig, variant, **settings)

    def load(self, session):
        session.execute("SELECT sum(pg_prewarm(oid::regclass)) FROM pg_class WHERE relname IN ('lineitem', 'lineitem_columns', 'lineitem_orderkey')")

    def prepare(self, session, variant, rig):
        if variant == DUCKDB:
            return
        session.execute('SET enable_indexonlyscan = off')       # which could count, and has no vectors
        if VARIANTS[variant].policy:
            session.execute(f"SET cscan.columns = {'on' if variant == 'columns' else 'off'}")
        for name, sql in self.queries.items():
            plan = self.aggregated if VARIANTS[variant].policy else 'Scan'
            check_plan(session, sql, variant, plan)
            rig.answers.check(f'{variant} on {rig.cluster.major}', [(sql, session.execute(sql).fetchall())])


@dataclass
class Workers(Vectors):
    """relevance-workers to relevance is what two workers, and the leader, take of one process's time."""
    queries = {name: QUERIES[name] for name in ('Q6', 'Q1')}
    variants: tuple = ('postgres', 'relevance', 'relevance-workers')


@dataclass
class Orders(Vectors):
    """On the table in the order of l_orderkey, with a BRIN index of it."""
    queries = ORDERS
    where = DATABASE
    variants: tuple = ('postgres', 'relevance')
    aggregated = r'CScan Border Key: (lineitem\.)?l_orderkey'

    def start(self, rig):
        super().start(rig)
        note('making an index of l_orderkey')
        with rig.cluster.connect(self.where) as session:
            session.execute('CREATE INDEX IF NOT EXISTS lineitem_orderkey ON lineitem USING brin (l_orderkey)')

    def connect(self, rig, variant, **settings):
        return super().connect(rig, variant, work_mem='4MB', **settings)

    def finish(self, session):
        """Others find the table as it was."""
        session.execute('DROP INDEX lineitem_orderkey')


@dataclass
class OrdersCold(Orders):
    """Each time on a server that was just started.  "memory" is the most that a session's process had of its own, in MB."""
    rounds: int = 3

    def guess(self, table, bandwidth):
        return self.rounds * len(self.queries) * (START + 2 * table / (bandwidth or 500 * MB))

    def measure(self, rig, variants, run, place):
        self.start(rig)
        rows = {variant: {'variant': variant, 'pairs': {name: [] for name in self.queries}, 'memory': None} for variant in variants}
        order = rig.random(*place, run, 'order')
        for number in range(self.rounds):
            for name in self.queries:
                for variant in order.sample(variants, len(variants)):
                    note(f'PostgreSQL {rig.cluster.major}, {variant}: {name}, {number + 1} of {self.rounds}')
                    seconds, memory = self.once(rig, name, variant)
                    rows[variant]['pairs'][name].append(seconds)
                    rows[variant]['memory'] = max(rows[variant]['memory'] or 0, memory) or None
        with rig.cluster.connect(self.where) as session:
            self.finish(session)
        rig.cluster.stop()
        for row in rows.values():
            for name, seconds in row['pairs'].items():
                row[name] = statistics.median(seconds)
            yield row

    def once(self, rig, name, variant):
        rig.start(rig.settings.shared_buffers, rig.settings.bandwidth, rig.settings.page_cache)
        with self.connect(rig, variant, **({'cscan.min_table_size': 0, 'cscan.columns': 'off'} if rig.cscan else {})) as session:
            check_plan(session, self.queries[name], variant, self.aggregated if VARIANTS[variant].policy else 'Scan')
            with Memory(rig.limit) as memory:
                begin = time.perf_counter()
                rows = session.execute(self.queries[name]).fetchall()
                seconds = time.perf_counter() - begin
            rig.answers.check(f'{variant} on {rig.cluster.major}', [(self.queries[name], rows)])
        return seconds, memory.most / MB


class Memory:
    """most: bytes that the processes of sessions had of their own, of what was seen meanwhile; without a control group 0."""

    def __init__(self, limit):
        self.limit, self.most, self.stop = limit, 0, threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def work(self):
        while not self.stop.wait(EVERY):
            self.most = max(self.most, private(self.limit.processes(), SESSION))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


@dataclass
class Unsupported(Vectors):
    """relevance to relevance-rows, which has cscan.vectors off, is what vectors cost where they are of no use."""
    queries = UNSUPPORTED
    variants: tuple = ('postgres', 'relevance', 'relevance-rows')
    aggregated = r'(?s)\A(?!.*(CScan Aggregate|CScan Vector Filter)).*Custom Scan \(CScan\) on'


@dataclass
class Beside(Streams):
    """DuckDB may have what the servers may: shared buffers and what a stream needs are its own, the page cache has the same size."""

    def measure_one(self, rig, name, run):
        if name != DUCKDB:
            return super().measure_one(rig, name, run)
        facts = self.facts(rig, self.database)
        streams = self.work.streams(facts, random.Random(rig.settings.seed))
        own = self.shared_buffers(rig, facts['bytes']) + len(streams) * self.memory
        with contextlib.ExitStack() as stack:
            watch = stack.enter_context(Watch(rig.cluster.major, name, rig.limit))
            result = duck.run_streams(rig, streams, self.delay * (rig.cluster.scale if self.stretch else 1), rig.settings.bandwidth, own,
                                      rig.settings.page_cache, rig.settings.timeout, watch.begin)
        rig.answers.check(name, result.answers, exact=False)
        return {'variant': name, **times(result), **watch.used, 'page_cache': watch.page_cache}
