-- An event of the newest day, through the parent.
\set second random(0, 86399)
\set device random(1, 1000)
\set kind random(1, 10)
\set value random(0, 1000000)
INSERT INTO events (happened, device, kind, value)
VALUES (timestamp '2026-01-01' + CAST(:second AS integer) * interval '1 second', :device, :kind, :value / 1000.0);
