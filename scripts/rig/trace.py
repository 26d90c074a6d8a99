"""Which chunk was loaded when: from a trace that the server recorded (doc/trace.md), or else from looking at cscan_chunks.

    loads(path)         (seconds since the first record, table, chunk) of each load in a trace
    Loads               a context: looks at cscan_chunks while a run lasts
"""
import struct
import threading
import time

from .cluster import Failure

HEADER, RECORD = 64, struct.Struct('<BBHiQiiII')    # kind, flag, count, scan, time, other, slot, chunk, blocks
MAGIC, VERSION = b'CSCANTRC', 1
STATE, STATE_END, CALL, DECIDE, LOST = 16, 24, 32, 49, 64
ACT_LOAD = 3


def loads(path):
    with open(path, 'rb') as file:
        header = file.read(HEADER)
        if header[:8] != MAGIC or struct.unpack_from('<II', header, 8) != (VERSION, RECORD.size):
            raise Failure(f'{path} is not a trace of version {VERSION}')
        found, first = [], None
        while len(piece := file.read(RECORD.size)) == RECORD.size:
            kind, flag, _, _, now, table, _, chunk, _ = RECORD.unpack(piece)
            if kind != DECIDE:
                continue
            first = now if first is None else first
            if flag == ACT_LOAD:
                found.append(((now - first) / 1e6, table, chunk))
    return found


class Loads:
    """seen: [seconds since begin(), chunk] of each load of lineitem under a policy; without one, nothing.

    A chunk that is loaded and gone again between two looks is missed; a look takes place every hundredth of a second.
    """

    def __init__(self, cluster, database, policy):
        self.cluster, self.database, self.policy = cluster, database, policy
        self.seen, self.stop = [], threading.Event()

    def begin(self):
        if self.policy:
            self.thread.start()

    def work(self):
        start, before = time.perf_counter(), set()
        while not self.stop.wait(0.01):
            now = {row[0] for row in self.connection.execute("SELECT chunk FROM cscan_chunks WHERE relid = 'lineitem'::regclass")}
            self.seen += [[round(time.perf_counter() - start, 3), chunk] for chunk in sorted(now - before)]
            before = now

    def __enter__(self):
        if self.policy:
            self.connection = self.cluster.connect(self.database)
            self.thread = threading.Thread(target=self.work, daemon=True)
        return self

    def __exit__(self, *_):
        self.stop.set()
        if self.policy:
            if self.thread.is_alive():
                self.thread.join()
            self.connection.close()
