-- The row as one value.
\set id random(1, 10000 * :scale)
SELECT p FROM posts AS p WHERE id = :id;
