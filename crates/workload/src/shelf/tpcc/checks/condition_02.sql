-- Clause 3.3.2.2: d_next_o_id - 1 is the greatest o_id, and the greatest no_o_id if there is one.
SELECT d_w_id, d_id, d_next_o_id, last_order, last_new_order FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) AS ordered
  ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_new_order FROM new_order GROUP BY no_w_id, no_d_id) AS open
  ON no_w_id = d_w_id AND no_d_id = d_id
WHERE last_order IS DISTINCT FROM d_next_o_id - 1 OR last_new_order <> d_next_o_id - 1 LIMIT 1000;
