SELECT count(*) FROM mv_sales;
