-- Each event is in the partition of its day.
SELECT 'an event of ' || happened || ' is in ' || CAST(tableoid AS regclass) AS problem
FROM events
WHERE CAST(CAST(tableoid AS regclass) AS text) <> 'events_' || date '2026-01-01' - CAST(happened AS date)
LIMIT 1000;
