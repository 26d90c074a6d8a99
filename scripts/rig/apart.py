"""Scans of different tables that are in the page cache, at one time: they share nothing but the ABM.

    Apart   two and four sessions, each with a table of its own, the variants in turn, on one server
"""
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from . import data
from .streams import Warm
from .workload import VARIANTS, check_plan

TABLES = 4
ROW_BY_ROW = {'cscan.vectors': 'off'}

# name -> sessions, and settings of those with cscan
CASES = {
    'two': (2, {}),
    'four': (4, {}),
    'two, row by row': (2, ROW_BY_ROW),
    'four, row by row': (4, ROW_BY_ROW),
}


@dataclass
class Apart(Warm):
    """Each table is a quarter of lineitem. The time is that of all sessions together."""
    queries = CASES
    rounds: int = 10            # for each run asked for
    variants: tuple = ('postgres', 'relevance')

    def guess(self, table, bandwidth):
        return 20 + self.rounds * len(CASES) * 2.0

    def measure(self, rig, variants, run, place):
        data.load(rig.cluster, self.where)
        rig.start(rig.settings.shared_buffers, None, None)
        rows = {variant: {'variant': variant, 'pairs': {name: [] for name in CASES}} for variant in variants}
        order = rig.random(*place, run, 'order')
        with rig.cluster.connect(self.where) as session:
            for table in range(TABLES):
                session.execute(f'CREATE TABLE apart_{table} AS SELECT * FROM lineitem WHERE l_orderkey % {TABLES} = {table}')
                session.execute(f'VACUUM ANALYZE apart_{table}')
            try:
                for _ in range(self.rounds):
                    for name in CASES:
                        for variant in order.sample(variants, len(variants)):
                            rows[variant]['pairs'][name].append(self.together(rig, name, variant))
            finally:
                for table in range(TABLES):
                    session.execute(f'DROP TABLE IF EXISTS apart_{table}')
        for row in rows.values():
            for name, seconds in row['pairs'].items():
                row[name] = statistics.median(seconds)
            yield row

    def together(self, rig, name, variant):
        count, settings = CASES[name]
        more = {'cscan.min_table_size': 0, **settings} if rig.cscan else {}
        sessions = [rig.cluster.connect(self.where, **VARIANTS[variant].settings, **more) for _ in range(count)]
        queries = [f'SELECT sum(l_linenumber) FROM apart_{table}' for table in range(count)]
        try:
            check_plan(sessions[0], queries[0], variant, VARIANTS[variant].plan)
            with ThreadPoolExecutor(count) as pool:
                begin = time.perf_counter()
                answers = list(pool.map(lambda one: one[0].execute(one[1]).fetchall(), zip(sessions, queries)))
                seconds = time.perf_counter() - begin
            rig.answers.check(f'{variant} on {rig.cluster.major}', list(zip(queries, answers)))
            return seconds
        finally:
            for session in sessions:
                session.close()
