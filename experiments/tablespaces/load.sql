INSERT INTO readings SELECT id, repeat(md5(id::text), 3) FROM generate_series(1, :rows) AS id;
CREATE UNIQUE INDEX ON readings_old (id) TABLESPACE :old;
CREATE UNIQUE INDEX ON readings_new (id) TABLESPACE :new;
