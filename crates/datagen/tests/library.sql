-- A library: books, readers, and which book is borrowed by whom.
-- df english: word=:the,quiet,river,night,garden,winter,voyage,lost,letters,stone,shadow,house,light,island,memory
-- df name: chars='a-z' lenmin=3 lenmax=10
-- df: size=100

CREATE TABLE book( -- df: mult=100.0
  bid SERIAL PRIMARY KEY,
  title TEXT NOT NULL, -- df: text=english lenmin=1 lenmax=6
  isbn TEXT NOT NULL -- df: ean prefix=978 size=1000000000
);

CREATE TABLE reader(
  rid SERIAL PRIMARY KEY,
  firstname TEXT NOT NULL, -- df: use=name size=1000 sub=power rate=0.02
  lastname TEXT NOT NULL, -- df: use=name
  born DATE NOT NULL, -- df: start=1920-01-01 end=2013-01-01
  gender BOOLEAN NOT NULL, -- df: rate=0.25
  phone TEXT -- df: chars='0-9' length=10 null=0.01
);

CREATE TABLE borrow( -- df: mult=1.5
  borrowed TIMESTAMP NOT NULL, -- df: size=72000
  bid INTEGER NOT NULL REFERENCES book, -- df: mangle
  rid INTEGER NOT NULL REFERENCES reader, -- df: sub=power rate=0.1
  PRIMARY KEY(bid)
);
