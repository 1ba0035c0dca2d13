-- Clause 3.3.2.11: 2,100 orders of a district are no new orders after the load, and one more after each delivery.
SELECT * FROM (SELECT o_w_id AS w_id, o_d_id AS d_id, count(*) AS ordered FROM orders GROUP BY o_w_id, o_d_id) AS orders
JOIN (SELECT c_w_id AS w_id, c_d_id AS d_id, sum(c_delivery_cnt) AS delivered FROM customer GROUP BY c_w_id, c_d_id) AS customers
  USING (w_id, d_id)
LEFT JOIN (SELECT no_w_id AS w_id, no_d_id AS d_id, count(*) AS open FROM new_order GROUP BY no_w_id, no_d_id) AS new_orders
  USING (w_id, d_id)
WHERE ordered - coalesce(open, 0) <> 2100 + delivered LIMIT 1000;
