-- A row that is stored with arrays of composite values.
\set id random(1, 1000 * :scale)
SELECT * FROM nested_banks WHERE id = :id;
