CREATE INDEX messages_gist ON messages USING gist (body_tsv);
