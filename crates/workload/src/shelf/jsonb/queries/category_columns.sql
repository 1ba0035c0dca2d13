SELECT count(*) FROM reviews_columns WHERE category = 'Book category 40';
