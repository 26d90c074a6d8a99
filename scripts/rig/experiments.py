"""What is measured.  An experiment is a row of EXPERIMENTS, or has several points, each of which is measured by itself.

The variants of one run follow each other in an order drawn from the seed; the streams, drawn from the seed too, are the same in
every run and for every variant.  PAPER are those of the evidence: scripts/bench runs them by default.

    EXPERIMENTS               name -> Sweep, or an object as streams.py describes it
    PAPER                     the names of those that run unless others are named
    points(name, effort)      point -> object, those that are measured with QUICK, USUAL or FULL effort; of one without points the only
                              one is ''
    runs(name, point, wanted, effort)
                              how often it is measured; wanted may be None
    chosen(name, point, variants)
                              those of the variants that it has
    measure(rig, name, point, variants, run)
                              yields rows
    TARGETS                   (experiment, point, variant, reference) -> {measure: at most this ratio to the reference, or AtLeast, or
                              one for each major}; without a reference it is the measure itself
"""
from dataclasses import dataclass

from .apart import CASES as APART, Apart
from .cold import CASES, Cold
from .data import MANY_LOCKS
from .extremes import Alter, Large, Slow
from .loadrate import LoadRate
from .loops import Loops
from .pgbench import Oltp, Overload
from .queries import InTurn, Permutations, Permuted, Policies
from .streams import DEFAULTS, PER_BACKEND, PER_QUERY, PER_RANGES, Alone, Costs, Streams, Warm, WarmMembers
from .vectors import UNSUPPORTED, Beside, Orders, OrdersCold, Unsupported, Vectors, Workers
from .workload import POLICIES, Adjacent, AllQueries, FullScans, Members, Mix, Ranges
from .writes import Appended, Copied, Spread, Tpcb


@dataclass
class Sweep:
    about: str
    points: dict                # label -> what streams.py describes
    quick: tuple                # the labels that are enough for --quick
    usual: tuple | None = None  # and those without --full, if not all


SIZES = (1, 10, 50, 100)
CORE = ('postgres', 'brin')     # PostgreSQL's plans: the planner's choice, and bitmap scans of BRIN


def ordered(about, work, **more):
    """Streams on the ordered table; PostgreSQL's planner is free to use its indexes."""
    return Streams(about, work, **{'free': DEFAULTS, 'memory': PER_RANGES, 'stretch': True, **more})


# Figure 5: speeds, and sizes in percent of the table.
SPEEDS = ('SF', 'S', 'F', 'FFS', 'SSF')
RANGES = {'S': (1, 2, 5, 10, 20), 'M': (1, 2, 10, 50, 100), 'L': (10, 30, 50, 100)}

FIGURE5 = {f'{speed}-{size}': ordered(f'16 streams of 4 queries, {speed} of {", ".join(map(str, RANGES[size]))} %', Mix(16, 4, RANGES[size], speed),
                                      normalised=True)
           for speed in SPEEDS for size in RANGES}

FIGURE6 = {f'{kind}, {pool:g} %': ordered(f'8 streams of 4 queries, pool of {pool:g} % of the table', Mix(8, 4, SIZES, letters), normalised=True,
                                          pool=pool / 100, panel=kind, x=pool)
           for kind, letters in (('I/O-intensive', 'F'), ('CPU-intensive', 'SF')) for pool in (12.5, 25, 37.5, 50, 62.5, 75, 87.5, 100)}

FIGURE7 = {f'{size} %, {count}': ordered(f'{count} queries at one time of {size} %', Mix(count, 1, (size,)), delay=0.0, panel=f'{size} %', x=count)
           for size in (5, 20, 50) for count in (1, 2, 4, 8, 16, 32)}

FIGURE8 = {f'{size} %, {chunks}': ordered(f'16 streams at one time of 4 FAST queries of {size} %, {chunks} chunks', Mix(16, 4, (size,)), delay=0.0,
                                          variants=('relevance',), reference=('relevance',), chunks=chunks, panel=f'{size} %', x=chunks)
           for size in (1, 10, 100) for chunks in (128, 256, 512, 1024, 2048)}

