-- A batch of transactions as one call. Duplicates are merged, and the rows of each table are locked in the order of
-- their keys, accounts before tellers before branches: batches wait for each other and cannot deadlock.
CREATE OR REPLACE FUNCTION tpcb_batch(aids int[], bids int[], tids int[], deltas int[]) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    WITH merged AS (SELECT aid, sum(delta) AS delta FROM unnest(aids, deltas) AS t (aid, delta) GROUP BY aid),
         locked AS (SELECT aid FROM pgbench_accounts WHERE aid = ANY (aids) ORDER BY aid FOR NO KEY UPDATE)
    UPDATE pgbench_accounts AS a SET abalance = abalance + merged.delta
    FROM merged JOIN locked USING (aid) WHERE a.aid = merged.aid;

    WITH merged AS (SELECT tid, sum(delta) AS delta FROM unnest(tids, deltas) AS t (tid, delta) GROUP BY tid),
         locked AS (SELECT tid FROM pgbench_tellers WHERE tid = ANY (tids) ORDER BY tid FOR NO KEY UPDATE)
    UPDATE pgbench_tellers AS a SET tbalance = tbalance + merged.delta
    FROM merged JOIN locked USING (tid) WHERE a.tid = merged.tid;

    WITH merged AS (SELECT bid, sum(delta) AS delta FROM unnest(bids, deltas) AS t (bid, delta) GROUP BY bid),
         locked AS (SELECT bid FROM pgbench_branches WHERE bid = ANY (bids) ORDER BY bid FOR NO KEY UPDATE)
    UPDATE pgbench_branches AS a SET bbalance = bbalance + merged.delta
    FROM merged JOIN locked USING (bid) WHERE a.bid = merged.bid;

    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    SELECT tid, bid, aid, delta, CURRENT_TIMESTAMP
    FROM unnest(tids, bids, aids, deltas) AS t (tid, bid, aid, delta);
    RETURN cardinality(aids);
END
$$;

-- Draws the arrays on the server, instead of a client that sends them.
CREATE OR REPLACE FUNCTION tpcb_drawn_batch(seed float8, size int, scale int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    aids int[]; bids int[]; tids int[]; deltas int[];
BEGIN
    PERFORM setseed(seed);
    SELECT array_agg(1 + floor(random() * 100000 * scale)::int), array_agg(1 + floor(random() * scale)::int),
           array_agg(1 + floor(random() * 10 * scale)::int), array_agg(floor(random() * 10001)::int - 5000)
    INTO aids, bids, tids, deltas FROM generate_series(1, size);
    RETURN tpcb_batch(aids, bids, tids, deltas);
END
$$;
