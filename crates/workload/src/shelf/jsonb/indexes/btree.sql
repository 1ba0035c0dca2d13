CREATE INDEX reviews_category ON reviews ((review #>> '{product,category}'));
CREATE INDEX reviews_json_category ON reviews_json ((review #>> '{product,category}'));
CREATE INDEX reviews_columns_category ON reviews_columns (category);
