INSERT INTO shop_customers SELECT id, 'customer ' || id FROM generate_series(1, 1000 * :scale) AS id;
INSERT INTO shop_products SELECT id, 1000000, 0 FROM generate_series(1, :products) AS id;
