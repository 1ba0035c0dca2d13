\set rows 10000 * :scale
BEGIN;
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
\set first random(1, :rows)
SELECT c FROM sbtest1 WHERE id BETWEEN :first AND :first + 99;
\set first random(1, :rows)
SELECT sum(k) FROM sbtest1 WHERE id BETWEEN :first AND :first + 99;
\set first random(1, :rows)
SELECT c FROM sbtest1 WHERE id BETWEEN :first AND :first + 99 ORDER BY c;
\set first random(1, :rows)
SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN :first AND :first + 99 ORDER BY c;
COMMIT;
