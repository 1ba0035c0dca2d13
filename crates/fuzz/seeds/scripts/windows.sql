\set a 1
SELECT :a;
\sleep 1 s
SELECT '�é', :été;
