-- Revenue by country and status.
SELECT c.country, o.status, count(*) AS orders, sum(o.net) AS net
FROM orders o JOIN customer c ON c.id = o.customer
GROUP BY c.country, o.status
ORDER BY c.country, o.status;
