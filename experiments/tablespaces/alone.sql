-- The same rows for everybody, one by one through the index, in one process.
VACUUM ANALYZE readings;
SET max_parallel_workers_per_gather = 0;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT setseed(0.4711);
