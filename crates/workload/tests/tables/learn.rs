//! A table that is learnt from a live one has its statistics: both are loaded into a server, analyzed and compared.
//! Learning refuses relations without statistics.

use std::collections::BTreeMap;
use std::io::Write as _;

use connect::Session;
use datagen::{Generation, NoFiles, Options, Schema, Source};
use learning::{Learned, learn};
use loading::loader::catalogs::describe_tables;
use testkit::cluster::Cluster;
use testkit::extent;

use crate::generated::{self, folder, open, scaled};
use crate::harness::{NEWEST, OLDEST, lines, session, session as session_of};

/// Tables with the shapes that matter: keys, skew, NULL, order, lengths, types.
const TABLES: &str = r"
CREATE TYPE mood AS ENUM ('calm', 'glad', 'sad, or not');
CREATE TABLE customers(
  id bigserial PRIMARY KEY,
  email varchar(60) NOT NULL UNIQUE,
  country char(2) NOT NULL,
  credit numeric(10,2),
  active boolean NOT NULL,
  born date,
  code uuid NOT NULL,
  mood mood,
  tags integer[]
);
CREATE TABLE orders(
  id integer PRIMARY KEY,
  customer bigint NOT NULL REFERENCES customers,
  status text NOT NULL CHECK (status IN ('new', 'paid', 'sent', 'lost')),
  placed timestamptz NOT NULL,
  amount numeric(8,2) NOT NULL CHECK (amount > 0),
  clerk smallint,
  ratio double precision,
  note text,
  rare text,
  document jsonb,
  payload bytea
);
CREATE TABLE items(
  order_id integer NOT NULL,
  line integer NOT NULL,
  product integer NOT NULL,
  PRIMARY KEY (order_id, line)
);
SELECT setseed(0.5);
INSERT INTO customers(email, country, credit, active, born, code, mood, tags)
  SELECT 'user' || i || repeat('x', i % 9) || '@example.org',
    (ARRAY['de','de','de','fr','fr','us','it','es'])[1 + (random() * 7)::int],
    CASE WHEN random() < 0.3 THEN NULL ELSE (random() * 5000)::numeric(10,2) END,
    random() < 0.9, date '1950-01-01' + (random() * 18000)::int,
    md5(i::text)::uuid, (ARRAY['calm','glad','glad','sad, or not'])[1 + i % 4]::mood, ARRAY[i, i + 1, i + 2]
  FROM generate_series(1, {customers}) i;
INSERT INTO orders
  SELECT i, 1 + floor({customers} * random() ^ 3)::bigint,
    CASE WHEN i < {sent} THEN 'sent' WHEN random() < 0.7 THEN 'paid' ELSE 'new' END,
    timestamptz '2024-01-01 00:00+00' + i * interval '7 minutes',
    (1 + random() * 900)::numeric(8,2),
    CASE WHEN random() < 0.05 THEN NULL ELSE 1 + floor(60 * random() ^ 2)::int END,
    -(i + random() * 4000),
    CASE WHEN random() < 0.6 THEN NULL ELSE repeat(md5(i::text), 3) END,
    CASE WHEN random() < 0.97 THEN NULL ELSE 'x' || (i % ({customers} / 50)) END,
    json_build_object('a', i, 'text', repeat(md5((i * 7)::text), 2))::jsonb,
    decode(md5(i::text), 'hex')
  FROM generate_series(1, 10 * {customers}) i;
INSERT INTO items
  SELECT o, l, 1 + floor(500 * random())::int FROM generate_series(1, 3 * {customers}) o, generate_series(1, 5) l
  WHERE random() < 0.6;
ANALYZE customers; ANALYZE orders; ANALYZE items;
";

const NAMES: [&str; 3] = ["customers", "orders", "items"];

fn learnt(session: &mut Session, values: bool) -> Learned {
    let names = NAMES.map(str::to_owned);
    learn(session, &names, values).unwrap_or_else(|error| panic!("{error}"))
}

