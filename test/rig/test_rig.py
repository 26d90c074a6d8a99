"""What of the rig needs no server: python3 -m unittest discover -s test/rig"""
import contextlib
import io
import json
import os
import random
import re
import signal
import struct
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'scripts'))

from rig import bench, charts, data, experiments, guard, limits, seeks, simulate, streams, top, trace    # noqa: E402
from rig.cluster import Failure                                             # noqa: E402
from rig.report import Report                                               # noqa: E402
from rig.results import Results                                             # noqa: E402
from rig.workload import VARIANTS, Answers, Members, Mix, chunks_read, label, span_of     # noqa: E402

DAYS = [f'day {number}' for number in range(101)]


class Top(unittest.TestCase):
    def sample(self, seconds, blocks):
        scans = [top.Scan(7, 1, 'lineitem', 'relevance', 100, 50, 3, False, [[0, 800]], 800 * top.BLOCK, 2.5),
                 top.Scan(8, 1, 'lineitem', 'relevance', 50, 0, 0, True, [[400, 800]], 800 * top.BLOCK, None)]
        chunks = [(1, number, 'ready', 1) for number in range(50)] + [(1, 99, 'loading', 1)]
        return top.Sample('test', scans, chunks, (seconds, 20.0 * seconds, 5.0 * seconds, blocks, 0.0), 8)

    def frame(self, width=80, height=24):
        return top.frame(self.sample(11.0, 25600), self.sample(10.0, 0), width, height, top.Marks(False))

    def test_frame(self):
        text = '\n'.join(self.frame())
        self.assertIn('read 200.0 MB/s', text)
        self.assertIn('hits 75 %', text)
        self.assertIn('100 chunks, 51 in memory, 2 scans', text)
        held, first, second = [line[line.index('['):] for line in self.frame() if '[' in line]
        half = len(held) // 2
        self.assertEqual(set(held[1:half - 1]), {'#'})
        self.assertEqual(held[-2], 'v')
        self.assertEqual(set(first[1:-1]), {'='})
        self.assertEqual(set(second[1:half - 1]), {'.'})

    def test_sizes(self):
        for width, height in ((80, 24), (80, 5), (200, 50)):
            lines = self.frame(width, height)
            self.assertLessEqual(len(lines), height)
            self.assertLessEqual(max(map(len, lines)), width)

    def test_family(self):
        """Two scans of a family of two, of 600 and 200 blocks, and one of its second member; a scan of another table."""
        scans = [top.Scan(7, 1, 'parts', 'relevance', 100, 50, 3, False, [], 0, 2.5, 2),
                 top.Scan(8, 3, 'parts_2', 'relevance', 25, 0, 0, True, [[0, 200]], 200 * top.BLOCK, None),
                 top.Scan(9, 4, 'other', 'relevance', 25, 0, 0, True, [[0, 100]], 200 * top.BLOCK, None),
                 top.Scan(10, 1, 'parts', 'relevance', 100, 50, 3, False, [], 0, 2.5, 2)]
        chunks = [(3, number, 'ready', 1) for number in range(25)] + [(2, 0, 'loading', 1), (4, 0, 'ready', 1)]
        members = [(1, 2, 600 * top.BLOCK), (1, 3, 200 * top.BLOCK)]
        now = top.Sample('test', scans, chunks, (1.0, 0.0, 0.0, 0.0, 0.0), 8, members)
        lines = top.frame(now, now, 136, 24, top.Marks(False))
        text = '\n'.join(lines)
        self.assertIn('parts   2 tables, 6 MB, 100 chunks, 26 in memory, 3 scans', text)
        self.assertIn('other   2 MB, 25 chunks, 1 in memory, 1 scans', text)
        held, whole, member = [line[line.index('[') + 1:-1] for line in lines if '[' in line][:3]
        quarter = len(held) // 4
        self.assertEqual((held[0], set(held[2:-quarter - 1]), set(held[1 - quarter:])), ('v', {' '}, {'#'}))
        self.assertEqual(set(whole), {'='})
        self.assertEqual((set(member[:-quarter - 1]), set(member[1 - quarter:])), ({'.'}, {'='}))

    def test_nothing(self):
        self.assertIn('no table is being scanned cooperatively', top.frame(top.Sample(), top.Sample(), 80, 24, top.Marks(True)))


