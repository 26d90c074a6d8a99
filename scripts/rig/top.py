"""scripts/top: what cscan does on a server, as it happens, in a terminal of 80 by 24 or more.

For each table that is scanned one bar shows which parts of it are in memory, and one for each scan which parts it reads.
A partitioned table is one bar, its partitions one behind the other; so is one with inheritance children.
It only reads cscan's views, in the database that it connects to; where that is comes from CONNINFO and, as for psql, from
PGHOST, PGDATABASE and so on.  q ends it.
"""
import argparse
import os
import select
import shutil
import signal
import sys
import termios
import time
import tty
from dataclasses import dataclass, field

BLOCK = 8192
MOST_CHUNKS = 65536         # of a table
MB = 1024 * 1024

# One row for each scan; a table of another database has no name and no size here. busy: seconds since its query began. A scan of several
# tables has no ranges.
SCANS = '''SELECT s.pid, s.relid, CASE WHEN s.datid = d.oid THEN s.relid::regclass::text ELSE s.relid::text END, s.policy,
        s.chunks_total, s.chunks_done, s.chunks_available, s.blocked_since IS NOT NULL,
        coalesce((SELECT array_agg(ARRAY[lower(r), upper(r)] ORDER BY r) FROM unnest(s.ranges) r), '{}'),
        CASE WHEN s.datid = d.oid THEN pg_relation_size(s.relid) END, extract(epoch FROM clock_timestamp() - a.query_start)::float8,
        s.tables
    FROM cscan_scans s JOIN pg_database d ON d.datname = current_database() LEFT JOIN pg_stat_activity a USING (pid)
    ORDER BY a.query_start, s.pid'''
CHUNKS = 'SELECT relid, chunk, state, interested FROM cscan_chunks'
# What scans read for themselves was no hit.
TOTALS = '''SELECT extract(epoch FROM clock_timestamp())::float8, sum(chunks_delivered - self_reads)::float8, sum(chunks_loaded)::float8,
        sum(blocks_read)::float8, sum(waits)::float8 FROM cscan_stat'''
# The tables below each of these that have rows, and their sizes
MEMBERS = '''WITH RECURSIVE family AS (SELECT r AS root, r AS relid FROM unnest(%s::oid[]) r
        UNION ALL SELECT f.root, i.inhrelid FROM family f JOIN pg_inherits i ON i.inhparent = f.relid)
    SELECT f.root, f.relid, coalesce(pg_relation_size(f.relid), 0) FROM family f JOIN pg_class c ON c.oid = f.relid AND c.relkind IN ('r', 'm')
    ORDER BY f.root, f.relid'''
# Blocks of a chunk: the pool has room for eight or more.
CHUNK = '''SELECT greatest(1, least(pg_size_bytes(current_setting('cscan.chunk_size')),
        pg_size_bytes(current_setting('shared_buffers')) * replace(lower(current_setting('cscan.buffer_share')), 'auto', '0.125')::float8 / 8)::bigint
        / 8192)'''


@dataclass
class Scan:
    pid: int
    relid: int
    table: str
    policy: str
    total: int
    done: int
    available: int
    blocked: bool
    ranges: list
    size: int | None
    busy: float | None
    tables: int = 1


@dataclass
class Sample:
    where: str = ''             # database and version
    scans: list = field(default_factory=list)
    chunks: list = field(default_factory=list)      # (relid, chunk, state, interested)
    totals: tuple = (0.0,) * 5  # seconds, chunks from memory, loaded, blocks read, waits; since the last reset
    chunk_blocks: int = 512
    members: list = field(default_factory=list)     # (relid of the family, relid, bytes), of scans of several tables


@dataclass
class Shown:
    """A table with its scans; of a family each member has its own place on the bar."""
    relid: int
    scans: list = field(default_factory=list)
    places: dict = field(default_factory=dict)      # relid: (first block, blocks)

    @property
    def blocks(self):
        return max(1, sum(blocks for _, blocks in self.places.values()))


