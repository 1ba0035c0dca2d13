\target replica
\batch 10
\set ids array(10, random(1, 1000))
SELECT sum(v) FROM t WHERE id = ANY (:ids);
\set n 1 + \
  2 * \
  (3 - :a)
\set s debug(greatest(1, 2.5, :n))
