"""scripts/bench: measures CScan under each policy against PostgreSQL's own scan, on the same server, in one run."""
import argparse
import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import data
from .cluster import SCRIPTS, Cluster, Failure, clean
from .experiments import EXPERIMENTS, SMALLEST_CACHE, Rig, Settings, chosen
from .limits import MB
from .progress import say, span
from .report import Report
from .workload import VARIANTS, Answers


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
    p.add_argument('--experiment', type=names(EXPERIMENTS), default=[name for name, e in EXPERIMENTS.items() if not e.long],
                   help='such as fast10,mix10 (default: all but those of TPC-H\'s queries, which take long)')
    p.add_argument('--variants', type=names(VARIANTS), default=list(VARIANTS), help='such as postgres,relevance (default: all)')
    p.add_argument('--runs', type=int, default=3, help='of each experiment (default 3)')
    p.add_argument('--scale', type=float, default=1, help='of TPC-H; lineitem has 0.9 GB at 1 (default 1)')
    p.add_argument('--bandwidth', type=float, default=200, help='MB/s that the server may read, 0: no limit (default 200)')
    p.add_argument('--shared-buffers', type=size, help='(default 192MB, times the scale)')
    p.add_argument('--page-cache', type=size, help='that the server may use (default: as much as shared buffers)')
    p.add_argument('--direct-io', action='store_true', help='debug_io_direct=data: no page cache at all (16 and later)')
    p.add_argument('--read-ahead', type=int, metavar='KB',
                   help="of the kernel, for the disk; while this runs (default: the machine's; Linux has 128)")
    p.add_argument('--set', type=setting, action='append', default=[], metavar='NAME=VALUE', help='a further server setting')
    p.add_argument('--timeout', type=int, default=600, help='seconds after which a query counts as hung (default 600)')
    p.add_argument('--seed', type=int, default=1, help='of the order of the variants (default 1)')
    p.add_argument('--out', default='bench-results', help='directory for bench.md, bench.csv, bench.json (default bench-results)')
    p.add_argument('--clean', action='store_true', help='remove the clusters and builds that this command made, and do nothing else')
    a = p.parse_args()
    a.majors = a.majors or [own_major()]
    a.shared_buffers = a.shared_buffers or int(max(16, 192 * a.scale)) * MB
    a.page_cache = a.page_cache or max(a.shared_buffers, SMALLEST_CACHE)
    a.experiment = [name for name in a.experiment if chosen(name, a.variants)]
    if not a.experiment:
        p.error('none of these experiments has one of these variants')
    if a.direct_io and min(a.majors) < 16:
        p.error('--direct-io needs PostgreSQL 16 or later')
    return a


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


def describe_limit(rig, a):
    if rig.limit.kind == 'none':
        return f'none ({rig.limit.why}); bytes read are those of the whole disk'
    return f'{a.bandwidth:g} MB/s (disk {rig.limit.disk}), {a.page_cache // MB} MB of page cache, by {rig.limit.kind}'


def describe_read_ahead(rig):
    kilobytes = rig.read_ahead.get()
    return 'not known' if kilobytes is None else f'the kernel reads up to {kilobytes} kB ahead'


class Estimate:
    """How long is left: a guess for what has not run yet, the mean of what has."""

    def __init__(self, a, plan, bytes_of):
        self.a, self.left, self.bytes_of, self.known = a, list(plan), bytes_of, {}

    def done(self, major, name, seconds):
        self.left.remove((major, name))
        self.known.setdefault((major, name), []).append(seconds)

    def seconds(self):
        total = 0
        for major, name in self.left:
            known = self.known.get((major, name)) or next((k for (_, n), k in self.known.items() if n == name), None)
            guess = EXPERIMENTS[name].guess(self.bytes_of, self.a.bandwidth * MB) * len(chosen(name, self.a.variants))
            total += sum(known) / len(known) if known else guess
        return total


def measure(a, report):
    answers = Answers()
    plan = [(major, name) for major in a.majors for name in a.experiment for _ in range(a.runs * EXPERIMENTS[name].repeat)]
    estimate = Estimate(a, plan, a.scale * 880 * MB)
    say(f'{len(plan)} runs, each of some variants, about {span(estimate.seconds())}, beside building and loading')
    for major in a.majors:
        cluster = Cluster(major, a.scale, 'bench')
        if not cluster.build() or not cluster.has_cscan:
            if any(VARIANTS[name].policy for name in a.variants):
                raise Failure(f'cscan was not built for PostgreSQL {major}; --variants postgres works without it')
            say('cscan was not built: the server runs without it')
        cluster.create()
        settings = Settings(a.bandwidth * MB or None, a.shared_buffers, a.page_cache, a.direct_io, dict(a.set), a.timeout, a.seed,
                            a.read_ahead)
        rig = Rig(cluster, settings, answers)
        try:
            report.facts[f'PostgreSQL {major}'] = cluster.run('postgres', '--version')
            for database in dict.fromkeys(EXPERIMENTS[name].database for name in a.experiment):
                facts = data.load(cluster, database)
                report.facts[f'lineitem of {database}'] = f'scale {a.scale:g}, {facts["rows"]:,} rows, {facts["bytes"] // MB} MB'
            report.facts['limit'] = describe_limit(rig, a)
            report.facts['read-ahead'] = describe_read_ahead(rig)
            say(f'PostgreSQL {major}: limit: {report.facts["limit"]}')
            for name in a.experiment:
                for run in range(1, a.runs * EXPERIMENTS[name].repeat + 1):
                    begin = time.time()
                    for row in rig.measure(name, a.variants, run):
                        report.add(row)
                        say(f'{major} {name} run {run} {row["variant"]}: ' + brief(row))
                    estimate.done(major, name, time.time() - begin)
                    if estimate.left:
                        say(f'about {span(estimate.seconds())} left')
                    report.write(a.out)
        finally:
            rig.close()


def brief(row):
    if 'pairs' in row:
        return ', '.join(f'{query} {1000 * row[query]:.0f} ms' for query in row['pairs'])
    parts = [f'{row["seconds"]:.1f} s', f'a stream {row["stream"]:.1f} s',
             *(f'{kind} {row[kind]:.1f} s' for kind in ('FAST', 'SLOW') if kind in row)]
    if row['bytes'] is not None:
        parts.append(f'{row["bytes"] / MB:.0f} MB read')
    if row['rate'] is not None:
        parts.append(f'cscan at {row["rate"] / MB:.0f} MB/s, {row["delivered"]} chunks for {row["loaded"]} loads')
    if row['page_cache'] is not None:
        parts.append(f'page cache up to {row["page_cache"] / MB:.0f} MB')
    return ', '.join(parts)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    a = arguments()
    report = Report({
        'date': time.strftime('%Y-%m-%d %H:%M'), 'machine': machine(), 'cscan': commit(),
        'server': f'shared_buffers {a.shared_buffers // MB} MB, effective_cache_size that and the page cache, '
                  'max_parallel_workers_per_gather 0, jit off' + (', direct I/O' if a.direct_io else '') + ''.join(f', {name} = {value}' for name, value in a.set),
        'cold': 'before each run the server was restarted and its files were dropped from the page cache (posix_fadvise)',
        'seed': a.seed})
    try:
        if a.clean:
            clean('bench')
            return 0
        measure(a, report)
    except Failure as failure:
        say(f'bench: error: {failure}')
        return 1
    except KeyboardInterrupt:
        say('interrupted')
        return 130
    print(report.markdown())
    say(f'written to {a.out}: bench.md, bench.csv, bench.json')
    return 0


if __name__ == '__main__':
    sys.exit(main())