SISCAN = {
    'Q6': ordered('three streams of three Q6, staggered', Mix(3, 3, (100,), 'F'), variants=('postgres', 'relevance'), seeks=True),
    'Q1': ordered('three streams of three Q1, staggered', Mix(3, 3, (100,), 'S'), variants=('postgres', 'relevance'), seeks=True),
    'TPC-H': Streams('three streams of the 22 queries', AllQueries(3), delay=0.0, variants=('postgres', 'relevance'), free=DEFAULTS, memory=PER_QUERY,
                     seeks=True)}

PBM = {f'{count}': ordered(f'{count} streams of 8 FAST queries of 30 %', Mix(count, 8, (30,)), delay=0.0,
                           variants=(*CORE, 'relevance'), reference=CORE, buffers=0.26, x=count)
       for count in (4, 8, 16, 32)}

TABLE2 = Ranges(16, SIZES, ('FAST', 'SLOW'))


def partitioned(about, work, variants, reference, **more):
    """The same rows in several databases, such as in one table and in partitions; the variants' names say in which."""
    return ordered(about, work, **{'variants': variants, 'free': variants, 'reference': reference, **more})


PARTITIONS = {
    'streams': partitioned('16 streams of 4 FAST queries of 10, 50 and 100 %', Mix(16, 4, (10, 50, 100)),
                           ('relevance', 'relevance-84', 'relevance-1500', 'postgres-84', 'postgres-1500'), ('relevance',), server=MANY_LOCKS),
    'leaves': partitioned('half of the streams on the parent, half on whole years and months of a sub-partitioned one', Members(16, 4, (10, 50, 100)),
                          ('relevance', 'relevance-years', 'postgres-years'), ('relevance',)),
    'table2': partitioned('the streams of table2', TABLE2, ('postgres-84', 'brin-84', 'relevance-84'), ('postgres-84', 'brin-84')),
    'workers': partitioned('four FAST scans of all of it, without and with two parallel workers each', Ranges(4, (100,)),
                           ('relevance-84', 'relevance-workers-84'), ('relevance-84',), free=(), memory=3 * PER_BACKEND),
    'memory': WarmMembers('one query of 1,500 partitions of 1 MB in shared buffers, CScan forced', variants=('postgres', 'relevance')),
}

OF_COLUMNS = ('columns', 'columns-elevator', 'columns-attach', 'columns-normal')
SMALL = 16 / 879            # of lineitem: 16 MB at scale 1

COLUMNS = {
    'alone': partitioned('one cold FAST scan of all of it', Ranges(1, (100,)), ('postgres', 'relevance', 'columns'), ('postgres',),
                         free=('postgres', 'relevance'), repeat=3),
    'table2': partitioned('the streams of table2', TABLE2, (*CORE, 'relevance', 'columns'), CORE),
    'table3': partitioned('the streams of table2 with 16 MB of shared buffers and as much page cache', TABLE2, (*CORE, *OF_COLUMNS), (*CORE, 'columns-normal'),
                          free=(*CORE, *OF_COLUMNS), buffers=SMALL, cache=SMALL),
    # On vectors a stream is over before the next one begins: there is nothing to share then.
    'table3 at once': partitioned('the same, all streams at one time', TABLE2, OF_COLUMNS, ('columns-normal',), delay=0.0,
                                  free=OF_COLUMNS, buffers=SMALL, cache=SMALL, memory=4 * PER_BACKEND, follow=True),
}

# Table 4: the sets of columns that queries read.
OVERLAP = {','.join(sets): ordered(f'16 streams of 4 queries of 40 % of ten columns, each of three: {", ".join(sets)}', Adjacent(16, 4, sets, 40), delay=0.0,
                                   variants=('ten-relevance', 'ten-normal'), free=('ten-relevance', 'ten-normal'), reference=('ten-normal',),
                                   buffers=0.06, cache=0.06)
           for sets in (('ABC',), ('ABC', 'DEF'), ('ABC', 'BCD'), ('ABC', 'BCD', 'CDE'), ('ABC', 'BCD', 'CDE', 'DEF'))}

