"""From rows to tables: medians with their spread, ratios to postgres, targets; Markdown, CSV and JSON.

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
MEASURES = {'seconds': 'time', 'mean': 'mean latency', 'FAST': 'FAST', 'SLOW': 'SLOW', 'bytes': 'read'}


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

    def ratio(self, major, experiment, variant, measure):
        """To postgres: of the medians, or for warm queries the median over pairs that ran next to each other."""
        if measure in WARM and not isinstance(EXPERIMENTS[experiment], Streams):
            pairs = [self.pairs(major, experiment, name, measure) for name in (variant, 'postgres')]
            ratios = [mine / theirs for mine, theirs in zip(*pairs)]
            return statistics.median(ratios) if ratios else None
        mine, theirs = (self.values(major, experiment, name, measure) for name in (variant, 'postgres'))
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
        head = ['PostgreSQL', 'experiment', 'scans', 'time s', 'mean latency s', 'FAST s', 'SLOW s', 'read GB', 'runs',
                *(f'{text} x' for text in MEASURES.values())]
        rows = []
        for major, experiment, variants in self.cases():
            if not isinstance(EXPERIMENTS[experiment], Streams):
                continue
            for variant in variants:
                get = {measure: self.values(major, experiment, variant, measure) for measure in MEASURES}
                get['bytes'] = [value / GB for value in get['bytes']]
                ratios = [self.ratio(major, experiment, variant, measure) for measure in MEASURES]
                rows.append([major, experiment, variant, *(spread(get[measure], 2) for measure in MEASURES), len(get['seconds']),
                             *('-' if ratio is None else f'{ratio:.2f}' for ratio in ratios)])
        return table(head, rows) if rows else ''

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
        for major, experiment, variants in self.cases():
            for variant in variants:
                for measure, most in TARGETS.get((experiment, variant), {}).items():
                    ratio = self.ratio(major, experiment, variant, measure)
                    if ratio is not None:
                        rows.append([major, experiment, variant, MEASURES.get(measure, measure), f'{most:.2f}', f'{ratio:.3f}',
                                     'met' if ratio <= most else 'MISSED'])
        return table(['PostgreSQL', 'experiment', 'scans', 'measure', 'at most x', 'measured x', ''], rows) if rows else ''

    def markdown(self):
        used = dict.fromkeys(experiment for _, experiment, _ in self.cases())
        parts = ['# cscan bench', '\n'.join(f'- {name}: {text}' for name, text in self.facts.items()),
                 '\n'.join(f'- {name}: {EXPERIMENTS[name].about}' for name in used)]
        for text, note in ((self.streams_table(), 'Medians (least..most); x: ratio to postgres, less is better; GB of 2^30 bytes.'),
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
        columns = ['major', 'experiment', 'run', 'variant', 'seconds', 'mean', 'FAST', 'SLOW', 'count', 'project', 'bytes', 'page_cache']
        with open(directory / 'bench.csv', 'w', newline='') as f:
            writer = csv.DictWriter(f, columns, extrasaction='ignore')
            writer.writeheader()
            writer.writerows(self.rows)
