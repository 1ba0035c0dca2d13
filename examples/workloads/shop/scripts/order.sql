\set customer random(1, 1000 * :scale)
\set product random(1, :products)
\set quantity random(1, 5)
BEGIN;
INSERT INTO shop_orders (customer, product, quantity) VALUES (:customer, :product, :quantity);
-- pgmeter: contended rows = :products
UPDATE shop_products SET in_stock = in_stock - :quantity, sold = sold + :quantity WHERE id = :product;
END;
