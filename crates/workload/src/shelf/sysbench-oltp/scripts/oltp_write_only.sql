\set rows 10000 * :scale
BEGIN;
\set id random(1, :rows)
UPDATE sbtest1 SET k = k + 1 WHERE id = :id;
\set id random(1, :rows)
\set c1 random(10000000000, 99999999999)
\set c2 random(10000000000, 99999999999)
\set c3 random(10000000000, 99999999999)
\set c4 random(10000000000, 99999999999)
\set c5 random(10000000000, 99999999999)
\set c6 random(10000000000, 99999999999)
\set c7 random(10000000000, 99999999999)
\set c8 random(10000000000, 99999999999)
\set c9 random(10000000000, 99999999999)
\set c10 random(10000000000, 99999999999)
UPDATE sbtest1 SET c =
  concat_ws('-', :c1::text, :c2::text, :c3::text, :c4::text, :c5::text, :c6::text, :c7::text, :c8::text, :c9::text, :c10::text)
  WHERE id = :id;
\set id random(1, :rows)
\set k random(1, :rows)
\set c1 random(10000000000, 99999999999)
\set c2 random(10000000000, 99999999999)
\set c3 random(10000000000, 99999999999)
\set c4 random(10000000000, 99999999999)
\set c5 random(10000000000, 99999999999)
\set c6 random(10000000000, 99999999999)
\set c7 random(10000000000, 99999999999)
\set c8 random(10000000000, 99999999999)
\set c9 random(10000000000, 99999999999)
\set c10 random(10000000000, 99999999999)
\set pad1 random(10000000000, 99999999999)
\set pad2 random(10000000000, 99999999999)
\set pad3 random(10000000000, 99999999999)
\set pad4 random(10000000000, 99999999999)
\set pad5 random(10000000000, 99999999999)
DELETE FROM sbtest1 WHERE id = :id;
INSERT INTO sbtest1 (id, k, c, pad) VALUES (:id, :k,
  concat_ws('-', :c1::text, :c2::text, :c3::text, :c4::text, :c5::text, :c6::text, :c7::text, :c8::text, :c9::text, :c10::text),
  concat_ws('-', :pad1::text, :pad2::text, :pad3::text, :pad4::text, :pad5::text))
  ON CONFLICT (id) DO NOTHING;
COMMIT;
