\set aid random_hot(1, 100000 * :scale, 0.95, 0.1, :moves)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
