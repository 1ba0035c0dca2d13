-- Clause 3.3.2.4: the sum of o_ol_cnt is the number of order lines, for each district.
SELECT * FROM (SELECT o_w_id AS w_id, o_d_id AS d_id, sum(o_ol_cnt) AS expected FROM orders GROUP BY o_w_id, o_d_id) AS ordered
FULL JOIN (SELECT ol_w_id AS w_id, ol_d_id AS d_id, count(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id) AS lines
  USING (w_id, d_id)
WHERE expected IS DISTINCT FROM found LIMIT 1000;
