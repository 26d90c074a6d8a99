"""scripts/bench: measures CScan under each policy against PostgreSQL's own scan, on the same server, in one run."""
import argparse
import hashlib
import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import charts, data
from .cluster import SCRIPTS, Cluster, Failure, clean
from .experiments import BASE, EXPERIMENTS, FULL, PAPER, QUICK, USUAL, chosen, measure, point, points, runs
from .limits import MB
from .progress import say, span
from .report import Report, full_name
from .results import Results
from .streams import databases
from .testbed import SMALLEST_CACHE, Rig, Settings, usual_buffers, usual_chunk
from .workload import VARIANTS, Answers

SCALES = {QUICK: 0.05, USUAL: 0.15, FULL: 1.0}


def own_major():
    """The major of this machine's own packages; the launcher has found it out."""
    return int(os.environ['CSCAN_OWN_MAJOR'])


def names(allowed):
    def split(text):
        chosen = [name for name in text.split(',') if name]
        for name in chosen:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f'{name} is not one of {", ".join(allowed)}')
        return chosen
    return split


def size(text):
    """'192MB', '1GB' -> bytes"""
    match = re.fullmatch(r'(\d+)\s*(MB|GB)', text)
    if not match:
        raise argparse.ArgumentTypeError(f'{text} is not a size such as 192MB or 1GB')
    return int(match.group(1)) * {'MB': MB, 'GB': 1024 * MB}[match.group(2)]


def queries(text):
    """'ds18,h6'"""
    found = [name for name in text.split(',') if name]
    for name in found:
        if not re.fullmatch(r'(h|ds)[1-9]\d?', name):
            raise argparse.ArgumentTypeError(f"{name} is not a query such as h6 (of TPC-H's) or ds18 (of TPC-DS's)")
    return found


def setting(text):
    name, equals, value = text.partition('=')
    if not equals:
        raise argparse.ArgumentTypeError(f'{text} is not name=value')
    return name.strip(), value.strip()


def arguments():
    lines = ['experiments:'] + [f'  {name:14s} {e.about}' for name, e in EXPERIMENTS.items()]
    p = argparse.ArgumentParser(prog='scripts/bench', description=__doc__, epilog='\n'.join(lines),
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--majors', type=lambda text: [int(m) for m in text.split(',')], help="such as 15,18 (default: the machine's own)")
    p.add_argument('--experiment', type=names(EXPERIMENTS), default=list(PAPER),
                   help=f'such as table2,pbm (default: {",".join(PAPER)})')
    p.add_argument('--variants', type=names(VARIANTS), default=[name for name in VARIANTS if name != 'demand'],
                   help='such as postgres,relevance (default: all but demand, which is in table2 and fast)')
    p.add_argument('--point', action='append', help='measure this point alone of each experiment that has several, such as table2 of partitions')
    p.add_argument('--queries', type=queries, metavar='NAMES', help='such as h6,ds18,ds34: of the experiment "queries" these alone')
    effort = p.add_mutually_exclusive_group()
    effort.add_argument('--quick', action='store_const', dest='effort', const=QUICK, default=USUAL,
                        help=f'few points, one run, scale {SCALES[QUICK]:g}: five minutes or so for the default experiments')
    effort.add_argument('--full', action='store_const', dest='effort', const=FULL, help=f'all points, scale {SCALES[FULL]:g}: hours')
    p.add_argument('--runs', type=int, help='of each experiment (default 3; of what draws a curve 1, and without --full of all but table2 and fast; with --quick 1)')
    p.add_argument('--scale', type=float, help=f'of TPC-H; lineitem has 0.9 GB at 1 (default {SCALES[USUAL]:g}, which takes half an hour)')
    p.add_argument('--bandwidth', type=float, default=200, help='MB/s that the server may read, 0: no limit (default 200)')
    p.add_argument('--shared-buffers', type=size, help='(default 192MB, times the scale)')
    p.add_argument('--page-cache', type=size, help='that the server may use (default: as much as shared buffers)')
    p.add_argument('--direct-io', action='store_true', help='debug_io_direct=data: no page cache at all (16 and later)')
    p.add_argument('--read-ahead', type=int, metavar='KB',
                   help="of the kernel, for the disk; while this runs (default: the machine's; Linux has 128)")
    p.add_argument('--cpus', type=float, metavar='N', help="CPUs' worth of time that the server may use: 1 of 2 makes them half as quick (default: all)")
    p.add_argument('--set', type=setting, action='append', default=[], metavar='NAME=VALUE', help='a further server setting')
    p.add_argument('--timeout', type=int, default=600, help='seconds after which a query counts as hung (default 600)')
    p.add_argument('--seed', type=int, default=1, help='of streams, arrivals and the order of the variants (default 1)')
    p.add_argument('--out', default='bench-results',
                   help='directory for bench.md, bench.csv, latencies.csv, the pictures, and rows.jsonl, from which a further run goes on '
                        '(default bench-results)')
    p.add_argument('--again', action='store_true', help='forget the results that --out has')
    p.add_argument('--clean', action='store_true', help='remove the clusters and builds that this command made, and do nothing else')
    a = p.parse_args()
    a.majors = a.majors or [own_major()]
    a.scale = a.scale or SCALES[a.effort]
    a.runs = a.runs or (1 if a.effort == QUICK else None)
    a.shared_buffers = a.shared_buffers or usual_buffers(a.scale)
    a.page_cache = a.page_cache or max(a.shared_buffers, SMALLEST_CACHE)
    a.chunk_size = usual_chunk(a.scale)
    if not plan_of(a):
        p.error('none of these experiments has such a point, or one of these variants; points: '
                + '; '.join(f"{name}: {', '.join(map(repr, filter(None, points(name)))) or 'none'}" for name in a.experiment))
    if a.direct_io and min(a.majors) < 16:
        p.error('--direct-io needs PostgreSQL 16 or later')
    return a


