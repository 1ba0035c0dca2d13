SELECT review #>> '{product,title}' AS title, avg((review #>> '{review,rating}')::int) AS rating, count(*)
FROM reviews
WHERE review @> '{"product": {"category": "Music category 7"}}'
GROUP BY 1
ORDER BY 3 DESC, 1
LIMIT 20;
