-- Clause 1.2: the amount of a transaction is from -999,999 to 999,999, and its teller is of the branch.
SELECT tid, bid, aid, delta FROM tpcb2_history
WHERE delta NOT BETWEEN -999999 AND 999999 OR bid <> 1 + (tid - 1) / 10 LIMIT 1000;
