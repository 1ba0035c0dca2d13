-- The tables and the arrays have the same transactions; an account without transactions counts as one line.
WITH stored AS (
  SELECT banks.id, website, tags, number, name, balance, currency, day, description, amount
  FROM nested_banks AS banks, unnest(accounts) AS account LEFT JOIN LATERAL unnest(transactions) AS lines ON true
), tables AS (
  SELECT banks.id, website, tags, number, name, balance, currency, day, description, amount
  FROM banks JOIN accounts ON accounts.bank_id = banks.id
  LEFT JOIN transactions ON transactions.bank_id = accounts.bank_id AND account = accounts.position
)
SELECT 'nested_banks differs from the tables in bank ' || id AS problem
FROM (
  (SELECT * FROM stored EXCEPT ALL SELECT * FROM tables)
  UNION ALL
  (SELECT * FROM tables EXCEPT ALL SELECT * FROM stored)
) AS differing
LIMIT 1000;
