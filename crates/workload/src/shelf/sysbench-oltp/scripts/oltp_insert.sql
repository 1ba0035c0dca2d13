\set rows 10000 * :scale
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
INSERT INTO sbtest1 (k, c, pad) VALUES (:k,
  concat_ws('-', :c1::text, :c2::text, :c3::text, :c4::text, :c5::text, :c6::text, :c7::text, :c8::text, :c9::text, :c10::text),
  concat_ws('-', :pad1::text, :pad2::text, :pad3::text, :pad4::text, :pad5::text));
