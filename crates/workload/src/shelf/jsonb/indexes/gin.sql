CREATE INDEX reviews_gin ON reviews USING gin (review);
