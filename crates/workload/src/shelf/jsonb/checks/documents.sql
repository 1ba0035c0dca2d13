-- The two tables of documents are equal to the columns.
SELECT 'reviews and reviews_columns differ in ' || n || ' rows' AS problem
FROM (
  SELECT count(*) AS n FROM (
    (SELECT review ->> 'customer_id', review #>> '{product,id}', review #>> '{review,rating}', count(*) FROM reviews GROUP BY 1, 2, 3)
    EXCEPT
    (SELECT customer_id, product_id::text, rating::text, count(*) FROM reviews_columns GROUP BY 1, 2, 3)
  ) AS differing
) AS counted
WHERE n > 0;
