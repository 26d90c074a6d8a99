-- Database "months": lineitem in 84 monthly partitions, with the indexes of the one table on each of them.

ALTER TABLE lineitem RENAME TO loaded;
CREATE TABLE lineitem (LIKE loaded) PARTITION BY RANGE (l_shipdate);
DO $$
DECLARE
    month date;
BEGIN
    FOR month IN SELECT generate_series('1992-01-01'::date, '1998-12-01', '1 month') LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF lineitem FOR VALUES FROM (%L) TO (%L)', to_char(month, '"lineitem_"YYYY_MM'), month,
            (month + interval '1 month')::date);
    END LOOP;
END $$;
INSERT INTO lineitem SELECT * FROM loaded ORDER BY l_shipdate, l_orderkey, l_linenumber;
DROP TABLE loaded;
CREATE INDEX lineitem_shipdate_btree ON lineitem (l_shipdate);
CREATE INDEX lineitem_shipdate_brin ON lineitem USING brin (l_shipdate);
