"""Streams of queries that run at one time, and the variants of the server that they are compared under.

A stream is a list of (kind, sql) that one connection runs one after the other; stream i starts i * delay seconds after the
first.  All connections are open, and all plans have been looked at, before the clock starts.

    FAST, SLOW                    TPC-H Q6 and Q1, over the whole table
    VARIANTS                      name -> session settings; 'postgres' is PostgreSQL's own scan, the others are policies
    run_streams(...)              -> Result
    Answers().check(...)          the same query gives the same rows under every variant, or the run ends
"""
import re
import threading
import time
from dataclasses import dataclass, field

from .cluster import Failure

FAST = '''SELECT sum(l_extendedprice * l_discount) AS revenue FROM {table}
    WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '1' year
      AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24'''

SLOW = '''SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
        sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
        sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, avg(l_quantity) AS avg_qty,
        avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
    FROM {table} WHERE l_shipdate <= date '1998-12-01' - interval '90' day
    GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus'''

QUERIES = {'FAST': FAST.format(table='lineitem'), 'SLOW': SLOW.format(table='lineitem')}

POLICIES = ('relevance', 'elevator', 'attach', 'normal')
VARIANTS = {'postgres': {'cscan.enabled': 'off'}, **{policy: {'cscan.enabled': 'on', 'cscan.policy': policy} for policy in POLICIES}}


def full_scans(letters):
    """'FFS' -> three streams of one query each."""
    return [[(kind, QUERIES[kind]) for kind in ('FAST', 'SLOW') if kind[0] == letter] for letter in letters]


@dataclass
class Result:
    seconds: float = 0.0                            # from the first start to the last end
    latencies: list = field(default_factory=list)   # (kind, seconds)
    answers: list = field(default_factory=list)     # (sql, rows)


def check_plan(connection, sql, variant, table='lineitem'):
    """A variant that does not scan the way it claims to would be measured in vain."""
    plan = '\n'.join(row[0] for row in connection.execute('EXPLAIN ' + sql).fetchall())
    expected = rf'Seq Scan on {table}' if variant == 'postgres' else rf'Custom Scan \(CScan\) on {table}'
    if not re.search(expected, plan):
        raise Failure(f'variant {variant} was expected to run {expected}, but its plan is\n{plan}\nof\n{sql}')


def run_streams(cluster, variant, streams, delay, settings, timeout, at_start=lambda: None):
    """Runs the streams under a variant in sessions with these settings; calls at_start when the clock starts."""
    result, errors = Result(), []
    connections = [cluster.connect(**settings, statement_timeout=f'{timeout}s') for _ in streams]
    ready = threading.Barrier(len(streams) + 1)
    try:
        for connection, stream in zip(connections, streams):
            for _, sql in stream:
                check_plan(connection, sql, variant)

        def work(number, connection, stream):
            ready.wait()
            time.sleep(max(0.0, begin[0] + number * delay - time.perf_counter()))
            try:
                for kind, sql in stream:
                    start = time.perf_counter()
                    rows = connection.execute(sql).fetchall()
                    result.latencies.append((kind, time.perf_counter() - start))
                    result.answers.append((sql, rows))
            except Exception as error:              # reported by the thread that waits for us
                errors.append(error)

        begin = [0.0]
        threads = [threading.Thread(target=work, args=(number, connection, stream), daemon=True)
                   for number, (connection, stream) in enumerate(zip(connections, streams))]
        for thread in threads:
            thread.start()
        at_start()
        begin[0] = time.perf_counter()
        ready.wait()
        for thread in threads:
            thread.join()
        result.seconds = time.perf_counter() - begin[0]
    finally:
        for connection in connections:
            connection.close()
    if errors:
        raise Failure(f'variant {variant}: {type(errors[0]).__name__}: {errors[0]}')
    return result


class Answers:
    """Remembers the first answer to each query; every later one must be the same, whatever the variant or the major."""

    def __init__(self):
        self.first = {}

    def check(self, who, answers):
        for sql, rows in answers:
            before, expected = self.first.setdefault(sql, (who, rows))
            if sorted(rows) != sorted(expected):
                raise Failure(f'WRONG ANSWER: {who} and {before} differ.\n{who}: {rows}\n{before}: {expected}\nof\n{sql}')
