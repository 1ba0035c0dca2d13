-- Clause 2.3.2: the history has the change of each committed transaction, so the balance of each branch is their sum.
SELECT bid, bbalance, total FROM tpcb2_branches
LEFT JOIN (SELECT bid, sum(delta) AS total FROM tpcb2_history GROUP BY bid) AS changes USING (bid)
WHERE bbalance <> coalesce(total, 0) LIMIT 1000;
