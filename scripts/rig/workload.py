"""What runs at one time, and the variants of the server that it is compared under.

A stream is a list of queries that one connection runs one after the other; stream i starts i * delay seconds after the
first.  All connections are open, and all plans have been looked at, before the clock starts.

    Query                            kind, SQL, the percent of the table that it scans if it is a range, and the table that it names
    FullScans, Ranges, Mix, Members, Adjacent, AllQueries
                                     kinds of work: .database, .count streams that read .volume times lineitem or so, a share
                                     .slow of it by SLOW queries, and .streams(facts, random), with what is known of the
                                     database (see data.py)
    VARIANTS                         name -> Variant
    run_streams(...)                 -> Result
    label(kind, size)                'F-01', as in the paper
    Answers().check(...)             the same query gives the same rows under every variant, or the run ends
    alike(row)                       what of a row does not depend on the order in which it was computed
    rounded(row)                     nor on the system, to nine digits
"""
import contextlib
import itertools
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from .cluster import DATABASE, Failure
from .data import COLUMNS, MB, MEMBERS, MONTHS, SQL, TEN, TPCH, YEARS

# TPC-H Q6 and Q1.
TEMPLATES = {
    'FAST': '''SELECT sum(l_extendedprice * l_discount) AS revenue FROM {table}
    WHERE {where}
      AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24''',
    'SLOW': '''SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
        sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
        sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, avg(l_quantity) AS avg_qty,
        avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
    FROM {table} WHERE {where}
    GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus'''}

# Their own conditions on l_shipdate.
CONDITIONS = {'FAST': "l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '1' year",
              'SLOW': "l_shipdate <= date '1998-12-01' - interval '90' day"}


class Query(NamedTuple):
    kind: str
    sql: str
    size: int | None = None     # percent of the table, and where they begin
    begin: int | None = None
    table: str = 'lineitem'

    @property
    def question(self):
        """The same of lineitem, where it asks one of its partitions."""
        return self.sql if self.table == TEN else self.sql.replace(f'FROM {self.table}', 'FROM lineitem', 1)


def label(kind, size):
    return kind if size is None else f'{kind[0]}-{size:02d}'


def query(kind, table='lineitem', where=None):
    return TEMPLATES[kind].format(table=table, where=where or CONDITIONS[kind])


@dataclass
class FullScans:
    """Of a lineitem that has no index, one a stream: 'FFS' is two FAST streams and a SLOW one."""
    letters: str
    database = DATABASE

    def __post_init__(self):
        self.count = self.volume = len(self.letters)
        self.slow = self.letters.count('S') / self.count

    def streams(self, facts, random):
        return [[Query(kind, query(kind))] for letter in self.letters for kind in TEMPLATES if kind[0] == letter]


