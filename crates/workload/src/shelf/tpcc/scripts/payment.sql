-- Clause 2.5: a payment of a customer, 60 % by last name, 15 % of a customer of another warehouse.
\set w_id 1 + :client_id % :scale
\set d_id random(1, 10)
\set remote case when :scale > 1 and random(1, 100) > 85 then 1 else 0 end
\set c_w_id case when :remote = 1 then 1 + (:w_id - 1 + random(1, :scale - 1)) % :scale else :w_id end
\set c_d_id case when :remote = 1 then random(1, 10) else :d_id end
\set by_name case when random(1, 100) <= 60 then 1 else 0 end
\set c_id 1 + ((random(0, 1023) | random(1, 3000)) + 259) % 3000
\set name ((random(0, 255) | random(0, 999)) + 223) % 1000
\set cents random(100, 500000)
\if :keying
\sleep 3 s
\endif
\if :functions
SELECT tpcc_payment(:w_id, :d_id, :c_w_id, :c_d_id, :by_name, :c_id, :name, CAST(:cents AS numeric) / 100);
\else
BEGIN;
-- pgmeter: contended rows = :scale
UPDATE warehouse SET w_ytd = w_ytd + CAST(:cents AS numeric) / 100 WHERE w_id = :w_id
  RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip;
UPDATE district SET d_ytd = d_ytd + CAST(:cents AS numeric) / 100 WHERE d_w_id = :w_id AND d_id = :d_id
  RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip;
\if :by_name
SELECT c_id FROM (
    SELECT c_id, row_number() OVER (ORDER BY c_first) AS place, count(*) OVER () AS customers FROM customer
    WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_last = tpcc_last_name(:name)
  ) AS named
  WHERE place = (customers + 1) / 2 \gset
\endif
UPDATE customer SET c_balance = c_balance - CAST(:cents AS numeric) / 100,
    c_ytd_payment = c_ytd_payment + CAST(:cents AS numeric) / 100, c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, CAST(:d_id AS integer), CAST(:w_id AS integer), round(CAST(:cents AS numeric) / 100, 2), c_data), 500)
      ELSE c_data END
  WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id
  RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) END AS c_data;
INSERT INTO history SELECT CAST(:c_id AS integer), CAST(:c_d_id AS integer), CAST(:c_w_id AS integer), d_id, w_id,
    localtimestamp, CAST(:cents AS numeric) / 100, w_name || '    ' || d_name
  FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = :w_id AND d_id = :d_id;
COMMIT;
\endif
\if :keying
\set think least(120000, int(-12000 * ln(random(1, 1000000) / 1000000.0)))
\sleep :think ms
\endif
