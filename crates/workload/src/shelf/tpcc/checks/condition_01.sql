-- Clause 3.3.2.1: w_ytd is the sum of d_ytd.
SELECT w_id, w_ytd, total FROM warehouse
LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM district GROUP BY d_w_id) AS districts ON d_w_id = w_id
WHERE w_ytd IS DISTINCT FROM total LIMIT 1000;
