"""One long scan beside queries that begin again and again: does it get its share of the disk, and what does that cost the others?

    Loops   a scan of lineitem beside endless loops over another table, which share their reads
"""
import statistics
import threading
import time
from dataclasses import dataclass

from . import data
from .streams import PER_BACKEND, START
from .testbed import SMALLEST_CACHE, Watch
from .workload import VARIANTS, check_plan, query

LOOP = 'SELECT sum(ps_availqty) FROM partsupp'
SETTLED = 10.0              # seconds that the loops run alone, the second half of which counts
BUFFERS = 0.04              # shared buffers, and page cache above SMALLEST_CACHE, as a share of lineitem: a quarter of the loops' table


@dataclass
class Loops:
    """A row has the scan's seconds; its share: of the bytes read meanwhile, times the number of all scans; the loops' mean seconds for a round
    before the scan ("before") and beside it ("mean")."""
    about: str
    count: int = 10
    variants: tuple = ('postgres', 'relevance')
    reference: tuple = ('postgres',)
    database: str = data.TPCH
    repeat: int = 1

    def guess(self, table, bandwidth):
        return START + SETTLED + (self.count + 1) * table / (bandwidth or 500 * data.MB)

    def measure(self, rig, variants, run, place):
        facts = data.load(rig.cluster, self.database)
        size = int(BUFFERS * facts['bytes'])
        for name in variants:
            rig.start(size, rig.settings.bandwidth, max(size, SMALLEST_CACHE) + (self.count + 1) * PER_BACKEND, **rig.chunks())
            rig.prepare(self.database, VARIANTS[name].hidden)
            sessions = [rig.cluster.connect(self.database, **VARIANTS[name].settings, statement_timeout=f'{rig.settings.timeout}s')
                        for _ in range(self.count + 1)]
            for session, sql in ((sessions[0], query('FAST')), (sessions[1], LOOP)):
                session.execute('SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off')
                check_plan(session, sql, name, VARIANTS[name].plan)
            with Watch(rig.cluster.major, name, rig.limit) as watch:
                row = self.run(rig, sessions, facts, watch)
            for session in sessions:
                session.close()
            rig.cluster.stop()
            yield {'variant': name, **row}

    def run(self, rig, sessions, facts, watch):
        rounds, errors, stop = [], [], threading.Event()    # (when it began, seconds)

        def loop(session):
            try:
                while not stop.is_set():
                    begin = time.perf_counter()
                    session.execute(LOOP).fetchall()
                    rounds.append((begin, time.perf_counter() - begin))
            except Exception as error:                      # reported by the thread that waits for us
                errors.append(error)

        threads = [threading.Thread(target=loop, args=(session,), daemon=True) for session in sessions[1:]]
        start = time.perf_counter()
        for number, thread in enumerate(threads):
            thread.start()
            time.sleep(SETTLED / 4 / len(threads))          # they begin at places of their own
        time.sleep(max(0.0, start + SETTLED - time.perf_counter()))
        watch.begin()
        begin, read = time.perf_counter(), rig.limit.bytes_read()
        try:
            sessions[0].execute(query('FAST')).fetchall()
        finally:
            seconds = time.perf_counter() - begin
            stop.set()
        read = (rig.limit.bytes_read() or 0) - (read or 0)
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        before = [took for began, took in rounds if began >= start + SETTLED / 2 and began + took <= begin]
        beside = [took for began, took in rounds if began >= begin and began + took <= begin + seconds]
        return {'seconds': seconds, 'share': facts['bytes'] / read * (self.count + 1) if read else None,
                'mean': statistics.mean(beside) if beside else None, 'before': statistics.mean(before) if before else None, **watch.used}
