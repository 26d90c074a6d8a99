"""Pictures of what was measured: an SVG file for each experiment and major, with the conditions below it.

    draw(report, directory)       returns the files; nothing where matplotlib is missing or nothing was measured
"""
import statistics
import textwrap
from pathlib import Path

from .experiments import EXPERIMENTS, point
from .progress import say
from .report import PBM_PUBLISHED, GB, MB
from .workload import POLICIES, VARIANTS

# Okabe and Ito's colours, which everybody can tell apart.
COLOURS = {'postgres': '#555555', 'brin': '#999999', 'relevance': '#0072B2', 'elevator': '#E69F00', 'attach': '#009E73', 'normal': '#D55E00',
           'demand': '#56B4E9'}
OTHER = '#CC79A7'
MARKS = {'postgres': 's', 'brin': 'D', 'relevance': 'o', 'elevator': '^', 'attach': 'v', 'normal': 'x', 'demand': 'P'}


def colour(variant):
    """On partitions a policy has the colour that it has on one table."""
    return COLOURS.get(variant.split('-')[0] if VARIANTS[variant].database else variant, OTHER)


class Picture:
    """One figure: rows by columns of axes, each with the report's values at hand."""

    def __init__(self, plot, report, major, name, rows, columns, share_y=False):
        self.report, self.major, self.name = report, major, name
        self.figure, axes = plot.subplots(rows, columns, figsize=(max(6.4, 3.6 * columns), 2.9 * rows + 1), squeeze=False,
                                          sharey='row' if share_y else False, layout='constrained')
        self.axes = axes
        self.flat = list(axes.flat)

    def values(self, place, variant, measure):
        return self.report.values(self.major, self.name, place, variant, measure)

    def median(self, place, variant, measure, unit=1.0):
        values = self.values(place, variant, measure)
        return statistics.median(values) / unit if values else None

    def bars(self, axes, place, variants, measure, title, unit=1.0):
        """A bar for each variant that has the measure, its label and median; whiskers from least to most."""
        drawn = [(variant, self.values(place, variant, measure)) for variant in variants]
        drawn = [(variant, [value / unit for value in values]) for variant, values in drawn if values]
        middle = [statistics.median(values) for _, values in drawn]
        spread = [[m - min(values) for m, (_, values) in zip(middle, drawn)], [max(values) - m for m, (_, values) in zip(middle, drawn)]]
        bars = axes.bar([variant for variant, _ in drawn], middle, yerr=spread, capsize=3, color=[colour(variant) for variant, _ in drawn])
        axes.bar_label(bars, [f'{value:,.0f}' if value >= 1000 else f'{value:.3g}' for value in middle], label_type='center', color='white')
        axes.set_title(title, fontsize=10)
        axes.tick_params(axis='x', rotation=30)

    def line(self, axes, variant, pairs, **style):
        pairs = sorted((x, y) for x, y in pairs if y is not None)
        if pairs:
            axes.plot(*zip(*pairs), **{'color': colour(variant), 'marker': MARKS.get(variant, '.'), 'label': variant, **style})

    def save(self, directory):
        """The caption goes below; a file that is drawn from the same rows is the same."""
        self.figure.suptitle(f'{self.name}: {EXPERIMENTS[self.name].about} (PostgreSQL {self.major})', fontsize=11)
        width = int(self.figure.get_figwidth() * 17)
        self.figure.supxlabel('\n'.join(textwrap.wrap(self.report.caption(self.major), width)), fontsize=6, color='#444444')
        path = Path(directory) / f'{self.name}-pg{self.major}.svg'
        self.figure.savefig(path, metadata={'Date': None})
        return path


def bars_of(measures, place=''):
    """A chart with one group of bars for each measure: (measure, title, unit)."""
    def draw(plot, report, major, name, places):
        variants = places[place]
        shown = [one for one in measures if any(report.values(major, name, place, variant, one[0]) for variant in variants)]
        if not shown:
            return None
        picture = Picture(plot, report, major, name, 1, len(shown))
        for axes, (measure, title, unit) in zip(picture.flat, shown):
            picture.bars(axes, place, variants, measure, title, unit)
        return picture
    return draw


