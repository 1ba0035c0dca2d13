\set seed random(1, 1000000000)
-- A batch of 1,000 takes nearly all branches.
-- pgmeter: contended rows = 1
SELECT tpcb_drawn_batch(:seed / 1000000000.0, 1000, :scale);