class Groups(unittest.TestCase):
    """Control groups of version 2 on files, since few machines allow both versions."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.addCleanup(setattr, limits, 'mounts', limits.mounts)
        limits.mounts = lambda kind: [(self.root, [])] if kind == 'cgroup2' else []
        (self.root / 'cgroup.controllers').write_text('cpu io memory\n')
        (self.root / 'cgroup.subtree_control').write_text('cpu memory\n')

    def test_version_2(self):
        group = limits.GroupV2('254:0', 'cscan-1')
        own = self.root / 'cscan-1'
        self.assertEqual((self.root / 'cgroup.subtree_control').read_text(), '+io')
        group.apply(200 * limits.MB, 300 * limits.MB)
        self.assertEqual(((own / 'io.max').read_text(), (own / 'memory.max').read_text()), ('254:0 rbps=209715200', '314572800'))
        group.apply(None, None)
        self.assertEqual(((own / 'io.max').read_text(), (own / 'memory.max').read_text()), ('254:0 rbps=max', 'max'))
        (own / 'io.stat').write_text('8:0 rbytes=1 rios=2\n254:0 rbytes=4096 wbytes=0 rios=3 wios=0\n')
        (own / 'memory.stat').write_text('anon 5\nfile 1000\nshmem 300\n')
        (own / 'cpu.stat').write_text('usage_usec 2500000\nuser_usec 1\n')
        self.assertEqual((group.bytes_read(), group.requests(), group.page_cache(), group.cpu()), (4096, 3, 700, 2.5))
        self.assertEqual(group.anonymous(), 5)
        for file in own.iterdir():
            file.unlink()
        (own / 'cgroup.procs').write_text('')
        own.joinpath('cgroup.procs').unlink()
        own.rmdir()
        group.release()
        self.assertEqual((self.root / 'cgroup.subtree_control').read_text(), '-io')

    def test_not_there(self):
        (self.root / 'cgroup.controllers').write_text('cpu memory\n')
        with self.assertRaisesRegex(OSError, 'no cgroup v2 controllers'):
            limits.GroupV2('254:0', 'cscan-1')
        self.assertEqual((self.root / 'cgroup.subtree_control').read_text(), 'cpu memory\n')


class Trace(unittest.TestCase):
    def test_loads(self):
        records = [(36, 3, 0, 1, 5, 0, 0, 9, 0), (trace.DECIDE, 3, 0, 1, 1000000, 0, 2, 17, 512), (49, 0, 0, -1, 1100000, -1, -1, 0, 0),
                   (50, 0, 0, 0, 1200000, 0, 2, 0, 0), (trace.DECIDE, 3, 0, 1, 3000000, 0, 3, 18, 512)]
        with tempfile.NamedTemporaryFile() as file:
            file.write(b'CSCANTRC' + struct.pack('<II', trace.VERSION, 32) + bytes(48) + b''.join(trace.RECORD.pack(*record) for record in records) + b'cut off')
            file.flush()
            self.assertEqual(trace.loads(Path(file.name)), [[0.0, 17], [2.0, 18]])

    def test_not_a_trace(self):
        with tempfile.NamedTemporaryFile() as file, self.assertRaises(Failure):
            trace.loads(Path(file.name))


class Seeks(unittest.TestCase):
    LINE = ' postgres-7 [001] ..... 12.3: block_rq_issue: 254,0 {} 131072 () {} + 256 none,0,0 [postgres]'

    def follow(self, *requests, end=None, more=()):
        return seeks.follow([*(self.LINE.format(kind, sector) for kind, sector in requests), *more], end)

    def test_follow(self):
        self.assertEqual(self.follow(('R', 1000), ('RA', 1256), ('R', 1512)), (1, 1768, False))
        self.assertEqual(self.follow(('R', 1768), ('R', 1000), ('R', 2024), end=1768), (2, 2280, False))

    def test_others(self):
        self.assertEqual(self.follow(('W', 5), ('R', 1000), ('WS', 7), ('R', 1256), end=1000), (0, 1512, False))

    def test_lost(self):
        self.assertEqual(self.follow(('R', 1000), more=['CPU:1 [LOST 12 EVENTS]']), (1, 1256, True))

    def test_no_disk(self):
        with seeks.Seeks(None) as none:
            self.assertIsNone(none.count())
            self.assertIn('cannot be traced', none.why)


class Guards(unittest.TestCase):
    def undone(self, end):
        """Whether a guard has worked once a process that did this has ended, and the guard with it."""
        ended, alive = os.pipe()
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, 'undone')
            child = os.fork()
            if child == 0:
                try:
                    end(guard.Guard(path.touch))
                finally:
                    os._exit(0)
            os.close(alive)
            self.assertEqual(os.read(ended, 1), b'')
            os.waitpid(child, 0)
            os.close(ended)
            return path.exists()

    def test_killed(self):
        self.assertTrue(self.undone(lambda _: os.kill(os.getpid(), signal.SIGKILL)))

    def test_ended(self):
        self.assertTrue(self.undone(lambda _: None))

    def test_signalled_too(self):
        self.assertTrue(self.undone(lambda one: (os.kill(one.child, signal.SIGTERM), os.kill(os.getpid(), signal.SIGKILL))))

    def test_released(self):
        self.assertFalse(self.undone(lambda one: (one.release(), one.release())))


class Workload(unittest.TestCase):
    def test_mix(self):
        """Every size at every speed, the speeds as often as the letters say."""
        streams = Mix(16, 4, (10, 50), 'FFS').streams({'days': DAYS}, random.Random(1))
        queries = [query for stream in streams for query in stream]
        self.assertEqual([len(stream) for stream in streams], [4] * 16)
        kinds = [label(query.kind, query.size) for query in queries]
        self.assertEqual(sorted(set(kinds)), ['F-10', 'F-50', 'S-10', 'S-50'])
        self.assertAlmostEqual(kinds.count('F-10') / kinds.count('S-10'), 2, delta=0.4)

    def test_chunks_read(self):
        scan = {'Node Type': 'Custom Scan', 'CScan Chunks Loaded': 3, 'CScan Chunks Self-Read': 1, 'Shared Read Blocks': 40}
        other = {'Node Type': 'Seq Scan', 'Shared Read Blocks': 100}
        self.assertEqual(chunks_read({'Node Type': 'Append', 'Shared Read Blocks': 140, 'Plans': [scan, other]}, 50), 6)


class Partitions(unittest.TestCase):
    def drawn(self, named):
        return Members(16, 4, (10, 50, 100)).streams({'days': DAYS, 'named': named}, random.Random(1))

    def test_members(self):
        """Half of the streams name partitions, and ask what those of the one table ask, in the same order."""
        one, parts = self.drawn(False), self.drawn(True)
        tables = {len({query.table for query in stream} - {'lineitem'}) > 0 for stream in parts[1::2]}
        self.assertEqual((tables, {query.table for stream in parts[::2] for query in stream}), ({True}, {'lineitem'}))
        self.assertEqual({query.table for stream in one for query in stream}, {'lineitem'})
        self.assertEqual([[query.sql for query in stream] for stream in one], [[query.question for query in stream] for stream in parts])
        self.assertIn('FROM lineitem_1', parts[1][0].sql)

    def test_same_answers(self):
        answers, mine, other = Answers(), self.drawn(False)[1][0], self.drawn(True)[1][0]
        answers.check('one table', [(mine.question, [(1,)])])
        with self.assertRaises(Failure):
            answers.check('partitions', [(other.question, [(2,)])])

    def test_databases(self):
        """Those of the variants that are measured, each once."""
        one = experiments.point('partitions', 'streams')
        self.assertEqual(list(streams.databases(one, one.variants)), ['tpch', 'months', 'members'])
        self.assertEqual(list(streams.databases(one, ('relevance-84', 'postgres-84'))), ['months'])
        self.assertEqual(list(streams.databases(experiments.point('table2', ''), ('postgres', 'relevance'))), ['tpch'])

    def test_sources(self):
        """A database is made anew where its own SQL has changed, and has some."""
        databases = (data.TPCH, data.MONTHS, data.YEARS, data.MEMBERS)
        self.assertEqual(len({data.checksum(database) for database in databases}), len(databases))
        self.assertTrue((data.SQL / 'resident.sql').exists())

    def test_not_simulated(self):
        self.assertIsNone(streams.asked(span_of('FAST', 11, 21, DAYS), '', {'days': DAYS, 'bytes': 8192000}))

    def test_targets(self):
        """Ratios are to another variant of the same point, whatever rows that has; in memory to pairs."""
        def row(place, variant, **more):
            return {'major': 15, 'experiment': 'partitions', 'point': place, 'run': 1, 'variant': variant, 'latencies': [], **more}
        rows = [row('streams', 'relevance', seconds=9.0, stream=2.0, bytes=100.0), row('streams', 'relevance-84', seconds=9.0, stream=2.2, bytes=120.0),
                row('streams', 'postgres-84', seconds=30.0, stream=20.0, bytes=900.0)]
        for variant, count in (('postgres', [1.0, 2.0, 3.0]), ('relevance', [1.0, 2.2, 3.0])):
            pairs = {name: count for name in streams.MEMBERS}
            rows.append(row('memory', variant, pairs=pairs, **{name: 7.0 for name in pairs}))
        report = Report({}, rows)
        found = [[cell.strip() for cell in line.split('|')[1:-1]] for line in report.targets_table().splitlines()[2:]]
        self.assertEqual([(line[1], line[3], line[-2], line[-1]) for line in found],
                         [('partitions: streams', 'relevance', '1.100', 'met'), ('partitions: streams', 'relevance', '1.200', 'MISSED'),
                          ('partitions: streams', 'postgres-84', '0.110', 'met'), *[('partitions: memory', 'postgres', '1.000', 'met')] * 3])
        self.assertIn('partitions: memory', report.warm_table())

    def test_colours(self):
        self.assertEqual(charts.colour('relevance-84'), charts.colour('relevance'))
        self.assertEqual(charts.colour('relevance-btree'), charts.OTHER)

    def test_variants(self):
        """All points' variants are there."""
        for label_, one in experiments.points('partitions').items():
            self.assertLessEqual(set(one.variants) | set(one.reference), set(VARIANTS), label_)


