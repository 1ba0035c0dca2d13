\set bid random(1, :scale)
SELECT bbalance FROM pgbench_branches WHERE bid = :bid;
