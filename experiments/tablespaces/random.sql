SELECT count(*), sum(length(filler))
FROM (SELECT 1 + floor(random() * :rows)::int AS id FROM generate_series(1, 10000) OFFSET 0) AS wanted
JOIN readings USING (id);
