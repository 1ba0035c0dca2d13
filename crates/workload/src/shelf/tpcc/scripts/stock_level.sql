-- Clause 2.8: items of the last 20 orders of a district whose stock is low. Each client has its own district.
\set w_id 1 + :client_id % :scale
\set d_id 1 + :client_id / :scale % 10
\set threshold random(10, 20)
\if :keying
\sleep 2 s
\endif
\if :functions
SELECT tpcc_stock_level(:w_id, :d_id, :threshold);
\else
BEGIN;
SELECT d_next_o_id AS next_o_id FROM district WHERE d_w_id = :w_id AND d_id = :d_id \gset
SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = :w_id AND s_i_id = ol_i_id
  WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id >= CAST(:next_o_id AS integer) - 20 AND ol_o_id < :next_o_id
  AND s_quantity < :threshold;
COMMIT;
\endif
\if :keying
\set think least(50000, int(-5000 * ln(random(1, 1000000) / 1000000.0)))
\sleep :think ms
\endif
