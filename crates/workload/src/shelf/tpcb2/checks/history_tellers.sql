-- Clause 2.3.2: the history has the change of each committed transaction, so the balance of each teller is their sum.
SELECT tid, tbalance, total FROM tpcb2_tellers
LEFT JOIN (SELECT tid, sum(delta) AS total FROM tpcb2_history GROUP BY tid) AS changes USING (tid)
WHERE tbalance <> coalesce(total, 0) LIMIT 1000;
