"""How fast one scan reads from a disk that nobody limits, and how fast that disk is.

Each run measures the disk itself with fio, 1 MB reads, four in flight, past the page cache; then count(*) of a table that is in
no cache, under each variant, and pg_prewarm of it into shared buffers.  rate is in bytes a second, share is a part of fio's.
Whatever the scale, shared buffers are as large as at scale 1.
"""
import json
import shutil
import subprocess
import time
from dataclasses import dataclass

from .cluster import DATABASE
from .data import load
from .limits import MB, drop_page_cache
from .progress import say
from .streams import START
from .workload import VARIANTS, check_plan

COUNT = 'SELECT count(*) FROM lineitem'
RELATION_SEGMENT = 1024 ** 3
SLOWEST = 300 * MB          # for guesses
SHARED_BUFFERS = 192 * MB


def fio(path, size):
    """Bytes a second, or None with a word why."""
    if not shutil.which('fio'):
        say('fio is not installed: load-rate has no share of what the disk can do')
        return None
    done = subprocess.run(['fio', '--name=read', f'--filename={path}', f'--size={size}', '--readonly', '--rw=read', '--bs=1M',
                           '--iodepth=4', '--ioengine=libaio', '--direct=1', '--output-format=json'], capture_output=True, text=True)
    if done.returncode != 0:
        say(f'fio cannot read past the page cache here: load-rate has no share of what the disk can do\n{done.stderr}'.rstrip())
        return None
    return json.loads(done.stdout[done.stdout.index('{'):])['jobs'][0]['read']['bw_bytes']


@dataclass
class LoadRate:
    about: str
    variants: tuple = ('fio', 'pg_prewarm', 'postgres', 'relevance')
    reference: tuple = ('fio',)
    database: str = DATABASE
    repeat: int = 1

    def guess(self, table, bandwidth):
        return START + table / SLOWEST

    def measure(self, rig, variants, run, place):
        facts = load(rig.cluster, self.database)
        disk = self.disk(rig, facts)
        for name in variants:
            if name == 'fio':
                seconds = facts['bytes'] / disk if disk else None
            else:
                seconds = self.scan(rig, name)
            yield {'variant': name, 'seconds': seconds, 'rate': facts['bytes'] / seconds if seconds else None,
                   'share': facts['bytes'] / seconds / disk if seconds and disk else None}

    def disk(self, rig, facts):
        rig.start(SHARED_BUFFERS, None, None)
        with rig.cluster.connect(self.database) as connection:
            path = rig.cluster.data / connection.execute("SELECT pg_relation_filepath('lineitem')").fetchone()[0]
        rig.cluster.stop()
        drop_page_cache(rig.cluster.data)
        return fio(path, min(facts['bytes'], RELATION_SEGMENT))

    def scan(self, rig, name):
        rig.start(SHARED_BUFFERS, None, None)
        forced = {'cscan.min_table_size': 0} if VARIANTS[name].policy else {}
        with rig.cluster.connect(self.database, **VARIANTS[name].settings, **forced) as connection:
            if name == 'pg_prewarm':
                connection.execute('CREATE EXTENSION IF NOT EXISTS pg_prewarm')
                sql = "SELECT pg_prewarm('lineitem', 'buffer')"
            else:
                sql = COUNT
                check_plan(connection, sql, name, VARIANTS[name].plan)
            begin = time.perf_counter()
            rows = connection.execute(sql).fetchall()
            seconds = time.perf_counter() - begin
        rig.cluster.stop()
        if sql == COUNT:
            rig.answers.check(f'{name} on {rig.cluster.major}', [(sql, rows)])
        return seconds
