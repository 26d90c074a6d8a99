"""Which chunk was loaded when, from the trace that the server records (cscan.trace); doc/trace.md says what is in it byte by byte.

    loads(path)         [seconds since the first load, chunk] of each load in a trace
"""
import struct

from .cluster import Failure
from .progress import say

HEADER, RECORD = 64, struct.Struct('<BBHiQiiII')    # kind, flag, count, scan, time in us, other, slot, chunk, blocks
MAGIC, VERSION = b'CSCANTRC', 7
DECIDE, LOST = 52, 128
LOAD = 3                                            # a flag of DECIDE


def loads(path):
    if not path.exists():
        raise Failure('the server has recorded no trace')
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
