"""What of the experiment "queries" needs neither a server nor DuckDB: python3 -m unittest discover -s test/rig"""
import sys
import tempfile
import types
import unittest
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'scripts'))

from rig import bench, experiments, queries, streams, tpc           # noqa: E402
from rig.cluster import Failure                                     # noqa: E402
from rig.report import Report                                       # noqa: E402
from rig.workload import Answers, alike                             # noqa: E402

TEXT = '''SELECT a, rank() OVER (PARTITION BY b ORDER BY c LIMIT 3) r, 'ORDER BY x LIMIT 5' s
FROM (SELECT a, b, c FROM t ORDER BY a LIMIT 10) t
{0}'''


class Texts(unittest.TestCase):
    def test_determined(self):
        """All columns follow what the query is ordered by: that of the query itself, before its LIMIT."""
        for end, expected in (('ORDER BY a NULLS FIRST\nLIMIT 100', 'ORDER BY a NULLS FIRST, 1, 2, 3 LIMIT 100'), ('order  by r DESC', 'order  by r DESC, 1, 2, 3'),
                              ('ORDER BY lower(a), "limit 7"\nLIMIT 5', 'ORDER BY lower(a), "limit 7", 1, 2, 3 LIMIT 5'), ('LIMIT 100', 'LIMIT 100'), ('', '')):
            self.assertEqual(tpc.determined(TEXT.format(end), 3), TEXT.format(expected))

    def test_keys(self):
        """One index for each column that refers to another table; the first column of a primary key has one already."""
        tables = {table: [*primary.split(', '), 'x'] for table, primary in tpc.PRIMARY[tpc.DS].items()}
        tables['store_sales'] += ['ss_store_sk', 'ss_quantity']
        made = list(tpc.keys(tpc.DS, tables))
        self.assertEqual([one for one in made if 'store_sales ' in one], ['ALTER TABLE store_sales ADD PRIMARY KEY (ss_item_sk, ss_ticket_number)',
                                                                          'CREATE INDEX ON store_sales (ss_store_sk)'])
        self.assertEqual([one for one in made if 'ON inventory' in one], ['CREATE INDEX ON inventory (inv_item_sk)', 'CREATE INDEX ON inventory (inv_warehouse_sk)'])
        self.assertEqual((len(tpc.PRIMARY[tpc.H]), len(tpc.PRIMARY[tpc.DS])), (8, 24))

    @unittest.skipIf(tpc.missing(), 'DuckDB is not there')
    def test_all(self):
        """All of them are there but those that are left out, and the order of each is determined in as many columns as it has."""
        found = tpc.queries()
        self.assertEqual([one.name for one in found], [name for name in (*(f'h{number}' for number in range(1, 23)), *(f'ds{number}' for number in range(1, 100)))
                                                       if name not in tpc.LEFT_OUT])
        by_name = {one.name: one for one in found}
        self.assertRegex(by_name['ds3'].determined, r'brand_id, 1, 2, 3, 4 LIMIT 100$')
        self.assertEqual(by_name['h6'].determined, by_name['h6'].sql)
        self.assertEqual([one.name for one in found if ';' in one.sql], [])

    def test_wanted(self):
        rig = types.SimpleNamespace(settings=types.SimpleNamespace(queries=['ds2', 'h1']))
        known, tpc.queries = tpc.queries, lambda: [tpc.Tpc(name, database, '', '') for name, database in (('h1', tpc.H), ('ds1', tpc.DS), ('ds2', tpc.DS))]
        try:
            self.assertEqual([one.name for one in queries.wanted(rig)], ['h1', 'ds2'])
            self.assertEqual([one.name for one in queries.wanted(rig, (tpc.DS,))], ['ds2'])
            rig.settings.queries = None
            self.assertEqual(len(queries.wanted(rig)), 3)
            for names in (['h2'], ['h1', 'ds99']):
                rig.settings.queries = names
                with self.assertRaises(Failure):
                    queries.wanted(rig)
            rig.settings.queries = ['h1']
            with self.assertRaises(Failure):
                queries.wanted(rig, (tpc.DS,))
        finally:
            tpc.queries = known

    def test_argument(self):
        self.assertEqual(bench.queries('h6,ds18'), ['h6', 'ds18'])
        for wrong in ('6', 'h0', 'ds100', 'q1'):
            with self.assertRaises(bench.argparse.ArgumentTypeError):
                bench.queries(wrong)


