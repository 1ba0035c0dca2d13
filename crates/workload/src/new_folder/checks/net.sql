-- A check returns no rows if the data are sound.
SELECT id, net FROM orders WHERE net <= 0;
