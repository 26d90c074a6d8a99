"""How often a disk had to seek: read requests that do not begin where the one before ended, in the order in which the disk was given them.

The kernel's own tracing (tracefs, event block_rq_issue) tells of each request.  It is all of the disk's reads, whoever asked for them.

Invariant: the number is that of all requests, or None: where some were lost, or where this tracing may not be used.

    with Seeks(disk) as seeks:      the disk as 'major:minor'
        seeks.count()               so far; to be called some times a second, or requests are lost
        seeks.why                   the reason if there is no number, or ''
"""
import os
import re
import subprocess
import tempfile
from pathlib import Path

from .guard import Guard
from .limits import mounts, write

REQUEST = re.compile(r'block_rq_issue: \S+ R\S* \d+ \(.*?\) (\d+) \+ (\d+) ')
KILOBYTES = 4096            # of the kernel's buffer, for each CPU: some seconds of requests


def follow(lines, end=None):
    """How many of these requests do not begin where the one before ended, where the last one ends, and whether some were lost."""
    seeks, lost = 0, False
    for line in lines:
        match = REQUEST.search(line)
        if match:
            begin, sectors = map(int, match.groups())
            seeks += begin != end
            end = begin + sectors
        lost = lost or '[LOST ' in line
    return seeks, end, lost


class Seeks:
    def __init__(self, disk):
        self.why, self.mounted, self.instance, self.pipe, self.guard = '', None, None, None, None
        self.seeks, self.end, self.rest = 0, None, ''
        try:
            self.begin(*map(int, disk.split(':')))
        except (OSError, AttributeError, subprocess.CalledProcessError) as error:
            self.why = f'the requests of the disk cannot be traced: {error}'
            self.close()

    def begin(self, major, minor):
        self.instance = self.tracefs() / 'instances' / f'cscan-{os.getpid()}'
        self.instance.mkdir()
        self.guard = Guard(self.leave)
        event = self.instance / 'events/block/block_rq_issue'
        write(event / 'filter', f'dev == {major << 20 | minor} && rwbs ~ "R*"')
        write(self.instance / 'buffer_size_kb', str(KILOBYTES))
        self.pipe = os.open(self.instance / 'trace_pipe', os.O_RDONLY | os.O_NONBLOCK)
        write(event / 'enable', '1')

    def tracefs(self):
        for directory, _ in mounts('tracefs'):
            return directory
        if os.geteuid() != 0:
            raise PermissionError('that needs root')
        self.mounted = Path(tempfile.mkdtemp(prefix='cscan-tracefs-'))
        subprocess.run(['mount', '-t', 'tracefs', 'tracefs', self.mounted], check=True, capture_output=True)
        return self.mounted

    def count(self):
        if self.why:
            return None
        try:
            while block := os.read(self.pipe, 65536):
                *lines, self.rest = (self.rest + block.decode(errors='replace')).split('\n')
                seeks, self.end, lost = follow(lines, self.end)
                self.seeks += seeks
                if lost:
                    self.why = 'requests were lost'
        except BlockingIOError:
            pass
        return None if self.why else self.seeks

    def close(self):
        if self.pipe is not None:
            os.close(self.pipe)
        self.leave()
        if self.guard:
            self.guard.release()
        self.pipe = self.instance = self.mounted = self.guard = None

    def leave(self):
        for leave in (self.instance and self.instance.rmdir, self.mounted and self.unmount):
            try:
                if leave:
                    leave()
            except OSError:
                pass

    def unmount(self):
        subprocess.run(['umount', self.mounted], check=False, capture_output=True)
        self.mounted.rmdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
