"""From rows to tables: medians with their spread, ratios to a reference, targets; Markdown and CSV.

    Report(facts, rows)           facts: machine, versions, settings, seed, scale: name -> text; rows of experiments.measure
    report.markdown()             everything, as it is printed
    report.write(directory)       bench.md, bench.csv, latencies.csv; plans/ of queries that are slower with cscan
    report.caption(major)         what was measured under, for below a table or a picture
"""
import csv
import os
import statistics
from pathlib import Path

from . import queries
from .experiments import BASE, EXPERIMENTS, TARGETS, AtLeast, point
from .streams import Streams, Warm
from .workload import POLICIES, VARIANTS, label

GB = 1024 ** 3
MB = 1024 ** 2
MEASURES = {'seconds': 'time', 'stream': 'stream', 'mean': 'mean latency', 'normal': 'normalised latency', 'FAST': 'FAST', 'SLOW': 'SLOW',
            'bytes': 'read'}
OF_MAJOR = ('PostgreSQL ', 'I/O of ')       # facts that one major has
LISTS = ('latencies', 'pairs', 'alone', 'tied', 'loads', 'streams', 'queries', 'server', 'stat', 'costs', 'disk')


def table(head, rows):
    """A Markdown table whose columns line up."""
    cells = [head, *rows]
    widths = [max(len(str(row[i])) for row in cells) for i in range(len(head))]
    lines = ['| ' + ' | '.join(str(cell).ljust(width) for cell, width in zip(row, widths)) + ' |' for row in cells]
    lines.insert(1, '|' + '|'.join('-' * (width + 2) for width in widths) + '|')
    return '\n'.join(lines)


def spread(values, digits=1):
    """Median (least..most)."""
    values = [value for value in values if value is not None]
    if not values:
        return '-'
    text = f'{statistics.median(values):.{digits}f}'
    return text if len(values) == 1 else f'{text} ({min(values):.{digits}f}..{max(values):.{digits}f})'


def full_name(experiment, place):
    return f'{experiment}: {place}' if place else experiment


