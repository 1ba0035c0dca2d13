SELECT 'events has ' || count(*) || ' partitions; load it again, or give -D partitions=' || count(*) AS problem
FROM pg_inherits
WHERE inhparent = CAST('events' AS regclass)
HAVING count(*) <> :partitions;
