DROP TABLE IF EXISTS t_uuid, t_int;
CREATE TABLE t_uuid (id uuid) WITH (fillfactor = 50, autovacuum_enabled = off);
INSERT INTO t_uuid SELECT md5(i::text)::uuid FROM generate_series(1, :rows) AS i;
-- All pages in memory, and their hint bits set: what is timed should write, and not read.
SELECT count(*) FROM t_uuid;
