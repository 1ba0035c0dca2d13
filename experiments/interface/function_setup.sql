-- The TPC-B-like transaction as one call: account, branch, teller, delta; gives the account's new balance.
CREATE OR REPLACE FUNCTION tpcb(int, int, int, int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    balance int;
BEGIN
    UPDATE pgbench_accounts SET abalance = abalance + $4 WHERE aid = $1 RETURNING abalance INTO balance;
    UPDATE pgbench_tellers SET tbalance = tbalance + $4 WHERE tid = $3;
    UPDATE pgbench_branches SET bbalance = bbalance + $4 WHERE bid = $2;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($3, $2, $1, $4, CURRENT_TIMESTAMP);
    RETURN balance;
END
$$;
