-- The table of sysbench: 10,000 rows for each unit of scale.
CREATE TABLE sbtest1(        -- df: mult=10000
  id serial PRIMARY KEY,
  k integer DEFAULT 0 NOT NULL,
  c char(120) DEFAULT '' NOT NULL, -- df: pattern='[0-9]{11}(-[0-9]{11}){9}'
  pad char(60) DEFAULT '' NOT NULL -- df: pattern='[0-9]{11}(-[0-9]{11}){4}'
);
CREATE INDEX k_1 ON sbtest1 (k);