def chunks_over_time(plot, report, major, name, places):
    variants = [variant for variant in reversed(POLICIES) if variant in places[''] and report.of(major, name, '', variant)[-1].get('loads')]
    if not variants:
        return None
    picture = Picture(plot, report, major, name, 1, len(variants), share_y=True)
    for axes, variant in zip(picture.flat, variants):
        loads = report.of(major, name, '', variant)[-1]['loads']
        axes.scatter([load[0] for load in loads], [load[1] for load in loads], s=2, color=colour(variant), rasterized=True)   # a thousand points and more
        axes.set_title(variant, fontsize=10)
        axes.set_xlabel('time s')
    picture.flat[0].set_ylabel('chunk')
    return picture


def scatter(plot, report, major, name, places):
    """Figure 5: over relevance, which is at (1, 1)."""
    picture = Picture(plot, report, major, name, 1, 1)
    axes, drawn = picture.flat[0], set()
    for place, variants in places.items():
        base = [picture.median(place, 'relevance', measure) for measure in ('normal', 'stream')]
        for variant in variants:
            mine = [picture.median(place, variant, measure) for measure in ('normal', 'stream')]
            if variant != 'relevance' and None not in base + mine:
                x, y = (value / of for value, of in zip(mine, base))
                axes.scatter([x], [y], color=colour(variant), marker=MARKS.get(variant, '.'), label=None if variant in drawn else variant)
                axes.annotate(place, (x, y), fontsize=6, textcoords='offset points', xytext=(3, 3))
                drawn.add(variant)
    axes.scatter([1], [1], color=colour('relevance'), marker=MARKS['relevance'], label='relevance')
    axes.set(xscale='log', yscale='log', xlabel='normalised latency / relevance', ylabel='stream time / relevance')
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter('{x:g}')
        axis.set_minor_formatter('{x:g}')
        axis.set_tick_params(which='both', labelsize=7)
    axes.legend(fontsize=8)
    return picture


def lines_of(measures, x_label, logarithmic=False, by_variant=True):
    """A column for each panel of the points, a row for each measure; x is the points' own. Else one line for each panel."""
    def draw(plot, report, major, name, places):
        points = {place: point(name, place) for place in places}
        panels = list(dict.fromkeys(p.panel for p in points.values()))
        shown = [one for one in measures if any(report.values(major, name, place, variant, one[0]) for place in places for variant in places[place])]
        if not shown:
            return None
        picture = Picture(plot, report, major, name, len(shown), len(panels) if by_variant else 1)
        for row, (measure, title, unit) in enumerate(shown):
            for column, panel in enumerate(panels):
                axes = picture.axes[row][column if by_variant else 0]
                here = [place for place in places if points[place].panel == panel]
                for variant in dict.fromkeys(variant for place in here for variant in places[place]):
                    style = {} if by_variant else {'label': panel, 'color': f'C{column}', 'marker': 'o'}
                    picture.line(axes, variant, [(points[place].x, picture.median(place, variant, measure, unit)) for place in here], **style)
                axes.set_ylabel(title)
                axes.set_title(panel if row == 0 and by_variant else '', fontsize=10)
                if logarithmic:
                    axes.set_xscale('log', base=2)
                    ticks = sorted({p.x for p in points.values()})
                    axes.set_xticks(ticks, [f'{x:g}' for x in ticks])
            for axes in picture.axes[row]:              # when all its lines are there
                axes.set_ylim(bottom=0)
            picture.axes[row][0].legend(fontsize=7)
        for axes in picture.axes[-1]:
            axes.set_xlabel(x_label)
        return picture
    return draw


def read_per_byte(plot, report, major, name, places):
    picture = Picture(plot, report, major, name, 1, 2)
    left, right = picture.flat
    for variant in dict.fromkeys(variant for variants in places.values() for variant in variants):
        picture.line(left, variant, [(int(place), picture.median(place, variant, 'per byte')) for place in places])
        picture.line(right, variant, [(int(place), picture.median(place, variant, 'seconds')) for place in places])
    for column, label in enumerate(('published: PostgreSQL 14', 'published: PBM')):
        picture.line(left, 'postgres', [(count, rates[column]) for count, rates in PBM_PUBLISHED.items()], label=label,
                     linestyle='dashed', color=('#aaaaaa', '#D55E00')[column])
    left.set_title('bytes read per byte processed', fontsize=10)
    right.set_title('time s', fontsize=10)
    left.set_ylim(0, 1)
    right.set_ylim(bottom=0)
    for axes in picture.flat:
        axes.set_xlabel('streams')
        axes.set_xticks(list(PBM_PUBLISHED))
        axes.legend(fontsize=7)
    return picture