def sample(connection):
    one = connection.execute("SELECT current_database() || ', PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)").fetchone()[0]
    scans = [Scan(*row) for row in connection.execute(SCANS)]
    members = connection.execute(MEMBERS, [sorted({scan.relid for scan in scans if scan.tables > 1 and scan.size is not None})]).fetchall()
    return Sample(one, scans, connection.execute(CHUNKS).fetchall(), connection.execute(TOTALS).fetchone(),
                  connection.execute(CHUNK).fetchone()[0], members)


class Marks:
    """The characters of the bars; a terminal without Unicode has poorer ones."""

    def __init__(self, unicode):
        self.held = ' ░▒▓█' if unicode else ' .:+#'    # from none of a cell's chunks to all of them
        self.loading, self.wanted, self.not_wanted = ('↓', '━', '·') if unicode else ('v', '=', '.')


def chunk_blocks(preferred, blocks):
    """How many blocks a table's chunks have: those of a very large table are larger."""
    while (blocks - 1) // preferred >= MOST_CHUNKS:
        preferred *= 2
    return preferred


def bar(width, blocks, parts, mark, empty=' '):
    """Cells that have one of these [begin, end) of so many blocks in them."""
    cells = [empty] * width
    for begin, end in parts:
        for cell in range(int(begin * width / blocks), min(width, -int(-end * width // blocks))):
            cells[cell] = mark
    return ''.join(cells)


def resident_bar(width, blocks, chunks, marks):
    """What is held: of chunks (begin, end, whether it is being loaded), in blocks from the bar's beginning."""
    held, loading = [0] * width, [False] * width
    for begin, end, down in chunks:
        for cell in range(int(begin * width / blocks), max(int(begin * width / blocks) + 1, -int(-end * width // blocks))):
            if cell < width:
                covered = min(end, (cell + 1) * blocks / width) - max(begin, cell * blocks / width)
                held[cell] += max(0.0, covered)
                loading[cell] |= down
    full = len(marks.held) - 1
    return ''.join(marks.loading if down else marks.held[min(full, -int(-full * share * width // blocks))] for share, down in zip(held, loading))


def rates(now, before):
    """Text of what has happened since."""
    span = now.totals[0] - before.totals[0]
    if span <= 0:
        return ''
    delivered, loaded, blocks, waits = ((a - b) / span for a, b in zip(now.totals[1:], before.totals[1:]))
    hits = f'{100 * max(0.0, 1 - loaded / delivered):.0f} %' if delivered > 0 else '-'
    return f'read {blocks * BLOCK / MB:.1f} MB/s   loaded {loaded:.1f}/s   delivered {delivered:.1f}/s   hits {hits}   waits {waits:.1f}/s'


def shown(now):
    """Tables with their scans, those with most scans first. A scan of a single partition is shown with its family."""
    families, of = {}, {}
    for root, relid, size in now.members:
        places = families.setdefault(root, Shown(root)).places
        places[relid] = (sum(blocks for _, blocks in places.values()), size // BLOCK)
        of.setdefault(relid, root)
    tables = dict(families)
    for scan in now.scans:
        table = tables.setdefault(scan.relid if scan.relid in families else of.get(scan.relid, scan.relid), Shown(scan.relid))
        table.scans.append(scan)
        if scan.relid not in families and table.relid == scan.relid:
            blocks = scan.size // BLOCK if scan.size else max([1, *(end for _, end in scan.ranges)])
            table.places[scan.relid] = (0, max(blocks, table.places.get(scan.relid, (0, 0))[1]))
    return sorted((table for table in tables.values() if table.scans), key=lambda table: -len(table.scans))


def table_lines(table, chunks, preferred, width, marks):
    each = {relid: chunk_blocks(preferred, blocks) for relid, (_, blocks) in table.places.items()}
    total = sum(-(-blocks // each[relid]) for relid, (_, blocks) in table.places.items())
    held = []
    for relid, chunk, state, _ in chunks:
        if relid in table.places:
            first, blocks = table.places[relid]
            held.append((first + chunk * each[relid], first + min(blocks, (chunk + 1) * each[relid]), state == 'loading'))
    name = next((scan.table for scan in table.scans if scan.relid == table.relid), table.scans[0].table)
    several = f'{len(table.places)} tables, ' if len(table.places) > 1 else ''
    cells = width - 36
    lines = [f'{name[:40]}   {several}{table.blocks * BLOCK / MB:,.0f} MB, {total} chunks, {len(held)} in memory, {len(table.scans)} scans',
             f'{"in memory":34s}[{resident_bar(cells, table.blocks, held, marks)}]']
    for scan in table.scans:
        share = 100 * scan.done // scan.total if scan.total else 0
        busy = f'{scan.busy:.0f}s' if scan.busy is not None else ''
        state = 'waits' if scan.blocked else f'{scan.available} here'
        head = f'{scan.pid:>8d} {scan.policy[:9]:9s} {share:3d}% {state:>8s} {busy:>4s}'
        first = table.places.get(scan.relid, (0, 0))[0]
        ranges = [(0, table.blocks)] if scan.tables > 1 else [(first + begin, first + end) for begin, end in scan.ranges]
        lines.append(f'{head[:33]:34s}[{bar(cells, table.blocks, ranges, marks.wanted, marks.not_wanted)}]')
    return lines


def frame(now, before, width, height, marks):
    """The lines of a screen, none of them longer than it is wide."""
    lines = [f'cscan: {now.where}   {time.strftime("%H:%M:%S", time.localtime(now.totals[0]))}   scans {len(now.scans)}   '
             f'chunks in memory {len(now.chunks)}', rates(now, before), '']
    tables = shown(now)
    for table in tables:
        lines += [*table_lines(table, now.chunks, now.chunk_blocks, width - 1, marks), '']
    if not tables:
        lines.append('no table is being scanned cooperatively')
    if len(lines) > height:
        lines = [*lines[:height - 1], f'... {len(lines) - height + 1} more lines']
    return [line[:width] for line in lines]


class Terminal:
    """A context: keys come one by one, and the screen is as it was in the end."""

    def __enter__(self):
        self.before = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        sys.stdout.write('\033[?1049h\033[?25l')
        return self

    def show(self, lines):
        sys.stdout.write('\033[H' + '\n'.join(line + '\033[K' for line in lines) + '\033[J')
        sys.stdout.flush()

    def key(self, seconds):
        """One that was pressed meanwhile, or ''."""
        return os.read(sys.stdin.fileno(), 1).decode(errors='replace') if select.select([sys.stdin], [], [], seconds)[0] else ''

    def __exit__(self, *_):
        sys.stdout.write('\033[?25h\033[?1049l')
        sys.stdout.flush()
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.before)


def watch(connection, interval, marks):
    before = sample(connection)
    with Terminal() as terminal:
        while True:
            now = sample(connection)
            size = shutil.get_terminal_size()
            terminal.show(frame(now, before, size.columns, size.lines, marks))
            before = now if now.totals[0] > before.totals[0] else before
            if terminal.key(interval) in ('q', 'Q'):
                return


def arguments():
    p = argparse.ArgumentParser(prog='scripts/top', description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('conninfo', nargs='?', default='', help='such as "host=/var/run/postgresql dbname=postgres"')
    p.add_argument('--interval', type=float, default=1.0, help='seconds between two looks (default 1)')
    p.add_argument('--once', action='store_true', help='print one frame and end')
    return p.parse_args()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    a = arguments()
    import psycopg                                  # --help works without it
    marks = Marks('utf' in (sys.stdout.encoding or '').lower())
    try:
        with psycopg.connect(a.conninfo, autocommit=True, application_name='cscan top') as connection:
            if not connection.execute("SELECT to_regclass('cscan_scans') IS NOT NULL").fetchone()[0]:
                print(f'scripts/top: database {connection.info.dbname} has no views of cscan: CREATE EXTENSION cscan there', file=sys.stderr)
                return 1
            if a.once:
                before = sample(connection)
                time.sleep(a.interval)
                size = shutil.get_terminal_size()
                print('\n'.join(frame(sample(connection), before, size.columns, size.lines, marks)))
            else:
                if not sys.stdin.isatty():
                    print('scripts/top: standard input is no terminal: --once prints one frame', file=sys.stderr)
                    return 1
                watch(connection, a.interval, marks)
    except psycopg.Error as error:
        print(f'scripts/top: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == '__main__':
    sys.exit(main())
