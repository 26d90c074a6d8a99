"""scripts/simulate: runs the queries of a measurement in the simulator, and compares its figures with the server's.

Of a directory with results the rows of an experiment say which queries ran, in blocks, and what the server could use (see
streams.py). They become a plan file for the simulator; each policy that was measured is simulated on its own.

    plan(queries, delay, late)      the text of a plan file, which test/sim/workload.h describes; streams may be late by so many seconds
    options(server, costs, disk)    what the simulator is told of the server and of its disk
    competition(row)                and of the machine's other work
    drawn(name, place, seed, facts) the queries that the rig would run, as its rows have them; those of a bitmap from a BRIN index
    compare(measured, simulated)    Markdown
"""
import argparse
import csv
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from .cluster import SCRIPTS, Cluster, Failure
from .experiments import EXPERIMENTS, point, points
from .limits import MB, USUAL_PACE
from .report import table
from .streams import Streams, asked
from .testbed import BLOCK, SMALLEST_CACHE, usual_buffers, usual_chunk
from .workload import POLICIES, AllQueries

SIMULATOR = SCRIPTS.parent / 'test/sim/build/sim'
ROOM_FACTOR, MAX_ROOM = 1.75, 0.875     # as in src/shared/shared.c
LATE = 0.01
GUESSES = {'FAST': 8.0, 'SLOW': 38.0, 'load': 0.0, 'wait': 0.0}     # us, as the simulator's own

# Of the comparison: name, the server's value, the simulator's column.
MEASURES = (('stream s', lambda row: row['stream'], 'stream_s'),
            ('loads', lambda row: row['loaded'], 'loads'),
            ('MB read', lambda row: row['bytes'] and row['bytes'] / MB, 'read_mb'))
DETAILS = (('total s', lambda row: row['seconds'], 'total_s'),
           ('FAST s', lambda row: row.get('FAST'), 'fast'),
           ('SLOW s', lambda row: row.get('SLOW'), 'slow'),
           ('waits', lambda row: row['stat']['waits'], 'waits'),
           ('waited s', lambda row: row['stat']['wait_time'] / 1000, 'wait_s'),
           ('self-reads', lambda row: row['stat']['self_reads'], 'self_reads'),
           ('delivered', lambda row: row['delivered'], 'delivered'),
           ('CPU s', lambda row: row['cpu'], 'cpu'))


def plan(queries, delay, late=()):
    lines = ['# stream start speed first end']
    for number, (stream, more) in enumerate(itertools.zip_longest(queries, late, fillvalue=0.0)):
        for kind, _, first, end in stream:
            lines.append(f'{number} {number * delay + more:.6f} {kind.lower()} {first} {end}')
    return '\n'.join(lines) + '\n'


def options(server, costs, disk):
    buffers = server['shared_buffers'] // BLOCK
    share = server['buffer_share']
    drop_behind = server['drop_behind']
    numbers = {'table': server['blocks'], 'chunk': server['chunk_blocks'], 'cores': server['cores'],
               'budget': int(buffers * share), 'room': int(buffers * min(share * ROOM_FACTOR, MAX_ROOM)),
               'page-cache': 0 if drop_behind == 'on' else server['page_cache'] // BLOCK,
               'drop-behind': 'off' if drop_behind == 'off' else 'auto', 'bandwidth': f'{(server["bandwidth"] or 10 ** 12) / MB:g}',
               'fast': f'{costs["FAST"]:.3f}', 'slow': f'{costs["SLOW"]:.3f}', 'load-cpu': f'{costs["load"]:.3f}',
               'wait-cpu': f'{costs["wait"]:.1f}'}
    if disk:
        numbers |= {'slice': f'{disk["slice"] * 1000:.1f}', 'own-bandwidth': f'{disk["own_bandwidth"] / MB:.0f}'}
    return [word for name, value in numbers.items() for word in (f'--{name}', str(value))]


def at_pace(costs, row):
    """Costs that the results have are for CPUs of USUAL_PACE: what they were while this was measured."""
    factor = (row.get('pace') or USUAL_PACE) / USUAL_PACE
    return {name: value * factor for name, value in costs.items()}


def competition(row):
    """Who else wanted the CPUs while this was measured.

    How late the server's processes were given one is not told: they waited for each other, and the simulator's cores are shared, too.
    """
    return ['--others', f'{row["others"]:.2f}'] if row.get('others') is not None else []


