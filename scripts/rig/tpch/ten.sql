-- Database "ten": a table of ten columns of 8 bytes each, in which no value repeats, and an index of all of them.  As many rows as :rows says.

CREATE EXTENSION cscan;
CREATE TABLE ten (id bigint, a bigint, b bigint, c bigint, d bigint, e bigint, f bigint, g bigint, h bigint, i bigint, j bigint);
INSERT INTO ten
    SELECT n, hashint8extended(n, 1), hashint8extended(n, 2), hashint8extended(n, 3), hashint8extended(n, 4), hashint8extended(n, 5),
        hashint8extended(n, 6), hashint8extended(n, 7), hashint8extended(n, 8), hashint8extended(n, 9), hashint8extended(n, 10)
    FROM generate_series(1, :rows) n;
CREATE INDEX ten_columns ON ten USING cscan_columns (id, a, b, c, d, e, f, g, h, i, j) WITH (row_group_blocks = 256);