class Arguments(unittest.TestCase):
    def test_no_such_point(self):
        """It says which there are."""
        said = io.StringIO()
        with mock.patch.object(sys, 'argv', ['bench', '--majors', '15', '--experiment', 'extremes', '--point', 'none']), contextlib.redirect_stderr(said), \
                self.assertRaises(SystemExit):
            bench.arguments()
        self.assertIn("points: extremes: 'buffers', 'slow device', 'alter'", said.getvalue())


class PlansOfTpch(unittest.TestCase):
    def test_free(self):
        """Which of TPC-H's queries scan a table is the planner's to say, under each policy."""
        for name in ('tpch1', 'tpch4'):
            self.assertLessEqual(set(experiments.EXPERIMENTS[name].variants), set(experiments.EXPERIMENTS[name].free))


class Simulate(unittest.TestCase):
    # A table of 1,000 blocks; part i begins in block 10 i, at its first row where i is even.
    FACTS = {'days': DAYS, 'bytes': 1000 * 8192, 'places': [[10 * part, 1 + part % 2] for part in range(100)] + [[1000, 1]]}

    def test_blocks(self):
        self.assertEqual(data.blocks_of(self.FACTS, 0, 100), (0, 1000))
        self.assertEqual(data.blocks_of(self.FACTS, 10, 20), (100, 200))
        self.assertEqual(data.blocks_of(self.FACTS, 11, 21), (110, 211))            # its last rows lie beside others
        self.assertEqual(data.blocks_of(self.FACTS, 13, 26, 128), (128, 384))
        self.assertEqual(data.blocks_of(self.FACTS, 90, 100, 128), (896, 1000))

    def test_asked(self):
        one = span_of('SLOW', 11, 21, DAYS)
        self.assertEqual(streams.asked(one, 'Seq Scan on lineitem', self.FACTS), ['SLOW', 10, 0, 1000])
        self.assertEqual(streams.asked(one, 'Bitmap Index Scan on lineitem_shipdate_btree', self.FACTS), ['SLOW', 10, 110, 211])
        self.assertEqual(streams.asked(one, 'Bitmap Index Scan on lineitem_shipdate_brin', self.FACTS), ['SLOW', 10, 0, 256])

    def test_plan(self):
        text = simulate.plan([[['FAST', 100, 0, 1000], ['SLOW', 1, 128, 256]], [['SLOW', 50, 0, 512]]], 0.15)
        self.assertEqual(text.splitlines()[1:], ['0 0.000000 fast 0 1000', '0 0.000000 slow 128 256', '1 0.150000 slow 0 512'])

    def test_drawn(self):
        """The same queries as the rig runs with that seed."""
        queries = simulate.drawn('table2', '', 7, self.FACTS)
        ran = experiments.point('table2', '').work.streams(self.FACTS, random.Random(7))
        self.assertEqual([[one[:2] for one in stream] for stream in queries], [[[one.kind, one.size] for one in stream] for stream in ran])
        for stream in queries:
            self.assertEqual(sorted(size for _, size, _, _ in stream), [1, 10, 50, 100])
            for _, size, first, end in stream:
                self.assertTrue(end - first >= 10 * size and first % 128 == 0 and (end % 128 == 0 or end == 1000))

    def test_options(self):
        server = {'shared_buffers': 28 * 2 ** 20, 'buffer_share': 0.5, 'drop_behind': 'auto', 'chunk_blocks': 64, 'page_cache': 2 ** 25, 'bandwidth': 200 * 2 ** 20,
                  'blocks': 16800, 'cores': 2, 'delay': 0.15}
        words = simulate.options(server, simulate.GUESSES, {})
        told = dict(zip(words[::2], words[1::2]))
        self.assertEqual((told['--budget'], told['--room'], told['--page-cache'], told['--bandwidth']), ('1792', '3136', '4096', '200'))
        for value, cache, said in (('auto', '4096', 'auto'), ('on', '0', 'auto'), ('off', '4096', 'off')):
            told = simulate.options({**server, 'drop_behind': value}, simulate.GUESSES, {})
            told = dict(zip(told[::2], told[1::2]))
            self.assertEqual((told['--page-cache'], told['--drop-behind']), (cache, said))

        self.assertNotIn('--slice', told)
        told = simulate.options(server, simulate.GUESSES, {'slice': 0.1, 'own_bandwidth': 1400 * 2 ** 20})
        told = dict(zip(told[::2], told[1::2]))
        self.assertEqual((told['--slice'], told['--own-bandwidth']), ('100.0', '1400'))

    def test_slices(self):
        """A limit of 200 a second, kept as Linux does it: 20 at once each 0.1 s, 1 ms each; a disk that is no quicker has no slices."""
        ends = [0.1 * part + 0.001 * read for part in range(5) for read in range(20)]
        found = limits.slices(ends, 7)
        self.assertAlmostEqual(found['slice'], 0.1)
        self.assertAlmostEqual(found['own_bandwidth'], 7000)
        self.assertEqual(limits.slices([0.005 * read for read in range(100)], 7), {})
        self.assertEqual(limits.slices([1.0], 7), {})

    def test_time_reads(self):
        with tempfile.NamedTemporaryFile(dir='/var/tmp') as file:
            file.write(bytes(3 * 4096))
            file.flush()
            ends = limits.time_reads(limits.NoLimit(None, ''), file.name, 4096, 10)
            if ends is not None:                                    # a file system that cannot do without its page cache
                self.assertEqual((len(ends), ends), (10, sorted(ends)))
        self.assertIsNone(limits.time_reads(limits.NoLimit(None, ''), file.name, 4096, 10))

    def test_competition(self):
        self.assertEqual(simulate.competition({}), [])
        self.assertEqual(simulate.competition({'others': 2.5, 'late': 0.001, 'sessions late': 0.004}), ['--others', '2.50'])
        self.assertEqual(simulate.competition({'others': None, 'late': 0.001}), [])

    def test_lateness(self):
        """Two sessions: 30 ms in ten waits, and 20 ms in ten that were seen later on; what was before the first sample does not count."""
        samples = [{1: (0.0, 5.0, 7)}, {1: (0.1, 5.01, 9), 2: (0.0, 1.0, 100)}, {1: (0.2, 5.03, 17)}, {2: (0.1, 1.02, 110)}]
        self.assertAlmostEqual(limits.lateness(samples), 0.0025)
        self.assertIsNone(limits.lateness(samples[:1]))
        self.assertIsNone(limits.lateness([]))

    def test_scheduled(self):
        """This process is one of those with its title, and has run."""
        found = limits.scheduled([os.getpid(), 2 ** 30], 'python')
        self.assertEqual(list(found), [os.getpid()])
        self.assertGreater(found[os.getpid()][0], 0)
        self.assertEqual(limits.scheduled([os.getpid()], 'no such title'), {})

    def test_pace(self):
        """Costs are what they would be on CPUs that are as quick as those of the row."""
        self.assertEqual(simulate.at_pace({'FAST': 8.0, 'wait': 20.0}, {'pace': 2 * limits.USUAL_PACE}), {'FAST': 16.0, 'wait': 40.0})
        self.assertEqual(simulate.at_pace({'FAST': 8.0}, {}), {'FAST': 8.0})
        self.assertEqual(simulate.at_pace({}, {'pace': 100.0}), {})
        self.assertGreater(limits.pace(), 0)

    def test_compare(self):
        row = {'stream': 2.0, 'loaded': 200, 'bytes': None}
        text = simulate.compare({'normal': [row]}, {'normal': {'stream_s': 3.0, 'loads': 100, 'read_mb': 7.0}}, simulate.MEASURES)
        self.assertEqual([cell.strip() for cell in text.splitlines()[2].split('|')][1:-1], ['normal', '2', '3', '1.50', '200', '100', '0.50', '-', '7', '-'])