def drawn(name, place, seed, facts):
    streams = point(name, place).work.streams(facts, random.Random(seed))
    return [[asked(one, 'lineitem_shipdate_brin' if (one.size or 100) < 100 else '', facts) for one in stream] for stream in streams]


def simulate(policy, plan_file, more):
    """The simulator's columns of one policy, and the mean latency of each kind of query."""
    with tempfile.NamedTemporaryFile('r') as each:
        command = [str(SIMULATOR), '--csv', '--policy', policy, '--plan', plan_file, '--each', each.name, *more]
        done = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failure(f'{" ".join(command)}\n{done.stdout}{done.stderr}'.rstrip())
        row = {name: float(value) for name, value in next(csv.DictReader(done.stdout.splitlines())).items() if name != 'policy'}
        for query in csv.DictReader(each):
            row.setdefault(query['speed'] + ' all', []).append(float(query['latency_s']))
    for kind in ('fast', 'slow'):
        if kind + ' all' in row:
            row[kind] = statistics.mean(row.pop(kind + ' all'))
    return row


def number(value):
    if value is None:
        return '-'
    return f'{value:.0f}' if abs(value) >= 100 or value == int(value) else f'{value:.2f}'


def compare(measured, simulated, measures):
    """measured: policy -> rows of its runs; simulated: policy -> columns."""
    head = ['policy'] + [title for name, _, _ in measures for title in (name, 'simulated', 'ratio')]
    rows = []
    for policy, columns in simulated.items():
        row = [policy]
        for _, of_server, name in measures:
            values = [value for one in measured.get(policy, ()) if (value := of_server(one)) is not None]
            mine, theirs = columns.get(name), statistics.median(values) if values else None
            row += [number(theirs), number(mine), f'{mine / theirs:.2f}' if theirs and mine is not None else '-']
        rows.append(row)
    return table(head, rows)


