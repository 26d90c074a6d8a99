"""A scene of scripts/neighbours: how long replay waits on a hot standby whose tables are scanned, with cscan on and off.

On the primary rows of a table are updated, vacuumed and frozen, over and over, and other tables are emptied, rewritten
and dropped; on the standby SCANS sessions count the rows of these tables meanwhile.  Replay may wait for queries as long
as it takes (max_standby_streaming_delay = -1), and no query is to be cancelled for the versions of its rows
(hot_standby_feedback = on).  What the process that replays waits for is looked at about once a millisecond:

    pins    it wants a page for itself that others have pinned
    locks   it wants a table for itself and no query uses it any more: what holds the table then is the ABM
"""
import shutil
import threading
import time

from .cluster import Cluster, Failure

SCANS = 4           # more would fight for the CPU, and replay with them
SECONDS = 30
ALLOWED = 0.05      # seconds

SETTINGS = {'shared_buffers': '64MB', 'wal_level': 'replica', 'max_wal_size': '4GB', 'fsync': 'off', 'max_connections': 80,
            'shared_preload_libraries': 'cscan', 'cscan.min_table_size': 0}
ON_STANDBY = {'hot_standby_feedback': 'on', 'max_standby_streaming_delay': -1, 'wal_receiver_status_interval': '1s', 'deadlock_timeout': '1h'}

# One row: what replay waits for, and whether a query uses a table that it waits for.
LOOK = '''SELECT (SELECT coalesce(wait_event_type, '') || '/' || coalesce(wait_event, '') FROM pg_stat_activity WHERE backend_type = 'startup'),
    EXISTS (SELECT FROM pg_locks w JOIN pg_locks h USING (locktype, database, relation) JOIN pg_stat_activity a ON a.pid = h.pid
        WHERE NOT w.granted AND w.mode = 'AccessExclusiveLock' AND h.granted AND a.backend_type = 'client backend'),
    EXISTS (SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock')'''


class Watch(threading.Thread):
    """The longest waits, in seconds; how many there were; and the longest time between two looks."""

    def __init__(self, standby):
        super().__init__(daemon=True)
        self.standby, self.stop = standby, threading.Event()
        self.longest = {'pins': 0.0, 'locks': 0.0}
        self.count = {'pins': 0, 'locks': 0}
        self.blind = 0.0

    def run(self):
        with self.standby.connect(dbname='postgres') as connection:
            connection.prepare_threshold = 1
            since, kind_before, before = 0.0, None, time.monotonic()
            while not self.stop.is_set():
                event, used, wanted = connection.execute(LOOK).fetchone()
                now = time.monotonic()
                kind = 'pins' if 'BufferPin' in event else 'locks' if wanted and not used else None
                if kind != kind_before:
                    since = now
                    if kind:
                        self.count[kind] += 1
                if kind:
                    self.longest[kind] = max(self.longest[kind], now - since)
                kind_before, self.blind, before = kind, max(self.blind, now - before), now
                time.sleep(0.0005)


def scan(standby, number, with_cscan, stop, done):
    """Counts rows; whose table is gone, or was cancelled, goes on with the next one."""
    import psycopg
    while not stop.is_set():
        try:
            with standby.connect(dbname='postgres', **{'cscan.enabled': 'on' if with_cscan else 'off'}) as connection:
                while not stop.is_set():
                    connection.execute(f'SELECT count(filler) FROM {"kept" if number % 2 else "target"}')
                    done.append(1)
        except psycopg.Error as error:
            if 'conflict with recovery' in str(error):
                done.append(0)
            time.sleep(0.05)


def work(primary, until):
    """What is to be replayed; returns how often all of it was done."""
    rounds = 0
    with primary.connect(dbname='postgres') as connection:
        while time.monotonic() < until:
            for statement in ('UPDATE kept SET i = i + 1 WHERE i % 50 = 0', 'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) kept',
                              'DELETE FROM target WHERE i % 20 = 0', 'VACUUM target', 'VACUUM FULL target', 'TRUNCATE target', 'DROP TABLE target',
                              'CREATE TABLE target AS TABLE kept'):
                connection.execute(statement)
                time.sleep(0.2)
            rounds += 1
    return rounds


def caught_up(primary, standby):
    with primary.connect(dbname='postgres') as p, standby.connect(dbname='postgres') as s:
        lsn = p.execute('SELECT pg_current_wal_lsn()').fetchone()[0]
        for _ in range(1200):
            if s.execute('SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn', (lsn,)).fetchone()[0]:
                return
            time.sleep(0.05)
    raise Failure('the standby does not catch up within 60 seconds')


def loaded(standby):
    with standby.connect(dbname='postgres') as connection:
        return connection.execute('SELECT sum(chunks_loaded) FROM cscan_stat').fetchone()[0]


def measure(primary, standby, with_cscan):
    stop, done, before = threading.Event(), [], loaded(standby)
    threads = [threading.Thread(target=scan, args=(standby, n, with_cscan, stop, done), daemon=True) for n in range(SCANS)]
    watch = Watch(standby)
    for thread in (*threads, watch):
        thread.start()
    rounds = work(primary, time.monotonic() + SECONDS)
    # The scans go on until all of it is replayed.
    caught_up(primary, standby)
    stop.set()
    watch.stop.set()
    for thread in (*threads, watch):
        thread.join()
    if with_cscan and loaded(standby) == before:
        raise Failure('the ABM of the standby has loaded nothing')
    return watch, rounds, done.count(1), done.count(0)


def run(major, runs):
    """Prints a table; returns whether cscan kept what it promises."""
    kept = True
    # Neither has TPC-H in it: their scales tell their directories apart.
    primary, standby = Cluster(major, 0, 'neighbours'), Cluster(major, 1, 'neighbours')
    primary.create()
    standby.create()
    try:
        primary.start(SETTINGS)
        with primary.connect(dbname='postgres') as connection:
            connection.execute('CREATE EXTENSION cscan')
            connection.execute("CREATE TABLE kept AS SELECT g AS i, repeat('x', 400) AS filler FROM generate_series(1, 100000) g")
            connection.execute('CREATE TABLE target AS TABLE kept')
        shutil.rmtree(standby.data)
        primary.run('pg_basebackup', '-c', 'fast', '-R', '-U', 'postgres', '-h', primary.inside, '-D', standby.inside / 'data')
        standby.start({**SETTINGS, **ON_STANDBY})
        print(f'Longest waits of replay in ms, and how many there were, in {SECONDS} s each:\n')
        print('| PostgreSQL | cscan | pins | locks | rounds on the primary | queries | cancelled | longest time between two looks |\n|' + '---|' * 8)
        for _ in range(runs):
            for with_cscan in (False, True):
                watch, rounds, queries, cancelled = measure(primary, standby, with_cscan)
                cells = [f'{watch.longest[kind] * 1000:.0f} ({watch.count[kind]})' for kind in ('pins', 'locks')]
                missed = with_cscan and max(watch.longest.values()) > ALLOWED
                kept &= not missed
                print(f'| {major} | {"on" if with_cscan else "off"} | {" | ".join(cells)}{" MISSED" if missed else ""} | {rounds} | {queries} | '
                      f'{cancelled} | {watch.blind * 1000:.0f} |', flush=True)
        print()
    finally:
        for cluster in (standby, primary):
            cluster.close()
            shutil.rmtree(cluster.data, ignore_errors=True)
    return kept
