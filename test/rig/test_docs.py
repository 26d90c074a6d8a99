"""The pages of the project: links, what is there without being shown, sizes, and how long sentences and lines are.
python3 -m unittest discover -s test/rig"""
import re
import unittest
from pathlib import Path
from urllib.parse import unquote

TOP = Path(__file__).resolve().parents[2]
MOST_WORDS = 35             # in a sentence
MOST_ON_AVERAGE = 18
LINE = 110                  # characters, but for tables and code
DOC_BYTES = 1_000_000


def pages():
    found = [*TOP.glob('*.md'), TOP / 'src' / 'README.md', TOP / 'test' / 'sim' / 'README.md',
             TOP / 'scripts' / 'packaging' / 'README.md', *(TOP / 'doc').rglob('*.md')]
    return {path: path.read_text(encoding='utf-8') for path in found}


def is_report(path):
    """What scripts/bench has written."""
    return 'benchmarks' in path.relative_to(TOP).parent.parts


def without_code(text):
    return re.sub(r'^ {4}.*$', '', re.sub(r'^```.*?^```$', '', text, flags=re.S | re.M), flags=re.M)


def links(path, text):
    """Files that a page links to or shows, and the headings in them."""
    for target in re.findall(r'\]\(([^)\s]+)\)', without_code(text)):
        if not re.match(r'[a-z]+:', target):
            name, _, heading = target.partition('#')
            yield (path.parent / unquote(name)).resolve() if name else path, heading


def anchors(text):
    """As GitHub makes them of headings."""
    headings = re.findall(r'^#+ (.*)$', without_code(text), flags=re.M)
    return {re.sub(r'[^\w\- ]', '', re.sub(r'[`*]', '', heading).lower()).replace(' ', '-') for heading in headings}


def sentences(text):
    for paragraph in re.split(r'\n\s*\n|\n(?=\s*[-*] |\s*\d+\. )', without_code(text)):
        lines = [line for line in paragraph.split('\n') if not re.match(r'\s*(\||#|!\[|<)', line)]
        plain = re.sub(r'`[^`]*`', 'code', re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', ' '.join(lines)))
        for sentence in re.split(r'(?<=[.!?:])\s+(?=[A-Z(`"0-9])', re.sub(r'[*_]{1,3}', '', plain)):
            if len(sentence.split()) > 2:
                yield sentence.strip()


class Docs(unittest.TestCase):
    maxDiff = None

    def test_links(self):
        texts = pages()
        broken = []
        for path, text in texts.items():
            for target, heading in links(path, text):
                if not target.exists() or heading and heading not in anchors(texts.get(target, '')):
                    broken.append(f'{path.relative_to(TOP)}: {target.name}#{heading}')
        self.assertEqual(broken, [])

    def test_referenced(self):
        shown = {target for path, text in pages().items() for target, _ in links(path, text)}
        files = [path for path in (TOP / 'doc').rglob('*') if path.is_file()]
        self.assertEqual([str(path.relative_to(TOP)) for path in files if path not in shown], [])

    def test_size(self):
        self.assertLess(sum(path.stat().st_size for path in (TOP / 'doc').rglob('*') if path.is_file()), DOC_BYTES)

    def test_sentences(self):
        for path, text in pages().items():
            if is_report(path):
                continue
            lengths = [(len(sentence.split()), sentence) for sentence in sentences(text)]
            with self.subTest(path.relative_to(TOP)):
                self.assertEqual([sentence for words, sentence in lengths if words > MOST_WORDS], [])
                self.assertLessEqual(sum(words for words, _ in lengths), MOST_ON_AVERAGE * len(lengths))

    def test_lines(self):
        for path, text in pages().items():
            if is_report(path):
                continue
            long = [line for line in without_code(text).split('\n') if len(line) > LINE and not re.match(r'\s*(\||!\[|<)', line)]
            with self.subTest(path.relative_to(TOP)):
                self.assertEqual(long, [])


if __name__ == '__main__':
    unittest.main()
