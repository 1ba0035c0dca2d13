\set customers 10000 * :scale
\set customer random(1, :customers)
SELECT product, orders, amount, last_order FROM mv_sales WHERE customer = :customer;
