"""Single scans of a table of which nothing is in memory: what cscan may cost where nobody shares.

    Cold    the variants in turn, each on a server that was just started, without a limit on the disk
"""
import statistics
import time
from dataclasses import dataclass

from . import data
from .streams import START, Warm
from .workload import VARIANTS

COUNT = 'SELECT count(*) FROM lineitem'

# name -> what comes before, what is timed, and server settings
CASES = {
    'scan': ((), (COUNT,), {}),
    'cursor': (('BEGIN',), ('DECLARE c CURSOR FOR SELECT l_orderkey FROM lineitem', 'MOVE FORWARD ALL FROM c'), {}),
    'own table': (('BEGIN', 'CREATE TABLE own AS SELECT * FROM lineitem'), ('SELECT count(*) FROM own',), {}),
    'no ABM': ((), (COUNT,), {'cscan.debug_fault': 'abm-start error'}),
}
RETURNS = 6.0               # seconds after which no ABM is expected any more; until then scans are announced
READY = 'SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = \'cscan abm\''


@dataclass
class Cold(Warm):
    """A scan; a cursor that is read to its end; a table that its own transaction has made; a server whose ABM does not start."""
    queries = CASES
    rounds: int = 5             # for each run asked for
    variants: tuple = ('postgres', 'relevance')

    def guess(self, table, bandwidth):
        return self.rounds * len(CASES) * (START + 4)

    def measure(self, rig, variants, run, place):
        data.load(rig.cluster, self.where)
        rows = {variant: {'variant': variant, 'pairs': {name: [] for name in CASES}} for variant in variants}
        order = rig.random(*place, run, 'order')
        for _ in range(self.rounds):
            for name in CASES:
                for variant in order.sample(variants, len(variants)):
                    rows[variant]['pairs'][name].append(self.once(rig, name, variant))
        for row in rows.values():
            for name, seconds in row['pairs'].items():
                row[name] = statistics.median(seconds)
            yield row

    def once(self, rig, name, variant):
        before, timed, server = CASES[name]
        rig.start(rig.settings.shared_buffers, None, None, **(server if rig.cscan else {}))
        with rig.cluster.connect(self.where, **VARIANTS[variant].settings, **({'cscan.min_table_size': 0} if rig.cscan else {})) as session:
            while not server and rig.cscan and not session.execute(READY).fetchone()[0]:
                time.sleep(0.01)
            if server:
                time.sleep(RETURNS)
            for sql in before:
                session.execute(sql)
            begin = time.perf_counter()
            for sql in timed:
                session.execute(sql)
            seconds = time.perf_counter() - begin
            if before:
                session.execute('ROLLBACK')
        rig.cluster.stop()
        return seconds
