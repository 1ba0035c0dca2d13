-- Four of five readers want a row of the new fifth.
SELECT count(*), sum(length(filler))
FROM (
    SELECT CASE
               WHEN random() < 0.8 THEN :rows / 5 * 4 + 1 + floor(random() * (:rows / 5))::int
               ELSE 1 + floor(random() * (:rows / 5 * 4))::int
           END AS id
    FROM generate_series(1, 10000) OFFSET 0
) AS wanted
JOIN readings USING (id);
