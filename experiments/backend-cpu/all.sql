\set aid random(1, 100000 * :scale)
\set bid random(1, :scale)
\set first random(1, 100000 * :scale - 10000)
\set delta random(-5000, 5000)
SELECT bbalance FROM pgbench_branches WHERE bid = :bid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :first AND :first + 9999;
SELECT sum(sqrt(n)) FROM generate_series(1, 20000) AS n;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
