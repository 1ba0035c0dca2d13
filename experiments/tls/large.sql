-- One row of 1 MB, which the server makes without reading a table.
SELECT repeat('x', 1000000);
