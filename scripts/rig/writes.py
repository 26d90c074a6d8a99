"""What an index of columns costs those who write, and what is left of it for those who read while others write.

    Copied      COPY into an empty table, with the index and without
    Tpcb        pgbench's own transactions, with such indexes on its tables and without
    Appended    rows are appended, and the newest changed: scans meanwhile
    Spread      rows all over the table are changed until no block is as it was: scans then, and how soon they are quick again

"postgres" has no such index, or does not use it; "columns" has and uses it.  A row has its seconds of each measure, in "pairs", in the
order in which they were taken: those of both variants by turns, on one server.
"""
import contextlib
import random
import statistics
import threading
import time
from dataclasses import dataclass

from . import data
from .cluster import Failure
from .limits import MB
from .pgbench import pgbench
from .streams import PER_BACKEND, START
from .workload import VARIANTS, check_plan, span_of

VARIANTS_OF = ('postgres', 'columns')
DATABASE = 'writes'         # a copy, which a run may ruin
LIVE = {'autovacuum': 'on', 'max_wal_size': '4GB'}


@dataclass
class Pairs:
    """What these experiments have in common."""
    about: str
    database: str = data.COLUMNS
    variants: tuple = VARIANTS_OF
    reference: tuple = ('postgres',)
    repeat: int = 1

    def ratio(self, mine, theirs, measure):
        pairs = [(m, t) for one, other in zip(mine, theirs) for m, t in zip(one['pairs'].get(measure, ()), other['pairs'].get(measure, ()))]
        return statistics.median(m / t for m, t in pairs) if pairs else None

    def rows(self, taken, more=()):
        """taken: measure -> variant -> seconds"""
        for variant in VARIANTS_OF:
            pairs = {measure: found[variant] for measure, found in taken.items()}
            yield {'variant': variant, 'pairs': pairs, **{measure: statistics.median(found) for measure, found in pairs.items()},
                   **(dict(more) if variant == 'columns' else {})}


def by_turns(random, times, work):
    """variant -> what work(variant) returned, so many times each"""
    found = {variant: [] for variant in VARIANTS_OF}
    for _ in range(times):
        for variant in random.sample(VARIANTS_OF, len(VARIANTS_OF)):
            found[variant].append(work(variant))
    return found


def copy_of(rig, database):
    with rig.cluster.connect('postgres') as connection:
        connection.execute(f'DROP DATABASE IF EXISTS {DATABASE}')
        connection.execute(f'CREATE DATABASE {DATABASE}' + (f' TEMPLATE {database} STRATEGY file_copy' if database else ''))
        connection.execute('CHECKPOINT')


def drop_copy(rig):
    with rig.cluster.connect('postgres') as connection:
        connection.execute(f'DROP DATABASE {DATABASE}')
    rig.cluster.stop()


@dataclass
class Copied(Pairs):
    part: float = 0.1           # of lineitem
    times: int = 5

    def guess(self, table, bandwidth):
        return START + 2 * self.times * self.part * table / (20 * MB)

    def measure(self, rig, variants, run, place):
        rows = rig.cluster.home / 'lineitem.csv'
        with open(rows, 'wb') as file:
            source = data.generator('lineitem', self.part * rig.cluster.scale)
            while block := source.stdout.read(4 * MB):
                file.write(block)
            if source.wait() != 0:
                raise Failure('tpchgen-cli failed')
        rig.start(rig.settings.shared_buffers, None, None, **LIVE)
        copy_of(rig, None)
        with rig.cluster.connect(DATABASE) as session:
            session.execute(f'CREATE EXTENSION cscan; {data.definitions()["lineitem"]}')
            for variant in VARIANTS_OF:
                session.execute(f'CREATE TABLE {variant} (LIKE lineitem INCLUDING ALL)')
            session.execute(f'CREATE INDEX ON columns USING cscan_columns {data.columns_of_index()}')

            def once(variant):
                session.execute(f'TRUNCATE {variant}')
                session.execute('CHECKPOINT')
                begin = time.perf_counter()
                session.execute(f"COPY {variant} FROM '{rig.cluster.inside / rows.name}' (FORMAT csv, HEADER)")
                return time.perf_counter() - begin

            taken = by_turns(rig.random(*place, run, 'order'), self.times, once)
        drop_copy(rig)
        rows.unlink()
        yield from self.rows({'COPY': taken})


