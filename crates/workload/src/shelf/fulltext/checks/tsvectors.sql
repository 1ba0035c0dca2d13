-- The trigger made each tsvector of the body beside it.
SELECT count(*) || ' messages have no tsvector, or another one than their body, such as the message ' || min(id) AS problem
FROM messages
WHERE body_tsv IS NULL OR body_tsv <> to_tsvector(config::regconfig, body)
HAVING count(*) > 0;
