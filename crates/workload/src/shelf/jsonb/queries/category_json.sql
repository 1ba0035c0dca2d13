SELECT count(*) FROM reviews_json WHERE review #>> '{product,category}' = 'Book category 40';
