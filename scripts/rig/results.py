"""Rows that are kept while they come in, so that an interrupted run goes on where it was.

rows.jsonl has one line of conditions, and then one for each row that an experiment yielded, and for facts as they became known.
Rows are of use to a later run if what they were measured under, their conditions, is the same.

    Results(directory, conditions, again)   what is there; Failure if it was measured under other conditions; again: it goes
    results.facts                           those that are known of the rows so far
    results.keep_facts(facts)
    results.rows                            the rows so far
    results.done(major, name, point, run)   variants that need not be measured
    results.add(row)                        kept at once
"""
import json
from pathlib import Path

from .cluster import Failure


class Results:
    def __init__(self, directory, conditions, again):
        self.path, self.rows = Path(directory) / 'rows.jsonl', []
        self.facts = {}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists() and not again:
            self.read(json.loads(json.dumps(conditions)))
        else:
            self.path.write_text(json.dumps({'conditions': conditions}) + '\n')

    def read(self, conditions):
        lines = self.path.read_text().splitlines(keepends=True)
        before = json.loads(lines[0])['conditions'] if lines else {}
        other = [f'{name} {before.get(name)}, not {conditions.get(name)}' for name in {**before, **conditions}
                 if before.get(name) != conditions.get(name)]
        if other:
            raise Failure(f'{self.path.parent} has results of other conditions ({"; ".join(other)}): choose another --out, or --again')
        if not lines[-1].endswith('\n'):            # the last one was being written when the run ended
            self.path.write_text(''.join(lines[:-1]))
            lines.pop()
        for one in map(json.loads, lines[1:]):
            if 'facts' in one:
                self.facts.update(one['facts'])
            else:
                self.rows.append(one)

    def keep_facts(self, facts):
        self.facts.update(facts)
        self.append({'facts': facts})

    def done(self, major, name, point, run):
        return {row['variant'] for row in self.rows if (row['major'], row['experiment'], row['point'], row['run']) == (major, name, point, run)}

    def add(self, row):
        self.rows.append(row)
        self.append(row)

    def append(self, one):
        with open(self.path, 'a') as file:
            file.write(json.dumps(one) + '\n')
