-- Database "years": lineitem in seven yearly partitions of twelve monthly ones each, with the indexes of the one table on each of them.

ALTER TABLE lineitem RENAME TO loaded;
CREATE TABLE lineitem (LIKE loaded) PARTITION BY RANGE (l_shipdate);
DO $$
DECLARE
    year date;
    month date;
BEGIN
    FOR year IN SELECT generate_series('1992-01-01'::date, '1998-01-01', '1 year') LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF lineitem FOR VALUES FROM (%L) TO (%L) PARTITION BY RANGE (l_shipdate)',
            to_char(year, '"lineitem_"YYYY'), year, (year + interval '1 year')::date);
        FOR month IN SELECT generate_series(year, year + interval '11 months', '1 month') LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', to_char(month, '"lineitem_"YYYY_MM'),
                to_char(year, '"lineitem_"YYYY'), month, (month + interval '1 month')::date);
        END LOOP;
    END LOOP;
END $$;
INSERT INTO lineitem SELECT * FROM loaded ORDER BY l_shipdate, l_orderkey, l_linenumber;
DROP TABLE loaded;
CREATE INDEX lineitem_shipdate_btree ON lineitem (l_shipdate);
CREATE INDEX lineitem_shipdate_brin ON lineitem USING brin (l_shipdate);
