-- What products count as sold is what was ordered.
SELECT p.id, p.sold, o.ordered
FROM shop_products AS p
LEFT JOIN (SELECT product, sum(quantity) AS ordered FROM shop_orders GROUP BY product) AS o ON o.product = p.id
WHERE p.sold <> coalesce(o.ordered, 0);
