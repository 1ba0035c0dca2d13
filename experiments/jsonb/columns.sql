-- The values as columns, without an index but the key.
DROP TABLE reviews, reviews_json;
CREATE VIEW one_category AS SELECT * FROM reviews_columns WHERE category = 'Music category 7';
CREATE FUNCTION build_index() RETURNS void LANGUAGE sql AS $$ $$;
