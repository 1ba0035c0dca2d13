-- One row, with the items as an array of row values.
\set id random(1, 10000 * :scale)
SELECT invoices.*, (SELECT array_agg(items ORDER BY position) FROM items WHERE invoice_id = id) AS items
FROM invoices
WHERE id = :id;
