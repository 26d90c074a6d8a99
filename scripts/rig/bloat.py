"""A scene of scripts/neighbours: how a table grows whose rows are updated while it is scanned, with cscan on and off.

pgbench updates rows of its accounts at random, at a fixed rate, so that both runs make as many versions; SCANS sessions
sum up the accounts meanwhile, over and over; autovacuum is at work.  Most versions of a row go when somebody reads its
page and may have it for himself for a moment (pruning), which a pin of somebody else prevents.
"""
import shutil
import threading
import time

from .cluster import Cluster, Failure

SCANS = 4
SCALE = 10          # of pgbench: 130 MB
SECONDS = 300
RATE = 1500         # updates a second
ALLOWED = 1.1       # times what it grows to without cscan

SETTINGS = {'shared_buffers': '128MB', 'max_wal_size': '8GB', 'fsync': 'off', 'synchronous_commit': 'off', 'autovacuum': 'on',
            'autovacuum_naptime': '10s', 'shared_preload_libraries': 'cscan', 'cscan.min_table_size': 0}
SCRIPT = '\\set aid random(1, 100000 * :scale)\nUPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;\n'
LOOK = """SELECT pg_relation_size('pgbench_accounts'), pg_table_size('pgbench_accounts_pkey'), n_tup_upd, n_tup_hot_upd
    FROM pg_stat_user_tables WHERE relname = 'pgbench_accounts'"""


def scan(cluster, with_cscan, stop, done):
    with cluster.connect(dbname='postgres', **{'cscan.enabled': 'on' if with_cscan else 'off'}) as connection:
        while not stop.is_set():
            connection.execute('SELECT sum(abalance) FROM pgbench_accounts')
            done.append(1)


def measure(cluster, with_cscan):
    """Bytes before and after, updates, those that stayed on their page, and scans."""
    cluster.run('pgbench', '-i', '-q', '-s', SCALE, '-U', 'postgres', '-h', cluster.inside, 'postgres')
    with cluster.connect(dbname='postgres') as connection:
        connection.execute('CHECKPOINT')
        connection.execute('SELECT pg_stat_reset()')
        before = connection.execute(LOOK).fetchone()
        delivered = connection.execute('SELECT sum(chunks_delivered) FROM cscan_stat').fetchone()[0]
        stop, done = threading.Event(), []
        threads = [threading.Thread(target=scan, args=(cluster, with_cscan, stop, done), daemon=True) for _ in range(SCANS)]
        for thread in threads:
            thread.start()
        cluster.run('sh', '-c', f"printf %s '{SCRIPT}' | pgbench -n -f - -c 4 -T {SECONDS} -R {RATE} -s {SCALE} -U postgres -h {cluster.inside} postgres")
        stop.set()
        for thread in threads:
            thread.join()
        time.sleep(2)       # statistics come with a delay
        after = connection.execute(LOOK).fetchone()
        if with_cscan and connection.execute('SELECT sum(chunks_delivered) FROM cscan_stat').fetchone()[0] == delivered:
            raise Failure('no scan was given a chunk by cscan')
    return before[0], after[0], after[2], after[3], len(done)


def run(major, _runs):
    """Prints a table; returns whether cscan kept what it promises."""
    cluster = Cluster(major, 0, 'neighbours')
    cluster.create()
    try:
        cluster.start(SETTINGS)
        with cluster.connect(dbname='postgres') as connection:
            connection.execute('CREATE EXTENSION cscan')
        print(f'A table of which {RATE} rows a second are updated for {SECONDS} s beside {SCANS} scans:\n')
        print('| PostgreSQL | cscan | MB before | MB after | updates | HOT | scans |\n|' + '---|' * 7)
        sizes = []
        for with_cscan in (False, True):
            before, after, updates, hot, scans = measure(cluster, with_cscan)
            sizes.append(after)
            missed = with_cscan and after > ALLOWED * sizes[0]
            print(f'| {major} | {"on" if with_cscan else "off"} | {before / 2**20:.1f} | {after / 2**20:.1f}{" MISSED" if missed else ""} | {updates} | '
                  f'{100 * hot / max(updates, 1):.1f} % | {scans} |', flush=True)
        print(f'\n{sizes[1] / sizes[0]:.3f} times as large with cscan.\n')
        return sizes[1] <= ALLOWED * sizes[0]
    finally:
        cluster.close()
        shutil.rmtree(cluster.data, ignore_errors=True)