/// Loads the rows of the learnt schema into tables of a schema of their own.
fn load(session: &mut Session, learnt: &Learned, schema: &str) {
    session
        .execute(&format!("CREATE SCHEMA {schema}; SET search_path = {schema}, public"))
        .expect("a schema");
    session.execute(&learnt.schema).unwrap_or_else(|error| panic!("{error}\n{}", learnt.schema));
    let oids = session.query(&format!(
        "SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = '{schema}'::regnamespace"
    ));
    let oids = oids
        .expect("tables")
        .iter()
        .map(|row| row.get(0).expect("an OID").parse().expect("a number"))
        .collect();
    let description = describe_tables(session, &oids).expect("a description");
    let generation = Schema::new(&description, &Source::new(&learnt.schema, "learnt.sql"))
        .and_then(|schema| Generation::new(&schema, &Options::default(), &NoFiles))
        .unwrap_or_else(|error| panic!("{error}\n{}", learnt.schema));
    for table in generation.tables() {
        let mut copy =
            session.copy_in(&format!("COPY {} FROM STDIN", table.copy_target())).expect("COPY begins");
        let mut rows = Vec::new();
        table.write_copy(0..table.rows(), &mut rows);
        copy.write_all(&rows).expect("the rows are sent");
        copy.finish().unwrap_or_else(|error| panic!("{}: {error}", table.name()));
        session.execute(&format!("ANALYZE {}", table.sql_name())).expect("statistics");
    }
    session.execute("RESET search_path").expect("the setting is known");
}

/// A row of `pg_stats`.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    rows: f64,
    null_share: f64,
    width: f64,
    distinct: f64,
    correlation: Option<f64>,
    most_common: f64,
    common_sum: f64,
}

fn statistics(session: &mut Session, schema: &str) -> BTreeMap<String, Row> {
    let sql = format!(
        "SELECT s.tablename || '.' || s.attname, s.null_frac, s.avg_width, \
         CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * c.reltuples ELSE s.n_distinct END, s.correlation, \
         coalesce((s.most_common_freqs)[1], 0), \
         coalesce((SELECT sum(f) FROM unnest(s.most_common_freqs) f), 0), c.reltuples \
         FROM pg_stats s JOIN pg_class c ON c.oid = (s.schemaname || '.' || s.tablename)::regclass \
         WHERE s.schemaname = '{schema}'"
    );
    let rows = session.query(&sql).unwrap_or_else(|error| panic!("{error}"));
    let number = |row: &connect::Row, at: usize| row.get(at).and_then(|text| text.parse().ok());
    rows.iter()
        .map(|row| {
            let get = |at| number(row, at).unwrap_or(0.0);
            let (null_share, width, distinct, most_common) = (get(1), get(2), get(3), get(5));
            let own = Row {
                rows: get(7),
                null_share,
                width,
                distinct,
                correlation: number(row, 4),
                most_common,
                common_sum: get(6),
            };
            (row.get(0).unwrap_or_default().to_owned(), own)
        })
        .collect()
}

/// The comparison as a table for readers, and the sentences about figures that differ.
fn compared(live: &BTreeMap<String, Row>, made: &BTreeMap<String, Row>) -> (String, Vec<String>) {
    let mut text = "| column | distinct | NULL | width | most common | all common | correlation |\n|---|---|---|---|---|---|---|\n".to_owned();
    let mut wrong = Vec::new();
    for (name, own) in live {
        let other = made.get(name).copied().unwrap_or_default();
        let shown =
            |correlation: Option<f64>| correlation.map_or("-".to_owned(), |number| format!("{number:.2}"));
        text.push_str(&format!(
            "| {name} | {:.0} / {:.0} | {:.3} / {:.3} | {:.0} / {:.0} | {:.3} / {:.3} | {:.2} / {:.2} | {} / {} |\n",
            own.distinct, other.distinct, own.null_share, other.null_share, own.width, other.width,
            own.most_common, other.most_common, own.common_sum, other.common_sum,
            shown(own.correlation), shown(other.correlation),
        ));
        let mut check = |what: &str, a: f64, b: f64, limit: f64| {
            if (a - b).abs() > limit {
                wrong.push(format!("{name}: {what} {a} and {b} differ by more than {limit}"));
            }
        };
        // Random orders and NULLs of so few rows have standard deviations of 1/√n and at most 0.5/√n.
        let deviation = 1.0 / (own.rows * (1.0 - own.null_share)).max(1.0).sqrt();
        check("distinct values", own.distinct, other.distinct, 1.0 + 0.05 * own.distinct);
        check("the share of NULL", own.null_share, other.null_share, 0.005 + 2.0 * deviation);
        check("the width", own.width, other.width, 1.0 + 0.1 * own.width);
        // A value that is as frequent as many others may or may not be listed.
        check("the most common share", own.most_common, other.most_common, 0.02);
        // Types whose values have no order that the generators know.
        let ordered = !["customers.tags", "orders.document"].contains(&name.as_str());
        if let (Some(a), Some(b), true) = (own.correlation, other.correlation, ordered) {
            check("the correlation", a, b, 0.03 + 4.0 * deviation);
        }
    }
    (text, wrong)
}

