-- A customer orders something. Scripts are written as for pgbench.
\set customer random_zipfian(1, int(1000 * :scale), 1.1)
BEGIN;
INSERT INTO orders (customer, status, net) VALUES (:customer, 'new', 9.90);
SELECT count(*) FROM orders WHERE customer = :customer;
COMMIT;
