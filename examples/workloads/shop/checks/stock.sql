-- Nothing is sold that was not in stock.
SELECT id, in_stock, sold FROM shop_products WHERE in_stock + sold <> 1000000;
