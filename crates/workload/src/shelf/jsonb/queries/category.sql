SELECT count(*) FROM reviews WHERE review #>> '{product,category}' = 'Book category 40';
