\startpipeline
SELECT :'name', $1::text, "a column" FROM t WHERE a = :a;
\syncpipeline
UPDATE t SET a = :a + 1
  WHERE b = $tag$ ; not the end :a $tag$
    AND c = E'\'; neither' /* nor ; /* here */ ; */;
\endpipeline
\setshell n echo :a
\shell touch /dev/null :a
