\set rows 10000 * :scale
\set id random(1, :rows)
DELETE FROM sbtest1 WHERE id = :id;
