-- Only where pg_stat_kcache is loaded.
DO $$ BEGIN
    IF current_setting('pg_stat_kcache.linux_hz', true) IS NOT NULL THEN
        CREATE EXTENSION IF NOT EXISTS pg_stat_kcache CASCADE;
    END IF;
END $$;
