SELECT 'the balance of account ' || number || ' is ' || balance || ', its transactions add up to ' || added AS problem
FROM (
  SELECT number, balance, coalesce(sum(amount), 0) AS added
  FROM accounts LEFT JOIN transactions ON transactions.bank_id = accounts.bank_id AND account = accounts.position
  GROUP BY accounts.bank_id, accounts.position, number, balance
) AS accounts
WHERE balance <> added
LIMIT 1000;
