"""scripts/neighbours: what others do to a table while scans of it run, with cscan on and off, on one server.

Scenes:
  statements    17 neighbours of 16 scans, one after the other
  standby       a standby that replays what happens to tables that are scanned there (standby.py)
  bloat         a table that is updated while it is scanned (bloat.py)

Of the first: each neighbour gets a table of its own, SCANS sessions that count its rows over and over, and a session with an idle
cursor in the middle of a scan, whose transaction ends CURSOR seconds later: it stands in the way of some, with and without cscan.  What needs
the table for itself is timed from the end of the last transaction that was under way before.
"""
import argparse
import shutil
import signal
import statistics
import sys
import threading
import time
from dataclasses import dataclass

from . import bloat, standby
from .bench import commit, machine, names, own_major
from .cluster import Cluster, Failure, clean
from .progress import say

SCANS = 16
CURSOR = 1.0        # seconds
CURSOR_ROWS = 20000 # that it has read: 9 MB, more than the head of a table that is read before a scan is announced
WARM_UP = 0.5
ALLOWED = 1.0       # seconds more than without cscan
TARGET = 'target'
ELSEWHERE = 'elsewhere'

SETTINGS = {'shared_buffers': '64MB', 'cscan.min_table_size': 0, 'wal_level': 'logical', 'max_wal_size': '4GB', 'fsync': 'off',
            'shared_preload_libraries': 'cscan', 'max_connections': 80, 'autovacuum': 'off'}


@dataclass
class Neighbour:
    name: str
    sql: str = ''               # statements; {n} is a new number each time
    alone: bool = False         # it waits for whoever uses the table
    before: str = ''            # statements, before anybody scans
    program: str = ''           # in place of a statement; {host} is where the server is
    database: str = ''          # where the table is, in place of the cluster's own
    after: str = ''             # statements
    until: str = ''             # what a session that was there before has to answer with true at the end


NEIGHBOURS = [
    Neighbour('VACUUM', f'VACUUM {TARGET}', before=f'DELETE FROM {TARGET} WHERE i % 20 = 0'),
    Neighbour('VACUUM FREEZE', f'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) {TARGET}', before=f'UPDATE {TARGET} SET i = i + 1 WHERE i % 50 = 0'),
    Neighbour('VACUUM FULL', f'VACUUM FULL {TARGET}', alone=True),
    Neighbour('CLUSTER', f'CLUSTER {TARGET} USING {TARGET}_pkey', alone=True),
    Neighbour('REINDEX', f'REINDEX TABLE {TARGET}', alone=True),
    Neighbour('TRUNCATE', f'TRUNCATE {TARGET}', alone=True),
    Neighbour('DROP TABLE', f'DROP TABLE {TARGET}', alone=True),
    Neighbour('DROP DATABASE (FORCE)', f'DROP DATABASE {ELSEWHERE}_{{n}} WITH (FORCE)', database=ELSEWHERE),
    Neighbour('ALTER TABLE, rewrite', f'ALTER TABLE {TARGET} ALTER COLUMN i TYPE bigint', alone=True),
    Neighbour('SET TABLESPACE', f'ALTER TABLE {TARGET} SET TABLESPACE other', alone=True),
    Neighbour('SET LOGGED', f'ALTER TABLE {TARGET} SET LOGGED', alone=True, before=f'ALTER TABLE {TARGET} SET UNLOGGED'),
    Neighbour('CREATE INDEX CONCURRENTLY', f'CREATE INDEX CONCURRENTLY {TARGET}_i ON {TARGET} (i)'),
    Neighbour('ALTER SYSTEM, reload', 'ALTER SYSTEM SET cscan.buffer_share = 0.3; SELECT pg_reload_conf()',
              until="SELECT current_setting('cscan.buffer_share') = '0.3'",
              after='ALTER SYSTEM RESET cscan.buffer_share; SELECT pg_reload_conf()'),
    Neighbour('CHECKPOINT', 'CHECKPOINT', before=f'UPDATE {TARGET} SET i = i + 1 WHERE i % 10 = 0'),
    Neighbour('pg_basebackup', program='dir=$(mktemp -d) && pg_basebackup -c fast -X none -F t -D "$dir" -U postgres -h {host} && rm -r "$dir"'),
    Neighbour('pg_dump', program=f'pg_dump -F c -Z 0 -t {TARGET} -U postgres -h {{host}} >/dev/null'),
    Neighbour('logical decoding', "SELECT count(*) FROM pg_logical_slot_get_changes('slot', NULL, NULL)",
              before=f"SELECT pg_create_logical_replication_slot('slot', 'test_decoding'); UPDATE {TARGET} SET i = i + 1 WHERE i % 20 = 0",
              after="SELECT pg_drop_replication_slot('slot')"),
]


