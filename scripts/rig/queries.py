"""TPC-H's 22 and TPC-DS's 99 queries as DuckDB has them: one after the other with cscan off and on, and in streams.

What is measured alone is read from the page cache, and small differences count.  So a query runs under both variants one right
after the other, again and again: off, on, on, off.  Each such pair has a ratio, and the median of these counts.  Where the CPU
time of the server is known, it has ratios, too: they are steadier than those of time if others use the machine.

Invariant: both variants give the same answer to each query, or the run ends.

    InTurn      each query alone, in pairs             Policies     answers under each policy, no times
    Permuted    streams of TPC-DS's queries at one time, on a slow disk (streams.py)

    turns(variants, pairs, first)       the order of each pair
    pairs_of(seconds)                   how many pairs a run has of a query that takes so long
    skeleton(plan), scans(plan)         what is above the scans in an explained plan; how many of these are CScans
    compare(mine, theirs)               Compared of each query, from rows of InTurn of two variants
    worst(compared), total(compared), planning(compared)
                                        the query with the largest ratio of those that are not short, and ratios of all together
"""
import statistics
import time
from dataclasses import dataclass
from typing import NamedTuple

from . import data, tpc
from .cluster import Failure
from .limits import MB
from .progress import note
from .streams import START, Streams
from .workload import POLICIES, VARIANTS, Query, alike

BUFFERS = 256 * MB          # shared_buffers at scale 1
SLOW = 5.0                  # seconds; a query that takes longer has one pair a run, without a warm-up
ENOUGH = 1.5                # seconds that one that takes less runs under each variant
MOST = 10                   # pairs
PLANNED = 3                 # times for each pair; the quickest counts
SHORT = 0.05                # seconds; the ratio of a query that takes less is no target
LIMIT = 1.1                 # what is above is explained
ALL = 260.0                 # seconds that all queries take at scale 1, for guesses


