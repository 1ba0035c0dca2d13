\restrict HJjcHJg8IvDQ2LVTBvrm17w3zdcEKZp7vsWescOwC51dG6H0lgorBJFX7Ftc5VS
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE TYPE public.mood AS ENUM (
    'a',
    'b'
);
ALTER TYPE public.mood OWNER TO postgres;
CREATE DOMAIN public.pos AS integer
	CONSTRAINT pos_check CHECK ((VALUE > 0));
ALTER DOMAIN public.pos OWNER TO postgres;
CREATE FUNCTION public.f() RETURNS integer
    LANGUAGE sql
    AS $$ select 1; $$;
ALTER FUNCTION public.f() OWNER TO postgres;
CREATE FUNCTION public.trg() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ begin return new; end $$;
ALTER FUNCTION public.trg() OWNER TO postgres;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.ch (
    id bigint NOT NULL,
    p integer NOT NULL,
    "Weird Name" character varying(20)[],
    j jsonb,
    g integer GENERATED ALWAYS AS ((p * 2)) STORED
);
ALTER TABLE public.ch OWNER TO postgres;
CREATE SEQUENCE public.ch_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER TABLE public.ch_id_seq OWNER TO postgres;
ALTER SEQUENCE public.ch_id_seq OWNED BY public.ch.id;
CREATE TABLE public.hp (
    a integer NOT NULL,
    b text
)
PARTITION BY HASH (a);
ALTER TABLE public.hp OWNER TO postgres;
CREATE TABLE public.hp0 (
    a integer NOT NULL,
    b text
);
ALTER TABLE public.hp0 OWNER TO postgres;
CREATE TABLE public.p (
    id integer NOT NULL,
    m public.mood,
    q public.pos NOT NULL,
    e text,
    t tsvector,
    z numeric(10,2) DEFAULT 1.5,
    s text,
    ts timestamp with time zone DEFAULT now(),
    CONSTRAINT c CHECK ((z > (0)::numeric)),
    CONSTRAINT p_e_check CHECK ((length(e) > 0))
);
ALTER TABLE ONLY public.p ALTER COLUMN e SET STATISTICS 500;
ALTER TABLE ONLY public.p ALTER COLUMN s SET COMPRESSION pglz;
ALTER TABLE public.p OWNER TO postgres;
COMMENT ON TABLE public.p IS 'x; y';
CREATE TABLE public.inh (
    extra integer
)
INHERITS (public.p);
ALTER TABLE ONLY public.inh ALTER COLUMN s SET COMPRESSION pglz;
ALTER TABLE public.inh OWNER TO postgres;
CREATE TABLE public.lp (
    a text,
    b integer
)
PARTITION BY LIST (a);
ALTER TABLE public.lp OWNER TO postgres;
CREATE TABLE public.lp1 (
    a text,
    b integer
);
ALTER TABLE public.lp1 OWNER TO postgres;
CREATE MATERIALIZED VIEW public.mv AS
 SELECT 1 AS a
  WITH NO DATA;
ALTER TABLE public.mv OWNER TO postgres;
COMMENT ON MATERIALIZED VIEW public.mv IS 'x';
ALTER TABLE public.p ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.p_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.part (
    id integer NOT NULL,
    d date NOT NULL
)
PARTITION BY RANGE (d);
ALTER TABLE public.part OWNER TO postgres;
CREATE TABLE public.part1 (
    id integer NOT NULL,
    d date NOT NULL
);
ALTER TABLE public.part1 OWNER TO postgres;
CREATE TABLE public.part2 (
    id integer NOT NULL,
    d date NOT NULL
);
ALTER TABLE public.part2 OWNER TO postgres;
CREATE SEQUENCE public.sq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER TABLE public.sq OWNER TO postgres;
CREATE UNLOGGED TABLE public.ul (
    a integer
);
ALTER TABLE public.ul OWNER TO postgres;
CREATE VIEW public.v AS
 SELECT p.id,
    p.m,
    p.q,
    p.e,
    p.t,
    p.z,
    p.s,
    p.ts
   FROM public.p;
