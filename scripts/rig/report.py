"""From rows to tables: medians with their spread, ratios to a reference, targets; Markdown, CSV and JSON.

    Report(facts)                 facts: machine, versions, settings, seed, scale: name -> text
    report.add(row)               a row of Rig.measure
    report.markdown()             everything, as it is printed
    report.write(directory)       bench.md, bench.csv, bench.json
"""
import csv
import json
import statistics
from pathlib import Path

from .experiments import EXPERIMENTS, TARGETS, WARM, Streams
from .workload import VARIANTS

GB = 1024 ** 3
MB = 1024 ** 2
MEASURES = {'seconds': 'time', 'stream': 'stream', 'mean': 'mean latency', 'FAST': 'FAST', 'SLOW': 'SLOW', 'bytes': 'read'}


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


class Report:
    def __init__(self, facts):
        self.facts, self.rows = facts, []

    def add(self, row):
        self.rows.append(row)

    def values(self, major, experiment, variant, measure):
        return [row[measure] for row in self.rows if (row['major'], row['experiment'], row['variant']) ==
                (major, experiment, variant) and row.get(measure) is not None]

    def reference(self, major, experiment):
        """The variant that others are compared with: of those that the experiment names the one that was fastest."""
        times = {name: self.values(major, experiment, name, 'seconds') for name in EXPERIMENTS[experiment].reference}
        return min((name for name in times if times[name]), key=lambda name: statistics.median(times[name]), default='-')

    def ratio(self, major, experiment, variant, reference, measure):
        """Of the medians, or for warm queries the median over pairs that ran next to each other."""
        if measure in WARM and not isinstance(EXPERIMENTS[experiment], Streams):
            pairs = [self.pairs(major, experiment, name, measure) for name in (variant, reference)]
            ratios = [mine / theirs for mine, theirs in zip(*pairs)]
            return statistics.median(ratios) if ratios else None
        mine, theirs = (self.values(major, experiment, name, measure) for name in (variant, reference))
        if not mine or not theirs or not statistics.median(theirs):
            return None
        return statistics.median(mine) / statistics.median(theirs)

    def pairs(self, major, experiment, variant, query):
        return [seconds for row in self.rows if (row['major'], row['experiment'], row['variant']) == (major, experiment, variant)
                for seconds in row['pairs'][query]]

    def cases(self):
        """(major, experiment, [variants]) in the order of their first rows, postgres first."""
        found = {}
        for row in self.rows:
            found.setdefault((row['major'], row['experiment']), set()).add(row['variant'])
        return [(*case, [name for name in VARIANTS if name in variants]) for case, variants in found.items()]

    def streams_table(self):
        head = ['PostgreSQL', 'experiment', 'scans', 'time s', 'stream s', 'mean latency s', 'FAST s', 'SLOW s', 'read GB',
                'cscan MB/s', 'runs', *(f'{text} x' for text in MEASURES.values()), 'x of']
        rows = []
        for major, experiment, variants in self.cases():
            if not isinstance(EXPERIMENTS[experiment], Streams):
                continue
            reference = self.reference(major, experiment)
            for variant in variants:
                get = {measure: self.values(major, experiment, variant, measure) for measure in (*MEASURES, 'rate')}
                get['bytes'] = [value / GB for value in get['bytes']]
                get['rate'] = [value / MB for value in get['rate']]
                ratios = [self.ratio(major, experiment, variant, reference, measure) for measure in MEASURES]
                rows.append([major, experiment, variant, *(spread(values, 2) for values in get.values()), len(get['seconds']),
                             *('-' if ratio is None else f'{ratio:.2f}' for ratio in ratios), reference])
        return table(head, rows) if rows else ''

    def queries_table(self):
        """Of TPC-H: mean seconds of each query."""
        queries = [f'Q{number}' for number in range(1, 23)]
        rows = []
        for major, experiment, variants in self.cases():
            for variant in variants:
                seconds = [self.values(major, experiment, variant, query) for query in queries]
                if all(seconds):
                    rows.append([major, experiment, variant, *(f'{statistics.median(values):.2f}' for values in seconds)])
        return table(['PostgreSQL', 'experiment', 'scans', *queries], rows) if rows else ''

    def warm_table(self):
        head = ['PostgreSQL', 'experiment', 'query', 'scans', 'median ms', 'pairs', 'x', 'middle half']
        rows = []
        for major, experiment, variants in self.cases():
            if isinstance(EXPERIMENTS[experiment], Streams):
                continue
            for query in WARM:
                theirs = self.pairs(major, experiment, 'postgres', query)
                for variant in variants:
                    mine = self.pairs(major, experiment, variant, query)
                    ratios = [a / b for a, b in zip(mine, theirs)]
                    quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else None
                    rows.append([major, experiment, query, variant, f'{1000 * statistics.median(mine):.1f}', len(mine),
                                 f'{statistics.median(ratios):.3f}' if ratios else '-',
                                 f'{quarters[0]:.3f}..{quarters[2]:.3f}' if quarters else '-'])
        return table(head, rows) if rows else ''

    def targets_table(self):
        rows = []
        for major, experiment, _ in self.cases():
            for (of, variant, reference), targets in TARGETS.items():
                for measure, most in targets.items() if of == experiment else ():
                    ratio = self.ratio(major, experiment, variant, reference, measure)
                    if ratio is not None:
                        rows.append([major, experiment, variant, reference, MEASURES.get(measure, measure), f'{most:.2f}',
                                     f'{ratio:.3f}', 'met' if ratio <= most else 'MISSED'])
        return table(['PostgreSQL', 'experiment', 'scans', 'x of', 'measure', 'at most x', 'measured x', ''], rows) if rows else ''

    def markdown(self):
        used = dict.fromkeys(experiment for _, experiment, _ in self.cases())
        parts = ['# cscan bench', '\n'.join(f'- {name}: {text}' for name, text in self.facts.items()),
                 '\n'.join(f'- {name}: {EXPERIMENTS[name].about}' for name in used)]
        for text, note in ((self.streams_table(), 'Medians (least..most); x: ratio to "x of", less is better; GB of 2^30 bytes. '
                            'Stream: mean time of a stream. cscan: what it reads from its first load to the end.'),
                           (self.queries_table(), 'Mean latency of each query in seconds, medians.'),
                           (self.warm_table(), 'x: median over pairs that ran next to each other.'),
                           (self.targets_table(), 'Targets.')):
            if text:
                parts += [note, text]
        return '\n\n'.join(parts) + '\n'

    def write(self, directory):
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / 'bench.md').write_text(self.markdown())
        (directory / 'bench.json').write_text(json.dumps({'facts': self.facts, 'rows': self.rows}, indent=1))
        columns = dict.fromkeys(name for row in self.rows for name in row if name not in ('latencies', 'pairs'))
        with open(directory / 'bench.csv', 'w', newline='') as f:
            writer = csv.DictWriter(f, columns, extrasaction='ignore')
            writer.writeheader()
            writer.writerows(self.rows)
