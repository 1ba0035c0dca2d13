-- Three queries.
\set id random(1, 1000 * :scale)
SELECT * FROM banks WHERE id = :id;
SELECT * FROM accounts WHERE bank_id = :id ORDER BY position;
SELECT * FROM transactions WHERE bank_id = :id ORDER BY account, position;
