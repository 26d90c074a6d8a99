-- Database "members": lineitem in partitions of as many rows each, 0.6 MB, in the order of l_shipdate; 1,500 at scale 1. They have no index:
-- pruning leaves at most two of them that a range does not want all of.

ALTER TABLE lineitem RENAME TO loaded;
CREATE TABLE lineitem (LIKE loaded) PARTITION BY RANGE (l_shipdate, l_orderkey);
DO $$
DECLARE
    row record;
BEGIN
    FOR row IN
        SELECT number, format('%L, %L', l_shipdate, l_orderkey) AS first, lead(format('%L, %L', l_shipdate, l_orderkey)) OVER (ORDER BY number) AS next
        FROM (SELECT l_shipdate, l_orderkey, part AS number, row_number() OVER (PARTITION BY part ORDER BY l_shipdate, l_orderkey, l_linenumber) AS place
              FROM (SELECT l_shipdate, l_orderkey, l_linenumber, ntile(:members) OVER (ORDER BY l_shipdate, l_orderkey, l_linenumber) AS part
                    FROM loaded) AS parts) AS places
        WHERE place = 1
    LOOP
        EXECUTE format('CREATE TABLE lineitem_%s PARTITION OF lineitem FOR VALUES FROM (%s) TO (%s)', to_char(row.number, 'FM0000'),
            CASE row.number WHEN 1 THEN 'MINVALUE, MINVALUE' ELSE row.first END, coalesce(row.next, 'MAXVALUE, MAXVALUE'));
    END LOOP;
END $$;
INSERT INTO lineitem SELECT * FROM loaded ORDER BY l_shipdate, l_orderkey, l_linenumber;
DROP TABLE loaded;
