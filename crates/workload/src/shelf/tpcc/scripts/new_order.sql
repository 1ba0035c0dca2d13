-- Clause 2.4: an order of 5 to 15 lines. Each statement works on all lines.
\set w_id 1 + :client_id % :scale
\set d_id random(1, 10)
\set c_id 1 + ((random(0, 1023) | random(1, 3000)) + 259) % 3000
\set lines random(5, 15)
\set items array(:lines - 1, 1 + ((random(0, 8191) | random(1, 100000)) + 7911) % 100000)
-- 1 % of the orders has an item that does not exist, and is rolled back.
\set last_item case when random(1, 100) = 1 then 100001 else 1 + ((random(0, 8191) | random(1, 100000)) + 7911) % 100000 end
-- 1 % of the lines is supplied by another warehouse.
\set supplies array(:lines, case when :scale > 1 and random(1, 100) = 1 then 1 + (:w_id - 1 + random(1, :scale - 1)) % :scale else :w_id end)
\set quantities array(:lines, random(1, 10))
\if :keying
\sleep 18 s
\endif
BEGIN;
\if :functions
SELECT tpcc_new_order(:w_id, :d_id, :c_id, array_append(CAST(:items AS integer[]), CAST(:last_item AS integer)), CAST(:supplies AS integer[]), CAST(:quantities AS integer[])) AS inserted \gset
\else
SELECT w_tax, c_discount, c_last, c_credit FROM warehouse, customer
  WHERE w_id = :w_id AND c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;
-- pgmeter: contended rows = 10 * :scale
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w_id AND d_id = :d_id
  RETURNING d_tax, d_next_o_id - 1 AS o_id \gset
INSERT INTO orders VALUES (:o_id, :d_id, :w_id, :c_id, localtimestamp, NULL, :lines,
  CASE WHEN :w_id = ALL (CAST(:supplies AS integer[])) THEN 1 ELSE 0 END);
INSERT INTO new_order VALUES (:o_id, :d_id, :w_id);
SELECT i_price, i_name, s_quantity,
    CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END AS brand_generic
  FROM stock JOIN item ON i_id = s_i_id
  WHERE (s_w_id, s_i_id) IN (
    SELECT supply, item FROM unnest(CAST(:supplies AS integer[]),
      array_append(CAST(:items AS integer[]), CAST(:last_item AS integer))) AS lines (supply, item))
  ORDER BY s_w_id, s_i_id FOR UPDATE OF stock;
UPDATE stock SET
    s_quantity = s_quantity - quantity + CASE WHEN s_quantity - quantity >= 10 THEN 0 ELSE 91 END,
    s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + lines,
    s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE lines END
  FROM (
    SELECT item, supply, CAST(sum(quantity) AS integer) AS quantity, CAST(count(*) AS integer) AS lines
    FROM unnest(array_append(CAST(:items AS integer[]), CAST(:last_item AS integer)),
      CAST(:supplies AS integer[]), CAST(:quantities AS integer[])) AS lines (item, supply, quantity)
    GROUP BY item, supply
  ) AS ordered
  WHERE s_w_id = supply AND s_i_id = item;
WITH inserted AS (
  INSERT INTO order_line
  SELECT CAST(:o_id AS integer), CAST(:d_id AS integer), CAST(:w_id AS integer), number, item, supply, NULL, quantity,
    quantity * i_price,
    CASE CAST(:d_id AS integer) WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
      WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
      WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
  FROM unnest(array_append(CAST(:items AS integer[]), CAST(:last_item AS integer)),
    CAST(:supplies AS integer[]), CAST(:quantities AS integer[])) WITH ORDINALITY AS lines (item, supply, quantity, number)
  JOIN item ON i_id = item JOIN stock ON s_w_id = supply AND s_i_id = item
  RETURNING ol_amount)
SELECT count(*) AS inserted, sum(ol_amount) AS amount FROM inserted \gset
\endif
\if :inserted < :lines
ROLLBACK;
\else
COMMIT;
\endif
\if :keying
\set think least(120000, int(-12000 * ln(random(1, 1000000) / 1000000.0)))
\sleep :think ms
\endif
