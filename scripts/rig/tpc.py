"""TPC-H and TPC-DS as DuckDB's generators make them: tables, rows and the texts of the queries, for PostgreSQL.

DuckDB and its extensions tpch and tpcds come from PyPI, all of one version, so that everybody measures the same queries.  DuckDB
itself checks that its extensions are signed.  PostgreSQL understands the texts as they are, and gives DuckDB's answers.

A query has a name: 'h6' is TPC-H's sixth, 'ds18' TPC-DS's 18th.

    PACKAGES                    what pip has to install; python -m rig.tpc prints those that are missing
    H, DS, DATABASES            the databases of the 22 and of the 99, and both
    queries()                   Tpc of each query, in the order of their numbers; without those of LEFT_OUT
    checksum(database)          of what a database is made by
    fill(connection, database, scale)
                                tables, rows, primary keys, indexes on what refers to them; returns rows and bytes of all tables

    determined(text, columns)   the same query, whose ORDER BY tells all rows apart that differ
    keys(database, tables)      the statements that make keys and indexes; tables: name -> names of columns
"""
import functools
import importlib.metadata
import importlib.util
import re
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import NamedTuple

from .cluster import Failure
from .progress import note

VERSION = '1.5.5'
PACKAGES = tuple(f'{name}=={VERSION}' for name in ('duckdb', 'duckdb-extension-tpch', 'duckdb-extension-tpcds'))
DATABASES = H, DS = 'dbgen', 'dsdgen'       # named after the generators
PREFIX = {H: 'h', DS: 'ds'}
EXTENSION = {H: 'tpch', DS: 'tpcds'}
MB = 1024 * 1024

# PostgreSQL does not end these within 60 s at scale 1, with or without cscan.
LEFT_OUT = ('ds1', 'ds4', 'ds6', 'ds11', 'ds74', 'ds81')

PRIMARY = {
    H: {'region': 'r_regionkey', 'nation': 'n_nationkey', 'supplier': 's_suppkey', 'part': 'p_partkey', 'partsupp': 'ps_partkey, ps_suppkey',
        'customer': 'c_custkey', 'orders': 'o_orderkey', 'lineitem': 'l_orderkey, l_linenumber'},
    DS: {'call_center': 'cc_call_center_sk', 'catalog_page': 'cp_catalog_page_sk', 'catalog_returns': 'cr_item_sk, cr_order_number',
         'catalog_sales': 'cs_item_sk, cs_order_number', 'customer': 'c_customer_sk', 'customer_address': 'ca_address_sk',
         'customer_demographics': 'cd_demo_sk', 'date_dim': 'd_date_sk', 'household_demographics': 'hd_demo_sk', 'income_band': 'ib_income_band_sk',
         'inventory': 'inv_date_sk, inv_item_sk, inv_warehouse_sk', 'item': 'i_item_sk', 'promotion': 'p_promo_sk', 'reason': 'r_reason_sk',
         'ship_mode': 'sm_ship_mode_sk', 'store': 's_store_sk', 'store_returns': 'sr_item_sk, sr_ticket_number',
         'store_sales': 'ss_item_sk, ss_ticket_number', 'time_dim': 't_time_sk', 'warehouse': 'w_warehouse_sk', 'web_page': 'wp_web_page_sk',
         'web_returns': 'wr_item_sk, wr_order_number', 'web_sales': 'ws_item_sk, ws_order_number', 'web_site': 'web_site_sk'}}
REFERS = {H: 'key', DS: '_sk'}      # a column whose name ends so is a key: its table's own, or one that refers to another's


class Tpc(NamedTuple):
    name: str
    database: str
    sql: str
    determined: str         # the same, in an order that tells all rows apart


def missing():
    """Of PACKAGES, also those of another version."""
    def found(name):
        try:
            return f'{name}=={importlib.metadata.version(name)}'
        except importlib.metadata.PackageNotFoundError:
            return None
    return [package for package in PACKAGES if found(package.split('==')[0]) != package]


def connect(database):
    """DuckDB, with the generator of a database."""
    if missing():
        raise Failure(f'TPC-H and TPC-DS come from DuckDB; "pip install {" ".join(missing())}" gets it')
    import duckdb                               # not needed by other experiments
    package = importlib.util.find_spec(f'duckdb_extension_{EXTENSION[database]}')
    connection = duckdb.connect()
    connection.execute(f"LOAD '{Path(package.origin).parent}/extensions/v{VERSION}/{EXTENSION[database]}.duckdb_extension'")
    return connection


