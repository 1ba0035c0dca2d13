-- Clause 1.2: a teller changes the balance of an account. 85 % of the accounts are of the teller's branch.
\set tid random(1, 10 * :scale)
\set bid 1 + (:tid - 1) / 10
\set account_branch case when :scale > 1 and random(1, 100) > 85 then 1 + (:bid - 1 + random(1, :scale - 1)) % :scale else :bid end
\set aid 100000 * (:account_branch - 1) + random(1, 100000)
\set delta random(-999999, 999999)
BEGIN;
UPDATE tpcb2_accounts SET abalance = abalance + :delta WHERE aid = :aid RETURNING abalance;
INSERT INTO tpcb2_history VALUES (:tid, :bid, :aid, :delta, localtimestamp, '');
UPDATE tpcb2_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
-- pgmeter: contended rows = :scale
UPDATE tpcb2_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
COMMIT;
