-- One level: a post is a row.
CREATE TABLE posts (
  id integer PRIMARY KEY,
  title text NOT NULL,
  created timestamp NOT NULL,
  is_public boolean NOT NULL,
  rating double precision NOT NULL,
  body text NOT NULL,
  tags text[] NOT NULL
);

-- Two levels: an invoice and its items.
CREATE TABLE invoices (
  id integer PRIMARY KEY,
  number text NOT NULL,
  customer text NOT NULL,
  issued date NOT NULL,
  due date NOT NULL,
  paid timestamp,
  total numeric(12, 2) NOT NULL,
  is_canceled boolean NOT NULL,
  note text
);
CREATE TABLE items (
  invoice_id integer NOT NULL REFERENCES invoices,
  position integer NOT NULL,
  product text NOT NULL,
  unit_cost numeric(10, 2) NOT NULL,
  quantity integer NOT NULL,
  discount numeric(5, 2) NOT NULL,
  tax numeric(4, 1) NOT NULL,
  PRIMARY KEY (invoice_id, position)
);

-- Three levels: a bank, its accounts, and their transactions.
CREATE TABLE banks (
  id integer PRIMARY KEY,
  website text NOT NULL,
  visited timestamp NOT NULL,
  external_id text NOT NULL,
  tags text[] NOT NULL,
  attributes text[] NOT NULL
);
CREATE TABLE accounts (
  bank_id integer NOT NULL REFERENCES banks,
  position integer NOT NULL,
  number text NOT NULL,
  name text NOT NULL,
  balance numeric(12, 2) NOT NULL,
  currency text NOT NULL,
  PRIMARY KEY (bank_id, position)
);
CREATE TABLE transactions (
  bank_id integer NOT NULL,
  account integer NOT NULL,
  position integer NOT NULL,
  day date NOT NULL,
  description text NOT NULL,
  amount numeric(12, 2) NOT NULL,
  PRIMARY KEY (bank_id, account, position),
  FOREIGN KEY (bank_id, account) REFERENCES accounts
);

-- The same banks, each as one row: arrays of composite values. The first two tables have no rows, only row types.
CREATE TABLE transaction_values (
  day date,
  description text,
  amount numeric(12, 2)
);
CREATE TABLE account_values (
  number text,
  name text,
  balance numeric(12, 2),
  currency text,
  transactions transaction_values[]
);
CREATE TABLE nested_banks (
  id integer PRIMARY KEY,
  website text NOT NULL,
  visited timestamp NOT NULL,
  external_id text NOT NULL,
  tags text[] NOT NULL,
  attributes text[] NOT NULL,
  accounts account_values[] NOT NULL
);

-- The same banks, each as one document.
CREATE TABLE document_banks (
  id integer PRIMARY KEY,
  document jsonb NOT NULL
);