class Policies(unittest.TestCase):
    def test_documented(self):
        """The one line that a policy adds to the sources has to be followed by a word on it for users."""
        top = Path(__file__).resolve().parents[2]
        names = re.findall(r'^\tPOLICY\(\w+, (\w+)\)', (top / 'src/policy/policies.h').read_text(), re.M)
        self.assertIn('relevance', names)
        for page in ('README.md', 'doc/policies.md', 'doc/trace.md'):
            text = (top / page).read_text()
            self.assertEqual([name for name in names if not re.search(rf'\b{name}\b', text)], [], page)


class Traces(unittest.TestCase):
    def test_version(self):
        """What the server writes is what the rig reads, and what the page describes."""
        top = Path(__file__).resolve().parents[2]
        version = re.search(r'CSCAN_TRACE_VERSION\s+(\d+)', (top / 'src/policy/trace.h').read_text()).group(1)
        self.assertEqual(str(trace.VERSION), version)
        self.assertIn(f'| version: {version} |', (top / 'doc/trace.md').read_text())
        records = (top / 'src/policy/record.h').read_text()
        for kind in ('DECIDE', 'LOST'):
            self.assertEqual(int(re.search(rf'CSCAN_TRACE_{kind} = (\d+)', records).group(1)), getattr(trace, kind), kind)