fn check(session: &mut Session, major: &str, values: bool) {
    let learnt = learnt(session, values);
    assert_eq!(learnt.warnings, Vec::<String>::new(), "{}", learnt.schema);
    let schema = if values { "made_with_values" } else { "made" };
    load(session, &learnt, schema);
    let (live, made) = (statistics(session, "public"), statistics(session, schema));
    let (text, wrong) = compared(&live, &made);
    assert!(
        wrong.is_empty(),
        "PostgreSQL {major}, live / made:\n{text}\n{}\n{}",
        wrong.join("\n"),
        learnt.schema
    );
    for table in NAMES {
        let counts = lines(
            session,
            &format!(
                "SELECT (SELECT count(*) FROM public.{table}) - (SELECT count(*) FROM {schema}.{table})"
            ),
        );
        assert_eq!(counts, ["0"], "{table}");
    }
}

#[test]
fn a_learnt_schema_has_the_statistics_of_the_live_tables() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "learn");
        let customers = extent::choose(500, 2000);
        let tables = TABLES.replace("{customers}", &customers.to_string());
        let tables = tables.replace("{sent}", &(customers * 17 / 2).to_string());
        session.execute(&tables).unwrap_or_else(|error| panic!("{error}"));
        check(&mut session, major, false);
        // With values, the common ones are those of the table.
        if major == NEWEST {
            check(&mut session, major, true);
        }
    }
}

#[test]
fn relations_without_statistics_are_refused_with_a_remedy() {
    let mut session = session(NEWEST, "learn_refused");
    session
        .execute(
            "CREATE TABLE plain(a int); INSERT INTO plain VALUES (1); CREATE TABLE \"x; y\"(a int); \
             INSERT INTO \"x; y\" VALUES (1); CREATE VIEW seen AS SELECT 1 AS a;
             CREATE TABLE hidden(a int, b int); INSERT INTO hidden VALUES (1); ANALYZE hidden;
             ALTER TABLE hidden ENABLE ROW LEVEL SECURITY; CREATE SCHEMA \"Odd\";
             CREATE TABLE \"Odd\".\"Own table\"(\"a, b\" int); INSERT INTO \"Odd\".\"Own table\" VALUES (1);
             ANALYZE \"Odd\".\"Own table\"; DROP ROLE IF EXISTS learner; CREATE ROLE learner;
             CREATE TABLE closed(a int); INSERT INTO closed VALUES (1); ANALYZE closed;
             GRANT SELECT ON hidden TO learner",
        )
        .expect("the tables are made");
    let mut refused = |name: &str| match learn(&mut session, &[name.to_owned()], false) {
        Ok(learnt) => panic!("{name}: {}", learnt.schema),
        Err(error) => error.to_string(),
    };
    assert_eq!(refused("plain"), "plain has no statistics; run ANALYZE plain first");
    assert_eq!(refused("\"x; y\""), "\"x; y\" has no statistics; run ANALYZE \"x; y\" first");
    assert_eq!(refused("seen"), "seen is a view; name the tables that it reads");
    assert_eq!(refused("plian"), "the database has no table plian; did you mean plain?");
    assert_eq!(refused("*.none"), "the database has no table *.none");
    let odd = learn(&mut session, &["\"Odd\".\"Own table\"".to_owned()], false).expect("it has statistics");
    assert!(odd.schema.contains("CREATE TABLE \"Odd\".\"Own table\"("), "{}", odd.schema);
    assert!(odd.schema.contains("  \"a, b\" integer"), "{}", odd.schema);
    session.execute("SET ROLE learner").expect("the role is there");
    let mut refused = |name: &str| learn(&mut session, &[name.to_owned()], false).unwrap_err().to_string();
    assert!(refused("closed").contains("it needs the privilege SELECT"), "{}", refused("closed"));
    assert!(refused("hidden").contains("has row-level security"), "{}", refused("hidden"));
    session.execute("RESET ROLE; DROP OWNED BY learner; DROP ROLE learner").expect("the role is removed");
}