def shared_buffers(scale):
    return int(max(16, BUFFERS // MB * scale)) * MB


def wanted(rig, databases=tpc.DATABASES):
    """The queries that are to be measured, in the order of their numbers."""
    found = [query for query in tpc.queries() if query.database in databases]
    chosen = rig.settings.queries
    if chosen:
        unknown = set(chosen) - {query.name for query in tpc.queries()}
        if unknown:
            raise Failure(f'there is no query {", ".join(sorted(unknown))}; {", ".join(tpc.LEFT_OUT)} are left out, as they take minutes')
        found = [query for query in found if query.name in chosen]
    if not found:
        raise Failure(f'none of these queries is of {" or ".join(databases)}')
    return found


def turns(variants, pairs, first):
    """off, on; on, off; ...: whoever is measured first in one pair is last in the next.  first: 0 or 1, where that begins."""
    return [variants[::-1] if (first + number) % 2 else variants for number in range(pairs)]


def pairs_of(seconds):
    """An even number, but for what is slow."""
    return 1 if seconds > SLOW else min(MOST, 2 * max(1, round(ENOUGH / 2 / max(seconds, 0.001))))


def skeleton(plan):
    """All of it but how tables are read."""
    below = plan.get('Plans', ())
    if 'Alias' in plan or plan.get('Custom Plan Provider') == 'CScan':
        below = [one for one in below if one.get('Parent Relationship') in ('InitPlan', 'SubPlan')]
        return plan.get('Alias', 'scan'), tuple(map(skeleton, below))
    return plan['Node Type'], plan.get('Join Type'), tuple(map(skeleton, below))


def scans(plan):
    return (plan.get('Custom Plan Provider') == 'CScan') + sum(map(scans, plan.get('Plans', ())))


class Server:
    """Started warm; sessions of each variant in each database; closes in the end."""

    def __init__(self, rig, variants, queries, **settings):
        self.rig, self.sessions = rig, {}
        databases = dict.fromkeys(query.database for query in queries)
        for database in databases:
            data.load(rig.cluster, database)
        rig.start(shared_buffers(rig.cluster.scale), None, None)
        for database in databases:
            rig.prepare(database, '')
            for variant in variants:
                self.sessions[database, variant] = rig.cluster.connect(database, **VARIANTS[variant].settings, **settings,
                                                                       statement_timeout=f'{rig.settings.timeout}s')
            self.warm(self.sessions[database, variants[0]])

    def warm(self, session):
        note('reading all tables and indexes')
        session.execute('CREATE EXTENSION IF NOT EXISTS pg_prewarm')
        session.execute("SELECT sum(pg_prewarm(oid::regclass, 'read')) FROM pg_class WHERE relkind IN ('r', 'i') AND relpersistence = 'p'")

    def run(self, query, variant, sql):
        try:
            return self.sessions[query.database, variant].execute(sql).fetchall()
        except Exception as error:
            raise Failure(f'{query.name}, {variant}: {type(error).__name__}: {error}') from None

    def plan(self, query, variant):
        """As JSON, and the seconds that it took to make it."""
        found = self.run(query, variant, 'EXPLAIN (SUMMARY, FORMAT JSON) ' + query.sql)[0][0][0]
        return found['Plan'], found['Planning Time'] / 1000

    def check(self, query, answers):
        """The answers of two variants or more: the same rows in the same order.  Returns whether ORDER BY leaves it open which."""
        (first, expected), *others = answers.items()
        different = [variant for variant, rows in others if [alike(row) for row in rows] != [alike(row) for row in expected]]
        for variant in (first, *different) if different else ():
            rows = self.run(query, variant, query.determined)
            if query.determined != query.sql:       # it has an order, which has to be right, too
                rows = [(number, *row) for number, row in enumerate(rows)]
            self.rig.answers.check(f'{variant} on {self.rig.cluster.major}', [(query.determined + '\n', rows)])    # numbered ones are of their own
        return bool(different)

    def close(self):
        for session in self.sessions.values():
            session.close()
        self.rig.cluster.stop()


def settings_of(rig, workers, forced):
    return {'max_parallel_workers_per_gather': workers, **({'cscan.min_table_size': 0} if forced and rig.cscan else {})}


@dataclass
class InTurn:
    """Yields rows whose "alone" has for each query seconds, CPU seconds and planning seconds of each pair; what is above the scans, whether that is
    the same as PostgreSQL's; how many CScans there are; and where this run has found a ratio of more than LIMIT, what EXPLAIN ANALYZE says."""
    about: str
    workers: int = 0
    forced: bool = False
    variants: tuple = ('postgres', 'relevance')
    reference: tuple = ('postgres',)
    databases: tuple = tpc.DATABASES
    repeat: int = 1

    def guess(self, table, bandwidth):
        return START + 2 * ALL * table / (880 * MB)

    def measure(self, rig, variants, run, place):
        variants = [name for name in VARIANTS if name in variants]
        queries = wanted(rig, self.databases)
        server = Server(rig, variants, queries, **settings_of(rig, self.workers, self.forced))
        rows = {variant: {'variant': variant, 'alone': {}} for variant in variants}
        for number, query in enumerate(queries):
            note(f'PostgreSQL {rig.cluster.major}, {self.about}: {query.name}, {number + 1} of {len(queries)}')
            for variant, found in self.one(server, query, variants, run + number).items():
                rows[variant]['alone'][query.name] = found
        self.explain(server, queries, rows)
        server.close()
        for row in rows.values():
            row['seconds'] = sum(statistics.median(one['seconds']) for one in row['alone'].values())
            yield row

    def one(self, server, query, variants, first):
        """variant -> what was found"""
        found = {variant: {'seconds': [], 'cpu': [], 'planning': []} for variant in variants}
        answers, samples = {}, {}
        for variant in turns(variants, 1, first)[0]:
            samples[variant], answers[variant] = self.time(server, query, variant)
        tied = server.check(query, answers)
        longest = max(sample[0] for sample in samples.values())
        slow = longest > SLOW
        for order in turns(variants, pairs_of(longest), first):
            planned = {variant: [] for variant in variants}
            for again in turns(order, PLANNED, 0):
                for variant in again:
                    plan, seconds = server.plan(query, variant)
                    planned[variant].append(seconds)
                    found[variant].update(skeleton=skeleton(plan), scans=scans(plan), tied=tied)
            for variant in order:
                seconds, cpu = samples[variant] if slow else self.time(server, query, variant)[0]
                found[variant]['planning'].append(min(planned[variant]))
                found[variant]['seconds'].append(seconds)
                found[variant]['cpu'].append(cpu)
        skeletons = [one.pop('skeleton') for one in found.values()]
        for one, mine in zip(found.values(), skeletons):
            one['same'] = mine == skeletons[0]
        return found

    def time(self, server, query, variant):
        cpu, start = server.rig.limit.cpu(), time.perf_counter()
        rows = server.run(query, variant, query.sql)
        seconds = time.perf_counter() - start
        return (seconds, None if cpu is None else server.rig.limit.cpu() - cpu), rows

    def explain(self, server, queries, rows):
        """The plans of what is slower."""
        if len(rows) < 2:
            return
        theirs, mine = list(rows.values())[:2]
        slower = {one.name for one in compare([mine], [theirs]) if one.ratio > LIMIT and one.theirs > SHORT}
        for query in queries:
            if query.name in slower:
                for variant, row in rows.items():
                    lines = server.run(query, variant, 'EXPLAIN (ANALYZE, BUFFERS, SETTINGS) ' + query.sql)
                    row['alone'][query.name]['analyzed'] = '\n'.join(line for line, in lines)

    def ratio(self, mine, theirs, measure):
        measures = {'total': total, 'worst query': lambda found: getattr(worst(found), 'ratio', None), 'planning': planning}
        found = compare(mine, theirs)
        return measures[measure](found) if found and measure in measures else None


class Compared(NamedTuple):
    name: str
    theirs: float           # seconds, medians
    mine: float
    ratio: float            # median of those of the pairs
    spread: tuple           # of the middle half of these
    cpu: float | None       # the same of CPU time
    planning: tuple         # seconds, medians: theirs, mine
    scans: int              # CScans in my plan
    same: bool              # does only the way that tables are read differ?
    pairs: int


def compare(mine, theirs):
    """Each of a list of rows, one a run."""
    found = []
    for name in dict.fromkeys(name for row in mine for name in row['alone']):
        mine_, theirs_ = ([row['alone'][name] for row in rows if name in row['alone']] for rows in (mine, theirs))
        if not theirs_:
            continue
        ratios, cpu = ratios_of(mine_, theirs_, 'seconds'), ratios_of(mine_, theirs_, 'cpu')
        quarters = statistics.quantiles(ratios, n=4, method='inclusive') if len(ratios) > 1 else [ratios[0]] * 3
        found.append(Compared(name, median(theirs_, 'seconds'), median(mine_, 'seconds'), statistics.median(ratios), (quarters[0], quarters[2]),
                              statistics.median(cpu) if cpu else None, (median(theirs_, 'planning'), median(mine_, 'planning')), mine_[-1]['scans'],
                              mine_[-1]['same'], len(ratios)))
    return found


def ratios_of(mine, theirs, measure):
    pairs = [pair for one, other in zip(mine, theirs) for pair in zip(one[measure], other[measure])]
    return [a / b for a, b in pairs if a is not None and b]


def median(found, measure):
    return statistics.median(value for one in found for value in one[measure])


def total(compared):
    return sum(one.mine for one in compared) / sum(one.theirs for one in compared)


def planning(compared):
    return sum(one.planning[1] for one in compared) / sum(one.planning[0] for one in compared)


def total_cpu(compared):
    """Each query's ratio counts as much as its time."""
    known = [one for one in compared if one.cpu is not None]
    return sum(one.cpu * one.theirs for one in known) / sum(one.theirs for one in known) if known else None


def worst(compared):
    return max((one for one in compared if one.theirs > SHORT), key=lambda one: one.ratio, default=None)


@dataclass
class Policies:
    """All queries under all policies, whose answers are compared with PostgreSQL's.  What has no CScan in its plan need not run."""
    about: str
    settings: tuple         # (workers, forced), one after the other
    variants: tuple = ('postgres', *POLICIES, 'demand')
    reference: tuple = ('postgres',)
    databases: tuple = tpc.DATABASES
    repeat: int = 1

    def guess(self, table, bandwidth):
        return START + len(self.settings) * ALL * table / (880 * MB)

    def measure(self, rig, variants, run, place):
        variants = list(dict.fromkeys(('postgres', *(name for name in VARIANTS if name in variants))))
        queries = wanted(rig, self.databases)
        rows = {variant: {'variant': variant, 'seconds': 0.0, 'asked': 0, 'scanned': 0, 'tied': []} for variant in variants}
        for workers, forced in self.settings:
            server = Server(rig, variants, queries, **settings_of(rig, workers, forced))
            for number, query in enumerate(queries):
                note(f'PostgreSQL {rig.cluster.major}, {self.about}: {query.name}, {number + 1} of {len(queries)}')
                self.one(server, query, variants, rows)
            server.close()
        for row in rows.values():
            row['tied'] = list(dict.fromkeys(row['tied']))
            yield row

    def one(self, server, query, variants, rows):
        expected = None
        for variant in variants:
            row = rows[variant]
            row['asked'] += 1
            if variant != 'postgres' and not scans(server.plan(query, variant)[0]):
                continue
            start = time.perf_counter()
            answer = server.run(query, variant, query.sql)
            row['seconds'] += time.perf_counter() - start
            if variant == 'postgres':
                expected = answer
                continue
            row['scanned'] += 1
            if server.check(query, {'postgres': expected, variant: answer}):
                row['tied'].append(query.name)


@dataclass
class Permutations:
    """TPC-DS's queries, each stream in an order of its own; their ORDER BY tells all rows apart, so that answers can be compared."""
    count: int
    database = tpc.DS
    slow = 0

    def __post_init__(self):
        self.volume = 60 * self.count       # in lineitems

    def streams(self, facts, random):
        queries = [Query(query.name, query.determined) for query in facts['queries']]
        return [random.sample(queries, len(queries)) for _ in range(self.count)]


@dataclass
class Permuted(Streams):
    """A session's memory varies a lot from one query to another, so the limit follows it."""
    follow: bool = True

    def shared_buffers(self, rig, table):
        return shared_buffers(rig.cluster.scale)

    def facts(self, rig, database):
        return {**super().facts(rig, database), 'queries': wanted(rig, (self.database,))}

    def ratio(self, mine, theirs, measure):
        if measure != 'worst query':
            return None
        means = [means_of(rows) for rows in (mine, theirs)]
        return max((means[0][name] / means[1][name] for name in means[1] if name in means[0]), default=None)


def means_of(rows):
    """name -> mean seconds of a query over all streams and runs, in the order of their numbers"""
    found = {}
    for row in rows:
        for name, _, seconds, _ in row['latencies']:
            found.setdefault(name, []).append(seconds)
    return {name: statistics.mean(found[name]) for name in sorted(found, key=lambda name: (len(name), name))}
