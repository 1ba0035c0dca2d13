-- A device on one day: the planner leaves out the other partitions.
\set device random(1, 1000)
\set day random(0, :partitions - 1)
SELECT count(*), sum(value)
FROM events
WHERE device = :device AND happened >= timestamp '2026-01-01' - CAST(:day AS integer) * interval '1 day'
  AND happened < timestamp '2026-01-02' - CAST(:day AS integer) * interval '1 day';