WRITES = {
    'copy': Copied('COPY of a tenth of lineitem into an empty table'),
    'tpcb': Tpcb("pgbench's own transactions"),
    'appends': Appended('5,000 rows a second are appended, 500 of the newest 5 % changed: scans of all of lineitem meanwhile'),
    'spread': Spread('rows all over lineitem are changed until no block is as it was: scans then'),
}


def beside(about, work):
    """Streams on the ordered table, and DuckDB's."""
    variants = (*CORE, 'relevance', 'columns')
    return Beside(about, work, variants=(*variants, 'duckdb'), free=variants, reference=CORE, memory=PER_RANGES, stretch=True)


VECTORS = {
    'one process': Vectors('aggregates over lineitem in memory, in one process'),
    'workers': Workers('the same with two parallel workers'),
    'orders': Orders('a GROUP BY of all orders, in the order of the table, with work_mem of 4 MB'),
    'orders cold': OrdersCold('the same, cold'),
    'unsupported': Unsupported('scans of which nothing is computed on vectors'),
    'table2': beside('the streams of table2, cold, beside those of DuckDB under the same limits', TABLE2),
    'fast': beside('those of fast', Ranges(16, SIZES)),
}

QUERIES = {
    'alone': InTurn('one after the other, in memory'),
    'alone, all': InTurn('the same with cscan.min_table_size = 0', forced=True),
    'workers': InTurn('with two parallel workers', workers=2),
    'workers, all': InTurn('with two parallel workers and cscan.min_table_size = 0', workers=2, forced=True),
    'streams': Permuted("six streams of TPC-DS's, each in its own order", Permutations(6), delay=0.0, variants=('postgres', 'relevance'),
                        free=('postgres', 'relevance'), memory=PER_QUERY),
    'answers': Policies('answers under each policy', ((0, False), (0, True))),
    'answers, workers': Policies('answers under each policy with two parallel workers', ((2, False), (2, True))),
}

EXTREMES = {
    'buffers': Large('12 GB of shared buffers, 5 GB of them one table'),
    'slow device': Slow('eight scans at one time whose chunks take 3 s each'),
    'alter': Alter('sixteen scans and an ALTER TABLE that waits for them'),
}

