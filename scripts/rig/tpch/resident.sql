-- Table "resident" of database "resident": 1,500 partitions of 1 MB of rows as wide as lineitem's, and one, 0, with a single row.

CREATE TABLE resident (member integer NOT NULL, filler text) PARTITION BY LIST (member);
CREATE TEMPORARY TABLE one ON COMMIT DROP AS SELECT repeat('x', 108) AS filler FROM generate_series(1, 128 * 54);
DO $$
BEGIN
    FOR member IN 0 .. 1500 LOOP
        EXECUTE format('CREATE TABLE resident_%s PARTITION OF resident FOR VALUES IN (%s)', to_char(member, 'FM0000'), member);
        EXECUTE format('INSERT INTO resident_%s SELECT %s, filler FROM one LIMIT %s', to_char(member, 'FM0000'), member,
            CASE member WHEN 0 THEN 1 ELSE 128 * 54 END);
    END LOOP;
END $$;