#[test]
fn without_values_no_value_of_the_table_is_in_the_schema() {
    let mut session = session(NEWEST, "learn_secret");
    session
        .execute(
            "CREATE TABLE people(name text, salary integer, born date, ok boolean, extra jsonb, tags text[]);
             INSERT INTO people SELECT 'Secretperson' || i % 3, 98760 + i % 4, date '1969-07-20' + i % 5, true,
               '{\"secretkey\": 31337}', ARRAY['Secrettag'] FROM generate_series(1, 500) i; ANALYZE people",
        )
        .expect("the table is made");
    let names = ["people".to_owned()];
    let learnt = learn(&mut session, &names, false).expect("it has statistics").schema;
    for value in ["Secret", "secret", "9876", "1969", "31337"] {
        assert!(!learnt.contains(value), "{value}: {learnt}");
    }
    let with_values = learn(&mut session, &names, true).expect("it has statistics").schema;
    for value in ["list='Secretperson0,Secretperson1,Secretperson2'", "98760", "1969-07-2"] {
        assert!(with_values.contains(value), "{value}: {with_values}");
    }
}

/// Tables of one schema, made in a database of their own, learnt without warnings, and loaded into `made`.
fn learn_and_load(session: &mut Session, tables: &str, names: &[&str]) -> Learned {
    session.execute(tables).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let learnt = learn(session, &names, false).unwrap_or_else(|error| panic!("{error}"));
    load(session, &learnt, "made");
    learnt
}

/// What a schema has, by tables.
const OBJECTS: &str = "\
    SELECT concat_ws(' ', c.oid::regclass, c.relkind, \
      (SELECT string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod) || a.attnotnull, ',' \
       ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0), \
      (SELECT string_agg(pg_get_indexdef(i.indexrelid), ';' ORDER BY i.indexrelid::regclass::text) \
       FROM pg_index i WHERE i.indrelid = c.oid), \
      (SELECT string_agg(pg_get_constraintdef(k.oid), ';' ORDER BY k.conname) \
       FROM pg_constraint k WHERE k.conrelid = c.oid), pg_get_expr(c.relpartbound, c.oid)) \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^pg_|^information_schema$' ORDER BY 1";

/// Learns the whole database, and loads what is learnt into another one by `init`. Both have the same objects.
fn learn_all(session: &mut Session, name: &str, tables: &str) -> (Session, Learned) {
    session.execute(tables).unwrap_or_else(|error| panic!("{error}"));
    session.execute("ANALYZE").expect("statistics");
    let learnt = learn(session, &[], false).unwrap_or_else(|error| panic!("{error}"));
    let mut other = session_of(NEWEST, name);
    load_again(&mut other, &learnt.schema);
    assert_eq!(lines(&mut other, OBJECTS), lines(session, OBJECTS), "{}", learnt.schema);
    (other, learnt)
}

fn load_again(session: &mut Session, schema: &str) {
    let loaded = generated::load(&open(&folder(schema, &[])), session, &scaled(100.0));
    loaded.unwrap_or_else(|error| panic!("{error}\n{schema}"));
}

