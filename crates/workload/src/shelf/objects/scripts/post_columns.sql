-- A row as columns.
\set id random(1, 10000 * :scale)
SELECT * FROM posts WHERE id = :id;