def arguments():
    p = argparse.ArgumentParser(prog='scripts/simulate', description=__doc__.split('\n\n')[0], epilog='What follows -- is for the simulator: see '
                                'test/sim/build/sim --help.', formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('results', nargs='?', help="scripts/bench's --out; without it queries are drawn and simulated alone")
    p.add_argument('--experiment', choices=EXPERIMENTS, default='table2', help='(default table2)')
    p.add_argument('--point', default='', help='of an experiment that has several')
    p.add_argument('--major', type=int, default=int(os.environ.get('CSCAN_OWN_MAJOR') or 15), help='(default: that of the results, or 15)')
    p.add_argument('--seed', type=int, default=1, help='without results: of the queries (default 1)')
    p.add_argument('--scale', type=float, default=0.15, help='without results: of data that scripts/bench has loaded (default 0.15)')
    p.add_argument('--fast', type=float, metavar='US', help="CPU time of a FAST query for a block (default: from the results of 'costs')")
    p.add_argument('--slow', type=float, metavar='US', help='of a SLOW one')
    p.add_argument('--load-cpu', type=float, metavar='US', help='of loading a block')
    p.add_argument('--wait-cpu', type=float, metavar='US', help='of a wait for a chunk')
    p.add_argument('--turns', type=int, default=9, help=f'simulate each run so often, the streams up to {LATE * 1000:.0f} ms late each time but the first, '
                   'and take medians: who is a little earlier decides much (default 9)')
    p.add_argument('--plan', help='keep the plan file here, without delays')
    words = sys.argv[1:]
    more = words.index('--') if '--' in words else len(words)
    a = p.parse_args(words[:more])
    a.more = words[more + 1:]
    return a


def from_results(a):
    """The rows that count, by policy, and what all of them have in common."""
    path = Path(a.results) / 'rows.jsonl'
    if not path.exists():
        raise Failure(f'{a.results} has no results of scripts/bench')
    rows = [row for row in map(json.loads, path.read_text().splitlines()) if 'experiment' in row]
    majors = {row['major'] for row in rows}
    major = a.major if a.major in majors else max(majors, default=a.major)
    rows = [row for row in rows if row['major'] == major]
    known = [row['costs'] for row in rows if row['experiment'] == 'costs']
    costs = {name: statistics.median(one[name] for one in known) for name in (known[0] if known else ())}
    disks = [row['disk'] for row in rows if row.get('disk')]
    disk = {name: statistics.median(one[name] for one in disks) for name in (disks[0] if disks else ())}
    rows = [row for row in rows if (row['experiment'], row['point']) == (a.experiment, a.point) and row['variant'] in POLICIES]
    if not rows or 'queries' not in rows[0] or None in rows[0]['queries'][0]:
        raise Failure(f'{a.results} has no row of {a.experiment} under a policy of cscan, of queries that the simulator knows')
    measured = {policy: found for policy in reversed(POLICIES) if (found := [row for row in rows if row['variant'] == policy])}
    return measured, rows[0]['queries'], rows[0]['server'], costs, disk


def from_seed(a):
    """As scripts/bench would do it with its defaults."""
    labels = points(a.experiment)
    if a.point not in labels:
        raise Failure(f'{a.experiment} has the points {"; ".join(labels)}')
    one = labels[a.point]
    if not isinstance(one, Streams) or isinstance(one.work, AllQueries) or one.buffers or one.pool or one.chunks or not one.limited:
        raise Failure(f'without results the simulator cannot know the queries of {a.experiment}, or their server')
    cluster = Cluster(a.major, a.scale, 'bench')
    facts = json.loads(cluster.loaded.read_text()).get(one.database, {}) if cluster.loaded.exists() else {}
    if 'places' not in facts:
        raise Failure(f'scripts/bench has not loaded database {one.database} of scale {a.scale:g} for PostgreSQL {a.major}')
    buffers = usual_buffers(a.scale)
    server = {'shared_buffers': buffers, 'buffer_share': 0.5, 'drop_behind': 'auto', 'chunk_blocks': usual_chunk(a.scale) * 1024 // BLOCK,
              'page_cache': max(buffers, SMALLEST_CACHE), 'bandwidth': 200 * MB, 'blocks': facts['bytes'] // BLOCK, 'cores': os.cpu_count(),
              'delay': one.delay * (a.scale if one.stretch else 1)}
    return {policy: [] for policy in reversed(POLICIES)}, drawn(a.experiment, a.point, a.seed, facts), server, {}, {}


def run(a):
    measured, queries, server, costs, disk = from_results(a) if a.results else from_seed(a)
    given = {'FAST': a.fast, 'SLOW': a.slow, 'load': a.load_cpu, 'wait': a.wait_cpu}
    given = {name: value for name, value in given.items() if value is not None}
    with tempfile.TemporaryDirectory() as directory:
        path, other = a.plan or f'{directory}/plan.txt', f'{directory}/other.txt'
        simulated = {policy: [] for policy in measured}
        chance = random.Random(1)
        for turn in range(a.turns):
            # The first as planned.
            Path(path if turn == 0 else other).write_text(plan(queries, server['delay'], [chance.uniform(0, LATE) * (turn > 0) for _ in queries]))
            for policy, rows in measured.items():
                for row in rows or [{}]:            # beside what competed with that run, on CPUs that were as quick as then
                    words = options(server, {**GUESSES, **at_pace(costs, row), **given}, disk)
                    simulated[policy].append(simulate(policy, path if turn == 0 else other, [*words, *competition(row), *a.more]))
        simulated = {policy: {name: statistics.median(one[name] for one in all) for name in all[0]} for policy, all in simulated.items()}
    for columns in simulated.values():
        columns['cpu'] = columns['cpu_percent'] / 100 * columns['total_s'] * server['cores']
    print(f'sim {" ".join([*words, *a.more])}' + (', the costs of each run as its CPUs were\n' if costs else '\n'))
    print(compare(measured, simulated, MEASURES), compare(measured, simulated, DETAILS), sep='\n\n')
    others = [row for rows in measured.values() for row in rows if row.get('others') is not None]
    if others:
        used = [row['cpu of others'] / row['seconds'] for row in others]
        late, scans = ([(row.get(name) or 0) * 1000 for row in others] for name in ('late', 'sessions late'))
        print(f'\nMeanwhile others used {min(used):.2f} to {max(used):.2f} of the {server["cores"]} CPUs: on average '
              f'{min(row["others"] for row in others):.1f} to {max(row["others"] for row in others):.1f} of their sessions wanted one, '
              f'and the manager had one {min(late):.1f} to {max(late):.1f} ms late, scans {min(scans):.1f} to {max(scans):.1f} ms. The former are in the simulation, too.')


def main():
    a = arguments()
    try:
        run(a)
    except Failure as failure:
        print(f'simulate: error: {failure}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
