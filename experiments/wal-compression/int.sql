DROP TABLE IF EXISTS t_uuid, t_int;
CREATE TABLE t_int (id int) WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO t_int SELECT i FROM generate_series(1, :rows * 7 / 5) AS i;
-- All pages in memory, and their hint bits set: what is timed should write, and not read.
SELECT count(*) FROM t_int;