EXPERIMENTS = {
    'alone': Alone('each query alone and cold, what latencies are normalised by'),
    'costs': Costs('CPU time for a block, in memory and where it has to be loaded: what scripts/simulate has to know'),
    'table2': ordered('16 streams of 4 queries, FAST and SLOW of 1, 10, 50 and 100 %', TABLE2, variants=(*CORE, *POLICIES, 'demand'), reference=CORE,
                      normalised=True),
    'fast': ordered('the same with FAST queries alone', Ranges(16, SIZES), variants=(*CORE, 'relevance', 'demand'), reference=CORE, normalised=True),
    'figure4': ordered('the streams of table2 once more, traced: chunks over time, and what is read for each type of query', TABLE2,
                       variants=(*CORE, *POLICIES), traced=True),
    'figure5': Sweep('sets of queries of all speeds and sizes', FIGURE5, ('SF-M',),
                     tuple(name for name in FIGURE5 if name.split('-')[0] in ('SF', 'S', 'F'))),
    'figure6': Sweep('pools of 12.5 to 100 % of the table', FIGURE6, ('I/O-intensive, 25 %',),
                     tuple(name for name, one in FIGURE6.items() if one.x in (12.5, 25, 50, 100))),
    'figure7': Sweep('1 to 32 queries at one time', FIGURE7, ('20 %, 1', '20 %, 16'), tuple(name for name, one in FIGURE7.items() if one.x not in (2, 8))),
    'figure8': Sweep('scheduling time against the number of chunks', FIGURE8, ('10 %, 128', '10 %, 1024')),
    'siscan': Sweep('staggered Q6 and Q1, and TPC-H throughput', SISCAN, ('Q6',)),
    'pbm': Sweep('ranges of 30 %, buffers of 26 % of the table', PBM, ('32',)),
    'overload': Overload('more queries arrive than core can serve'),
    'oltp': Sweep("pgbench's own workload alone and beside scans",
                  {'alone': Oltp('alone', scans=0, variants=('postgres',)), 'beside': Oltp('beside four scans', variants=('postgres', 'relevance', 'relevance-auto')),
                   'select-only': Oltp('read-only, beside four scans', options=('-S',), variants=('postgres', 'relevance', 'relevance-auto'))},
                  ('alone', 'beside'), ('alone', 'beside')),
    'partitions': Sweep('lineitem in one table, in 84 and 1,500 partitions, and sub-partitioned; 1,500 partitions in memory', PARTITIONS, ('streams',)),
    'columns': Sweep('lineitem with an index of the columns that are needed', COLUMNS, ('alone',)),
    'writes': Sweep('those who write lineitem beside an index of columns, and those who read it then', WRITES, ('copy',)),
    'overlap': Sweep('columns that queries have in common', OVERLAP, ('ABC', 'ABC,DEF')),
    'queries': Sweep("TPC-H's 22 and TPC-DS's 99 queries, off and on", QUERIES, ('alone',)),
    'vectors': Sweep('aggregates over a table in memory, beside DuckDB', VECTORS, ('orders',)),
    'load-rate': LoadRate('count(*) of a cold table without a limit, beside fio'),
    'fast10': Streams('ten FAST scans, started 1 s apart', FullScans('F' * 10)),
    'mix10': Streams('five FAST and five SLOW scans, started 1 s apart', FullScans('FS' * 5)),
    'cold1': Streams('one cold FAST scan alone', FullScans('F'), repeat=2),
    'cold1-nolimit': Streams('one cold FAST scan alone, no limit on the disk', FullScans('F'), limited=False, repeat=2),
    'cold-alone': Cold('a cold table scanned by one query, in four ways, CScan forced'),
    'apart': Apart('two and four scans of different tables in the page cache, no limit on the disk'),
    'extremes': Sweep('very large buffers, a very slow device, somebody who waits for the table', EXTREMES, ('alter',)),
    'loops10': Loops('a scan of lineitem beside ten endless loops over partsupp'),
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
    'union4': Streams('four FAST scans of all of it, started 1 s apart, alone and beside a client that stops reading a parallel UNION ALL of 200 scans',
                      Ranges(4, (100,)), variants=('relevance', 'relevance-union'), reference=('relevance',)),
    'tpch1': Streams('the 22 queries of TPC-H, one after the other', AllQueries(1), variants=('postgres', *POLICIES, 'demand'), free=(*DEFAULTS, 'demand'),
                     memory=PER_QUERY),
    'tpch4': Streams('four streams at one time of the 22 queries of TPC-H, each in its own order', AllQueries(4), delay=0.0,
                     variants=('postgres', *POLICIES, 'demand'), free=(*DEFAULTS, 'demand'), memory=PER_QUERY),
}

HEADLINE = ('table2', 'fast')
MEDIANS = (*HEADLINE, 'pbm', 'overload', 'oltp', 'load-rate')     # with --full: all that something is wanted of
PAPER = (*HEADLINE, 'figure4', 'figure5', 'figure6', 'figure7', 'figure8', 'siscan', 'pbm', 'overload', 'oltp', 'load-rate')
BASE = 'alone'
QUICK, USUAL, FULL = range(3)


class AtLeast(float):
    pass


