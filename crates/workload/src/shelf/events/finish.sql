-- The statistics of each child.
DO $$
DECLARE
  child regclass;
BEGIN
  FOR child IN SELECT inhrelid FROM pg_inherits WHERE inhparent = CAST('events' AS regclass) LOOP
    EXECUTE 'ANALYZE ' || child;
  END LOOP;
END
$$;
ANALYZE events;