class Scene:
    """The table, those who scan it, and the cursor; a context."""

    def __init__(self, cluster, neighbour, with_cscan, number):
        self.cluster, self.neighbour, self.number = cluster, neighbour, number
        self.cscan = {'cscan.enabled': 'on' if with_cscan else 'off'}
        self.database = f'{neighbour.database}_{number}' if neighbour.database else 'postgres'
        self.stop = threading.Event()
        self.announced = False  # is the cursor's scan a cooperative one?
        self.ended = []         # (begin, end)
        self.threads = []

    def statements(self, text, database=None):
        with self.cluster.connect(dbname=database or self.database) as connection:
            for statement in filter(None, text.split('; ')):
                connection.execute(statement)

    def scan(self, ready):
        import psycopg
        with self.cluster.connect(dbname=self.database, **self.cscan) as connection:
            ready.wait()
            try:
                while not self.stop.is_set():
                    begin = time.monotonic()
                    connection.execute(f'SELECT count(filler) FROM {TARGET}')
                    self.ended.append((begin, time.monotonic()))
            except psycopg.Error:
                pass            # the table, or the database, is gone
            finally:
                ready.abort()

    def idle(self, ready):
        import psycopg
        with self.cluster.connect(dbname=self.database, **self.cscan) as connection:
            begin = time.monotonic()
            connection.execute(f'BEGIN; DECLARE c CURSOR FOR SELECT * FROM {TARGET}; MOVE {CURSOR_ROWS} FROM c')
            with self.cluster.connect(dbname='postgres') as another:
                pid = connection.info.backend_pid
                self.announced = another.execute('SELECT count(*) FROM cscan_scans WHERE pid = %s', (pid,)).fetchone()[0] > 0
            ready.wait()
            try:
                self.stop.wait(WARM_UP + CURSOR)
                connection.execute('COMMIT')
            except psycopg.Error:
                pass
            self.ended.append((begin, time.monotonic()))

    def __enter__(self):
        if self.neighbour.database:
            self.statements(f'CREATE DATABASE {self.database}', 'postgres')
        self.statements(f"DROP TABLE IF EXISTS {TARGET}; CREATE TABLE {TARGET} AS SELECT g AS i, repeat('x', 400) AS filler "
                        f'FROM generate_series(1, 200000) g; ALTER TABLE {TARGET} ADD COLUMN id serial PRIMARY KEY; VACUUM ANALYZE {TARGET}; '
                        + self.neighbour.before)
        self.before = self.delivered()
        ready = threading.Barrier(SCANS + 2)
        self.threads = [threading.Thread(target=self.scan, args=(ready,), daemon=True) for _ in range(SCANS)]
        self.threads.append(threading.Thread(target=self.idle, args=(ready,), daemon=True))
        for thread in self.threads:
            thread.start()
        ready.wait()
        time.sleep(WARM_UP)
        return self

    def time(self):
        """Seconds that the neighbour takes, those that it waits for others before, and how many scans end a second meanwhile."""
        neighbour = self.neighbour
        with self.cluster.connect(dbname='postgres') as old:
            begin = time.monotonic()
            if neighbour.program:
                self.cluster.run('sh', '-c', neighbour.program.format(host=self.cluster.inside))
            else:
                self.statements(neighbour.sql.format(n=self.number), 'postgres')
            while neighbour.until and not old.execute(neighbour.until).fetchone()[0]:
                time.sleep(0.001)
            end = time.monotonic()
        free = begin
        ended = list(self.ended)
        if neighbour.alone:
            # Those that began later waited behind it, or did not stand in its way.
            free = max([begin, *(e for b, e in ended if b < begin and e < end)])
        return end - free, free - begin, sum(begin <= e < end for _, e in ended) / (end - begin)

    def delivered(self):
        with self.cluster.connect(dbname='postgres') as connection:
            return connection.execute('SELECT sum(chunks_delivered) FROM cscan_stat').fetchone()[0]

    def shared(self):
        """Have the scans been cooperative ones, the cursor's too?"""
        return self.announced and self.delivered() > self.before

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        if self.neighbour.after:
            self.statements(self.neighbour.after, 'postgres')


