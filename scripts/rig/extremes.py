"""What few servers have: very large buffers, a very slow device, and somebody who waits for a table of many scans.

    Large   12 GB of shared buffers, most of them filled by one table: the manager's CPU time, locks of that table, scans of another
    Slow    eight scans whose chunks take seconds each, beside the same at full speed
    Alter   sixteen scans, and an ALTER TABLE that waits for them
"""
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from . import data
from .cluster import Failure
from .limits import MB
from .streams import PER_BACKEND, START, Warm
from .testbed import CHUNK, SMALLEST_CACHE, Watch, manager_cpu
from .workload import VARIANTS, check_plan, span_of

GB = 1024 * MB
BIG = 5.2 * GB
NEXT = 'SELECT count(*) FROM lineitem'      # of which all is in memory, too
SPAN = 10.0                                 # seconds in which CPU time is counted
LOCKS = 5
BUFFERS = 64 * MB                           # half of them for chunks: eight of the usual size


@dataclass
class Large(Warm):
    """idle: the manager's CPU time, of a core, while a cursor waits in the middle of a table of BIG bytes; waiting: the same while a VACUUM waits
    for the cursor's page; granted: the share of LOCK NOWAIT, right after a scan of that table, that got it; next: seconds of a scan of another
    table right after."""
    queries = {'next': NEXT}
    rounds: int = 10            # for each run asked for
    variants: tuple = ('postgres', 'relevance')
    database: str = data.TPCH
    where = data.TPCH
    buffers: int = 12 * GB

    def guess(self, table, bandwidth):
        return 60 + 2 * SPAN + self.rounds * 2

    def measure(self, rig, variants, run, place):
        facts = data.load(rig.cluster, self.where)
        rig.start(self.buffers, None, None, max_wal_size='16GB', fsync='off')
        rig.prepare(self.where, '')
        rows = {variant: {'variant': variant, 'pairs': {'next': []}} for variant in variants}
        with rig.cluster.connect(self.where) as own:
            own.execute('DROP TABLE IF EXISTS big')
            try:
                own.execute(f'CREATE TABLE big AS SELECT lineitem.* FROM lineitem, generate_series(1, {-(-int(BIG) // facts["bytes"])})')
                own.execute('ANALYZE big')
                sessions = {variant: self.connect(rig, variant) for variant in variants}
                if rig.cscan:
                    rows['relevance'].update(self.manager(rig, sessions['relevance'], own))
                order = rig.random(*place, run, 'order')
                for _ in range(self.rounds):
                    for variant in order.sample(variants, len(variants)):
                        sessions[variant].execute('SELECT count(*) FROM big')
                        rows[variant]['pairs']['next'].append(self.time(sessions[variant], 'next'))
                for session in sessions.values():
                    session.close()
            finally:
                own.execute('DROP TABLE IF EXISTS big; CHECKPOINT')
        rig.cluster.stop()
        for row in rows.values():
            row['next'] = statistics.median(row['pairs']['next'])
            yield row

    def manager(self, rig, session, own):
        found, sql = {}, 'SELECT count(*) FROM big'
        check_plan(session, sql, 'relevance', VARIANTS['relevance'].plan)
        session.execute(sql)
        with self.connect(rig, 'relevance') as idle, rig.cluster.connect(self.where) as vacuum:
            idle.execute('BEGIN; DECLARE c CURSOR FOR SELECT l_orderkey FROM big; MOVE 50000 FROM c')
            session.execute(sql)
            found['held'] = own.execute("SELECT count(*) * pg_size_bytes(current_setting('cscan.chunk_size')) FROM cscan_chunks").fetchone()[0]
            found['idle'] = self.cpu(rig)
            thread = threading.Thread(target=vacuum.execute, args=('VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) big',), daemon=True)
            thread.start()
            for _ in range(600):
                (waits,) = own.execute("SELECT wait_event_type LIKE 'Buffer%%' FROM pg_stat_activity WHERE pid = %s", (vacuum.info.backend_pid,)).fetchone()
                if waits:
                    break
                time.sleep(0.1)
            else:
                raise Failure('VACUUM did not come to wait for a page of the cursor')
            found['waiting'] = self.cpu(rig)
            idle.execute('COMMIT')
            thread.join()
        return {**found, 'granted': statistics.mean(self.lock(session, own, sql) for _ in range(LOCKS))}

    def lock(self, session, own, sql):
        session.execute(sql)
        own.execute('BEGIN')
        try:
            own.execute('LOCK TABLE big IN ACCESS EXCLUSIVE MODE NOWAIT')
            return 1
        except Exception as error:
            if getattr(error, 'sqlstate', '') != '55P03':
                raise
            return 0
        finally:
            own.execute('ROLLBACK')

    def cpu(self, rig):
        before = manager_cpu(rig.limit)
        time.sleep(SPAN)
        return (manager_cpu(rig.limit) - before) / SPAN


