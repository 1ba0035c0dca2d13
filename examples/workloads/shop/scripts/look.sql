\set customer random(1, 1000 * :scale)
SELECT product, quantity FROM shop_orders WHERE customer = :customer ORDER BY id DESC LIMIT 10;
