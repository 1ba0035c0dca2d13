CREATE TABLE reviews(review jsonb NOT NULL);
CREATE TABLE reviews_json(review json NOT NULL);
CREATE TABLE reviews_columns(
  id bigint PRIMARY KEY,
  customer_id text NOT NULL,
  review_date date NOT NULL,
  rating integer NOT NULL,
  votes integer NOT NULL,
  helpful_votes integer NOT NULL,
  product_id char(10) NOT NULL,
  title text NOT NULL,
  sales_rank integer NOT NULL,
  product_group text NOT NULL,
  category text NOT NULL,
  subcategory text NOT NULL,
  similar_ids text[] NOT NULL
);
