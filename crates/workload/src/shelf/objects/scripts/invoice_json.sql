-- One row, with the items as a json array.
\set id random(1, 10000 * :scale)
SELECT invoices.*, (SELECT json_agg(items ORDER BY position) FROM items WHERE invoice_id = id) AS items
FROM invoices
WHERE id = :id;
