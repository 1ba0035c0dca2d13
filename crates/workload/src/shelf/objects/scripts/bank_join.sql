-- One query, which repeats the bank and the account in each row.
\set id random(1, 1000 * :scale)
SELECT banks.*, accounts.*, transactions.*
FROM banks
LEFT JOIN accounts ON accounts.bank_id = banks.id
LEFT JOIN transactions ON transactions.bank_id = accounts.bank_id AND transactions.account = accounts.position
WHERE banks.id = :id
ORDER BY accounts.position, transactions.position;
