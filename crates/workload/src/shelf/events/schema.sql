DROP TABLE IF EXISTS events CASCADE;
-- Creates the parent and the children: events_0 has the events of 2026-01-01, events_1 those of the day before.
CREATE OR REPLACE FUNCTION events_create(partitions bigint, inheritance bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  day date;
  definition text := '(happened timestamp NOT NULL, device integer NOT NULL, kind integer NOT NULL, value double precision NOT NULL)';
BEGIN
  IF partitions NOT BETWEEN 1 AND 10000 THEN
    RAISE EXCEPTION 'the parameter partitions is %, and must be from 1 to 10000', partitions;
  END IF;
  IF inheritance NOT IN (0, 1) THEN
    RAISE EXCEPTION 'the parameter inheritance is %, and must be 0 or 1', inheritance;
  END IF;
  IF inheritance = 0 AND current_setting('server_version_num')::int < 100000 THEN
    RAISE EXCEPTION 'PostgreSQL % has no declarative partitions: add -D inheritance=1', current_setting('server_version');
  END IF;
  EXECUTE 'CREATE TABLE events ' || definition || CASE inheritance WHEN 0 THEN ' PARTITION BY RANGE (happened)' ELSE '' END;
  FOR number IN 0 .. partitions - 1 LOOP
    day := date '2026-01-01' - number::int;
    IF inheritance = 0 THEN
      EXECUTE format('CREATE TABLE %I PARTITION OF events FOR VALUES FROM (%L) TO (%L)', 'events_' || number, day, day + 1);
    ELSE
      EXECUTE format('CREATE TABLE %I (CHECK (happened >= %L AND happened < %L)) INHERITS (events)', 'events_' || number,
        day::timestamp, (day + 1)::timestamp);
    END IF;
    EXECUTE format('CREATE INDEX ON %I (device, happened)', 'events_' || number);
  END LOOP;
END
$$;
SELECT events_create(:partitions, :inheritance);

-- Routes the rows of a parent with inheritance. The four newest children have branches of their own.
CREATE OR REPLACE FUNCTION events_route() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.happened >= timestamp '2026-01-01' AND NEW.happened < timestamp '2026-01-02' THEN
    INSERT INTO events_0 VALUES (NEW.*);
  ELSIF NEW.happened >= timestamp '2025-12-31' AND NEW.happened < timestamp '2026-01-01' THEN
    INSERT INTO events_1 VALUES (NEW.*);
  ELSIF NEW.happened >= timestamp '2025-12-30' AND NEW.happened < timestamp '2025-12-31' THEN
    INSERT INTO events_2 VALUES (NEW.*);
  ELSIF NEW.happened >= timestamp '2025-12-29' AND NEW.happened < timestamp '2025-12-30' THEN
    INSERT INTO events_3 VALUES (NEW.*);
  ELSE
    EXECUTE format('INSERT INTO %I VALUES ($1.*)', 'events_' || date '2026-01-01' - NEW.happened::date) USING NEW;
  END IF;
  RETURN NULL;
END
$$;
