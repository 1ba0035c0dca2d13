SELECT 'the total of invoice ' || id || ' is ' || total || ', its items cost ' || cost AS problem
FROM invoices JOIN (SELECT invoice_id, sum(unit_cost * quantity) AS cost FROM items GROUP BY invoice_id) AS costs
ON invoice_id = id
WHERE total <> cost
LIMIT 1000;
