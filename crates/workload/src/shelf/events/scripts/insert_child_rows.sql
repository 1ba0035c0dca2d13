-- :rows events of the newest day in one statement, directly into the child.
\set second random(0, 86399)
\set device random(1, 1000)
\batch :rows
INSERT INTO events_0 (happened, device, kind, value)
SELECT timestamp '2026-01-01' + (CAST(:second AS integer) + n) % 86400 * interval '1 second', 1 + (:device + n) % 1000,
  1 + n % 10, n / 1000.0
FROM generate_series(1, CAST(:rows AS integer)) AS n;
