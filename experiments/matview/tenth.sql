UPDATE mv_orders SET amount = amount + 1 WHERE customer % 10 = 0;
