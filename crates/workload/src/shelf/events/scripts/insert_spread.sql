-- An event of any day, through the parent.
\set second random(0, 86400 * :partitions - 1)
\set device random(1, 1000)
\set kind random(1, 10)
\set value random(0, 1000000)
INSERT INTO events (happened, device, kind, value)
VALUES (timestamp '2026-01-02' - (CAST(:second AS integer) + 1) * interval '1 second', :device, :kind, :value / 1000.0);
