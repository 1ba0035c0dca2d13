-- Documents as jsonb, without an index.
DROP TABLE reviews_json, reviews_columns;
CREATE VIEW one_category AS SELECT * FROM reviews WHERE review @> '{"product": {"category": "Music category 7"}}';
CREATE FUNCTION build_index() RETURNS void LANGUAGE sql AS $$ $$;
