SELECT 'the three tables have ' || a || ', ' || b || ' and ' || c || ' rows' AS problem
FROM (SELECT count(*) AS a FROM reviews) AS one,
  (SELECT count(*) AS b FROM reviews_json) AS two,
  (SELECT count(*) AS c FROM reviews_columns) AS three
WHERE a <> b OR b <> c;
