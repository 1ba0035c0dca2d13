-- Orders of customers, and a materialized view with their sums: for each unit of scale 10,000 customers and 200,000
-- orders.
CREATE TABLE mv_customers(   -- df: mult=10000
  id serial PRIMARY KEY,
  name text NOT NULL         -- df: pattern='[A-Z][a-z]{5,11} [A-Z][a-z]{5,11}'
);
CREATE TABLE mv_orders(      -- df: mult=200000
  id serial PRIMARY KEY,
  customer integer NOT NULL REFERENCES mv_customers(id),
  product integer NOT NULL,  -- df: int size=10
  amount integer NOT NULL,   -- df: int size=10000
  placed date NOT NULL       -- df: date start=2024-01-01 end=2025-12-31
);
CREATE INDEX mv_orders_customer ON mv_orders (customer);
CREATE MATERIALIZED VIEW mv_sales AS
  SELECT o.customer, o.product, c.name, count(*) AS orders, sum(o.amount) AS amount, max(o.placed) AS last_order
  FROM mv_orders AS o JOIN mv_customers AS c ON c.id = o.customer
  GROUP BY o.customer, o.product, c.name;
-- REFRESH MATERIALIZED VIEW CONCURRENTLY requires a unique index.
CREATE UNIQUE INDEX mv_sales_key ON mv_sales (customer, product);
