-- A common condition and a rare one.
SELECT count(*)
FROM reviews
WHERE review @> '{"review": {"rating": 5}}' AND review @> '{"product": {"category": "DVD category 9"}}';