def staggered(plot, report, major, name, places):
    measures = (('stream', 'time a stream s', 1), ('bytes', 'read GB', GB), ('requests', 'read requests', 1), ('seeks', 'seeks', 1))
    shown = [one for one in measures if any(report.values(major, name, place, variant, one[0]) for place in places for variant in places[place])]
    picture = Picture(plot, report, major, name, len(places), len(shown))
    for row, (place, variants) in enumerate(places.items()):
        for axes, (measure, title, unit) in zip(picture.axes[row], shown):
            picture.bars(axes, place, variants, measure, f'{place}: {title}', unit)
    return picture


def transactions(plot, report, major, name, places):
    """Beside scans; a dashed line shows what they are without any."""
    picture = Picture(plot, report, major, name, 1, 2)
    for axes, (measure, title, unit) in zip(picture.flat, (('tps', 'transactions a second', 1), ('p95', 'P95 latency ms', 0.001))):
        picture.bars(axes, 'beside', places.get('beside', ()), measure, title, unit)
        alone = picture.median('alone', 'postgres', measure, unit)
        if alone:
            axes.axhline(alone, color='black', linestyle='dashed', label=f'without scans: {alone:.3g}')
            axes.legend(fontsize=7)
    return picture


def partitions(plot, report, major, name, places):
    """A row for each case: what streams took and read, or what a query in memory took."""
    streams = (('stream', 'time a stream s', 1), ('bytes', 'read GB', GB), ('cpu', 'CPU s', 1))
    memory = (('count', 'count(*) ms', 0.001), ('planning', 'planning ms', 0.001), ('start', 'one of 1,500 left ms', 0.001))
    picture = Picture(plot, report, major, name, len(places), 3)
    for row, (place, variants) in enumerate(places.items()):
        for axes, (measure, title, unit) in zip(picture.axes[row], memory if place == 'memory' else streams):
            picture.bars(axes, place, variants, measure, f'{place}: {title}', unit)
    return picture


STREAMS = bars_of((('stream', 'time a stream s', 1), ('normal', 'normalised latency', 1), ('bytes', 'read GB', GB)))

CHARTS = {
    'table2': STREAMS, 'fast': STREAMS, 'figure4': chunks_over_time, 'figure5': scatter,
    'figure6': lines_of((('bytes', 'read GB', GB), ('seconds', 'time s', 1), ('normal', 'normalised latency', 1)), 'pool, % of the table'),
    'figure7': lines_of((('mean', 'mean latency s', 1),), 'queries at one time', logarithmic=True),
    'figure8': lines_of((('scheduling', 'scheduling ms', 0.001), ('scheduling share', 'share of all latencies %', 0.01)), 'chunks',
                        logarithmic=True, by_variant=False),
    'siscan': staggered, 'pbm': read_per_byte, 'partitions': partitions,
    'overload': bars_of((('throughput', 'queries served a second', 1), ('p50', 'P50 s', 1), ('p95', 'P95 s', 1), ('p99', 'P99 s', 1))),
    'oltp': transactions, 'load-rate': bars_of((('rate', 'MB/s', MB),)),
}


def draw(report, directory):
    try:
        import matplotlib
    except ImportError:
        say('there is no matplotlib: no pictures')
        return []
    matplotlib.use('Agg')
    matplotlib.rcParams.update({'svg.hashsalt': 'cscan', 'svg.fonttype': 'none', 'savefig.dpi': 150, 'axes.grid': True, 'axes.grid.axis': 'y', 'grid.alpha': 0.4, 'axes.axisbelow': True,
                                'axes.spines.top': False, 'axes.spines.right': False})
    from matplotlib import pyplot
    found = {}
    for major, name, place, variants in report.cases():
        if name in CHARTS:
            found.setdefault((major, name), {})[place] = variants
    files = []
    for (major, name), places in found.items():
        picture = CHARTS[name](pyplot, report, major, name, in_order(name, places))
        if picture:
            files.append(picture.save(directory))
            pyplot.close(picture.figure)
    return files


def in_order(name, places):
    """As the experiment has them, however they were measured."""
    known = list(getattr(EXPERIMENTS[name], 'points', {'': None}))
    return {place: places[place] for place in known if place in places}
