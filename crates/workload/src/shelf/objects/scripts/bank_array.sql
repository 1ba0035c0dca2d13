-- One row, with arrays of row values in an array of row values.
\set id random(1, 1000 * :scale)
SELECT banks.*, (
  SELECT array_agg(ROW(number, name, balance, currency, (
    SELECT array_agg(ROW(day, description, amount) ORDER BY transactions.position)
    FROM transactions
    WHERE transactions.bank_id = accounts.bank_id AND account = accounts.position
  )) ORDER BY accounts.position)
  FROM accounts
  WHERE accounts.bank_id = banks.id
) AS accounts
FROM banks
WHERE banks.id = :id;
