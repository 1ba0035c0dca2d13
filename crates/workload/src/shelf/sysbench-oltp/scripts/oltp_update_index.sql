\set rows 10000 * :scale
\set id random(1, :rows)
UPDATE sbtest1 SET k = k + 1 WHERE id = :id;