#[test]
fn all_foreign_keys_are_kept_whatever_the_tables_are_called() {
    let mut session = session(NEWEST, "learn_cycle");
    let (mut other, learnt) = learn_all(
        &mut session,
        "learn_cycle_copy",
        "CREATE TABLE staff(id int PRIMARY KEY, store int); CREATE TABLE store(id int PRIMARY KEY, mgr int REFERENCES staff);
         ALTER TABLE staff ADD FOREIGN KEY (store) REFERENCES store;
         CREATE TABLE customer(id int PRIMARY KEY, store int NOT NULL REFERENCES store, parent int REFERENCES customer);
         INSERT INTO staff SELECT generate_series(1, 50); INSERT INTO store SELECT i, i FROM generate_series(1, 20) i;
         UPDATE staff SET store = id % 20 + 1; INSERT INTO customer SELECT i, i % 20 + 1 FROM generate_series(1, 300) i",
    );
    assert_eq!(learnt.warnings, Vec::<String>::new());
    let counts =
        "SELECT concat_ws(' ', count(*), count(DISTINCT store), (SELECT count(*) FROM staff)) FROM customer";
    assert_eq!(lines(&mut other, counts), ["300 20 50"]);
    // One of them alone loses its keys, and says so.
    let customer = learn(&mut session, &["cust*".to_owned()], false).expect("it has statistics");
    assert_eq!(
        customer.warnings,
        ["foreign keys to tables that are not learnt are left out (1: customer.customer_store_fkey)"]
    );
}

