-- A device on all days: the plan has an index scan for each partition.
\set device random(1, 1000)
SELECT count(*), sum(value) FROM events WHERE device = :device;
