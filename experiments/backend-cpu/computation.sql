SELECT sum(sqrt(n)) FROM generate_series(1, 20000) AS n;
