-- Database "columns": lineitem in the order of l_shipdate, with the indexes of database "tpch" on that column, and one of the columns that Q1 and Q6 need.

CREATE EXTENSION cscan;
CREATE INDEX lineitem_order ON lineitem (l_shipdate, l_orderkey, l_linenumber);
CLUSTER lineitem USING lineitem_order;
DROP INDEX lineitem_order;
CREATE INDEX lineitem_shipdate_btree ON lineitem (l_shipdate);
CREATE INDEX lineitem_shipdate_brin ON lineitem USING brin (l_shipdate);
CREATE INDEX lineitem_columns ON lineitem
    USING cscan_columns (l_shipdate, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus);
