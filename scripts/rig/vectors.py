"""Aggregates over a table that is all in shared buffers: PostgreSQL's own, CScan's over pages and over an index of columns, and
DuckDB's with one thread, over the same rows in the same order in a file of its own.

    Vectors     single queries             Workers     the same with two parallel workers
    Orders      a GROUP BY of 1.5 million groups at scale 1 that follow the table's order, with little work_mem
    Beside      streams of queries on a cold table under limits, which hold for DuckDB, too

DuckDB is the version that is installed (duck.py).
"""
import contextlib
import random
from dataclasses import dataclass

from . import data, duck
from .cluster import DATABASE
from .duck import DUCKDB
from .limits import MB
from .progress import note
from .streams import Streams, Warm, times
from .testbed import Watch
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
