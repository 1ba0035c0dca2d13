-- The view has a row for each customer and product with orders, and counts them. Amounts may be older than the orders.
SELECT customer, product, v.orders, o.orders AS expected
FROM mv_sales AS v
FULL JOIN (SELECT customer, product, count(*) AS orders FROM mv_orders GROUP BY customer, product) AS o
USING (customer, product)
WHERE v.orders IS DISTINCT FROM o.orders;