class Pairs(unittest.TestCase):
    def test_turns(self):
        self.assertEqual(queries.turns(['off', 'on'], 3, 0), [['off', 'on'], ['on', 'off'], ['off', 'on']])
        self.assertEqual(queries.turns(['off', 'on'], 2, 5), [['on', 'off'], ['off', 'on']])

    def test_pairs(self):
        self.assertEqual([queries.pairs_of(seconds) for seconds in (60, 5.1, 4.9, 1.0, 0.4, 0.2, 0.01, 0.0)], [1, 1, 2, 2, 4, 8, 10, 10])

    def test_skeleton(self):
        """How a table is read does not count, what is asked below that does."""
        def scan(**more):
            return {'Node Type': 'Seq Scan', 'Alias': 't', 'Relation Name': 't', **more}

        def join(kind, *below):
            return {'Node Type': kind, 'Join Type': 'Inner', 'Plans': below}
        mine = scan(**{'Node Type': 'Custom Scan', 'Custom Plan Provider': 'CScan', 'Plans': [{'Node Type': 'Bitmap Index Scan', 'Parent Relationship': 'Outer'}]})
        asked = scan(Plans=[{'Node Type': 'Aggregate', 'Parent Relationship': 'SubPlan', 'Plans': [scan()]}])
        self.assertEqual(queries.skeleton(join('Hash Join', scan(), mine)), queries.skeleton(join('Hash Join', mine, scan())))
        self.assertNotEqual(queries.skeleton(join('Hash Join', scan(), scan())), queries.skeleton(join('Nested Loop', scan(), scan())))
        self.assertNotEqual(queries.skeleton(scan()), queries.skeleton(asked))
        self.assertNotEqual(queries.skeleton(scan()), queries.skeleton(scan(Alias='other')))
        self.assertEqual((queries.scans(join('Hash Join', mine, mine)), queries.scans(scan())), (2, 0))

    def test_in_turn(self):
        """A query runs once unmeasured and at least twice measured, a slow one once; both variants are first as often as last."""
        calls = []

        def run(seconds):
            def time_(one, server, query, variant):
                calls.append(variant)
                return (seconds, None), [(1,)]
            return time_
        server = types.SimpleNamespace(check=lambda query, answers: False, plan=lambda query, variant: ({'Node Type': 'Result'}, 0.001))
        kept = queries.InTurn.time
        try:
            for seconds, expected in ((1.0, ['off', 'on', 'off', 'on', 'on', 'off']), (2 * queries.SLOW, ['off', 'on'])):
                calls.clear()
                queries.InTurn.time = run(seconds)
                found = queries.InTurn('').one(server, None, ['off', 'on'], 0)
                self.assertEqual(calls, expected)
                self.assertEqual([len(found['on'][measure]) for measure in ('seconds', 'cpu', 'planning')], [len(expected) // 3 or 1] * 3)
                self.assertTrue(found['on']['same'])
        finally:
            queries.InTurn.time = kept


def rows():
    """Two runs; ds1 is slower, ds2 too but short, h1 quicker."""
    def row(variant, run, **alone):
        return {'major': 18, 'experiment': 'queries', 'point': 'alone', 'run': run, 'variant': variant, 'seconds': 1.0, 'alone': {
            name: {'seconds': seconds, 'cpu': [None] * len(seconds), 'planning': [0.01] * len(seconds), 'scans': 1, 'same': True, 'tied': False, **more}
            for name, (seconds, more) in alone.items()}}
    return [row('postgres', 1, ds1=([1.0, 1.1], {'analyzed': 'their plan'}), ds2=([0.01, 0.01], {}), h1=([2.0], {})),
            row('relevance', 1, ds1=([1.3, 1.1], {'analyzed': 'my plan'}), ds2=([0.02, 0.02], {}), h1=([1.0], {})),
            row('postgres', 2, ds1=([1.0, 1.0], {}), ds2=([0.01, 0.01], {}), h1=([2.0], {})),
            row('relevance', 2, ds1=([1.2, 1.2], {}), ds2=([0.02, 0.02], {}), h1=([1.1], {}))]


class Tables(unittest.TestCase):
    def test_compare(self):
        theirs, mine = rows()[::2], rows()[1::2]
        found = {one.name: one for one in queries.compare(mine, theirs)}
        self.assertEqual((found['ds1'].pairs, found['h1'].pairs), (4, 2))
        self.assertAlmostEqual(found['ds1'].ratio, 1.2)
        self.assertAlmostEqual(found['h1'].ratio, 0.525)
        self.assertIsNone(found['ds1'].cpu)
        self.assertEqual(queries.worst(found.values()).name, 'ds1')             # ds2 is short
        self.assertAlmostEqual(queries.total(found.values()), (1.2 + 0.02 + 1.05) / (1.0 + 0.01 + 2.0))
        self.assertAlmostEqual(queries.planning(found.values()), 1.0)

    def test_report(self):
        report = Report({}, rows())
        targets = [[cell.strip() for cell in line.split('|')[1:-1]] for line in report.targets_table().splitlines()[2:]]
        self.assertEqual([(line[4], line[-2], line[-1]) for line in targets],
                         [('total', '0.754', 'met'), ('worst query', '1.200', 'MISSED'), ('planning', '1.000', 'met')])
        each = [[cell.strip() for cell in line.split('|')[1:-1]] for line in report.each_table().splitlines()[2:]]
        self.assertEqual([(line[2], line[6], line[-1]) for line in each], [('ds1', '1.200', 'over'), ('ds2', '2.000', ''), ('h1', '0.525', '')])
        self.assertIn('ds1 1.20', report.turns_table())
        with tempfile.TemporaryDirectory() as directory:
            report.write(directory)
            plans = {path.name: path.read_text() for path in Path(directory, 'plans').iterdir()}
        self.assertEqual(set(plans), {'18-alone-ds1-postgres.txt', '18-alone-ds1-relevance.txt'})
        self.assertIn('my plan', plans['18-alone-ds1-relevance.txt'])

    def test_streams(self):
        def row(variant, *latencies):
            return {'major': 18, 'experiment': 'queries', 'point': 'streams', 'run': 1, 'variant': variant, 'seconds': 9.0, 'bytes': 100.0,
                    'latencies': [[name, None, seconds, None] for name, seconds in latencies]}
        report = Report({}, [row('postgres', ('ds10', 5.0), ('ds1', 1.0), ('ds1', 3.0), ('ds2', 4.0)), row('relevance', ('ds1', 2.0), ('ds1', 3.0), ('ds2', 1.0), ('ds10', 5.0))])
        self.assertEqual(report.ratio(18, 'queries', 'streams', 'relevance', 'postgres', 'worst query'), 1.25)
        self.assertEqual(report.ratio(18, 'queries', 'streams', 'relevance', 'postgres', 'seconds'), 1.0)
        self.assertRegex(report.means_table(), r'(?s)ds1 +\| 2.00 +\| 2.50 +\| 1.25.* ds2 .* ds10 ')

    def test_answers_table(self):
        row = {'major': 18, 'experiment': 'queries', 'point': 'answers', 'run': 1, 'seconds': 1.0, 'asked': 9}
        report = Report({}, [{**row, 'variant': 'postgres', 'scanned': 0, 'tied': []}, {**row, 'variant': 'elevator', 'scanned': 7, 'tied': ['ds1']}])
        self.assertRegex(report.answers_table(), r'elevator +\| 9 +\| 7 +\| ds1')

    def test_databases(self):
        self.assertEqual(list(streams.databases(experiments.point('queries', 'alone'), ('postgres',))), [tpc.H, tpc.DS])
        self.assertEqual(list(streams.databases(experiments.point('queries', 'streams'), ('postgres',))), [tpc.DS])


class SameAnswers(unittest.TestCase):
    def test_alike(self):
        self.assertEqual(alike((1, None, 0.1 + 0.2, Decimal('1.50'))), alike((1, None, 0.3, Decimal('1.5'))))
        self.assertNotEqual(alike((0.3,)), alike((0.3001,)))
        self.assertNotEqual(alike((Decimal('0.3000000000001'),)), alike((Decimal('0.3'),)))

    def test_rows(self):
        """Also of rows that have no order among themselves; one more of the same counts."""
        answers = Answers()
        answers.check('one', [('q', [(None, 'a'), (1, None), (1, None)])])
        answers.check('other', [('q', [(1, None), (None, 'a'), (1, None)])])
        for wrong in ([(1, None), (None, 'a')], [(1, None), (None, 'a'), (2, None)]):
            with self.assertRaises(Failure):
                answers.check('third', [('q', wrong)])

    def check(self, determined):
        """off and on answer a query differently; returns what the server is asked then, or Failure."""
        asked = []

        def run(query, variant, sql):
            asked.append((variant, sql))
            return determined[variant]
        server = types.SimpleNamespace(run=run, rig=types.SimpleNamespace(answers=Answers(), cluster=types.SimpleNamespace(major=18)))
        query = tpc.Tpc('ds1', tpc.DS, 'SELECT', 'SELECT ordered')
        self.assertFalse(queries.Server.check(server, query, {'off': [(1,), (2,)], 'on': [(1,), (2,)]}))
        self.assertEqual(asked, [])
        self.assertTrue(queries.Server.check(server, query, {'off': [(1,), (2,)], 'on': [(2,), (1,)]}))
        return asked

    def test_open_order(self):
        """What differs is asked again in an order that tells all rows apart."""
        self.assertEqual(sorted(self.check({'off': [(1,), (2,)], 'on': [(1,), (2,)]})), [('off', 'SELECT ordered'), ('on', 'SELECT ordered')])
        for wrong in ([(1,), (3,)], [(2,), (1,)]):
            with self.assertRaises(Failure):
                self.check({'off': [(1,), (2,)], 'on': wrong})


if __name__ == '__main__':
    unittest.main()
