-- Clause 2.6: the last order of a customer, who is selected by last name in 60 %.
\set w_id 1 + :client_id % :scale
\set d_id random(1, 10)
\set by_name case when random(1, 100) <= 60 then 1 else 0 end
\set c_id 1 + ((random(0, 1023) | random(1, 3000)) + 259) % 3000
\set name ((random(0, 255) | random(0, 999)) + 223) % 1000
\if :keying
\sleep 2 s
\endif
\if :functions
SELECT tpcc_order_status(:w_id, :d_id, :by_name, :c_id, :name);
\else
BEGIN;
\if :by_name
SELECT c_id FROM (
    SELECT c_id, row_number() OVER (ORDER BY c_first) AS place, count(*) OVER () AS customers FROM customer
    WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_last = tpcc_last_name(:name)
  ) AS named
  WHERE place = (customers + 1) / 2 \gset
\endif
SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;
SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_c_id = :c_id
  ORDER BY o_id DESC LIMIT 1 \gset
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
  WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id;
COMMIT;
\endif
\if :keying
\set think least(100000, int(-10000 * ln(random(1, 1000000) / 1000000.0)))
\sleep :think ms
\endif
