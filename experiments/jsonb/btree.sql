-- Documents as jsonb, with a B-tree on the category.
DROP TABLE reviews_json, reviews_columns;
CREATE VIEW one_category AS SELECT * FROM reviews WHERE review #>> '{product,category}' = 'Music category 7';
CREATE FUNCTION build_index() RETURNS void LANGUAGE sql AS $$ CREATE INDEX reviews_category ON reviews ((review #>> '{product,category}')) $$;
