-- Two queries.
\set id random(1, 10000 * :scale)
SELECT * FROM invoices WHERE id = :id;
SELECT * FROM items WHERE invoice_id = :id ORDER BY position;