def measure(cluster, runs):
    """Rows: neighbour; seconds, and scans that end a second, without cscan and with it: {with it?: one for each run}."""
    number = 0
    for neighbour in NEIGHBOURS:
        seconds, scans = {False: [], True: []}, {False: [], True: []}
        for _ in range(runs):
            for with_cscan in (False, True):
                number += 1
                with Scene(cluster, neighbour, with_cscan, number) as scene:
                    took, waited, ended = scene.time()
                if with_cscan and not scene.shared():
                    raise Failure(f'{neighbour.name}: no scan was given a chunk by cscan, or the cursor was none of them')
                seconds[with_cscan].append(took)
                scans[with_cscan].append(ended)
                say(f'{cluster.major} {neighbour.name}, cscan {"on" if with_cscan else "off"}: {took:.2f} s'
                    + (f' after {waited:.2f} s of waiting for others' if neighbour.alone else '') + f', {ended:.1f} scans a second')
        yield neighbour, seconds, scans


def nothing_left(cluster):
    """What cscan still holds, a second after the last scan; empty if nothing."""
    time.sleep(1)
    with cluster.connect(dbname='postgres') as connection:
        row = connection.execute('''SELECT (SELECT count(*) FROM cscan_scans), (SELECT count(*) FROM cscan_chunks),
            (SELECT count(*) FROM pg_buffercache WHERE pinning_backends > 0 AND relfilenode >= 16384 AND relforknumber = 0),
            (SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE backend_type = 'cscan abm')''').fetchone()
    return '' if not any(row) else '%d scans, %d chunks, %d pins, %d locks' % row


def run(major, runs):
    """Prints a table; returns whether cscan kept what it promises."""
    kept = True
    cluster = Cluster(major, 0, 'neighbours')
    cluster.create()
    try:
        shutil.rmtree(cluster.home / 'other', ignore_errors=True)
        cluster.run('mkdir', cluster.inside / 'other')
        cluster.start(SETTINGS)
        with cluster.connect(dbname='postgres') as connection:
            connection.execute('CREATE EXTENSION IF NOT EXISTS cscan')
            connection.execute('CREATE EXTENSION IF NOT EXISTS pg_buffercache')
            connection.execute(f"CREATE TABLESPACE other LOCATION '{cluster.inside}/other'")
        print(f'Seconds that each neighbour takes, and scans that end a second meanwhile where it does not stop them; medians (worst) of {runs} runs:\n')
        print('| PostgreSQL | neighbour | without cscan | with | more | scans without | with |\n|---|---|---|---|---|---|---|')
        for neighbour, seconds, scans in measure(cluster, runs):
            off, on = (statistics.median(seconds[with_cscan]) for with_cscan in (False, True))
            kept &= on - off <= ALLOWED
            rates = '| |' if neighbour.alone else f'{statistics.median(scans[False]):.0f} | {statistics.median(scans[True]):.0f} |'
            print(f'| {major} | {neighbour.name} | {off:.2f} ({max(seconds[False]):.2f}) | {on:.2f} ({max(seconds[True]):.2f}) | '
                  f'{on - off:+.2f}{" MISSED" if on - off > ALLOWED else ""} | {rates}', flush=True)
        print()
        left = nothing_left(cluster)
        if left:
            raise Failure(f'something is left behind: {left}')
    finally:
        cluster.close()
        shutil.rmtree(cluster.data, ignore_errors=True)     # with the databases and slots of this run
    return kept


SCENES = {'statements': run, 'standby': standby.run, 'bloat': bloat.run}


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    p = argparse.ArgumentParser(prog='scripts/neighbours', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--majors', type=lambda text: [int(m) for m in text.split(',')], help="such as 15,18 (default: the machine's own)")
    p.add_argument('--scenes', type=names(SCENES), default=list(SCENES), help='such as statements,standby (default: all)')
    p.add_argument('--runs', type=int, default=3, help='of each neighbour, or of the standby, with and without cscan (default 3)')
    p.add_argument('--clean', action='store_true', help='remove the clusters and builds that this command made, and do nothing else')
    a = p.parse_args()
    kept = True
    try:
        if a.clean:
            clean('neighbours')
            return 0
        print(f'{machine()}; cscan {commit()}\n', flush=True)
        for major in a.majors or [own_major()]:
            if not Cluster(major, 0, 'neighbours').build():
                raise Failure(f'cscan was not built for PostgreSQL {major}')
            for scene in a.scenes:
                kept &= SCENES[scene](major, a.runs)
    except Failure as failure:
        say(f'neighbours: error: {failure}')
        return 1
    return not kept


if __name__ == '__main__':
    sys.exit(main())
