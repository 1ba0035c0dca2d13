CREATE INDEX ON shop_orders (customer);
VACUUM ANALYZE shop_customers;
VACUUM ANALYZE shop_products;
VACUUM ANALYZE shop_orders;
