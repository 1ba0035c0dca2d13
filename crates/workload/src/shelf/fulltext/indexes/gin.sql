CREATE INDEX messages_gin ON messages USING gin (body_tsv);
