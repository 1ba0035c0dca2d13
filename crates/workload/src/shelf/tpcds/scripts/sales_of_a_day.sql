-- The sales of the stores on a day, by category: a short query by an index. TPC-DS has no such queries.
\set day random(2450816, 2452642)
SELECT i_category, count(*), sum(ss_ext_sales_price)
FROM store_sales JOIN item ON ss_item_sk = i_item_sk
WHERE ss_sold_date_sk = :day GROUP BY i_category ORDER BY i_category;
