-- Clause 4.2: each branch has 10 tellers and 100,000 accounts, in the order of their numbers.
SELECT * FROM (SELECT
  (SELECT count(*) FROM tpcb2_branches) AS branches,
  (SELECT count(*) FROM tpcb2_tellers WHERE bid = 1 + (tid - 1) / 10) AS tellers,
  (SELECT count(*) FROM tpcb2_accounts WHERE bid = 1 + (aid - 1) / 100000) AS accounts) AS sizes
WHERE tellers <> 10 * branches OR accounts <> 100000 * branches;
