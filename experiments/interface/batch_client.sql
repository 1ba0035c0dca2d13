\set aids array(1000, random(1, 100000 * :scale))
\set bids array(1000, random(1, 1 * :scale))
\set tids array(1000, random(1, 10 * :scale))
\set deltas array(1000, random(-5000, 5000))
-- A batch of 1,000 takes nearly all branches.
-- pgmeter: contended rows = 1
SELECT tpcb_batch(:aids, :bids, :tids, :deltas);