TARGETS = {
    ('table2', '', 'relevance', '*'): {'stream': 0.45, 'normal': 0.6, 'bytes': 0.55},
    ('fast', '', 'relevance', '*'): {'stream': 0.6, 'bytes': 0.7},
    ('overload', '', 'relevance', '*'): {'throughput': AtLeast(1.6), 'p95': 0.4},
    ('oltp', 'beside', 'relevance', '*'): {'tps': AtLeast(1.0)},
    ('oltp', 'beside', 'relevance-auto', '*'): {'tps': AtLeast(1.0)},
    ('oltp', 'select-only', 'relevance', '*'): {'tps': AtLeast(1.0)},
    ('oltp', 'select-only', 'relevance-auto', '*'): {'tps': AtLeast(1.0)},
    ('load-rate', '', 'relevance', 'fio'): {'rate': {17: AtLeast(0.5), 18: AtLeast(0.75)}},
    ('load-rate', '', 'relevance', 'pg_prewarm'): {'rate': {15: AtLeast(1.5)}},
    ('pbm', '8', 'relevance', None): {'per byte': 0.30},
    ('pbm', '16', 'relevance', None): {'per byte': 0.20},
    ('pbm', '32', 'relevance', None): {'per byte': 0.14},
    ('fast10', '', 'relevance', 'postgres'): {'mean': 0.85, 'seconds': 0.95, 'bytes': 0.95},
    ('fast10', '', 'elevator', 'postgres'): {'mean': 0.85, 'seconds': 0.95, 'bytes': 0.95},
    ('mix10', '', 'relevance', 'postgres'): {'FAST': 0.6, 'seconds': 0.85, 'bytes': 0.8},
    ('cold1', '', 'relevance', 'postgres'): {'seconds': 1.03},
    ('cold1-nolimit', '', 'relevance', 'postgres'): {'seconds': 1.03},
    ('loops10', '', 'relevance', ''): {'share': AtLeast(0.5)},
    ('extremes', 'buffers', 'relevance', ''): {'idle': 0.02, 'waiting': 0.05, 'granted': AtLeast(1.0)},
    ('extremes', 'buffers', 'relevance', 'postgres'): {'next': 1.02},
    ('extremes', 'slow device', 'relevance', ''): {'more': 1.1, 'self': 1.0},
    ('extremes', 'alter', 'relevance', ''): {'more': 1.05},
    ('extremes', 'alter', 'relevance', 'postgres'): {'wait': 1.0},
    ('cold-alone', '', 'relevance', 'postgres'): dict.fromkeys(CASES, 1.03),
    ('apart', '', 'relevance', 'postgres'): dict.fromkeys(APART, 1.05),
    ('warm1', '', 'relevance', 'postgres'): {'count': 1.03, 'FAST': 1.03, 'project': 1.03},
    ('ranges16-fast', '', 'relevance', 'postgres'): {'stream': 0.2, 'bytes': 0.3},
    ('ranges16-fast', '', 'relevance', 'brin'): {'stream': 0.6, 'bytes': 0.7},
    ('ranges16-mix', '', 'relevance', 'postgres'): {'stream': 0.27, 'bytes': 0.35},
    ('ranges16-mix', '', 'relevance', 'brin'): {'stream': 0.45, 'bytes': 0.55},
    ('workers4', '', 'relevance-workers', 'relevance'): {'bytes': 1.2},
    ('idle4', '', 'relevance-idle', 'relevance'): {'seconds': 1.05, 'stream': 1.05},
    ('union4', '', 'relevance-union', 'relevance'): {'seconds': 1.05, 'stream': 1.05, 'bytes': 1.05},
    ('tpch4', '', 'relevance', 'postgres'): {'seconds': 0.85},
    ('partitions', 'streams', 'relevance-84', 'relevance'): {'stream': 1.15, 'bytes': 1.15},
    ('partitions', 'streams', 'relevance-84', 'postgres-84'): {'stream': 0.25},
    ('partitions', 'leaves', 'relevance-years', 'relevance'): {'bytes': 1.15},
    ('partitions', 'table2', 'relevance-84', '*'): {'stream': 0.45, 'bytes': 0.55},
    ('partitions', 'workers', 'relevance-workers-84', 'relevance-84'): {'bytes': 1.2},
    ('columns', 'alone', 'columns', 'postgres'): {'seconds': 0.2, 'bytes': 0.04},
    ('columns', 'table2', 'columns', '*'): {'bytes': 0.06},
    **{('columns', 'table3', 'columns', core): {'bytes': 0.06} for core in CORE},
    **{('columns', point, 'columns', 'columns-normal'): {'bytes': 0.5} for point in ('table3', 'table3 at once')},
    ('vectors', 'one process', 'relevance', 'postgres'): {'Q6': 0.75, 'Q1': 0.5, 'count': 1.0},
    ('vectors', 'one process', 'columns', 'postgres'): {'Q6': 0.15, 'Q6, a year': 0.1, 'Q1': 0.09, 'count': 0.1, 'sum': 0.1},
    ('vectors', 'one process', 'columns', 'duckdb'): {'Q6': 5.0, 'Q1': 5.0},
    ('vectors', 'workers', 'relevance-workers', 'relevance'): {'Q6': 1 / 1.8, 'Q1': 1 / 1.8},
    ('vectors', 'orders', 'relevance', 'postgres'): {'orders': 0.7, 'first row': 0.1},
    ('vectors', 'orders cold', 'relevance', 'postgres'): {'orders': 0.7, 'first row': 0.1},
    ('vectors', 'orders cold', 'relevance', ''): {'memory': 64},
    ('vectors', 'unsupported', 'relevance', 'relevance-rows'): dict.fromkeys(UNSUPPORTED, 1.02),
    ('vectors', 'table2', 'columns', '*'): {'stream': 0.06},
    ('vectors', 'table2', 'columns', 'duckdb'): {'stream': 6.0},
    ('writes', 'copy', 'columns', 'postgres'): {'COPY': 1.1},
    ('writes', 'tpcb', 'columns', 'postgres'): {'transaction': 1 / 0.97},
    ('writes', 'appends', 'columns', 'postgres'): {'FAST': 0.35},
    ('writes', 'spread', 'columns', 'postgres'): {'FAST': 1.03},
    ('writes', 'spread', 'columns', ''): {'quick again': 300},
    ('partitions', 'memory', 'relevance', 'postgres'): {'count': 1.05, 'planning': 1.2, 'start': 1.05},
    **{('queries', place, 'relevance', 'postgres'): {'total': 1.0, 'worst query': 1.1, 'planning': 1.1} for place, one in QUERIES.items()
       if isinstance(one, InTurn)},
    ('queries', 'streams', 'relevance', 'postgres'): {'seconds': 0.9, 'bytes': 0.9, 'worst query': 1.2},
}


def points(name, effort=FULL):
    experiment = EXPERIMENTS[name]
    if not isinstance(experiment, Sweep):
        return {'': experiment}
    labels = {QUICK: experiment.quick, USUAL: experiment.usual or experiment.points, FULL: experiment.points}[effort]
    return {label: experiment.points[label] for label in labels}


def point(name, label):
    return points(name)[label]


def chosen(name, label, variants):
    if name == BASE:
        return [variant for variant in point(name, label).variants if variant in variants][:1]
    return [variant for variant in variants if variant in point(name, label).variants]


def runs(name, label, wanted, effort=FULL):
    """Without a wish the headline's experiments are measured three times, for medians and spread, what draws a curve once."""
    once = name in (BASE, *PAPER) and name not in (MEDIANS if effort == FULL else HEADLINE)
    return (wanted or (1 if once else 3)) * point(name, label).repeat


def measure(rig, name, label, variants, run):
    place = (name, label) if label else (name,)
    order = rig.random(*place, run).sample(variants, len(variants))
    for row in point(name, label).measure(rig, order, run, place):
        yield {'major': rig.cluster.major, 'experiment': name, 'point': label, 'run': run, **row}
