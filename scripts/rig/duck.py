"""DuckDB beside the servers: its own file with the rows of lineitem in the order of l_shipdate, and streams of queries under the limits that
servers have.

    file_of(rig)                        the file, which is made where it is missing; kept beside the clusters, for this version of DuckDB
    connect(rig)                        one thread, and all of the file in memory
    run_streams(rig, streams, ...)      -> workload.Result, of one process in the group of the limits

That process is this module: it has one database, as many threads as there are CPUs, and a connection for each stream.  What a program needs
before it has read anything is not of its limit.  Answers are rows as DuckDB has them: an average of decimals is a float.
"""
import importlib.metadata
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from . import data
from .cluster import Failure
from .limits import MB, drop_page_cache
from .progress import say
from .workload import Result

DUCKDB = 'duckdb'


def package():
    try:
        import duckdb                           # not needed by other experiments
        return duckdb
    except ImportError:
        raise Failure('DuckDB is missing; "pip install duckdb" gets it') from None


def file_of(rig):
    duckdb, version = package(), importlib.metadata.version('duckdb')
    home = rig.cluster.home / f'duckdb-{version}'
    path = home / 'lineitem.duckdb'
    if not path.exists():
        say(f'DuckDB {version}: loading lineitem of scale {rig.cluster.scale:g}')
        home.mkdir(exist_ok=True)
        rows, making = path.with_suffix('.csv'), path.with_suffix('.new')
        making.unlink(missing_ok=True)
        with open(rows, 'wb') as file:
            source = data.generator('lineitem', rig.cluster.scale)
            while block := source.stdout.read(4 * MB):
                file.write(block)
            if source.wait() != 0:
                raise Failure('tpchgen-cli failed')
        with duckdb.connect(str(making)) as connection:
            connection.execute(data.definitions()['lineitem'].replace('TABLE lineitem', 'TEMP TABLE rows'))
            connection.execute(f"COPY rows FROM '{rows}' (FORMAT csv, HEADER)")
            connection.execute('CREATE TABLE lineitem AS SELECT * FROM rows ORDER BY l_shipdate, l_orderkey, l_linenumber')
        rows.unlink()
        making.rename(path)
    return path


def connect(rig):
    connection = package().connect(str(file_of(rig)), read_only=True)
    connection.execute('SET threads TO 1')
    connection.execute('SELECT count(DISTINCT columns(*)) FROM lineitem').fetchall()        # all of it is in memory then
    return connection


def run_streams(rig, streams, delay, bandwidth, own, cache, timeout, at_start):
    """own, cache: bytes that the process may have, and of page cache beside that; calls at_start when the clock starts."""
    path = file_of(rig)
    rig.cluster.stop()
    rig.limit.apply(None, None)
    drop_page_cache(path.parent)
    asked = {'file': str(path), 'memory': own, 'delay': delay, 'streams': [[one.sql for one in stream] for stream in streams]}
    program = [sys.executable, '-m', 'rig.duck']
    environment = {**os.environ, 'PYTHONPATH': str(Path(__file__).parents[1]), 'PYTHONDONTWRITEBYTECODE': '1'}
    process = subprocess.Popen(rig.limit.wrap(program), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(timeout * len(streams), process.kill)
    watchdog.start()
    try:
        print(json.dumps(asked), file=process.stdin, flush=True)
        process.stdout.readline()               # it is ready
        program_needs = rig.limit.anonymous()
        rig.limit.apply(bandwidth, None if program_needs is None else program_needs + own + cache)
        at_start()
        print(file=process.stdin, flush=True)
        output = process.stdout.read()
        if process.wait() != 0:
            raise Failure(f'DuckDB ended with status {process.returncode}')
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        rig.limit.apply(None, None)
    said, result = json.loads(output), Result()
    result.seconds, result.streams = said['seconds'], said['totals']
    for stream, answers in zip(streams, said['answers']):
        for one, (seconds, rows) in zip(stream, answers):
            result.latencies.append((one.kind, one.size, seconds, None))
            result.answers.append((one.question, [tuple(row) for row in rows]))
    return result


def serve():
    asked = json.loads(sys.stdin.readline())
    database = package().connect(asked['file'], read_only=True, config={'memory_limit': f'{asked["memory"] // MB}MiB'})
    streams = asked['streams']
    cursors = [database.cursor() for _ in streams]
    answers, totals = [[] for _ in streams], [0.0] * len(streams)
    print('ready', flush=True)
    sys.stdin.readline()
    begin = time.perf_counter()

    def work(number):
        time.sleep(max(0.0, begin + number * asked['delay'] - time.perf_counter()))
        first = time.perf_counter()
        for sql in streams[number]:
            start = time.perf_counter()
            rows = cursors[number].execute(sql).fetchall()
            answers[number].append((time.perf_counter() - start, rows))
        totals[number] = time.perf_counter() - first

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(streams))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begin
    if not all(totals):
        sys.exit('a stream has failed')         # Python has said why
    json.dump({'seconds': seconds, 'totals': totals, 'answers': answers}, sys.stdout, default=str)


if __name__ == '__main__':
    serve()