@functools.cache
def queries():
    found = []
    for database in DATABASES:
        with connect(database) as source:
            source.execute(f'CALL {database}(sf = 0)')          # tables without rows, so that queries can be described
            for number, text in source.execute(f'SELECT query_nr, query FROM {EXTENSION[database]}_queries() ORDER BY query_nr').fetchall():
                name = f'{PREFIX[database]}{number}'
                if name not in LEFT_OUT:
                    sql = text.strip().rstrip(';')
                    columns = len(source.execute(f'DESCRIBE {sql}').fetchall())
                    found.append(Tpc(name, database, sql, determined(sql, columns)))
    return found


def top_level(text, pattern):
    """The last match that is in no parentheses and in no quotes, or None."""
    plain, depth, quote = [], 0, ''
    for character in text:
        if quote:
            quote = '' if character == quote else quote
            plain.append(' ')
            continue
        quote = character if character in '\'"' else ''
        depth -= character == ')'
        plain.append(character if depth == 0 and not quote else ' ')
        depth += character == '('
    found = list(re.finditer(pattern, ''.join(plain), re.I))
    return found[-1] if found else None


def determined(text, columns):
    """A LIMIT cuts rows that are alike in what they are ordered by: which of them are left is then anybody's guess.  All columns are
    appended to ORDER BY, by their numbers.  A query without ORDER BY stays as it is."""
    order = top_level(text, r'\border\s+by\b')
    if not order:
        return text
    limit = top_level(text, r'\blimit\s+\d+')
    end = limit.start() if limit and limit.start() > order.start() else len(text)
    numbers = ', '.join(map(str, range(1, columns + 1)))
    return f'{text[:end].rstrip()}, {numbers} {text[end:]}'.rstrip()


def keys(database, tables):
    for table, primary in PRIMARY[database].items():
        yield f'ALTER TABLE {table} ADD PRIMARY KEY ({primary})'
        for column in tables[table]:
            if column.endswith(REFERS[database]) and column != primary.split(',')[0]:
                yield f'CREATE INDEX ON {table} ({column})'


def checksum(database):
    return zlib.crc32(repr((VERSION, PRIMARY[database], REFERS[database])).encode())


def fill(connection, database, scale):
    with connect(database) as source, tempfile.TemporaryDirectory(dir='/var/tmp') as place:
        note(f'generating {EXTENSION[database]}')
        source.execute(f"SET temp_directory = '{place}'")
        source.execute(f'CALL {database}(sf = {scale:g})')
        tables = {}
        for table, definition in source.execute('SELECT table_name, sql FROM duckdb_tables() ORDER BY table_name').fetchall():
            tables[table] = [row[0] for row in source.execute('SELECT column_name FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index',
                                                              [table]).fetchall()]
            path = Path(place) / f'{table}.csv'
            source.execute(f"COPY {table} TO '{path}' (FORMAT csv, HEADER)")
            with connection.transaction():      # frozen at once, and without WAL
                connection.execute(definition)  # whose types PostgreSQL has, too
                copy_file(connection, table, path)
            path.unlink()
    note('making indexes')
    for statement in keys(database, tables):
        connection.execute(statement)
    connection.execute('VACUUM (FREEZE, ANALYZE)')
    connection.execute('CHECKPOINT')
    rows = sum(connection.execute(f'SELECT count(*) FROM {table}').fetchone()[0] for table in tables)
    return {'rows': rows, 'bytes': connection.execute('SELECT sum(pg_relation_size(oid))::bigint FROM pg_class WHERE relname = ANY (%s)',
                                                      [list(tables)]).fetchone()[0]}


def copy_file(connection, table, path):
    with open(path, 'rb') as rows, connection.cursor().copy(f'COPY {table} FROM STDIN (FORMAT csv, HEADER, FREEZE)') as copy:
        note(f'loading {table}: {path.stat().st_size // MB} MB')
        shutil.copyfileobj(rows, Writer(copy), 4 * MB)


class Writer:
    def __init__(self, copy):
        self.write = copy.write


if __name__ == '__main__':
    print(*missing())
