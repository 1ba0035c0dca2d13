-- The same number of events for each day; the values depend on the number of the event alone.
CREATE OR REPLACE FUNCTION events_fill(partitions bigint, inheritance bigint, events bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  first bigint;
  next_first bigint;
BEGIN
  FOR number IN 0 .. partitions - 1 LOOP
    first := events * number / partitions;
    next_first := events * (number + 1) / partitions;
    EXECUTE format('INSERT INTO %I SELECT timestamp %L + n * 7919 %% 86400 * interval ''1 second'', 1 + n * 104729 %% 1000, '
      '1 + n %% 10, n * 15485863 %% 1000000 / 1000.0 FROM generate_series(CAST(%s AS bigint), %s) AS n', 'events_' || number,
      date '2026-01-01' - number::int, first, next_first - 1);
  END LOOP;
  IF inheritance = 1 THEN
    CREATE TRIGGER events_route BEFORE INSERT ON events FOR EACH ROW EXECUTE PROCEDURE events_route();
  END IF;
END
$$;
SELECT events_fill(:partitions, :inheritance, CAST(100000 * :scale AS bigint));
