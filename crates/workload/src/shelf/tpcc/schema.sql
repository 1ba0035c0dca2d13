-- The tables of TPC-C, clause 1.3. The index set foreign_keys adds the foreign keys.
CREATE TABLE warehouse (
  w_id integer NOT NULL,
  w_name varchar(10),
  w_street_1 varchar(20),
  w_street_2 varchar(20),
  w_city varchar(20),
  w_state char(2),
  w_zip char(9),
  w_tax numeric(4, 4),
  w_ytd numeric(12, 2)
);
CREATE TABLE district (
  d_id integer NOT NULL,
  d_w_id integer NOT NULL,
  d_name varchar(10),
  d_street_1 varchar(20),
  d_street_2 varchar(20),
  d_city varchar(20),
  d_state char(2),
  d_zip char(9),
  d_tax numeric(4, 4),
  d_ytd numeric(12, 2),
  d_next_o_id integer
);
CREATE TABLE customer (
  c_id integer NOT NULL,
  c_d_id integer NOT NULL,
  c_w_id integer NOT NULL,
  c_first varchar(16),
  c_middle char(2),
  c_last varchar(16),
  c_street_1 varchar(20),
  c_street_2 varchar(20),
  c_city varchar(20),
  c_state char(2),
  c_zip char(9),
  c_phone char(16),
  c_since timestamp,
  c_credit char(2),
  c_credit_lim numeric(12, 2),
  c_discount numeric(4, 4),
  c_balance numeric(12, 2),
  c_ytd_payment numeric(12, 2),
  c_payment_cnt integer,
  c_delivery_cnt integer,
  c_data varchar(500)
);
CREATE TABLE history (
  h_c_id integer,
  h_c_d_id integer,
  h_c_w_id integer,
  h_d_id integer,
  h_w_id integer,
  h_date timestamp,
  h_amount numeric(6, 2),
  h_data varchar(24)
);
CREATE TABLE new_order (
  no_o_id integer NOT NULL,
  no_d_id integer NOT NULL,
  no_w_id integer NOT NULL
);
CREATE TABLE orders (
  o_id integer NOT NULL,
  o_d_id integer NOT NULL,
  o_w_id integer NOT NULL,
  o_c_id integer,
  o_entry_d timestamp,
  o_carrier_id integer,
  o_ol_cnt integer,
  o_all_local integer
);
CREATE TABLE order_line (
  ol_o_id integer NOT NULL,
  ol_d_id integer NOT NULL,
  ol_w_id integer NOT NULL,
  ol_number integer NOT NULL,
  ol_i_id integer,
  ol_supply_w_id integer,
  ol_delivery_d timestamp,
  ol_quantity integer,
  ol_amount numeric(6, 2),
  ol_dist_info char(24)
);
CREATE TABLE item (
  i_id integer NOT NULL,
  i_im_id integer,
  i_name varchar(24),
  i_price numeric(5, 2),
  i_data varchar(50)
);
CREATE TABLE stock (
  s_i_id integer NOT NULL,
  s_w_id integer NOT NULL,
  s_quantity integer,
  s_dist_01 char(24),
  s_dist_02 char(24),
  s_dist_03 char(24),
  s_dist_04 char(24),
  s_dist_05 char(24),
  s_dist_06 char(24),
  s_dist_07 char(24),
  s_dist_08 char(24),
  s_dist_09 char(24),
  s_dist_10 char(24),
  s_ytd integer,
  s_order_cnt integer,
  s_remote_cnt integer,
  s_data varchar(50)
);

-- The last name of a number from 0 to 999, clause 4.3.2.3.
CREATE OR REPLACE FUNCTION tpcc_last_name(number integer) RETURNS varchar LANGUAGE sql IMMUTABLE AS $$
  SELECT CAST(concat(syllables[1 + number / 100], syllables[1 + number / 10 % 10], syllables[1 + number % 10]) AS varchar)
  FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'] AS syllables) AS names;
$$;

