-- The tables. Comments that begin with "-- df:" say how pgmeter generates the rows; without them, it chooses the data
-- by names, types and keys. A table has 1,000 rows (size) at scale 1, times mult.
-- df: size=1000

CREATE TABLE customer(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email text UNIQUE NOT NULL,
  country char(2) NOT NULL,            -- df: word=:de,fr,it,pl,se sub=power rate=0.4
  created_at timestamptz NOT NULL      -- df: sub=growth growth=10 start=2023-01-01 end=2026-01-01
);

CREATE TABLE orders(                   -- df: mult=10
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer bigint NOT NULL REFERENCES customer, -- df: sub=zipfian parameter=1.1
  status text NOT NULL CHECK (status IN ('new', 'paid', 'sent')),
  net numeric(10,2) NOT NULL CHECK (net > 0)
);

CREATE INDEX orders_customer ON orders (customer);
