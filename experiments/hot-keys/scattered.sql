\set keys 100000 * :scale
\set aid 1 + permute(random_hot(1, :keys, 0.95, 0.1, :moves), :keys)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
