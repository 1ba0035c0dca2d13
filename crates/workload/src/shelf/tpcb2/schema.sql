-- The files of TPC-B, clause 3.2: records of 100 bytes, those of the history of 50 bytes.
CREATE TABLE tpcb2_branches (
  bid integer NOT NULL,
  bbalance bigint NOT NULL,
  filler char(87) NOT NULL
);
CREATE TABLE tpcb2_tellers (
  tid integer NOT NULL,
  bid integer NOT NULL,
  tbalance bigint NOT NULL,
  filler char(83) NOT NULL
);
CREATE TABLE tpcb2_accounts (
  aid integer NOT NULL,
  bid integer NOT NULL,
  abalance bigint NOT NULL,
  filler char(83) NOT NULL
);
CREATE TABLE tpcb2_history (
  tid integer NOT NULL,
  bid integer NOT NULL,
  aid integer NOT NULL,
  delta bigint NOT NULL,
  mtime timestamp NOT NULL,
  filler char(21) NOT NULL
);
ALTER TABLE tpcb2_branches ADD PRIMARY KEY (bid);
ALTER TABLE tpcb2_tellers ADD PRIMARY KEY (tid);
ALTER TABLE tpcb2_accounts ADD PRIMARY KEY (aid);
