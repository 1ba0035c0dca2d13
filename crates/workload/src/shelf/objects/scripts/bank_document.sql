-- A stored document.
\set id random(1, 1000 * :scale)
SELECT document FROM document_banks WHERE id = :id;