@dataclass
class Tpcb(Pairs):
    """A measure is seconds for a transaction of all clients together, so a ratio of 1.03 is 3 % fewer transactions a second."""
    clients: int = 4
    seconds: float = 30.0       # at scale 1
    times: int = 5
    pgbench_scale: float = 30   # at scale 1

    def guess(self, table, bandwidth):
        return START + 2 * self.times * self.seconds

    def measure(self, rig, variants, run, place):
        seconds = max(5, round(self.seconds * min(1.0, rig.cluster.scale)))
        rig.start(rig.settings.shared_buffers, None, None, **LIVE)
        names = {}
        for variant in VARIANTS_OF:
            data.load_pgbench(rig.cluster, max(1, round(self.pgbench_scale * rig.cluster.scale)))
            names[variant] = f'{DATABASE}_{variant}'
            with rig.cluster.connect('postgres') as connection:
                connection.execute(f'DROP DATABASE IF EXISTS {names[variant]}')
                connection.execute(f'ALTER DATABASE {data.PGBENCH} RENAME TO {names[variant]}')
        with rig.cluster.connect(names['columns']) as connection:
            connection.execute('CREATE EXTENSION cscan')
            for table, columns in (('accounts', 'aid, bid, abalance'), ('branches', 'bid, bbalance'), ('tellers', 'tid, bid, tbalance'),
                                   ('history', 'tid, bid, aid, delta, mtime')):
                connection.execute(f'CREATE INDEX ON pgbench_{table} USING cscan_columns ({columns})')
            connection.execute("SELECT cscan_columns_fill(index) FROM cscan_columns_status")

        def once(variant):
            begin = time.time()
            latencies, end = pgbench(rig, names[variant], variant, '-c', self.clients, '-j', 2, '-T', seconds)
            return (end - begin) / len(latencies)

        taken = by_turns(rig.random(*place, run, 'order'), self.times, once)
        with rig.cluster.connect('postgres') as connection:
            for name in names.values():
                connection.execute(f'DROP DATABASE {name}')
        rig.cluster.stop()
        yield from self.rows({'transaction': taken})


class Scans:
    """Scans of all of a table that others write, by turns, two at a time under one snapshot: their answers are the same."""

    def __init__(self, rig, facts, random):
        self.random, self.facts = random, facts
        self.taken = {variant: [] for variant in VARIANTS_OF}
        self.session = rig.cluster.connect(DATABASE)
        self.sql = span_of('FAST', 0, 100, facts['days']).sql.replace(f"l_shipdate < date '{facts['days'][100]}'", "l_shipdate < date '2100-01-01'")

    def settings(self, variant):
        found = VARIANTS[variant].settings
        return {**found, 'enable_indexscan': 'off', 'enable_bitmapscan': 'off'} if variant == 'postgres' else {**found, 'enable_indexscan': 'on',
                                                                                                           'enable_bitmapscan': 'on'}

    def once(self, variant):
        for name, value in self.settings(variant).items():
            self.session.execute(f"SET LOCAL {name} = '{value}'")
        begin = time.perf_counter()
        answer = self.session.execute(self.sql).fetchall()
        return time.perf_counter() - begin, answer

    def pair(self):
        self.session.execute('BEGIN ISOLATION LEVEL REPEATABLE READ')
        found = {variant: self.once(variant) for variant in self.random.sample(VARIANTS_OF, len(VARIANTS_OF))}
        self.session.execute('COMMIT')
        if found['postgres'][1] != found['columns'][1]:
            raise Failure(f'answers differ: {found}')
        for variant, (seconds, _) in found.items():
            self.taken[variant].append(seconds)

    def check(self):
        self.session.execute('BEGIN')
        for name, value in self.settings('columns').items():
            self.session.execute(f"SET LOCAL {name} = '{value}'")
        check_plan(self.session, self.sql, 'columns', VARIANTS['columns'].plan)
        self.session.execute('COMMIT')


