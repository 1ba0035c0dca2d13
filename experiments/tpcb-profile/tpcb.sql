-- The profile of TPC Benchmark B, standard 2.0: a teller's branch follows from the teller; 85 of 100 accounts belong to
-- the teller's branch, the others to another one (all to it where there is no other); the program receives the balance.
\set tid random(1, 10 * :scale)
\set bid 1 + (:tid - 1) / 10
\if :scale = 1 or random(1, 100) <= 85
    \set home :bid
\else
    \set home 1 + (:bid - 1 + random(1, :scale - 1)) % :scale
\endif
\set aid 100000 * (:home - 1) + random(1, 100000)
\set delta random(-999999, 999999)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid RETURNING abalance \gset
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
-- pgmeter: contended rows = :scale
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
