-- Clause 3.3.2.8: w_ytd is the sum of the payments.
SELECT w_id, w_ytd, paid FROM warehouse
LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) AS payments ON h_w_id = w_id
WHERE w_ytd IS DISTINCT FROM paid LIMIT 1000;
