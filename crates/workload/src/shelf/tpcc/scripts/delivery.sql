-- Clause 2.7: delivers the oldest order of each district. One statement works on all ten districts.
\set w_id 1 + :client_id % :scale
\set carrier random(1, 10)
\if :keying
\sleep 2 s
\endif
\if :functions
SELECT tpcc_delivery(:w_id, :carrier);
\else
WITH oldest AS (
  SELECT district, no_o_id AS id FROM generate_series(1, 10) AS district CROSS JOIN LATERAL (
    SELECT no_o_id FROM new_order WHERE no_w_id = :w_id AND no_d_id = district ORDER BY no_o_id LIMIT 1 FOR UPDATE
  ) AS locked),
removed AS (
  DELETE FROM new_order USING oldest WHERE no_w_id = :w_id AND no_d_id = district AND no_o_id = id),
delivered AS (
  UPDATE orders SET o_carrier_id = :carrier FROM oldest WHERE o_w_id = :w_id AND o_d_id = district AND o_id = id
  RETURNING district, o_c_id),
lines AS (
  UPDATE order_line SET ol_delivery_d = localtimestamp FROM oldest
  WHERE ol_w_id = :w_id AND ol_d_id = district AND ol_o_id = id RETURNING district, ol_amount)
UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
  FROM delivered JOIN (SELECT district, sum(ol_amount) AS amount FROM lines GROUP BY district) AS amounts USING (district)
  WHERE c_w_id = :w_id AND c_d_id = district AND c_id = o_c_id;
\endif
\if :keying
\set think least(50000, int(-5000 * ln(random(1, 1000000) / 1000000.0)))
\sleep :think ms
\endif
