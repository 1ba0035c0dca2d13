-- An answer belongs to the thread of an earlier message.
SELECT count(*) || ' messages have a parent that is not an earlier message of their thread, such as the message ' || min(a.id) AS problem
FROM messages AS a LEFT JOIN messages AS b ON b.id = a.parent_id AND b.thread_id = a.thread_id AND b.id < a.id
WHERE a.parent_id IS NOT NULL AND b.id IS NULL
HAVING count(*) > 0;
