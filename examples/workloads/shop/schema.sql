DROP TABLE IF EXISTS shop_orders, shop_products, shop_customers;
CREATE TABLE shop_customers (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE shop_products (id int PRIMARY KEY, in_stock bigint NOT NULL, sold bigint NOT NULL);
CREATE TABLE shop_orders (
    id bigserial PRIMARY KEY,
    customer int NOT NULL REFERENCES shop_customers,
    product int NOT NULL REFERENCES shop_products,
    quantity int NOT NULL
);
