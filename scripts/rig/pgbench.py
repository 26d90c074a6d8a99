"""Experiments that pgbench drives: more queries than core can serve, and pgbench's own transactions beside scans.

    Overload    queries arrive at a rate that does not depend on how many are under way (an open loop)
    Oltp        pgbench's own workload alone, or beside streams of scans
"""
import statistics
import threading
import time
from dataclasses import dataclass

from . import data
from .cluster import USER, Failure
from .limits import MB
from .streams import DEFAULTS, PER_RANGES, START, CPU, GB
from .testbed import Watch
from .workload import VARIANTS, check_plan, query, span_of

FIRST_DAY, DAYS = "date '1992-01-02'", 2526     # of l_shipdate


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def pgbench(rig, database, variant, *options):
    """Runs it under a variant; returns seconds of each transaction (from when it was due, if there is a rate), and when the last ended."""
    cluster = rig.cluster
    for old in cluster.home.glob('pgbench_log*'):
        old.unlink()
    settings = ' '.join(f'-c {name}={value}' for name, value in VARIANTS[variant].settings.items() if rig.cscan or not name.startswith('cscan.'))
    said = cluster.run('env', f'PGOPTIONS={settings}', f'PGHOST={cluster.inside}', f'PGUSER={USER}', 'pgbench', '-n', '-l',
                       f'--log-prefix={cluster.inside}/pgbench_log', f'--random-seed={rig.settings.seed}', *options, database)
    rows = [line.split() for log in cluster.home.glob('pgbench_log*') for line in log.read_text().splitlines()]
    rows = [row for row in rows if row[2].isdigit()]
    if not rows or 'aborted' in said:
        raise Failure(f'pgbench, {variant}:\n{said}')
    return [int(row[2]) / 1e6 for row in rows], max(int(row[4]) + int(row[5]) / 1e6 for row in rows)


@dataclass
class Overload:
    """Ranges of the ordered table arrive at random moments, so many times as fast as the disk could serve them one by one."""
    about: str
    load: float = 8.0
    sizes: tuple = (10, 20, 50)     # percent of the table
    arrivals: int = 384
    clients: int = 64           # what arrives when all of them are busy waits, and its waiting counts
    variants: tuple = ('postgres', 'brin', 'relevance')
    reference: tuple = ('postgres', 'brin')
    database: str = data.TPCH
    repeat: int = 1

    @property
    def mean_size(self):
        return statistics.mean(self.sizes) / 100

    def rate(self, table, bandwidth):
        """Arrivals a second; where the disk has no limit, as if it had one of 1 GB/s."""
        return self.load * (bandwidth or GB) / (self.mean_size * table)

    def guess(self, table, bandwidth):
        cpu = self.arrivals * self.mean_size * CPU['FAST'] * table / GB / 2
        return START + max(2.5 * self.arrivals / self.rate(table, bandwidth), cpu)

    def query(self, begin, size):
        where = f"l_shipdate >= {FIRST_DAY} + {begin} AND l_shipdate < {FIRST_DAY} + {begin} + {DAYS * size // 100}"
        return query('FAST', where=where).replace('\n', ' ')

    def script(self, size):
        return f'\\set begin random(0, {DAYS - DAYS * size // 100})\n' + self.query(':begin', size) + ';\n'

    def measure(self, rig, variants, run, place):
        facts = data.load(rig.cluster, self.database)
        rate = self.rate(facts['bytes'], rig.settings.bandwidth)
        files = []
        for size in self.sizes:
            path = rig.cluster.home / f'scan{size}.sql'
            path.write_text(self.script(size))
            files += ['-f', rig.cluster.inside / path.name]
        for name in variants:
            rig.start(rig.settings.shared_buffers, rig.settings.bandwidth, rig.settings.page_cache + self.clients * PER_RANGES,
                      max_connections=self.clients + 20, **rig.chunks())
            rig.prepare(self.database, VARIANTS[name].hidden)
            with rig.cluster.connect(self.database, **VARIANTS[name].settings) as connection:
                for size in self.sizes:         # PostgreSQL's planner is free to use its indexes
                    check_plan(connection, self.query(0, size), name, '' if name in DEFAULTS[:1] else VARIANTS[name].plan)
            watch = Watch(rig.cluster.major, name, rig.limit)
            with watch:
                watch.begin()
                begin = time.time()
                latencies, end = pgbench(rig, self.database, name, '-c', self.clients, '-j', 2, '-R', f'{rate:.3f}',
                                         '-t', self.arrivals // self.clients, *files)
            rig.cluster.stop()
            yield {'variant': name, 'seconds': end - begin, 'offered': rate, 'throughput': len(latencies) / (end - begin),
                   'mean': statistics.mean(latencies), 'p50': percentile(latencies, 0.5), 'p95': percentile(latencies, 0.95),
                   'p99': percentile(latencies, 0.99), **watch.used}


@dataclass
class Oltp:
    """tps: transactions a second, mean and p95: their latency in seconds, scans: those that ended, a minute."""
    about: str
    scans: int = 4              # at one time
    clients: int = 4
    seconds: float = 60.0       # at scale 1
    pgbench_scale: float = 30   # at scale 1; 15 MB each
    options: tuple = ()         # of pgbench, which is TPC-B without
    variants: tuple = DEFAULTS
    reference: tuple = ('postgres',)
    database: str = data.TPCH
    repeat: int = 1

    def lasts(self, scale):
        return max(5, round(self.seconds * min(1.0, scale)))

    def guess(self, table, bandwidth):
        return START + self.lasts(table / (880 * MB))

    def scan(self, rig, variant, facts, number, stop, ended, errors):
        """All of the table, over and over, each time from end to end at one speed."""
        try:
            with rig.cluster.connect(self.database, **VARIANTS[variant].settings) as connection:
                sql = span_of('FAST' if number % 2 else 'SLOW', 0, 100, facts['days']).sql
                while not stop.is_set():
                    connection.execute(sql)
                    if not stop.is_set():
                        ended.append(number)
        except Exception as error:                  # reported by the thread that waits for us
            errors.append(error)

    def measure(self, rig, variants, run, place):
        facts = data.load(rig.cluster, self.database)
        for name in variants:
            rig.start(rig.settings.shared_buffers, None, None)
            data.load_pgbench(rig.cluster, max(1, round(self.pgbench_scale * rig.cluster.scale)))
            rig.start(rig.settings.shared_buffers, rig.settings.bandwidth,
                      rig.settings.page_cache + (self.scans + self.clients) * PER_RANGES, **rig.chunks(), **VARIANTS[name].server)
            rig.prepare(self.database, VARIANTS[name].hidden)
            watch, stop, ended, errors = Watch(rig.cluster.major, name, rig.limit), threading.Event(), [], []
            threads = [threading.Thread(target=self.scan, args=(rig, name, facts, number, stop, ended, errors), daemon=True)
                       for number in range(self.scans)]
            for thread in threads:
                thread.start()
            with watch:
                watch.begin()
                begin = time.time()
                latencies, end = pgbench(rig, data.PGBENCH, name, '-c', self.clients, '-j', 2, '-T', self.lasts(rig.cluster.scale),
                                         *self.options)
                stop.set()
                scanned = len(ended)
            for thread in threads:
                thread.join()
            rig.cluster.stop()
            if errors:
                raise Failure(f'a scan beside pgbench, {name}: {errors[0]}')
            yield {'variant': name, 'seconds': end - begin, 'tps': len(latencies) / (end - begin), 'mean': statistics.mean(latencies),
                   'p95': percentile(latencies, 0.95), 'scans': 60 * scanned / (end - begin), **watch.used}
