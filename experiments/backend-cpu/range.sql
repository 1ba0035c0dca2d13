\set aid random(1, 100000 * :scale - 10000)
SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :aid AND :aid + 9999;
