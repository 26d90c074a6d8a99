"""scripts/quickstart: concurrent scans of TPC-H's lineitem, with PostgreSQL's own scans and with the paper's policies.

Makes a private cluster (nothing of this machine's own clusters is touched), runs four short and four long queries that
start half a second apart, once for each way to scan, prints one table, and leaves the server running for you.
"""
import argparse
import os
import shlex
import shutil
import signal
import sys

from . import data
from .bench import own_major
from .cluster import DATABASE, USER, Cluster, Failure, clean
from .limits import MB
from .progress import say, span
from .report import table
from .streams import Streams
from .testbed import SMALLEST_CACHE, Rig, Settings
from .workload import Answers, FullScans

MIX = Streams('four FAST and four SLOW scans, started half a second apart', FullScans('FS' * 4), delay=0.5)
PURPOSE = 'quickstart'


def arguments():
    p = argparse.ArgumentParser(prog='scripts/quickstart', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--scale', type=float, default=0.5, help='of TPC-H; lineitem has 0.9 GB at 1 (default 0.5)')
    p.add_argument('--major', type=int, default=own_major(), help="of PostgreSQL (default: the machine's own)")
    p.add_argument('--bandwidth', type=float, default=200, help='MB/s that the server may read, 0: no limit (default 200)')
    p.add_argument('--stop', action='store_true', help='stop the server at the end')
    p.add_argument('--clean', action='store_true', help='stop the server and remove everything that this command made')
    a = p.parse_args()
    if not 0.01 <= a.scale <= 1000:
        p.error('--scale is from 0.01 to 1000')
    if a.bandwidth != 0 and a.bandwidth < 1:
        p.error('--bandwidth is at least 1, or 0')
    return a


def run(a):
    cluster = Cluster(a.major, a.scale, PURPOSE)
    if not cluster.build():
        raise Failure(f'cscan could not be built for PostgreSQL {a.major}')
    cluster.create()
    # The table is four to five times shared_buffers, and the page cache is as small: sharing is worth something.
    buffers = max(16, int(192 * a.scale)) * MB
    rig = Rig(cluster, Settings(a.bandwidth * MB or None, buffers, max(buffers, SMALLEST_CACHE), False, {}, 600, 1), Answers())
    running = False
    try:
        facts = data.load(cluster, DATABASE)
        limited = rig.limit.kind != 'none' and a.bandwidth
        if limited:
            limit = f'a disk limited to {a.bandwidth:g} MB/s'
        elif rig.limit.kind != 'none':
            limit = 'a disk without limit (as you asked); it may be too fast to show a difference'
        else:
            limit = f'neither the disk nor the page cache limited ({rig.limit.why}); they may be too fast to show a difference'
            say('bytes read from storage are those of the whole machine' if rig.limit.disk else 'bytes read from storage cannot be counted here')
        say(f'{MIX.about}, on {facts["bytes"] // MB} MB, with {buffers // MB} MB of shared buffers and {limit}')
        say(f'five ways to scan, about {span(len(MIX.variants) * MIX.guess(facts["bytes"], a.bandwidth * MB))}')
        rows = []
        for row in MIX.measure(rig, MIX.variants, 1, ()):
            read = '-' if row['bytes'] is None else f'{row["bytes"] / MB:,.0f}'
            rows.append([NAMES.get(row['variant'], f'CScan, {row["variant"]}'), f'{row["seconds"]:.1f}', f'{row["mean"]:.1f}', read])
            say(f'{rows[-1][0]}: {row["seconds"]:.1f} s, mean latency {row["mean"]:.1f} s, {read} MB read')
        print(table(['scans', 'time s', 'mean latency s', 'MB read from storage'], rows), flush=True)
        if not a.stop:
            leave_running(rig, buffers)
            running = True
    finally:
        if not running:
            rig.close()


NAMES = {'postgres': "PostgreSQL's own"}


def leave_running(rig, buffers):
    """A last start, with no limits; the server outlives this command."""
    cluster = rig.cluster
    rig.start(buffers, None, None)
    with cluster.connect() as connection:
        connection.execute('CREATE EXTENSION IF NOT EXISTS cscan')
    rig.leave()
    inside = shutil.which('psql') is None
    psql = f'psql -h {shlex.quote(str(cluster.inside if inside else cluster.socket()))} -U {USER} {DATABASE}'
    if inside:
        psql = f'CSCAN_KEY={os.environ["CSCAN_KEY"]} scripts/server run {cluster.major} -- {psql}'
    print(f'''
The server is running, on a socket only and without the limit. Connect with

    {psql}

and try:  EXPLAIN (ANALYZE) SELECT count(*) FROM lineitem;   SET cscan.policy = elevator;   SELECT * FROM cscan_stat;
scripts/quickstart runs again with what is there;  scripts/quickstart --clean removes it all.''')


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    a = arguments()
    try:
        clean(PURPOSE) if a.clean else run(a)
    except Failure as failure:
        say(f'quickstart: error: {failure}')
        return 1
    except KeyboardInterrupt:
        say('interrupted')
        return 130
    return 0


if __name__ == '__main__':
    sys.exit(main())