def together(sessions, sql, delay):
    """The same query in all sessions, started delay seconds apart; what waits for them all."""
    def one(number, session):
        time.sleep(number * delay)
        return sql, session.execute(sql).fetchall()

    pool = ThreadPoolExecutor(len(sessions))
    running = [pool.submit(one, *session) for session in enumerate(sessions)]
    pool.shutdown(wait=False)
    return lambda: [future.result() for future in running]


@dataclass
class Together:
    """Scans of a part of lineitem, started one after the other."""
    about: str
    count: int = 8
    span: tuple = (45, 55)      # percent of the table
    variants: tuple = ('postgres', 'relevance')
    reference: tuple = ('postgres',)
    database: str = data.TPCH
    repeat: int = 1

    def scan(self, rig, name, buffers, bandwidth, page_cache, delay, beside=lambda: {}, chunk=None):
        """Cold, on a server of its own; delay is in seconds, beside() is called when all have begun, and its row is added."""
        facts = data.load(rig.cluster, self.database)
        sql = span_of('FAST', *self.span, facts['days']).sql
        rig.start(buffers, bandwidth, page_cache + self.count * PER_BACKEND, **rig.chunks(chunk))
        rig.prepare(self.database, VARIANTS[name].hidden)
        sessions = [rig.cluster.connect(self.database, **VARIANTS[name].settings) for _ in range(self.count)]
        for session in sessions:
            check_plan(session, sql, name, VARIANTS[name].plan)
        with Watch(rig.cluster.major, name, rig.limit) as watch:
            watch.begin()
            begin = time.perf_counter()
            finish = together(sessions, sql, delay)
            time.sleep((self.count + 1) * delay)
            more = beside()
            answers = finish()
            seconds = time.perf_counter() - begin
        own = sessions[0].execute('SELECT sum(self_reads)::float8 FROM cscan_stat').fetchone()[0] if VARIANTS[name].policy else 0.0
        for session in sessions:
            session.close()
        rig.cluster.stop()
        rig.answers.check(f'{name} on {rig.cluster.major}', answers)
        return {'variant': name, 'seconds': seconds, 'self': own / self.count, **more, **watch.used}

    def compared(self, row, base):
        return {**row, 'more': row['bytes'] / base['bytes'] if base['bytes'] else None}


@dataclass
class Slow(Together):
    """more: bytes read, of those at full speed; self: chunks that a scan read for itself, on average."""
    variants: tuple = ('relevance',)
    reference: tuple = ('relevance',)
    load: float = 3.0           # seconds for a chunk

    def guess(self, table, bandwidth):
        return 2 * START + (self.span[1] - self.span[0]) / 100 * table / (CHUNK * 1024) * self.load * 1.5

    def measure(self, rig, variants, run, place):
        for name in variants:
            quick, slow = (self.scan(rig, name, BUFFERS, bandwidth, SMALLEST_CACHE, 2 * CHUNK * 1024 / (bandwidth or 500 * MB), chunk=CHUNK)
                           for bandwidth in (rig.settings.bandwidth, CHUNK * 1024 / self.load))
            yield self.compared(slow, quick)


@dataclass
class Alter(Together):
    """wait: seconds until the statement is done; more: bytes read, of those without it."""
    count: int = 16
    span: tuple = (0, 100)
    delay = 0.2

    def guess(self, table, bandwidth):
        return 2 * (START + 3 * table / (bandwidth or 500 * MB))

    def measure(self, rig, variants, run, place):
        settings = rig.settings
        for name in variants:
            without, row = (self.scan(rig, name, settings.shared_buffers, settings.bandwidth, settings.page_cache, self.delay * rig.cluster.scale, beside)
                            for beside in (lambda: {}, lambda: self.alter(rig)))
            yield self.compared(row, without)

    def alter(self, rig):
        with rig.cluster.connect(self.database) as other:
            begin = time.perf_counter()
            other.execute("BEGIN; ALTER TABLE lineitem ALTER l_comment SET DEFAULT ''; ROLLBACK")
            return {'wait': time.perf_counter() - begin}
