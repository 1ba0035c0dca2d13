-- Messages, and the trigger that makes a tsvector of each: docs/shelf.md describes them.
CREATE TABLE messages(
  id integer PRIMARY KEY,
  thread_id integer NOT NULL,
  parent_id integer,
  sent timestamp,
  author text NOT NULL,
  subject text NOT NULL,
  body text NOT NULL,
  -- The text search configuration of the message. As text, because pg_upgrade refuses columns of the type regconfig.
  config text NOT NULL,
  body_tsv tsvector
);
CREATE OR REPLACE FUNCTION messages_body_tsv() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.body_tsv := to_tsvector(NEW.config::regconfig, NEW.body);
  RETURN NEW;
END
$$;
CREATE TRIGGER messages_body_tsv BEFORE INSERT OR UPDATE ON messages
  FOR EACH ROW EXECUTE PROCEDURE messages_body_tsv();
