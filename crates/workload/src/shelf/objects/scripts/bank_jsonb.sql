-- One row, with a jsonb array in a jsonb array.
\set id random(1, 1000 * :scale)
SELECT banks.*, (
  SELECT jsonb_agg(jsonb_build_object('number', number, 'name', name, 'balance', balance, 'currency', currency,
    'transactions', (
      SELECT jsonb_agg(jsonb_build_object('day', day, 'description', description, 'amount', amount)
        ORDER BY transactions.position)
      FROM transactions
      WHERE transactions.bank_id = accounts.bank_id AND account = accounts.position
    )) ORDER BY accounts.position)
  FROM accounts
  WHERE accounts.bank_id = banks.id
) AS accounts
FROM banks
WHERE banks.id = :id;
