SELECT width_bucket(length(title), 1, 50, 5) AS length_class, round(avg(rating), 2) AS rating, count(*)
FROM reviews_columns
WHERE product_group = 'Book'
GROUP BY 1
ORDER BY 1;
