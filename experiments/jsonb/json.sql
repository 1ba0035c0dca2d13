-- Documents as json, without an index.
DROP TABLE reviews, reviews_columns;
CREATE VIEW one_category AS SELECT * FROM reviews_json WHERE review #>> '{product,category}' = 'Music category 7';
CREATE FUNCTION build_index() RETURNS void LANGUAGE sql AS $$ $$;