ALTER TABLE public.v OWNER TO postgres;
ALTER TABLE ONLY public.hp ATTACH PARTITION public.hp0 FOR VALUES WITH (modulus 1, remainder 0);
ALTER TABLE ONLY public.lp ATTACH PARTITION public.lp1 FOR VALUES IN ('x', 'y');
ALTER TABLE ONLY public.part ATTACH PARTITION public.part1 FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
ALTER TABLE ONLY public.part ATTACH PARTITION public.part2 DEFAULT;
ALTER TABLE ONLY public.ch ALTER COLUMN id SET DEFAULT nextval('public.ch_id_seq'::regclass);
ALTER TABLE ONLY public.inh ALTER COLUMN z SET DEFAULT 1.5;
ALTER TABLE ONLY public.inh ALTER COLUMN ts SET DEFAULT now();
ALTER TABLE ONLY public.ch
    ADD CONSTRAINT ch_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ch REPLICA IDENTITY USING INDEX ch_pkey;
ALTER TABLE ONLY public.hp
    ADD CONSTRAINT hp_pkey PRIMARY KEY (a);
ALTER TABLE ONLY public.hp0
    ADD CONSTRAINT hp0_pkey PRIMARY KEY (a);
ALTER TABLE ONLY public.p
    ADD CONSTRAINT p_e_key UNIQUE (e);
ALTER TABLE ONLY public.p
    ADD CONSTRAINT p_pkey PRIMARY KEY (id);
ALTER TABLE public.p CLUSTER ON p_pkey;
ALTER TABLE ONLY public.part
    ADD CONSTRAINT part_pkey PRIMARY KEY (id, d);
ALTER TABLE ONLY public.part1
    ADD CONSTRAINT part1_pkey PRIMARY KEY (id, d);
ALTER TABLE ONLY public.part2
    ADD CONSTRAINT part2_pkey PRIMARY KEY (id, d);
CREATE INDEX mvi ON public.mv USING btree (a);
COMMENT ON INDEX public.mvi IS 'y';
CREATE INDEX part_d_idx ON ONLY public.part USING btree (d);
CREATE INDEX part1_d_idx ON public.part1 USING btree (d);
CREATE INDEX part2_d_idx ON public.part2 USING btree (d);
ALTER INDEX public.hp_pkey ATTACH PARTITION public.hp0_pkey;
ALTER INDEX public.part_d_idx ATTACH PARTITION public.part1_d_idx;
ALTER INDEX public.part_pkey ATTACH PARTITION public.part1_pkey;
ALTER INDEX public.part_d_idx ATTACH PARTITION public.part2_d_idx;
ALTER INDEX public.part_pkey ATTACH PARTITION public.part2_pkey;
CREATE STATISTICS public.st ON q, e FROM public.p;
ALTER STATISTICS public.st OWNER TO postgres;
CREATE RULE r AS
    ON DELETE TO public.v DO INSTEAD NOTHING;
CREATE TRIGGER t2 AFTER INSERT ON public.ch FOR EACH ROW EXECUTE FUNCTION public.trg();
ALTER TABLE public.ch DISABLE TRIGGER t2;
CREATE TRIGGER tr BEFORE INSERT ON public.p FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
ALTER TABLE ONLY public.ch
    ADD CONSTRAINT ch_p_fkey FOREIGN KEY (p) REFERENCES public.p(id) ON DELETE CASCADE;
ALTER TABLE public.part
    ADD CONSTRAINT part_id_fkey FOREIGN KEY (id) REFERENCES public.p(id);
ALTER TABLE public.p ENABLE ROW LEVEL SECURITY;
CREATE POLICY po ON public.p USING (true);
GRANT SELECT ON TABLE public.p TO PUBLIC;
GRANT SELECT ON TABLE public.mv TO PUBLIC;
\unrestrict HJjcHJg8IvDQ2LVTBvrm17w3zdcEKZp7vsWescOwC51dG6H0lgorBJFX7Ftc5VS
