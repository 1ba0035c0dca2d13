SELECT width_bucket(length(review #>> '{product,title}'), 1, 50, 5) AS length_class, round(avg((review #>> '{review,rating}')::int), 2) AS rating, count(*)
FROM reviews
WHERE review #>> '{product,group}' = 'Book'
GROUP BY 1
ORDER BY 1;
