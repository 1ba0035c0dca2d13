-- Clause 3.3.2.3: the new orders of a district have consecutive numbers.
SELECT no_w_id, no_d_id, min(no_o_id), max(no_o_id), count(*) FROM new_order GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*) LIMIT 1000;
