-- Clause 3.3.2.6: o_ol_cnt is the number of lines of the order.
SELECT o_w_id, o_d_id, o_id, o_ol_cnt, found FROM orders
FULL JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS lines
  ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_ol_cnt IS DISTINCT FROM found LIMIT 1000;