class Report:
    def __init__(self, facts, rows):
        self.facts, self.rows = facts, rows

    def of(self, major, experiment, place, variant):
        return [row for row in self.rows if (row['major'], row['experiment'], row['point'], row['variant']) == (major, experiment, place, variant)]

    def values(self, major, experiment, place, variant, measure):
        found = [self.value(row, measure) for row in self.of(major, experiment, place, variant)]
        return [value for value in found if value is not None]

    def value(self, row, measure):
        """Some measures follow from others."""
        if measure == 'normal':
            alone = self.alone(row['major'])
            if not point(row['experiment'], row['point']).normalised or not alone:
                return None
            return statistics.mean(seconds / alone[label(kind, size)] for kind, size, seconds, _ in row['latencies'])
        if measure == 'cpu share':
            return row['cpu'] / row['seconds'] / os.cpu_count() if row.get('cpu') is not None else None
        if measure == 'per byte':
            return row['bytes'] / row['processed'] if row.get('bytes') is not None and row.get('processed') else None
        if measure == 'scheduling share':
            return row['scheduling'] / sum(one[2] for one in row['latencies']) if row.get('scheduling') is not None else None
        return row.get(measure)

    def alone(self, major):
        """Seconds of each type of query when it runs by itself: label -> median."""
        found = {}
        for row in self.rows:
            if (row['major'], row['experiment']) == (major, BASE):
                for kind, size, seconds, _ in row['latencies']:
                    found.setdefault(label(kind, size), []).append(seconds)
        return {name: statistics.median(seconds) for name, seconds in found.items()}

    def median(self, *where):
        values = self.values(*where)
        return statistics.median(values) if values else None

    def reference(self, major, experiment, place):
        """The variant that others are compared with: of those that the experiment names the one that was fastest."""
        times = {name: self.median(major, experiment, place, name, 'seconds') for name in point(experiment, place).reference}
        return min((name for name in times if times[name]), key=times.get, default='-')

    def ratio(self, major, experiment, place, variant, reference, measure):
        """Of the medians, or for warm queries the median over pairs that ran next to each other, or what the point has of its own."""
        own = getattr(point(experiment, place), 'ratio', None)
        if own and (value := own(*(self.of(major, experiment, place, name) for name in (variant, reference)), measure)) is not None:
            return value
        if isinstance(point(experiment, place), Warm) and measure in point(experiment, place).queries:
            pairs = [self.pairs(major, experiment, place, name, measure) for name in (variant, reference)]
            ratios = [mine / theirs for mine, theirs in zip(*pairs)]
            return statistics.median(ratios) if ratios else None
        mine, theirs = (self.median(major, experiment, place, name, measure) for name in (variant, reference))
        return mine / theirs if mine is not None and theirs else None

    def pairs(self, major, experiment, place, variant, query):
        return [seconds for row in self.of(major, experiment, place, variant) for seconds in row['pairs'][query]]

    def cases(self, kind=object):
        """(major, experiment, point, [variants]) in the order of the first rows and of VARIANTS, for one kind of experiment."""
        found = {}
        for row in self.rows:
            if isinstance(point(row['experiment'], row['point']), kind):
                found.setdefault((row['major'], row['experiment'], row['point']), set()).add(row['variant'])
        return [(*case, [name for name in VARIANTS if name in variants]) for case, variants in found.items()]

    def caption(self, major=None):
        """One line."""
        facts = [f'{name} {text}' for name, text in self.facts.items()
                 if name != 'cold' and (major is None or not name.startswith(OF_MAJOR) or name.endswith(f' {major}'))]
        return '; '.join(facts)

    def streams_table(self):
        head = ['PostgreSQL', 'experiment', 'scans', 'time s', 'stream s', 'mean latency s', 'normalised', 'FAST s', 'SLOW s', 'read GB', 'CPU %',
                'requests', 'cscan MB/s', 'runs', *(f'{text} x' for text in MEASURES.values()), 'x of']
        rows = []
        for major, experiment, place, variants in self.cases(Streams):
            reference = self.reference(major, experiment, place)
            for variant in variants:
                get = {measure: self.values(major, experiment, place, variant, measure) for measure in (*MEASURES, 'cpu share', 'requests', 'rate')}
                get['bytes'] = [value / GB for value in get['bytes']]
                get['rate'] = [value / MB for value in get['rate']]
                get['cpu share'] = [100 * value for value in get['cpu share']]
                ratios = [self.ratio(major, experiment, place, variant, reference, measure) for measure in MEASURES]
                rows.append([major, full_name(experiment, place), variant,
                             *(spread(values, 0 if measure in ('cpu share', 'requests') else 2) for measure, values in get.items()), len(get['seconds']),
                             *('-' if ratio is None else f'{ratio:.2f}' for ratio in ratios), reference])
        return table(head, rows) if rows else ''

    def types_table(self):
        """Of table2, as in the paper; chunks are those that the traced run of the same streams has read for a query."""
        rows = []
        for major, experiment, place, variants in self.cases(Streams):
            if experiment != 'table2':
                continue
            alone = self.alone(major)
            for variant in variants:
                seconds, chunks = {}, {}
                for row in self.of(major, experiment, place, variant):
                    for kind, size, took, _ in row['latencies']:
                        seconds.setdefault(label(kind, size), []).append(took)
                for row in self.of(major, 'figure4', '', variant):
                    for kind, size, _, read in row['latencies']:
                        chunks.setdefault(label(kind, size), []).append(read)
                for name, took in sorted(seconds.items()):
                    mean, base = statistics.mean(took), alone.get(name)
                    rows.append([major, variant, name, len(took), f'{base:.2f}' if base else '-', f'{mean:.2f}',
                                 f'{statistics.pstdev(took):.2f}', f'{mean / base:.2f}' if base else '-',
                                 f'{statistics.mean(chunks[name]):.0f}' if name in chunks else '-'])
        head = ['PostgreSQL', 'scans', 'query', 'count', 'alone s', 'latency s', 'stddev', 'normalised', 'chunks read']
        return table(head, rows) if rows else ''

    def queries_table(self):
        """Of TPC-H: mean seconds of each query."""
        queries = [f'Q{number}' for number in range(1, 23)]
        rows = []
        for major, experiment, place, variants in self.cases():
            for variant in variants:
                seconds = [self.values(major, experiment, place, variant, query) for query in queries]
                if all(seconds):
                    rows.append([major, full_name(experiment, place), variant, *(f'{statistics.median(values):.2f}' for values in seconds)])
        return table(['PostgreSQL', 'experiment', 'scans', *queries], rows) if rows else ''

    def compared(self):
        """(major, experiment, point, [Compared]) of queries that ran in turn."""
        for major, experiment, place, _ in self.cases(queries.InTurn):
            found = queries.compare(*(self.of(major, experiment, place, name) for name in ('relevance', 'postgres')))
            if found:
                yield major, experiment, place, found

    def turns_table(self):
        """All queries together."""
        rows = []
        for major, experiment, place, found in self.compared():
            runs = zip(*(self.of(major, experiment, place, name) for name in ('relevance', 'postgres')))
            totals = [queries.total(queries.compare([mine], [theirs])) for mine, theirs in runs]
            slower = [one for one in found if one.theirs > queries.SHORT and one.ratio > queries.LIMIT]
            worst, cpu = queries.worst(found), queries.total_cpu(found)
            plans = [sum(one.planning[side] for one in found) for side in (0, 1)]
            rows.append([major, full_name(experiment, place), len(found), f'{sum(one.theirs for one in found):.1f}', f'{sum(one.mine for one in found):.1f}',
                         f'{queries.total(found):.3f}', spread(totals, 3), f'{cpu:.3f}' if cpu else '-', f'{1000 * plans[0]:.0f}', f'{1000 * plans[1]:.0f}',
                         f'{queries.planning(found):.3f}', f'{worst.name} {worst.ratio:.2f}' if worst else '-', len(slower)])
        head = ['PostgreSQL', 'experiment', 'queries', 'off s', 'on s', 'x', 'runs', 'CPU x', 'planning off ms', 'on ms', 'planning x', 'worst over 50 ms',
                'over 1.1']
        return table(head, rows) if rows else ''

    def each_table(self):
        """The same for each query."""
        rows = [[major, full_name(experiment, place), one.name, f'{1000 * one.theirs:.1f}', f'{1000 * one.mine:.1f}', one.pairs, f'{one.ratio:.3f}',
                 '{:.3f}..{:.3f}'.format(*one.spread), f'{one.cpu:.3f}' if one.cpu else '-', *(f'{1000 * seconds:.2f}' for seconds in one.planning),
                 f'{one.planning[1] / one.planning[0]:.3f}', one.scans, 'same' if one.same else 'other',
                 'over' if one.theirs > queries.SHORT and one.ratio > queries.LIMIT else '']
                for major, experiment, place, found in self.compared() for one in found]
        head = ['PostgreSQL', 'experiment', 'query', 'off ms', 'on ms', 'pairs', 'x', 'middle half', 'CPU x', 'planning off ms', 'on ms', 'x', 'CScans',
                'above scans', '']
        return table(head, rows) if rows else ''

    def means_table(self):
        """Of queries in streams."""
        rows = []
        for major, experiment, place, _ in self.cases(queries.Permuted):
            mine, theirs = (queries.means_of(self.of(major, experiment, place, name)) for name in ('relevance', 'postgres'))
            rows += [[major, full_name(experiment, place), name, f'{theirs[name]:.2f}', f'{mine[name]:.2f}', f'{mine[name] / theirs[name]:.2f}']
                     for name in theirs if name in mine]
        return table(['PostgreSQL', 'experiment', 'query', 'off s', 'on s', 'x'], rows) if rows else ''

    def answers_table(self):
        rows = []
        for major, experiment, place, variants in self.cases(queries.Policies):
            for variant in variants:
                for row in self.of(major, experiment, place, variant):
                    rows.append([major, full_name(experiment, place), variant, row['asked'], row['scanned'] if variant != 'postgres' else '-',
                                 ', '.join(row['tied']) or '-'])
        return table(['PostgreSQL', 'experiment', 'scans', 'queries', 'with CScans', 'open order'], rows) if rows else ''

    def warm_table(self):
        head = ['PostgreSQL', 'experiment', 'query', 'scans', 'median ms', 'pairs', 'x', 'middle half']
        rows = []
        for major, experiment, place, variants in self.cases(Warm):
            for query in point(experiment, place).queries:
                theirs = self.pairs(major, experiment, place, 'postgres', query)
                for variant in variants:
                    mine = self.pairs(major, experiment, place, variant, query)
                    ratios = [a / b for a, b in zip(mine, theirs)]
                    quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else None
                    rows.append([major, full_name(experiment, place), query, variant, f'{1000 * statistics.median(mine):.1f}', len(mine),
                                 f'{statistics.median(ratios):.3f}' if ratios else '-',
                                 f'{quarters[0]:.3f}..{quarters[2]:.3f}' if quarters else '-'])
        return table(head, rows) if rows else ''

    def plain_table(self, only, measures):
        """measures: heading -> (measure, by what it is divided, digits). Left out where no row has any of them."""
        rows = []
        for major, experiment, place, variants in self.cases():
            for variant in variants if experiment in only else ():
                values = [[value / unit for value in self.values(major, experiment, place, variant, measure)]
                          for measure, unit, _ in measures.values()]
                if any(values):
                    rows.append([major, full_name(experiment, place), variant, max(map(len, values)),
                                 *(spread(value, digits) for value, (_, _, digits) in zip(values, measures.values()))])
        return table(['PostgreSQL', 'experiment', 'scans', 'runs', *measures], rows) if rows else ''

    def pbm_table(self):
        rows = []
        for major, experiment, place, variants in self.cases(Streams):
            for variant in variants if experiment == 'pbm' else ():
                stock, pbm = PBM_PUBLISHED[int(place)]
                rows.append([major, place, variant, spread(self.values(major, experiment, place, variant, 'per byte'), 3),
                             spread(self.values(major, experiment, place, variant, 'seconds')), f'{stock:.3f}', f'{pbm:.3f}'])
        head = ['PostgreSQL', 'streams', 'scans', 'read per byte processed', 'time s', 'published: PostgreSQL 14', 'published: PBM']
        return table(head, rows) if rows else ''

    def targets_table(self):
        rows = []
        for major, experiment, place, _ in self.cases():
            for (of, where, variant, reference), targets in TARGETS.items():
                named = self.reference(major, experiment, place) if reference == '*' else reference
                for measure, wanted in targets.items() if (of, where) == (experiment, place) else ():
                    if isinstance(wanted, dict):
                        wanted = wanted.get(major)
                    ratio = (self.ratio(major, experiment, place, variant, named, measure) if named else
                             self.median(major, experiment, place, variant, measure))
                    if ratio is not None and wanted is not None:
                        least = isinstance(wanted, AtLeast)
                        rows.append([major, full_name(experiment, place), variant, named or '-', MEASURES.get(measure, measure),
                                     f'at {"least" if least else "most"} {wanted:.2f}', f'{ratio:.3f}',
                                     'met' if (ratio >= wanted if least else ratio <= wanted) else 'MISSED'])
        return table(['PostgreSQL', 'experiment', 'scans', 'x of', 'measure', 'wanted', 'measured', ''], rows) if rows else ''

    def order_table(self):
        """Are the policies in the order of the paper's Table 2?"""
        claims = (('stream', 'relevance', min), ('stream', 'normal', max), ('normal', 'relevance', min), ('normal', 'elevator', max), ('bytes', 'elevator', min))
        rows = []
        for major, experiment, place, variants in self.cases(Streams):
            for measure, policy, extreme in claims if experiment == 'table2' else ():
                values = {name: self.median(major, experiment, place, name, measure) for name in POLICIES if name in variants}
                if len(values) == len(POLICIES) and None not in values.values():
                    order = sorted(values, key=values.get)
                    rows.append([major, experiment, MEASURES.get(measure, measure), f'{policy} the {"least" if extreme is min else "most"}', ', '.join(order),
                                 'met' if extreme(values, key=values.get) == policy else 'MISSED'])
        return table(['PostgreSQL', 'experiment', 'measure', 'as in the paper', 'from the least to the most', ''], rows) if rows else ''

    def tables(self):
        """(what it says, table)"""
        yield ('Medians (least..most); x: ratio to "x of", less is better; GB of 2^30 bytes. Stream: mean time of a stream. Normalised: latency by that '
               'of the same query alone and cold. cscan: what it reads from its first load to the end.'), self.streams_table()
        yield 'Types of queries of table2, all runs together.', self.types_table()
        yield 'Mean latency of each query in seconds, medians.', self.queries_table()
        yield 'x: median over pairs that ran next to each other.', self.warm_table()
        yield ('The most memory that the process of a session had of its own.',
               self.plain_table(('vectors',), {'memory MB': ('memory', 1, 0)}))
        yield ('Queries in turn, cscan off and on: sums of medians, the ratio of each run, planning alone, and the query of more than 50 ms with the '
               'largest ratio.', self.turns_table())
        yield ('Each of these queries: medians; x: median over pairs that ran next to each other; above scans: is all of the plan but its scans the '
               'same?', self.each_table())
        yield 'Mean time of each query in streams.', self.means_table()
        yield ("Answers that were compared with PostgreSQL's, all of them the same; open order: queries whose ORDER BY, and LIMIT, leave open which rows "
               'come, which were compared with all columns in it.', self.answers_table())
        yield ('Reads, and seeks: requests of the disk that do not begin where the one before ended.',
               self.plain_table(('siscan',), {'stream s': ('stream', 1, 2), 'read GB': ('bytes', GB, 2), 'requests': ('requests', 1, 0),
                                              'seeks': ('seeks', 1, 0)}))
        yield ('Scheduling: how long the scheduler\'s lock was held, in all and as a share of all latencies together.',
               self.plain_table(('figure8',), {'scheduling ms': ('scheduling', 0.001, 1), 'share %': ('scheduling share', 0.01, 3),
                                               'chunks delivered': ('delivered', 1, 0)}))
        yield ('Bytes read per byte processed; the published figures are those of scale 10 on another machine (Waterloo 2023).', self.pbm_table())
        yield ('Queries arrive at a rate that does not depend on how many wait; latency counts from when a query was due.',
               self.plain_table(('overload',), {'offered /s': ('offered', 1, 2), 'served /s': ('throughput', 1, 2), 'P50 s': ('p50', 1, 2),
                                                'P95 s': ('p95', 1, 2), 'P99 s': ('p99', 1, 2), 'read GB': ('bytes', GB, 2)}))
        yield ("pgbench's own transactions beside scans.",
               self.plain_table(('oltp',), {'tps': ('tps', 1, 0), 'mean ms': ('mean', 0.001, 2), 'P95 ms': ('p95', 0.001, 2),
                                            'scans /min': ('scans', 1, 1), 'read GB': ('bytes', GB, 2)}))
        yield ('A scan beside endless loops over another table; share: of all bytes read meanwhile, times the number of scans; rounds of the loops before '
               'the scan, and beside it.',
               self.plain_table(('loops10',), {'scan s': ('seconds', 1, 2), 'share': ('share', 1, 2), 'before s': ('before', 1, 2), 'beside s': ('mean', 1, 2),
                                               'read GB': ('bytes', GB, 2)}))
        yield ("Extremes. more: bytes read, of those at full speed, or without the ALTER TABLE, which took wait; self: chunks that a scan read for itself; "
               "idle, waiting: the manager's CPU time, of a core, beside a cursor that waits, and while VACUUM waits for its page; granted: of the LOCK "
               'NOWAIT right after a scan.',
               self.plain_table(('extremes',), {'s': ('seconds', 1, 2), 'read GB': ('bytes', GB, 2), 'more': ('more', 1, 3), 'self': ('self', 1, 2),
                                                'wait s': ('wait', 1, 2), 'held GB': ('held', GB, 1), 'idle %': ('idle', 0.01, 2),
                                                'waiting %': ('waiting', 0.01, 2), 'granted': ('granted', 1, 2)}))
        yield ('An index of columns where rows are written; quick again: how long after the writers stopped a scan takes less than 0.3 of what '
               "PostgreSQL's takes.",
               self.plain_table(('writes',), {'COPY s': ('COPY', 1, 2), 'transaction ms': ('transaction', 0.001, 3), 'FAST s': ('FAST', 1, 2),
                                              'appended /s': ('appended', 1, 0), 'rows changed %': ('changed', 0.01, 0),
                                              'quick again s': ('quick again', 1, 0)}))
        yield ("One cold scan without a limit; share: of what fio reads, 1 MB a read, four in flight, in the same run.",
               self.plain_table(('load-rate',), {'MB/s': ('rate', MB, 0), 'share': ('share', 1, 2)}))
        yield 'Targets.', self.targets_table()
        yield 'The order of the policies.', self.order_table()

    def pace(self):
        paces = [row['pace'] for row in self.rows if row.get('pace')]
        return {'CPUs': f'a fixed piece of work took {min(paces):.0f} to {max(paces):.0f} us of their time, a mean for each run: where runs differ in that, '
                        'so do their times'} if paces else {}

    def markdown(self):
        used = dict.fromkeys(experiment for _, experiment, _, _ in self.cases())
        parts = ['# cscan bench', '\n'.join(f'- {name}: {text}' for name, text in {**self.facts, **self.pace()}.items()),
                 '\n'.join(f'- {name}: {EXPERIMENTS[name].about}' for name in used)]
        for note, text in self.tables():
            if text:
                parts += [note, text, f'*{self.caption()}*']
        return '\n\n'.join(parts) + '\n'

    def write_plans(self, directory):
        """Of what is slower with cscan, and was so in one run at least: the last of these runs."""
        for major, experiment, place, found in self.compared():
            for one in found:
                for variant in ('postgres', 'relevance') if one.theirs > queries.SHORT and one.ratio > queries.LIMIT else ():
                    for row in self.of(major, experiment, place, variant):
                        if 'analyzed' in row['alone'].get(one.name, ()):
                            directory.mkdir(exist_ok=True)
                            name = f'{major} {place} {one.name} {variant}.txt'.replace(',', '').replace(' ', '-')
                            (directory / name).write_text(f'{one.name}, {one.ratio:.3f} x\n\n{row["alone"][one.name]["analyzed"]}\n')

    def write(self, directory, pictures=()):
        directory = Path(directory)
        text = self.markdown() + ''.join(f'\n![{path.stem}]({path.name})\n' for path in pictures)
        (directory / 'bench.md').write_text(text)
        self.write_plans(directory / 'plans')
        columns = dict.fromkeys(name for row in self.rows for name in row if name not in LISTS)
        derived = ('normal', 'cpu share', 'per byte', 'scheduling share')
        rows = []
        for row in self.rows:
            more = {name: self.value(row, name) for name in derived} if isinstance(point(row['experiment'], row['point']), Streams) else {}
            rows.append({**row, **more, **self.facts})
        write_csv(directory / 'bench.csv', [*columns, *derived, *self.facts], rows)
        write_csv(directory / 'latencies.csv', ['major', 'experiment', 'point', 'variant', 'run', 'kind', 'percent', 'seconds', 'chunks'],
                  [{**row, **dict(zip(('kind', 'percent', 'seconds', 'chunks'), one))} for row in self.rows for one in row.get('latencies', ())], self.facts)


def write_csv(path, columns, rows, facts=None):
    """Facts are comments before the first line: a row for each query would repeat them too often."""
    with open(path, 'w', newline='') as file:
        file.writelines(f'# {name}: {text}\n' for name, text in (facts or {}).items())
        writer = csv.DictWriter(file, columns, extrasaction='ignore')
        writer.writeheader()
        writer.writerows(rows)


# Streams -> bytes read per byte processed: PostgreSQL 14, and PBM in it; lineitem of scale 10, ranges of 30 %, buffers of 26 %.
PBM_PUBLISHED = {4: (0.713, 0.422), 8: (0.569, 0.372), 16: (0.457, 0.332), 32: (0.325, 0.309)}