-- The transactions with the parameter functions=1. Their statements are those of the scripts.
-- Returns the number of lines that were inserted: a line whose item does not exist is not among them.
CREATE OR REPLACE FUNCTION tpcc_new_order(warehouse_id integer, district_id integer, customer_id integer,
  items integer[], supplies integer[], quantities integer[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  order_id integer;
  inserted bigint;
BEGIN
  PERFORM w_tax, c_discount, c_last, c_credit FROM warehouse, customer
  WHERE w_id = warehouse_id AND c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = warehouse_id AND d_id = district_id
  RETURNING d_next_o_id - 1 INTO order_id;
  INSERT INTO orders VALUES (order_id, district_id, warehouse_id, customer_id, localtimestamp, NULL,
    cardinality(items), CASE WHEN warehouse_id = ALL (supplies) THEN 1 ELSE 0 END);
  INSERT INTO new_order VALUES (order_id, district_id, warehouse_id);
  PERFORM i_price, i_name, s_quantity,
    CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%' THEN 'B' ELSE 'G' END
  FROM stock JOIN item ON i_id = s_i_id
  WHERE (s_w_id, s_i_id) IN (SELECT supply, item FROM unnest(supplies, items) AS lines (supply, item))
  ORDER BY s_w_id, s_i_id FOR UPDATE OF stock;
  UPDATE stock SET
    s_quantity = s_quantity - quantity + CASE WHEN s_quantity - quantity >= 10 THEN 0 ELSE 91 END,
    s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + lines,
    s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = warehouse_id THEN 0 ELSE lines END
  FROM (
    SELECT item, supply, CAST(sum(quantity) AS integer) AS quantity, CAST(count(*) AS integer) AS lines
    FROM unnest(items, supplies, quantities) AS lines (item, supply, quantity) GROUP BY item, supply
  ) AS ordered
  WHERE s_w_id = supply AND s_i_id = item;
  INSERT INTO order_line
  SELECT order_id, district_id, warehouse_id, number, item, supply, NULL, quantity, quantity * i_price,
    CASE district_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
      WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
      WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
  FROM unnest(items, supplies, quantities) WITH ORDINALITY AS lines (item, supply, quantity, number)
  JOIN item ON i_id = item JOIN stock ON s_w_id = supply AND s_i_id = item;
  GET DIAGNOSTICS inserted = ROW_COUNT;
  RETURN inserted;
END
$$;

-- The customer in the middle of those with a last name, ordered by first name, clause 2.5.2.2.
CREATE OR REPLACE FUNCTION tpcc_customer(warehouse_id integer, district_id integer, name_number integer)
RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT c_id FROM (
    SELECT c_id, row_number() OVER (ORDER BY c_first) AS place, count(*) OVER () AS customers FROM customer
    WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_last = tpcc_last_name(name_number)
  ) AS named
  WHERE place = (customers + 1) / 2;
$$;

-- The customer is that of the last name if by_name is 1.
CREATE OR REPLACE FUNCTION tpcc_payment(warehouse_id integer, district_id integer, customer_warehouse integer,
  customer_district integer, by_name integer, customer_id integer, name_number integer, amount numeric)
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  found_id integer := customer_id;
  names varchar;
  balance numeric;
BEGIN
  UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = warehouse_id RETURNING w_name INTO names;
  UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = warehouse_id AND d_id = district_id
  RETURNING names || '    ' || d_name INTO names;
  IF by_name = 1 THEN
    found_id := tpcc_customer(customer_warehouse, customer_district, name_number);
  END IF;
  UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit WHEN 'BC' THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, district_id, warehouse_id, amount, c_data), 500)
      ELSE c_data END
  WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = found_id
  RETURNING c_balance INTO balance;
  INSERT INTO history VALUES (found_id, customer_district, customer_warehouse, district_id, warehouse_id,
    localtimestamp, amount, names);
  RETURN balance;
END
$$;

-- Returns the number of lines of the customer's last order.
CREATE OR REPLACE FUNCTION tpcc_order_status(warehouse_id integer, district_id integer, by_name integer,
  customer_id integer, name_number integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  found_id integer := customer_id;
  order_id integer;
  lines bigint;
BEGIN
  IF by_name = 1 THEN
    found_id := tpcc_customer(warehouse_id, district_id, name_number);
  END IF;
  PERFORM c_balance, c_first, c_middle, c_last FROM customer
  WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = found_id;
  SELECT o_id INTO order_id FROM orders WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_c_id = found_id
  ORDER BY o_id DESC LIMIT 1;
  PERFORM ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
  WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_id;
  GET DIAGNOSTICS lines = ROW_COUNT;
  RETURN lines;
END
$$;

-- Returns the number of districts with an order to deliver.
CREATE OR REPLACE FUNCTION tpcc_delivery(warehouse_id integer, carrier_id integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  order_id integer;
  customer_id integer;
  amount numeric;
  delivered bigint := 0;
BEGIN
  FOR district_id IN 1..10 LOOP
    SELECT no_o_id INTO order_id FROM new_order WHERE no_w_id = warehouse_id AND no_d_id = district_id
    ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM new_order WHERE no_w_id = warehouse_id AND no_d_id = district_id AND no_o_id = order_id;
    UPDATE orders SET o_carrier_id = carrier_id WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_id = order_id
    RETURNING o_c_id INTO customer_id;
    UPDATE order_line SET ol_delivery_d = localtimestamp
    WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_id;
    SELECT sum(ol_amount) INTO amount FROM order_line
    WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_id;
    UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
    WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;
    delivered := delivered + 1;
  END LOOP;
  RETURN delivered;
END
$$;

-- Returns the number of items of the district's last 20 orders whose stock is below the threshold.
CREATE OR REPLACE FUNCTION tpcc_stock_level(warehouse_id integer, district_id integer, threshold integer)
RETURNS bigint LANGUAGE sql AS $$
  SELECT count(DISTINCT s_i_id) FROM district
  JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
  JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id AND s_quantity < threshold
  WHERE d_w_id = warehouse_id AND d_id = district_id;
$$;

ALTER TABLE warehouse ADD PRIMARY KEY (w_id);
ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id);
ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
ALTER TABLE item ADD PRIMARY KEY (i_id);
ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id);
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
