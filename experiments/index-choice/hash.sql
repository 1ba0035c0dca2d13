CREATE INDEX pgbench_accounts_hash ON pgbench_accounts USING hash (aid);
