-- One query, which repeats the invoice in each row.
\set id random(1, 10000 * :scale)
SELECT invoices.*, items.*
FROM invoices LEFT JOIN items ON invoice_id = id
WHERE id = :id
ORDER BY position;
