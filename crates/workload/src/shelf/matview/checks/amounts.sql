-- Amounts only grow, so none in the view is above that of the orders.
SELECT customer, product, v.amount, o.amount AS most
FROM mv_sales AS v
JOIN (SELECT customer, product, sum(amount) AS amount FROM mv_orders GROUP BY customer, product) AS o
USING (customer, product)
WHERE v.amount > o.amount;
