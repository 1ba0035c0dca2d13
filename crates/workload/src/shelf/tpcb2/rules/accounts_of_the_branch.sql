-- Clause 5: 85 % of the accounts are of the teller's branch. With a single branch, there is no other account to draw.
SELECT count(*) FILTER (WHERE bid = 1 + (aid - 1) / 100000), count(*) FROM tpcb2_history
HAVING (SELECT count(*) FROM tpcb2_branches) > 1;
