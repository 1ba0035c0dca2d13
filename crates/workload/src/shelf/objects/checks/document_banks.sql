-- The tables and the documents have the same transactions; an account without transactions counts as one line.
WITH stored AS (
  SELECT id, document ->> 'website' AS website, account ->> 'number' AS number, account ->> 'name' AS name,
    account ->> 'balance' AS balance, line ->> 'day' AS day, line ->> 'description' AS description,
    line ->> 'amount' AS amount
  FROM document_banks, jsonb_array_elements(document -> 'accounts') AS account
  LEFT JOIN LATERAL jsonb_array_elements(account -> 'transactions') AS line ON true
), tables AS (
  SELECT banks.id, website, number, name, CAST(balance AS text), to_char(day, 'YYYY-MM-DD'), description,
    CAST(amount AS text)
  FROM banks JOIN accounts ON accounts.bank_id = banks.id
  LEFT JOIN transactions ON transactions.bank_id = accounts.bank_id AND account = accounts.position
)
SELECT 'document_banks differs from the tables in bank ' || id AS problem
FROM (
  (SELECT * FROM stored EXCEPT ALL SELECT * FROM tables)
  UNION ALL
  (SELECT * FROM tables EXCEPT ALL SELECT * FROM stored)
) AS differing
LIMIT 1000;
