"""Which chunk was loaded when: from the trace that the server records (cscan.trace), or else from looking at cscan_chunks.

    loads(path)         [seconds since the first load, chunk] of each load in a trace; doc/trace.md says what is in it byte by byte
    Loads               a context: has the same in .seen when the server has stopped and finish() was called
"""
import struct
import threading
import time

from .cluster import Failure
from .progress import say

HEADER, RECORD = 64, struct.Struct('<BBHiQiiII')    # kind, flag, count, scan, time in us, other, slot, chunk, blocks
MAGIC, VERSION = b'CSCANTRC', 1
DECIDE, LOST = 49, 64
LOAD = 3                                            # a flag of DECIDE


def loads(path):
    found = []
    with open(path, 'rb') as file:
        header = file.read(HEADER)
        if header[:8] != MAGIC or struct.unpack_from('<II', header, 8) != (VERSION, RECORD.size):
            raise Failure(f'{path} is not a trace of version {VERSION}')
        while len(record := file.read(RECORD.size)) == RECORD.size:
            kind, flag, _, _, now, _, _, chunk, _ = RECORD.unpack(record)
            if kind == LOST:
                say('the trace has a gap: the server did not keep up')
            elif (kind, flag) == (DECIDE, LOAD):
                found.append((now, chunk))
    return [[(now - found[0][0]) / 1e6, chunk] for now, chunk in found]


class Loads:
    """Of lineitem under a policy; without one, nothing.

    Where there is no trace, a chunk that is loaded and gone again between two looks, a hundredth of a second apart, is missed.
    """
    NAME = 'bench.trace'        # in the data directory

    def __init__(self, cluster, database, policy):
        self.cluster, self.database, self.policy = cluster, database, policy
        self.seen, self.stop, self.thread = [], threading.Event(), None
        self.path = cluster.data / self.NAME

    @property
    def settings(self):
        """For the server's start: the file must be a new one."""
        if not self.policy:
            return {}
        self.path.unlink(missing_ok=True)
        return {'cscan.trace': self.NAME}

    def begin(self):
        if self.thread:
            self.thread.start()

    def work(self):
        start, before = time.perf_counter(), set()
        while not self.stop.wait(0.01):
            now = {row[0] for row in self.connection.execute("SELECT chunk FROM cscan_chunks WHERE relid = 'lineitem'::regclass")}
            self.seen += [[round(time.perf_counter() - start, 3), chunk] for chunk in sorted(now - before)]
            before = now

    def __enter__(self):
        if self.policy and not self.path.exists():
            self.connection = self.cluster.connect(self.database)
            self.thread = threading.Thread(target=self.work, daemon=True)
        return self

    def __exit__(self, *_):
        self.stop.set()
        if self.thread:
            if self.thread.is_alive():
                self.thread.join()
            self.connection.close()

    def finish(self):
        if self.policy and self.path.exists():
            self.seen = loads(self.path)
            self.path.unlink()
        return self.seen