def plan_of(a):
    """(major, experiment, point, run) in the order in which they are measured."""
    effort = FULL if a.point else a.effort      # who names a point wants it
    wanted = [name for name in a.experiment if name != BASE]
    normalised = any(getattr(p, 'normalised', False) for name in wanted for p in points(name, effort).values())
    if normalised or BASE in a.experiment:
        wanted.insert(0, BASE)
    return [(major, name, label, run) for major in a.majors for name in wanted for label in points(name, effort)
            if chosen(name, label, a.variants) and (not a.point or not label or label in a.point)
            for run in range(1, runs(name, label, a.runs, a.effort) + 1)]


def machine():
    def first(path, pattern, default='?'):
        match = re.search(pattern, Path(path).read_text(), re.M)
        return match.group(1) if match else default
    memory = int(first('/proc/meminfo', r'MemTotal:\s+(\d+)', '0')) // 1024 // 1024
    cpu = first('/proc/cpuinfo', r'model name\s*: (.*)')
    return f'{os.cpu_count()} x {cpu}, {memory} GB, Linux {platform.release()}'


def commit():
    done = subprocess.run(['git', '-c', f'safe.directory={SCRIPTS.parent}', '-C', str(SCRIPTS.parent), 'describe', '--always', '--dirty'],
                          capture_output=True, text=True)
    return done.stdout.strip() or 'not committed'


def sources():
    """A checksum of what is built and of what measures, so that results go on although a page of the documentation has changed."""
    top, sums = SCRIPTS.parent, hashlib.sha256()
    for path in sorted([top / 'Makefile', *top.glob('*.control'), *top.glob('sql/*'), *top.glob('src/**/*.[ch]'), *SCRIPTS.glob('rig/**/*.py')]):
        sums.update(str(path.relative_to(top)).encode() + path.read_bytes())
    return sums.hexdigest()[:12]


def describe_limit(rig, a):
    if rig.limit.kind == 'none':
        return f'none ({rig.limit.why}); bytes read are those of the whole disk'
    cache = 'direct I/O past the page cache' if a.direct_io else f'{a.page_cache // MB} MB of page cache'
    return f'{a.bandwidth:g} MB/s (disk {rig.limit.disk}), {cache}, by {rig.limit.kind}'


def describe_read_ahead(rig):
    kilobytes = rig.read_ahead.get()
    return 'not known' if kilobytes is None else f'the kernel reads up to {kilobytes} kB ahead'


class Estimate:
    """How long is left: a guess for what has not run yet, corrected by how wrong the guesses were of what has."""

    def __init__(self, a, plan, results):
        self.a, self.table = a, a.scale * 880 * MB
        self.left = {task: variants for task in plan if (variants := missing(a, task, results))}
        self.guessed = self.took = 0.0

    def guess(self, task, variants):
        return point(*task[1:3]).guess(self.table, self.a.bandwidth * MB) * len(variants)

    def done(self, task, seconds):
        self.guessed += self.guess(task, self.left.pop(task))
        self.took += seconds

    def seconds(self):
        guess = sum(self.guess(*one) for one in self.left.items())
        return guess * (self.took / self.guessed if self.guessed > 20 else 1)


def missing(a, task, results):
    """The variants that are still to be measured."""
    major, name, label, run = task
    done = results.done(major, name, label, run)
    return [variant for variant in chosen(name, label, a.variants) if variant not in done]


def bench(a, report, results):
    answers, plan = Answers(), plan_of(a)
    estimate = Estimate(a, plan, results)
    if results.rows:
        say(f'{len(results.rows)} results are in {a.out} already')
    say(f'{len(estimate.left)} runs, each of some variants, about {span(estimate.seconds())}, beside building and loading')
    for major in a.majors:
        tasks = [task for task in plan if task[0] == major and task in estimate.left]
        if tasks:
            bench_major(a, major, tasks, estimate, answers, report, results)


