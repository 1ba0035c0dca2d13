-- a choice
\set kind random(1, 10)
\if :kind <= 3
  \set id random_zipfian(1, 1000 * :scale, 1.07)
  SELECT v FROM t WHERE id = :id \gset row_
  \if :row_v is null
    INSERT INTO t VALUES (:id, 'it''s new');
  \else
    UPDATE t SET v = v + 1 WHERE id = :id;
  \endif
\elif :kind = 4
  \sleep 10 ms
\elif :kind > 9
  \sleep :kind us
\else
  SELECT 1 AS one \; SELECT 2 AS two \aset both_
\endif