@dataclass
class Ranges:
    """Of lineitem in the order of l_shipdate: each stream has one query of each size, in any order, at any place."""
    count: int
    sizes: tuple                # percent of the table
    kinds: tuple = ('FAST',)    # as many queries of one as of another
    database = TPCH

    def __post_init__(self):
        self.volume = self.count * sum(self.sizes) / 100
        self.slow = self.kinds.count('SLOW') / len(self.kinds)

    def streams(self, facts, random):
        queries = self.count * len(self.sizes)
        kinds = random.sample(self.kinds * (queries // len(self.kinds)), queries)
        return [[anywhere(kinds.pop(), size, facts['days'], random) for size in random.sample(self.sizes, len(self.sizes))]
                for _ in range(self.count)]


@dataclass
class Mix:
    """Of the same lineitem: streams of so many queries, whose speeds ('FFS': two FAST to a SLOW) and sizes are mixed at random."""
    count: int
    queries: int                # of a stream
    sizes: tuple                # percent of the table
    letters: str = 'F'
    database = TPCH

    def __post_init__(self):
        self.volume = self.count * self.queries * sum(self.sizes) / len(self.sizes) / 100
        self.slow = self.letters.count('S') / len(self.letters)

    def streams(self, facts, random):
        # Every size at every speed, and as often as any other, as far as the number of queries allows.
        pairs = [(kind, size) for size in self.sizes for letter in self.letters for kind in TEMPLATES if kind[0] == letter]
        number = self.count * self.queries
        pairs = random.sample(pairs * (number // len(pairs)), number // len(pairs) * len(pairs)) + random.sample(pairs, number % len(pairs))
        random.shuffle(pairs)
        return [[anywhere(*pairs.pop(), facts['days'], random) for _ in range(self.queries)] for _ in range(self.count)]


@dataclass
class Members:
    """FAST streams of lineitem in the order of l_shipdate: every other one has ranges of these sizes, at any place, the others have whole years and
    whole months in turn.  Where partitions are named after these, such a query names the partition in place of lineitem."""
    count: int
    queries: int                # of a stream
    sizes: tuple                # percent of the table
    database = TPCH
    slow = 0

    def __post_init__(self):
        ranges = sum(self.sizes) / len(self.sizes) / 100
        self.volume = self.count / 2 * self.queries * (ranges + (1 / 7 + 1 / 84) / 2)

    def streams(self, facts, random):
        ranges = Mix(self.count // 2, self.queries, self.sizes).streams(facts, random)
        return [self.whole(facts, random) if number % 2 else ranges[number // 2] for number in range(self.count)]

    def whole(self, facts, random):
        parts = []
        for number in range(self.queries):
            year, month = random.randint(1992, 1998), random.randint(1, 12)
            first, span, table = ((f'{year}-01-01', 'year', f'lineitem_{year}') if number % 2 == 0 else
                                  (f'{year}-{month:02d}-01', 'month', f'lineitem_{year}_{month:02d}'))
            where = f"l_shipdate >= date '{first}' AND l_shipdate < date '{first}' + interval '1' {span}"
            table = table if facts['named'] else 'lineitem'
            parts.append(Query('FAST', query('FAST', table, where), table=table))
        return parts


@dataclass
class Adjacent:
    """Of the table of ten columns: each query sums the columns of one of these sets ('ABC', 'BCD') over a part of the table at any place.  Corresponding
    queries of several such objects read the same part."""
    count: int
    queries: int                # of a stream
    sets: tuple
    size: int                   # percent of the table
    database = TEN
    slow = 0

    def __post_init__(self):
        self.volume = self.count * self.queries * self.size / 100 * 0.3     # three columns of ten

    def streams(self, facts, random):
        places = [[random.randint(0, 100 - self.size) for _ in range(self.queries)] for _ in range(self.count)]
        number = self.count * self.queries
        sets = random.sample(self.sets * -(-number // len(self.sets)), number)
        return [[self.query(sets.pop(), begin, facts['rows']) for begin in stream] for stream in places]

    def query(self, letters, begin, rows):
        sums = ', '.join(f'sum({letter})' for letter in letters.lower())
        return Query(letters, f'SELECT {sums} FROM ten WHERE id > {begin * rows // 100} AND id <= {(begin + self.size) * rows // 100}', self.size, begin, 'ten')


def span_of(kind, begin, end, days):
    """From begin to end percent of the ordered table."""
    where = f"l_shipdate >= date '{days[begin]}' AND l_shipdate < date '{days[end]}'"
    return Query(kind, query(kind, where=where), end - begin, begin)


def anywhere(kind, size, days, random):
    begin = random.randint(0, 100 - size)
    return span_of(kind, begin, begin + size, days)


def side_by_side(kind, sizes, days):
    """Queries of these sizes that have no row in common: each finds its own part of the table as cold as the first."""
    ends = list(itertools.accumulate(sizes))
    return [span_of(kind, end - size, end, days) for size, end in zip(sizes, ends)]


@dataclass
class AllQueries:
    """The 22 queries of TPC-H, each stream in an order of its own."""
    count: int
    database = TPCH
    slow = 0

    def __post_init__(self):
        self.volume = 44 * self.count       # most of it block by block, through indexes

    def streams(self, facts, random):
        text = (SQL / 'queries.sql').read_text().replace(':scale', f'{facts["scale"]:g}')
        queries = re.findall(r'^-- (Q\d+).*\n([^;]*);', text, re.M)
        queries = [Query(kind, sql) for kind, sql in queries]
        return [random.sample(queries, len(queries)) for _ in range(self.count)]


@dataclass
class Variant:
    plan: str                   # must be found in the plan of each query
    policy: str = ''            # of cscan; none: PostgreSQL's own scans
    hidden: str = ''            # an index that the planner does not get to see
    extra: dict = field(default_factory=dict)
    server: dict = field(default_factory=dict)  # settings of the server, where the experiment knows of them
    idle: int = 0               # clients beside the streams that do not go on, see stop_in_the_middle()
    idle_query: str = ''        # that such a client stops reading, in place of a scan of lineitem
    database: str = ''          # other than the experiment's, with the same rows in partitions
    memory: int = 0             # that a stream needs beyond others, for what it knows of them

    @property
    def settings(self):
        """Of its sessions."""
        cscan = {'cscan.enabled': 'on', 'cscan.policy': self.policy} if self.policy else {'cscan.enabled': 'off'}
        return {**cscan, **self.extra}


BITMAPS = {'enable_seqscan': 'off', 'enable_indexscan': 'off', 'enable_indexonlyscan': 'off'}
SEQ_SCANS = {'enable_bitmapscan': 'off', 'enable_indexscan': 'off', 'enable_indexonlyscan': 'off'}
WORKERS = {'max_parallel_workers_per_gather': 2, 'min_parallel_table_scan_size': 0, 'parallel_setup_cost': 0,
           'parallel_tuple_cost': 0}

POLICIES = ('relevance', 'elevator', 'attach', 'normal')     # the paper's
OF_PARTITIONS = (('postgres', 'Seq Scan on', '', {}), ('brin', 'Bitmap Index Scan on', '', BITMAPS),
                 ('relevance', r'Custom Scan \(CScan\) on', 'relevance', {}))
FEW = 5 * MB                                        # relation cache and plans of 84 partitions, as measured,
MANY = {'postgres': 64 * MB, 'relevance': 96 * MB}  # and more than that of 1,500: the page cache does not get it (CacheLimit)
VARIANTS = {
    'postgres': Variant('Seq Scan on'),
    'brin': Variant('Bitmap Index Scan on lineitem_shipdate_brin', extra=BITMAPS),
    'seqscan': Variant('Seq Scan on', extra=SEQ_SCANS),
    **{policy: Variant(r'Custom Scan \(CScan\) on', policy) for policy in (*POLICIES, 'demand')},
    'relevance-auto': Variant(r'Custom Scan \(CScan\) on', 'relevance', server={'cscan.buffer_share': 'auto'}),
    'relevance-btree': Variant('lineitem_shipdate_btree', 'relevance', hidden='lineitem_shipdate_brin'),
    'relevance-idle': Variant(r'Custom Scan \(CScan\) on', 'relevance', idle=200),
    'relevance-union': Variant(r'Custom Scan \(CScan\) on', 'relevance', idle=1, idle_query=' UNION ALL '.join(200 * ['SELECT * FROM lineitem'])),
    'relevance-rows': Variant(r'Custom Scan \(CScan\) on', 'relevance', extra={'cscan.vectors': 'off'}),
    'relevance-workers': Variant(r'(?s)Workers Planned: 2.*Parallel Custom Scan \(CScan\) on', 'relevance', extra=WORKERS),
    **{f'{name}-84': Variant(plan, policy, extra=extra, database=MONTHS, memory=FEW) for name, plan, policy, extra in OF_PARTITIONS},
    **{f'{name}-years': Variant(plan, policy, extra=extra, database=YEARS, memory=FEW) for name, plan, policy, extra in OF_PARTITIONS if name != 'brin'},
    **{f'{name}-1500': Variant(plan, policy, extra=extra, database=MEMBERS, memory=MANY[name]) for name, plan, policy, extra in OF_PARTITIONS
       if name in MANY},
    'relevance-workers-84': Variant(r'(?s)Workers Planned: 2.*Custom Scan \(CScan\) on', 'relevance', extra=WORKERS, database=MONTHS, memory=3 * FEW),
    'columns': Variant(r'CScan Index: lineitem_columns', 'relevance', database=COLUMNS),
    **{f'columns-{policy}': Variant(r'CScan Index: lineitem_columns', policy, database=COLUMNS) for policy in POLICIES[1:]},
    **{f'ten-{policy}': Variant(r'CScan Index: ten_columns', policy) for policy in POLICIES},
    'pg_prewarm': Variant(''),
    'duckdb': Variant(''),      # in a file of its own
    'fio': Variant(''),         # no server at all: what the disk can do
}


@dataclass
class Result:
    seconds: float = 0.0                            # from the first start to the last end
    latencies: list = field(default_factory=list)   # (kind, size, seconds, chunks or None)
    streams: list = field(default_factory=list)     # seconds of each, from its own start
    answers: list = field(default_factory=list)     # (sql, rows)
    plans: dict = field(default_factory=dict)       # by SQL


def check_plan(connection, sql, variant, expected):
    """A variant that does not scan the way it claims to would be measured in vain."""
    plan = '\n'.join(row[0] for row in connection.execute('EXPLAIN ' + sql).fetchall())
    if not re.search(expected, plan):
        raise Failure(f'variant {variant} was expected to run {expected}, but its plan is\n{plan}\nof\n{sql}')
    return plan


def stop_in_the_middle(connection, number, sql):
    """A scan of lineitem that nobody fetches any more of: an idle cursor, or a client that does not read what it is sent.  Or the
    latter of another query, with parallel workers."""
    if sql:
        for name, value in WORKERS.items():
            connection.execute(f'SET {name} = {value}')
        check_plan(connection, sql, 'idle', r'(?s)Workers Planned: 2.*Parallel Append')
        rows = connection.cursor().stream(sql)
        next(rows)
        return rows
    if number % 20:
        connection.execute('BEGIN; DECLARE idle CURSOR FOR SELECT * FROM lineitem; MOVE 50000 FROM idle')
        return None
    rows = connection.cursor().stream('SELECT * FROM lineitem')
    next(rows)
    return rows


def chunks_read(plan, chunk):
    """What EXPLAIN says was read for a plan, in chunks of so many blocks: loaded by the ABM, or read by the query itself."""
    if plan['Node Type'] == 'Custom Scan':
        return plan['CScan Chunks Loaded'] + plan['CScan Chunks Self-Read']
    below = plan.get('Plans', [])
    own = plan['Shared Read Blocks'] - sum(part['Shared Read Blocks'] for part in below)
    return own / chunk + sum(chunks_read(part, chunk) for part in below)


def run_streams(cluster, database, variant, plan, streams, delay, timeout, at_start=lambda: None, chunk=None):
    """Runs the streams under a variant, all of whose plans must match; calls at_start when the clock starts.

    With chunk, a number of blocks, the queries are explained, so that what each has read is known in chunks of that size; there
    are no answers then.
    """
    result, errors = Result(), []
    explain = 'EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, FORMAT JSON) ' if chunk else ''
    settings = VARIANTS[variant].settings
    connections = [cluster.connect(database, **settings, statement_timeout=f'{timeout}s') for _ in streams]
    idle = [cluster.connect(database, **settings) for _ in range(VARIANTS[variant].idle)]
    ready, stop, threads = threading.Barrier(len(streams) + 1), threading.Event(), []
    try:
        for connection, stream in zip(connections, streams):
            for one in stream:
                result.plans[one.sql] = check_plan(connection, one.sql, variant, plan)
        kept = [stop_in_the_middle(connection, number, VARIANTS[variant].idle_query) for number, connection in enumerate(idle)]  # noqa: F841

        def work(number, connection, stream):
            try:
                ready.wait()
                stop.wait(max(0.0, begin[0] + number * delay - time.perf_counter()))
                first = time.perf_counter()
                for one in stream:
                    kind, sql, size = one.kind, one.sql, one.size
                    if stop.is_set():
                        return
                    start = time.perf_counter()
                    rows = connection.execute(explain + sql).fetchall()
                    seconds = time.perf_counter() - start
                    if chunk:
                        result.latencies.append((kind, size, seconds, chunks_read(rows[0][0][0]['Plan'], chunk)))
                    else:
                        result.latencies.append((kind, size, seconds, None))
                        result.answers.append((one.question, rows))
                result.streams.append(time.perf_counter() - first)
            except Exception as error:              # reported by the thread that waits for us
                errors.append(error)

        begin = [0.0]
        threads = [threading.Thread(target=work, args=(number, connection, stream), daemon=True)
                   for number, (connection, stream) in enumerate(zip(connections, streams))]
        for thread in threads:
            thread.start()
        at_start()
        begin[0] = time.perf_counter()
        ready.wait()
        for thread in threads:
            thread.join()
        result.seconds = time.perf_counter() - begin[0]
    finally:
        # After an interruption they still run, and nobody may close a connection that another thread uses.
        stop.set()
        ready.abort()
        while any(thread.is_alive() for thread in threads):
            for connection in connections:
                with contextlib.suppress(Exception):        # the server is gone: the thread has noticed, too
                    connection.cancel()
            time.sleep(0.1)
        for connection in connections + idle:
            connection.close()
    if errors:
        raise Failure(f'variant {variant}: {type(errors[0]).__name__}: {errors[0]}')
    return result


def alike(row):
    """A sum of floating-point numbers depends on their order in its last digits."""
    return tuple(f'{value:.9g}' if isinstance(value, float) else value for value in row)


def rounded(row):
    def one(value):
        try:
            return f'{float(value):.9g}'
        except (TypeError, ValueError):
            return str(value).rstrip()          # char(n)

    return tuple(map(one, row))


class Answers:
    """Remembers the first answer to each query; every later one must be the same, whatever the variant or the major."""

    def __init__(self):
        self.first = {}

    def check(self, who, answers, exact=True):
        """exact=False: of another system, whose numbers may be floats where others are exact; they are compared if an exact answer is there."""
        for sql, rows in answers:
            if not exact:
                if sql in self.first and Counter(map(rounded, rows)) != Counter(map(rounded, self.first[sql][1].elements())):
                    raise Failure(f'WRONG ANSWER: {who} has {rows}, {self.first[sql][0]} {list(self.first[sql][1])} of\n{sql}')
                continue
            rows = Counter(map(alike, rows))
            before, expected = self.first.setdefault(sql, (who, rows))
            if rows != expected:
                mine, theirs = (sorted(map(str, more))[:9] for more in (rows - expected, expected - rows))
                raise Failure(f'WRONG ANSWER: {who} and {before} differ.\nOf {rows.total()} rows {who} alone has {mine},'
                              f'\nof {expected.total()} rows {before} alone has {theirs}\nof\n{sql}')
