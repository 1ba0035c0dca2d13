CREATE INDEX reviews_gin_path ON reviews USING gin (review jsonb_path_ops);
