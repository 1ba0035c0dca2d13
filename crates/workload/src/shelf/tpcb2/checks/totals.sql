-- Clause 2.3.2: the sums of all account balances, teller balances and branch balances are equal.
SELECT * FROM (SELECT
  (SELECT sum(abalance) FROM tpcb2_accounts) AS accounts,
  (SELECT sum(tbalance) FROM tpcb2_tellers) AS tellers,
  (SELECT sum(bbalance) FROM tpcb2_branches) AS branches) AS totals
WHERE accounts <> tellers OR tellers <> branches;