#[test]
fn reserved_words_schemas_partitions_and_indexes_are_kept() {
    let mut session = session(NEWEST, "learn_all");
    let (mut other, learnt) = learn_all(
        &mut session,
        "learn_all_copy",
        "CREATE SCHEMA sales; CREATE SCHEMA \"Odd\"; CREATE TYPE \"Odd\".\"order\" AS ENUM ('a', 'b''c');
         CREATE TABLE \"case\"(\"when\" int PRIMARY KEY, \"left\" text NOT NULL DEFAULT 'x', \"check\" \"Odd\".\"order\");
         INSERT INTO \"case\" SELECT i, 'v' || i % 9, 'a' FROM generate_series(1, 200) i;
         CREATE INDEX \"end\" ON \"case\" (lower(\"left\")) WHERE \"when\" > 7;
         CREATE UNIQUE INDEX ON \"case\" (\"left\", \"when\") WHERE \"check\" IS NOT NULL;
         CREATE TABLE sales.orders(id int, day date NOT NULL, state text CHECK (state <> ''), CHECK (day > '2000-01-01' OR id > 0),
           PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
         CREATE TABLE sales.orders_1 PARTITION OF sales.orders FOR VALUES FROM ('2031-01-01') TO ('2032-01-01');
         CREATE TABLE sales.orders_2 PARTITION OF sales.orders FOR VALUES FROM ('2032-01-01') TO ('2033-01-01');
         CREATE INDEX ON sales.orders (state); CREATE INDEX ON sales.orders_2 (day DESC);
         INSERT INTO sales.orders SELECT i, date '2031-01-01' + i % 700, 's' FROM generate_series(1, 900) i;
         CREATE TABLE \"Odd\".base(id int); CREATE TABLE \"Odd\".own(more int) INHERITS (\"Odd\".base)",
    );
    assert_eq!(
        learnt.warnings,
        ["columns whose statistics are left out, because conditions of other forms limit their values \
             (4: \"case\".when, \"case\".left, sales.orders.id, sales.orders.day)"]
    );
    let counts = "SELECT concat_ws(' ', (SELECT count(*) FROM \"case\"), count(*), count(DISTINCT tableoid)) FROM sales.orders";
    assert_eq!(lines(&mut other, counts), ["200 900 2"]);
    let sales = learn(&mut session, &["sales.*".to_owned()], false).expect("it has statistics").schema;
    assert_eq!(sales.matches("CREATE TABLE sales.").count(), 3, "{sales}");
    assert!(sales.contains("CREATE SCHEMA IF NOT EXISTS sales;\n") && !sales.contains("Odd"), "{sales}");
}

#[test]
fn keys_over_few_values_can_be_loaded_again() {
    let mut session = session(NEWEST, "learn_few");
    let (mut other, learnt) = learn_all(
        &mut session,
        "learn_few_copy",
        "CREATE TABLE few(a boolean NOT NULL, b smallint NOT NULL, c int NOT NULL, UNIQUE (a, b, c));
         INSERT INTO few SELECT i % 2 = 0, i % 3, i / 6 FROM generate_series(0, 599) i;
         CREATE TABLE sparse(flag boolean UNIQUE, n int NOT NULL);
         INSERT INTO sparse SELECT CASE WHEN i = 1 THEN true END, i FROM generate_series(1, 200) i",
    );
    assert_eq!(
        learnt.warnings,
        [
            "columns in keys with few values have only NULL (1: sparse.flag)",
            "columns whose statistics are left out, because a key or a foreign key does not permit them (1: sparse.flag)",
        ]
    );
    let counts = "SELECT concat_ws(' ', count(*), (SELECT count(*) FROM sparse)) FROM few";
    assert_eq!(lines(&mut other, counts), ["600 200"]);
}

#[test]
fn each_kind_that_is_left_out_is_said_with_its_number() {
    let mut session = session(NEWEST, "learn_left_out");
    session
        .execute(
            "CREATE TABLE t(id int PRIMARY KEY, a int DEFAULT 3); CREATE TABLE other(a int);
             INSERT INTO t SELECT generate_series(1, 9); ANALYZE;
             CREATE FUNCTION own(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
             CREATE INDEX t_own ON t (own(a)); ALTER TABLE t ADD CONSTRAINT checked CHECK (own(a) > 0);
             ALTER TABLE t ADD b int DEFAULT own(7); CREATE TABLE later(a int); INSERT INTO later VALUES (1);
             ALTER TABLE t ADD row other; CREATE VIEW seen AS SELECT 1 AS a; CREATE SEQUENCE counter;
             COMMENT ON TABLE t IS 'a table'; ALTER TABLE t ADD c int; ANALYZE t",
        )
        .unwrap_or_else(|error| panic!("{error}"));
    let learnt = learn(&mut session, &[], false).expect("it has statistics");
    assert_eq!(
        learnt.warnings,
        [
            "columns whose types the schema cannot define are left out (1: t.row)",
            "comments are left out (1: t)",
            "constraints that depend on other objects are left out (1: t.checked)",
            "expressions of columns that depend on other objects are left out (1: t.b)",
            "functions are left out (1: own)",
            "indexes that depend on other objects are left out (1: t.t_own)",
            "sequences without a column are left out (1: counter)",
            "tables whose statistics are missing or hidden from this role get no directives; run ANALYZE as their owner \
             (1: later)",
            "views are left out (1: seen)",
        ]
    );
    load_again(&mut session_of(NEWEST, "learn_left_out_copy"), &learnt.schema);
}

#[test]
fn arrays_have_as_many_elements_as_the_live_ones() {
    let mut session = session(NEWEST, "learn_arrays");
    let learnt = learn_and_load(
        &mut session,
        "CREATE TABLE t(one text[], few int[] NOT NULL, empty int[], short varchar(3)[]);
         INSERT INTO t SELECT ARRAY['abcdef' || i % 10], array_fill(i, ARRAY[i % 3 + 1]), '{}', ARRAY['a', 'b']
           FROM generate_series(1, 2000) i; ANALYZE t",
        &["t"],
    );
    let counts = |schema: &str| {
        format!(
            "SELECT count(DISTINCT one), avg(cardinality(one)) = 1, avg(length(one[1])) BETWEEN 6 AND 8, \
             avg(cardinality(few)) BETWEEN 0.9 AND 2.1, sum(cardinality(empty)), avg(cardinality(short)) FROM {schema}.t"
        )
    };
    let (live, made) = (lines(&mut session, &counts("public")), lines(&mut session, &counts("made")));
    assert_eq!(made, live, "{}", learnt.schema);
}

#[test]
fn booleans_and_labels_keep_their_own_shares() {
    let mut session = session(NEWEST, "learn_labels");
    let learnt = learn_and_load(
        &mut session,
        "CREATE TYPE mood AS ENUM ('calm', 'glad', 'sad');
         CREATE TABLE t(ok boolean NOT NULL, mood mood NOT NULL,
           status text NOT NULL CHECK (status IN ('new', 'paid', 'sent')), code int NOT NULL CHECK (code IN (7, 8, 9)));
         INSERT INTO t SELECT i % 10 > 0, (CASE WHEN i % 5 = 0 THEN 'calm' ELSE 'sad' END)::mood,
           CASE WHEN i % 4 > 0 THEN 'sent' WHEN i % 8 = 0 THEN 'new' ELSE 'paid' END, CASE WHEN i % 3 = 0 THEN 7 ELSE 9 END
           FROM generate_series(1, 3000) i; ANALYZE t",
        &["t"],
    );
    assert_eq!(learnt.warnings, Vec::<String>::new());
    let share = |condition: &str| format!("round(avg(({condition})::int), 2)");
    let shares =
        ["ok", "mood = 'calm'", "mood = 'sad'", "status = 'sent'", "status = 'paid'", "code = 7"].map(share);
    let counts = |schema: &str| format!("SELECT {} FROM {schema}.t", shares.join(", "));
    let (live, made) = (lines(&mut session, &counts("public")), lines(&mut session, &counts("made")));
    assert_eq!(made, live, "{}", learnt.schema);
}

#[test]
fn types_domains_and_identity_columns_give_a_schema_that_loads() {
    let mut session = session(NEWEST, "learn_types");
    let tables = "CREATE TYPE mood AS ENUM ('calm', 'glad'); CREATE TYPE pair AS (x int, feeling mood);
         CREATE DOMAIN short AS text CHECK (length(VALUE) < 9); CREATE TYPE span AS RANGE (subtype = float8);
         CREATE TYPE odd AS (a int, b short);
         CREATE TABLE t(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, other bigint GENERATED BY DEFAULT AS IDENTITY,
           feelings mood[], pair pair, word short, span span UNIQUE, odd odd);
         INSERT INTO t(feelings, pair, word, span) SELECT ARRAY['calm']::mood[], ROW(i, 'glad'::mood)::pair, 'w' || i, span(i, i + 1)
           FROM generate_series(1, 300) i; ANALYZE t";
    let (_, learnt) = learn_all(&mut session, "learn_types_copy", tables);
    assert_eq!(learnt.warnings, Vec::<String>::new());
    for text in
        ["id integer GENERATED ALWAYS AS IDENTITY NOT NULL", "other bigint GENERATED BY DEFAULT AS IDENTITY"]
    {
        assert!(learnt.schema.contains(text), "{text}: {}", learnt.schema);
    }
}

/// What is learnt, and the rows that are made from it, are the same whatever the settings of the role are.
#[test]
fn learnt_values_do_not_depend_on_settings() {
    let mut session = session(NEWEST, "learn_settings");
    session
        .execute(
            "CREATE TABLE t(at timestamptz NOT NULL, day date NOT NULL, span interval NOT NULL, price money NOT NULL, \
               ratio double precision NOT NULL, bytes bytea NOT NULL, hour timetz NOT NULL);
             INSERT INTO t SELECT timestamptz '2020-03-01 00:00+00' + i % 300 * interval '3 hours', \
               date '2020-01-13' + i % 17, i % 11 * interval '-1 day 2 hours', (i % 13)::money, i % 19 / 3.0::float8, \
               decode(lpad(to_hex(i % 23), 4, '0'), 'hex'), time '10:00' + i % 5 * interval '1 minute' \
               FROM generate_series(1, 3000) i;
             ANALYZE t",
        )
        .expect("a table");
    let odd = "SET TimeZone = 'America/New_York'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'sql_standard'; \
               SET bytea_output = 'escape'; SET extra_float_digits = -10; SET client_encoding = 'LATIN1'";
    let sums = |schema: &str| {
        format!(
            "SELECT concat_ws(' ', count(*), sum(extract(epoch FROM at)), min(day) - date '2000-01-01', sum(extract(epoch FROM span)), \
             sum(price::numeric), md5(string_agg(encode(bytes, 'hex'), ',' ORDER BY bytes)), \
             sum(extract(epoch FROM hour))) FROM {schema}.t"
        )
    };
    let mut seen = Vec::new();
    for (settings, schema) in [("RESET ALL", "usual"), (odd, "unusual")] {
        session.execute(settings).expect("settings");
        let learnt = learn(&mut session, &["t".to_owned()], true).unwrap_or_else(|error| panic!("{error}"));
        load(&mut session, &learnt, schema);
        session.execute("RESET ALL").expect("settings");
        seen.push((learnt.schema, lines(&mut session, &sums(schema))));
    }
    assert_eq!(seen[0], seen[1]);
}
