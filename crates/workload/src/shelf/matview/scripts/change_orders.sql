-- The view shows the change after the next refresh.
\set customers 10000 * :scale
\set customer random(1, :customers)
UPDATE mv_orders SET amount = amount + 1 WHERE customer = :customer;
