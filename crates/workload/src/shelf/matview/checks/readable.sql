-- The view can be read, and its unique index can be used.
SELECT c.relname, c.relispopulated, i.indisvalid
FROM pg_class AS c LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisunique
WHERE c.oid = 'mv_sales'::regclass AND NOT (c.relispopulated AND coalesce(i.indisvalid, false));
