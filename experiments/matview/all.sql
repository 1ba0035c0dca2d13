UPDATE mv_orders SET amount = amount + 1;
