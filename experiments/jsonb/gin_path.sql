-- Documents as jsonb, with GIN of the class jsonb_path_ops.
DROP TABLE reviews_json, reviews_columns;
CREATE VIEW one_category AS SELECT * FROM reviews WHERE review @> '{"product": {"category": "Music category 7"}}';
CREATE FUNCTION build_index() RETURNS void LANGUAGE sql AS $$ CREATE INDEX reviews_gin_path ON reviews USING gin (review jsonb_path_ops) $$;