def bench_major(a, major, tasks, estimate, answers, report, results):
    cluster = Cluster(major, a.scale, 'bench')
    if not cluster.build() or not cluster.has_cscan:
        if any(VARIANTS[name].policy for name in a.variants):
            raise Failure(f'cscan was not built for PostgreSQL {major}; --variants postgres works without it')
        say('cscan was not built: the server runs without it')
    cluster.create()
    rig = Rig(cluster, Settings(a.bandwidth * MB or None, a.shared_buffers, a.page_cache, a.direct_io, dict(a.set), a.timeout, a.seed, a.read_ahead,
                                a.chunk_size, a.queries, a.cpus), answers)
    try:
        report.facts[f'PostgreSQL {major}'] = cluster.run('postgres', '--version').removeprefix('postgres (PostgreSQL) ')
        for database in dict.fromkeys(database for task in tasks for database in databases(point(*task[1:3]), estimate.left[task])):
            facts = data.load(cluster, database)
            report.facts[data.tables_of(database)] = f'scale {a.scale:g}, {facts["rows"]:,} rows, {facts["bytes"] // MB} MB'
        report.facts[f'I/O of {major}'] = rig.describe_io()
        report.facts['limit'] = describe_limit(rig, a)
        report.facts['read-ahead'] = describe_read_ahead(rig)
        results.keep_facts(report.facts)
        say(f'PostgreSQL {major}: limit: {report.facts["limit"]}')
        for number, task in enumerate(tasks, 1):
            begin = time.time()
            _, name, label, run = task
            for row in measure(rig, name, label, estimate.left[task], run):
                results.add(row)
                say(f'{major} {full_name(name, label)}, run {run}, {row["variant"]}: ' + brief(row))
            estimate.done(task, time.time() - begin)
            say(f'{number} of {len(tasks)} with PostgreSQL {major}' + (f', about {span(estimate.seconds())} left' if estimate.left else ''))
    finally:
        rig.close()


def brief(row):
    if 'pairs' in row:
        return ', '.join(f'{query} {1000 * row[query]:.0f} ms' for query in row['pairs'])
    known = {'seconds': (1, '.1f', ' s'), 'stream': (1, '.1f', ' s a stream'), 'FAST': (1, '.2f', ' s FAST'), 'SLOW': (1, '.2f', ' s SLOW'),
             'throughput': (1, '.1f', ' queries/s'), 'p95': (1, '.3f', ' s P95'), 'tps': (1, '.0f', ' transactions/s'),
             'bytes': (MB, '.0f', ' MB read'), 'rate': (MB, '.0f', ' MB/s'), 'loaded': (1, '.0f', ' chunks loaded'),
             'delivered': (1, '.0f', ' delivered'), 'page_cache': (MB, '.0f', ' MB of page cache at most')}
    return ', '.join(f'{row[name] / unit:{digits}}{text}' for name, (unit, digits, text) in known.items() if row.get(name) is not None)


def describe(a):
    """Facts of the report, and those of them that results must have in common."""
    facts = {
        'date': time.strftime('%Y-%m-%d %H:%M'), 'machine': machine(), 'cscan': commit(),
        'server': f'shared_buffers {a.shared_buffers // MB} MB, effective_cache_size {"that" if a.direct_io else "that and the page cache"}, '
                  f'cscan.chunk_size {a.chunk_size} kB (where it goes with the scale), '
                  'max_parallel_workers_per_gather 0, jit off' + (', direct I/O' if a.direct_io else '')
                  + (f', {a.cpus:g} CPUs by quota' if a.cpus else '') + ''.join(f', {name} = {value}' for name, value in a.set),
        'cold': 'before each run the server was restarted and its files were dropped from the page cache (posix_fadvise)',
        'scale': f'{a.scale:g}', 'seed': a.seed}
    conditions = {**{name: facts[name] for name in ('machine', 'server', 'scale', 'seed')}, 'sources': sources(), 'timeout': a.timeout}
    return facts, {**conditions, 'bandwidth': a.bandwidth, 'page cache': a.page_cache // MB, 'read-ahead': a.read_ahead, 'queries': a.queries}


def stop(signum, _):
    sys.exit(128 + signum)


def main():
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, stop)
    a = arguments()
    try:
        if a.clean:
            clean('bench')
            return 0
        facts, conditions = describe(a)
        results = Results(a.out, conditions, a.again)
        report = Report({**facts, **results.facts}, results.rows)
        try:
            bench(a, report, results)
        finally:
            if results.rows:
                report.write(a.out)         # whatever becomes of the pictures
                report.write(a.out, charts.draw(report, a.out))
                say(f'written to {a.out}: bench.md, bench.csv, latencies.csv, pictures')
    except Failure as failure:
        say(f'bench: error: {failure}')
        return 1
    except KeyboardInterrupt:
        say('interrupted; the same command goes on where this one was')
        return 130
    print(report.markdown())
    return 0


if __name__ == '__main__':
    sys.exit(main())
