\set seed random(1, 1000000000)
SELECT tpcb_drawn_batch(:seed / 1000000000.0, 1000, :scale);
