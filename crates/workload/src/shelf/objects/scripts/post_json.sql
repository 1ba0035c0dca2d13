-- The row as one document.
\set id random(1, 10000 * :scale)
SELECT row_to_json(p) FROM posts AS p WHERE id = :id;