class Resuming(unittest.TestCase):
    ROW = {'major': 15, 'experiment': 'table2', 'point': '', 'run': 1, 'variant': 'relevance', 'seconds': 1.0}

    def test_resume(self):
        with tempfile.TemporaryDirectory() as directory:
            Results(directory, {'scale': 1}, False).add(self.ROW)
            path = Path(directory) / 'rows.jsonl'
            path.write_text(path.read_text() + '{"cut o')           # killed while it wrote
            again = Results(directory, {'scale': 1}, False)
            self.assertEqual(again.done(15, 'table2', '', 1), {'relevance'})
            self.assertEqual(again.done(15, 'table2', '', 2), set())
            again.add({**self.ROW, 'run': 2})
            self.assertEqual(len(Results(directory, {'scale': 1}, False).rows), 2)
            with self.assertRaises(Failure):
                Results(directory, {'scale': 2}, False)
            self.assertEqual(Results(directory, {'scale': 2}, True).rows, [])


class Tables(unittest.TestCase):
    def test_normalised_and_targets(self):
        def row(variant, seconds, experiment='table2'):
            return {'major': 15, 'experiment': experiment, 'point': '', 'run': 1, 'variant': variant, 'seconds': seconds, 'stream': seconds, 'mean': 1.0,
                    'bytes': 2 ** 30 * seconds, 'cpu': None, 'latencies': [['FAST', 1, seconds, None], ['FAST', 10, seconds, None]]}
        rows = [row('relevance', 2.0, 'alone'), row('postgres', 8.0), {**row('brin', 6.0), 'pace': 300.0}, {**row('relevance', 3.0), 'pace': 451.0}]
        report = Report({'machine': 'none'}, json.loads(json.dumps(rows)))
        self.assertEqual(report.reference(15, 'table2', ''), 'brin')
        self.assertEqual(report.values(15, 'table2', '', 'postgres', 'normal'), [4.0])
        self.assertIn('MISSED', report.targets_table())
        self.assertIn('| F-01', report.types_table())
        self.assertIn('*machine none*', report.markdown())
        self.assertIn('300 to 451 us', report.markdown())

    def test_pictures_of_nothing(self):
        """What was interrupted has rows that leave nothing to draw."""
        for name, row in (('figure4', {'variant': 'postgres', 'seconds': 3.0}), ('load-rate', {'variant': 'fio', 'rate': None})):
            report = Report({}, [{'major': 18, 'experiment': name, 'point': '', 'run': 1, **row}])
            self.assertIsNone(charts.CHARTS[name](None, report, 18, name, {'': [row['variant']]}))

    def test_facts_of_a_major(self):
        report = Report({'scale': '1', 'PostgreSQL 15': '15.1', 'I/O of 15': 'fifteen', 'PostgreSQL 18': '18.1', 'I/O of 18': 'eighteen'}, [])
        self.assertEqual(report.caption(18), 'scale 1; PostgreSQL 18 18.1; I/O of 18 eighteen')

    def test_targets_without_a_reference_and_for_one_major(self):
        rows = [{'major': major, 'experiment': 'load-rate', 'point': '', 'run': 1, 'variant': variant, 'seconds': 1.0, 'rate': rate}
                for major in (15, 17) for variant, rate in (('fio', 100.0), ('pg_prewarm', 20.0), ('relevance', 60.0))]
        rows.append({'major': 17, 'experiment': 'pbm', 'point': '16', 'run': 1, 'variant': 'relevance', 'seconds': 1.0, 'bytes': 25.0, 'processed': 100.0})
        found = [[cell.strip() for cell in line.split('|')[1:-1]] for line in Report({}, rows).targets_table().splitlines()[2:]]
        self.assertEqual([(line[0], line[3], line[-3], line[-2], line[-1]) for line in found],
                         [('15', 'pg_prewarm', 'at least 1.50', '3.000', 'met'), ('17', 'fio', 'at least 0.50', '0.600', 'met'),
                          ('17', '-', 'at most 0.20', '0.250', 'MISSED')])


class Experiments(unittest.TestCase):
    def test_points(self):
        for name in experiments.EXPERIMENTS:
            quick, usual, full = (set(experiments.points(name, effort)) for effort in (experiments.QUICK, experiments.USUAL, experiments.FULL))
            self.assertTrue(quick <= usual <= full, name)
            for label_, one in experiments.points(name).items():
                self.assertGreater(one.guess(2 ** 30, 2 ** 28), 0)
                self.assertTrue(experiments.chosen(name, label_, one.variants), name)

    def test_a_named_point_is_measured_whatever_the_effort(self):
        for name in ('oltp', 'queries'):
            for label_, one in experiments.points(name).items():
                wish = types.SimpleNamespace(experiment=[name], point=[label_], effort=experiments.QUICK, majors=[18], variants=one.variants, runs=1)
                self.assertEqual({place[2] for place in bench.plan_of(wish)}, {label_})


if __name__ == '__main__':
    unittest.main()
