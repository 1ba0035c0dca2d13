-- Clause 3.3.2.9: d_ytd is the sum of the payments.
SELECT d_w_id, d_id, d_ytd, paid FROM district
LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) AS payments
  ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_ytd IS DISTINCT FROM paid LIMIT 1000;
