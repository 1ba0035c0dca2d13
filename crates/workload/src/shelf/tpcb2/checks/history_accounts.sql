-- Clause 2.3.2: the history has the change of each committed transaction, so the balance of each account is their sum.
SELECT aid, abalance, total FROM tpcb2_accounts
LEFT JOIN (SELECT aid, sum(delta) AS total FROM tpcb2_history GROUP BY aid) AS changes USING (aid)
WHERE abalance <> coalesce(total, 0) LIMIT 1000;
