-- The reviews of products that are similar to a certain one: few rows.
SELECT count(*)
FROM reviews
WHERE review @> (
  SELECT json_build_object('product', json_build_object('similar_ids', json_build_array(similar_ids[1])))::jsonb
  FROM reviews_columns WHERE id <= 50 AND similar_ids <> '{}' ORDER BY id LIMIT 1
);
