-- Clause 2.3.2: the balance of a branch is the sum of the balances of its tellers.
SELECT bid, bbalance, total FROM tpcb2_branches
LEFT JOIN (SELECT bid, sum(tbalance) AS total FROM tpcb2_tellers GROUP BY bid) AS tellers USING (bid)
WHERE bbalance IS DISTINCT FROM total LIMIT 1000;
