-- The three selects of ro3.sql as one call; an SQL function is planned anew, a PL/pgSQL function keeps its plans.
CREATE OR REPLACE FUNCTION ro3_sql(int, int, int, OUT a int, OUT t int, OUT b int) LANGUAGE sql STABLE AS $$
    SELECT (SELECT abalance FROM pgbench_accounts WHERE aid = $1),
           (SELECT tbalance FROM pgbench_tellers WHERE tid = $2),
           (SELECT bbalance FROM pgbench_branches WHERE bid = $3)
$$;
CREATE OR REPLACE FUNCTION ro3_plpgsql(int, int, int, OUT a int, OUT t int, OUT b int) LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT abalance INTO a FROM pgbench_accounts WHERE aid = $1;
    SELECT tbalance INTO t FROM pgbench_tellers WHERE tid = $2;
    SELECT bbalance INTO b FROM pgbench_branches WHERE bid = $3;
END
$$;