@contextlib.contextmanager
def live_copy(rig, facts, random, clients):
    """A server under the usual limits, with autovacuum, and a copy of lineitem and its indexes; yields Scans of it."""
    rig.start(rig.settings.shared_buffers, None, None, **LIVE)
    copy_of(rig, data.COLUMNS)
    rig.start(rig.settings.shared_buffers, rig.settings.bandwidth, rig.settings.page_cache + clients * PER_BACKEND, **rig.chunks(), **LIVE)
    scans = Scans(rig, facts, random)
    yield scans
    scans.session.close()
    rig.limit.apply(None, None)
    drop_copy(rig)


@dataclass
class Appended(Pairs):
    appends: int = 5000         # rows a second, at scale 1
    updates: int = 500          # rows a second, at scale 1
    newest: float = 0.05        # of the table, in which they are
    seconds: float = 600.0      # at scale 1
    tick: float = 0.2           # seconds

    def guess(self, table, bandwidth):
        return START + self.seconds * min(1.0, table / (880 * MB))

    def write(self, rig, scale, stop, errors, done):
        """At a fixed pace, or as quickly as it goes."""
        try:
            draw = random.Random(rig.settings.seed)
            rows, changes = (max(1, round(rate * scale * self.tick)) for rate in (self.appends, self.updates))
            with rig.cluster.connect(DATABASE) as session:
                session.execute(f"CREATE TEMP TABLE more AS SELECT * FROM lineitem LIMIT {rows}; UPDATE more SET l_shipdate = date '1999-01-01'")
                due = time.perf_counter()
                while not stop.is_set():
                    session.execute('INSERT INTO lineitem TABLE more')
                    blocks = session.execute("SELECT pg_relation_size('lineitem') / 8192").fetchone()[0]
                    places = [f'({draw.randrange(int(blocks * (1 - self.newest)), blocks)},{draw.randrange(1, 50)})' for _ in range(changes)]
                    session.execute('UPDATE lineitem SET l_quantity = 51 - l_quantity WHERE ctid = ANY(%s::tid[])', [places])
                    done.append(rows)
                    due += self.tick
                    time.sleep(max(0.0, due - time.perf_counter()))
        except Exception as error:              # reported by the thread that waits for us
            errors.append(error)

    def measure(self, rig, variants, run, place):
        facts = data.load(rig.cluster, self.database)
        seconds = max(20, self.seconds * min(1.0, rig.cluster.scale))
        with live_copy(rig, facts, rig.random(*place, run, 'order'), 3) as scans:
            stop, errors, done = threading.Event(), [], []
            writer = threading.Thread(target=self.write, args=(rig, rig.cluster.scale, stop, errors, done), daemon=True)
            begin = time.perf_counter()
            writer.start()
            try:
                scans.check()
                while time.perf_counter() < begin + seconds and not errors:
                    scans.pair()
                written = sum(done) / (time.perf_counter() - begin)
            finally:
                stop.set()
            writer.join()
            if errors:
                raise Failure(f'the writer: {errors[0]}')
        yield from self.rows({'FAST': scans.taken}, {'appended': written})


@dataclass
class Spread(Pairs):
    """quick again: seconds until a scan takes less than a part of PostgreSQL's, after the writers stopped."""
    steps: int = 100            # of which each changes one row in as many
    changed: float = 0.25       # of all rows: with 50 in a block, none is left as it was
    part: float = 0.3
    patience: float = 900.0
    times: int = 5

    def guess(self, table, bandwidth):
        return START + 60 * table / (bandwidth or 500 * MB) + 300

    def measure(self, rig, variants, run, place):
        facts = data.load(rig.cluster, self.database)
        with live_copy(rig, facts, rig.random(*place, run, 'order'), 2) as scans, rig.cluster.connect(DATABASE) as session:
            scans.check()
            for step in range(round(self.steps * self.changed)):
                session.execute(f'UPDATE lineitem SET l_comment = l_comment WHERE (hashint4(l_orderkey) & 1048575) % {self.steps} = {step}')
            for _ in range(self.times):
                scans.pair()
            worst, stopped = scans.taken, time.perf_counter()
            limit, again = self.part * statistics.median(worst['postgres']), None
            while again is None and time.perf_counter() < stopped + self.patience:
                time.sleep(5)
                scans.session.execute('BEGIN')
                seconds, _ = scans.once('columns')
                scans.session.execute('COMMIT')
                if seconds < limit:
                    again = time.perf_counter() - stopped
        yield from self.rows({'FAST': worst}, {'changed': self.changed, 'quick again': again})
