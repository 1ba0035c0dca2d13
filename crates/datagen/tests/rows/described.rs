//! Schemas as a server describes them: the same rows as from text, and guesses that give way to constraints.
//! The descriptions are written by hand; tests of `workload` read those of servers.

use std::collections::HashSet;

use pgmeter_datagen::{
    CheckDescription, ColumnDescription, Description, Generation, KeptRows, KeyDescription, NoFiles, Options,
    Partitioning, ReferenceDescription, Schema, Source, Special, TableDescription, TypeDescription, TypeKind,
};

use crate::schemas::LIBRARY;
use crate::table::{TestFiles, distinct, options, rows};

/// Columns of a table from a text: `name type [not null] [serial] [default] [computed], …`.
pub(crate) fn table(name: &str, columns: &str) -> TableDescription {
    let column = |text: &str| {
        let (name, rest) = text.trim().split_once(' ').expect("a name and a type");
        let mut own = ColumnDescription { name: name.to_owned(), ..ColumnDescription::default() };
        let mut rest = rest.trim();
        for (word, set) in [
            (" computed", (|own| own.computed = true) as fn(&mut ColumnDescription)),
            (" default", |own| own.has_default = true),
            (" serial", |own| (own.sequence, own.has_default) = (true, true)),
            (" not null", |own| own.not_null = true),
        ] {
            if let Some(before) = rest.strip_suffix(word) {
                set(&mut own);
                rest = before;
            }
        }
        own.type_name = rest.to_owned();
        own
    };
    let columns = columns.split(';').map(column).collect();
    TableDescription { name: name.to_owned(), columns, ..TableDescription::default() }
}

fn names(list: &str) -> Vec<String> {
    list.split(", ").map(str::to_owned).collect()
}

pub(crate) trait Constraints: Sized {
    fn own(&mut self) -> &mut TableDescription;

    fn key(mut self, columns: &str) -> Self {
        let primary = self.own().keys.is_empty();
        let name = format!("{}_{}", self.own().name, columns.replace(", ", "_"));
        let key = KeyDescription { name, columns: names(columns), primary, ..KeyDescription::default() };
        self.own().keys.push(key);
        self
    }

    fn special(mut self, columns: &str, special: Special) -> Self {
        let name = format!("{special:?}").to_lowercase();
        let key =
            KeyDescription { name, columns: names(columns), special: Some(special), ..Default::default() };
        self.own().keys.push(key);
        self
    }

    fn references(mut self, columns: &str, table: usize, referenced: &str) -> Self {
        let name = format!("{}_{}_fkey", self.own().name, columns.replace(", ", "_"));
        let (columns, referenced) = (names(columns), names(referenced));
        self.own().foreign_keys.push(ReferenceDescription { name, columns, table, referenced, full: false });
        self
    }

    fn check(mut self, expression: &str, columns: &str) -> Self {
        let name = format!("check_{}", self.own().checks.len());
        let (expression, columns) = (expression.to_owned(), names(columns));
        self.own().checks.push(CheckDescription { name, expression, columns });
        self
    }

    fn partitioned(mut self, column: Option<&str>, bounds: &[&str]) -> Self {
        let bounds = bounds.iter().map(|bounds| (*bounds).to_owned()).collect();
        self.own().partitioning.push(Partitioning { column: column.map(str::to_owned), bounds });
        self.own().is_partitioned = true;
        self
    }

    fn kept(mut self, columns: &str, rows: &[&str]) -> Self {
        let rows = rows.iter().map(|row| names(row)).collect();
        self.own().kept = Some(KeptRows { columns: names(columns), rows });
        self
    }
}

impl Constraints for TableDescription {
    fn own(&mut self) -> &mut TableDescription {
        self
    }
}

fn described(tables: Vec<TableDescription>, types: Vec<(&str, TypeKind)>, text: &str) -> Schema {
    let types =
        types.into_iter().map(|(name, kind)| TypeDescription { name: name.to_owned(), kind }).collect();
    let description = Description { tables, types };
    Schema::new(&description, &Source::new(text, "s.sql")).unwrap_or_else(|error| panic!("{error}"))
}

fn result(tables: Vec<TableDescription>, text: &str, size: f64) -> Result<Generation, String> {
    let schema = described(tables, Vec::new(), text);
    Generation::new(&schema, &options(size), &NoFiles).map_err(|error| error.to_string())
}

pub(crate) fn made(tables: Vec<TableDescription>, text: &str, size: f64) -> Generation {
    result(tables, text, size).unwrap_or_else(|error| panic!("{error}"))
}

/// The values of a column, without NULL.
pub(crate) fn values(generation: &Generation, table: &str, column: &str) -> Vec<String> {
    let own = generation.table(table).expect(table);
    let at = own.columns().position(|name| name == column).expect(column);
    rows(generation, table).into_iter().filter_map(|row| row[at].clone()).collect()
}

pub(crate) fn constraints(generation: &Generation, table: &str) -> Option<String> {
    generation.table(table).expect(table).judgement().map(|judgement| judgement.constraints.join(", "))
}

/// Both have the same tables with the same rows.
fn check_same(text: &str, tables: Vec<TableDescription>, types: Vec<(&str, TypeKind)>, size: f64) {
    let parsed = crate::text::schema(text, "s.sql").expect("a schema");
    let parsed = Generation::new(&parsed, &options(size), &TestFiles).expect("a generation");
    let own = Generation::new(&described(tables, types, text), &options(size), &TestFiles).expect("another");
    assert_eq!(own.notes(), [""; 0]);
    assert_eq!(own.tables().len(), parsed.tables().len());
    for (own, parsed) in own.tables().iter().zip(parsed.tables()) {
        let text = |table: &pgmeter_datagen::TableRows| {
            let mut out = table.copy_target().into_bytes();
            table.write_copy(0..table.rows(), &mut out);
            String::from_utf8(out).expect("UTF-8")
        };
        assert_eq!(own.judgement(), None, "{}", own.name());
        assert_eq!(text(own), text(parsed));
    }
}

#[test]
fn a_described_library_has_the_rows_of_its_text() {
    let book =
        table("book", "bid integer not null serial; title text not null; isbn text not null").key("bid");
    let reader = table(
        "reader",
        "rid integer not null serial; firstname text not null; lastname text not null; born date not null; gender boolean not null; phone text",
    );
    let borrow = table(
        "borrow",
        "borrowed timestamp without time zone not null; bid integer not null; rid integer not null",
    );
    let borrow = borrow.key("bid").references("bid", 0, "bid").references("rid", 1, "rid");
    check_same(LIBRARY, vec![book, reader.key("rid"), borrow], Vec::new(), 40.0);
}

#[test]
fn described_keys_have_the_rows_of_their_text() {
    let text = "CREATE TABLE part(p int PRIMARY KEY);\nCREATE TABLE app.partsupp(p int REFERENCES part, s int, PRIMARY KEY (p, s));\n\
        CREATE TABLE line(n int PRIMARY KEY, p int REFERENCES part, s int, up int REFERENCES line, -- df: null=0.2\n FOREIGN KEY (p, s) REFERENCES app.partsupp);\n\
        ALTER TABLE line ADD COLUMN \"Code\" text NOT NULL; -- df: pattern='[a-z]{3}'\nSELECT 1; -- df: null=0.3\n";
    let part = table("part", "p integer not null").key("p");
    let mut middle =
        table("partsupp", "p integer not null; s integer not null").key("p, s").references("p", 0, "p");
    middle.schema = Some("app".to_owned());
    let line =
        table("line", "n integer not null; p integer; s integer; up integer; Code text not null").key("n");
    let line = line.references("p", 0, "p").references("up", 2, "n").references("p, s", 1, "p, s");
    check_same(text, vec![part, middle, line], Vec::new(), 100.0);
}

#[test]
fn described_types_have_the_rows_of_their_text() {
    let text = "CREATE TYPE mood AS ENUM ('sad', 'ok');\nCREATE DOMAIN small AS int CHECK (value > 0 AND value < 9);\nCREATE TYPE pair AS (a int, b mood);\n\
        CREATE TABLE t(id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, a mood, b mood[], c small NOT NULL, d pair, e varchar(20), f numeric(10,2) CHECK (f >= 5), g citext, h \"char\", \
        k timestamptz, l int[], y int NOT NULL, email text, UNIQUE (email)) PARTITION BY RANGE (y);\n\
        CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (10) TO (20);\nCREATE TABLE t2 PARTITION OF t FOR VALUES FROM (20) TO (30);";
    let t = table(
        "t",
        "id bigint not null serial; a public.mood; b public.mood[]; c public.small not null; d public.pair; e character varying(20); f numeric(10,2); g public.citext; h \"char\"; k timestamp with time zone; l integer[]; y integer not null; email text",
    );
    let t = t.key("id").key("email").check("(f >= (5)::numeric)", "f");
    let t = t.partitioned(Some("y"), &["FOR VALUES FROM (10) TO (20)", "FOR VALUES FROM (20) TO (30)"]);
    let check =
        |expression: &str| CheckDescription { expression: expression.to_owned(), ..Default::default() };
    let domain = TypeKind::Domain {
        base: "integer".to_owned(),
        not_null: false,
        checks: vec![check("((VALUE > 0) AND (VALUE < 9))")],
    };
    let types = vec![
        ("public.mood", TypeKind::Enum(names("sad, ok"))),
        ("public.small", domain),
        ("public.pair", TypeKind::Composite(names("integer, public.mood"))),
        ("public.citext", TypeKind::Base("citext".to_owned())),
    ];
    check_same(text, vec![t], types, 300.0);
}

#[test]
fn directives_belong_to_the_objects_of_the_catalogs() {
    let text = "CREATE UNLOGGED TABLE IF NOT EXISTS public.a ( -- df: size=3\n x int, -- df: offset=100 size=1\n CONSTRAINT x CHECK (x > 0), -- df: null=0.0\n \"Y\" int -- df: offset=300 size=1\n);\n\
        select 'unread' # df; -- df: null=0.0\nALTER TABLE ONLY a ADD z int, -- df: offset=5 size=1\n ALTER COLUMN x SET NOT NULL;";
    let generation = made(vec![table("a", "x integer; Y integer; z integer")], text, 50.0);
    let row = names("100, 300, 5").into_iter().map(Some).collect::<Vec<_>>();
    assert_eq!(rows(&generation, "a"), vec![row; 3]);
}

#[test]
fn rows_of_the_file_are_kept_and_referenced() {
    let kind = || table("kind", "a integer not null; b text not null; c text").key("a, b");
    let item = || {
        table("item", "id integer not null; ka integer; kb text").key("id").references("ka, kb", 0, "a, b")
    };
    let generation = made(vec![kind().kept("a, b", &["7, x", "8, y"]), item()], "", 100.0);
    assert_eq!(generation.tables().len(), 1);
    let pairs: HashSet<_> = rows(&generation, "item").into_iter().map(|row| row[1..].to_vec()).collect();
    let pair = |a: &str, b: &str| vec![Some(a.to_owned()), Some(b.to_owned())];
    assert!(pairs.contains(&pair("7", "x")) && pairs.contains(&pair("8", "y")), "{pairs:?}");
    assert!(!pairs.contains(&pair("7", "y")) && !pairs.contains(&pair("8", "x")), "{pairs:?}");
    let generation = made(vec![kind().kept("a, b", &[]), item()], "", 100.0);
    assert!(rows(&generation, "item").iter().all(|row| row[1..] == [None, None]));
    let required = table("item", "id integer not null; ka integer not null; kb text not null");
    let required = required.key("id").references("ka, kb", 0, "a, b");
    let last = table("last", "i integer not null").references("i", 1, "id");
    let generation = made(vec![kind().kept("a, b", &[]), required, last], "", 100.0);
    assert_eq!(generation.tables().iter().map(|table| table.rows()).collect::<Vec<_>>(), [0, 0]);
    assert_eq!(generation.notes()[0], "item: no rows; ka references kind, which has none");
    assert_eq!(generation.notes()[1], "last: no rows; i references item, which has none");
}

#[test]
fn guesses_from_names_give_way_to_keys() {
    let country = table("country", "code text not null; status text not null").key("code, status");
    let generation = made(vec![country], "", 500.0);
    assert_eq!(
        distinct(&rows(&generation, "country").iter().map(|row| format!("{row:?}")).collect::<Vec<_>>()),
        500
    );
    // Words are kept if they are enough.
    let few = table("few", "city text not null; status text not null").key("city, status");
    let generation = made(vec![few], "", 90.0);
    assert!(values(&generation, "few", "city").contains(&"Berlin".to_owned()));
    assert_eq!(constraints(&generation, "few"), None);
    for kind in
        ["integer[]", "numeric(12,2)", "numeric(20,0)", "jsonb", "text", "timestamp without time zone"]
    {
        let price = table("t", &format!("price {kind} not null")).key("price");
        let generation = made(vec![price], "", 30_000.0);
        assert_eq!(distinct(&values(&generation, "t", "price")), 30_000, "{kind}");
    }
}

#[test]
fn a_key_with_too_few_values_limits_the_rows() {
    let config = || table("config", "lock boolean not null; v text").key("lock").check("lock", "lock");
    let other =
        table("other", "id integer not null; c boolean not null").key("id").references("c", 0, "lock");
    let generation = made(vec![config(), other], "", 50.0);
    assert_eq!(generation.notes(), ["config: 1 row; its key (lock) allows no more"]);
    assert_eq!(values(&generation, "config", "lock"), ["true"]);
    assert_eq!(constraints(&generation, "config"), None);
    assert_eq!(distinct(&values(&generation, "other", "c")), 1);
    for text in ["CREATE TABLE config( -- df: size=3\n);", "-- df t=config a=lock: bool rate=0.1\n"] {
        let error = result(vec![config()], text, 50.0).expect_err(text);
        assert!(error.contains("the primary key (lock) of config needs"), "{error}");
    }
}

#[test]
fn skewed_directives_on_compound_keys_stay_errors() {
    let own = table("t", "a integer not null; b integer not null").key("a, b");
    let error = result(vec![own], "-- df t=t a=a: size=50 sub=power alpha=2\n-- df t=t a=b: size=9\n", 100.0);
    assert!(error.expect_err("an error").contains("cannot follow this distribution"));
}

#[test]
fn overlapping_foreign_keys_are_judged() {
    let tenant = table("tenant", "id integer not null").key("id");
    let user =
        table("u", "t integer not null; id integer not null").key("id").key("t, id").references("t", 0, "id");
    let post =
        table("post", "t integer not null; a integer not null; b integer not null; id integer not null")
            .key("id");
    let post = post.references("t, a", 1, "t, id").references("t, b", 1, "t, id");
    let node = table("node", "t integer not null; id integer not null; up integer").key("t, id");
    let node = node.references("t", 0, "id").references("t, up", 3, "t, id");
    let generation = made(vec![tenant, user, post, node], "", 60.0);
    assert_eq!(constraints(&generation, "post").as_deref(), Some("post_t_b_fkey"));
    let users: HashSet<_> = rows(&generation, "u").into_iter().collect();
    assert!(rows(&generation, "post").iter().all(|row| users.contains(&row[..2])));
    let ids: HashSet<_> = values(&generation, "u", "id").into_iter().collect();
    assert!(values(&generation, "post", "b").iter().all(|id| ids.contains(id)));
    assert_eq!(constraints(&generation, "node").as_deref(), Some("node_t_up_fkey"));
    let parents = values(&generation, "node", "up").len();
    assert!((15..45).contains(&parents), "{parents}");
}

#[test]
fn cycles_of_foreign_keys_are_cut() {
    for (kind, serial) in [("integer", " serial"), ("uuid", ""), ("text", "")] {
        let a = table("a", &format!("id {kind} not null{serial}; b {kind} not null")).key("id");
        let b = table("b", &format!("id {kind} not null{serial}; a {kind} not null")).key("id");
        let tables = vec![a.references("b", 1, "id"), b.references("a", 0, "id")];
        let generation = made(tables, "CREATE TABLE b( -- df: mult=0.5\n);", 40.0);
        let ids = |table: &str| values(&generation, table, "id").into_iter().collect::<HashSet<_>>();
        assert_eq!((ids("a").len(), ids("b").len()), (40, 20), "{kind}");
        assert!(values(&generation, "a", "b").iter().all(|id| ids("b").contains(id)), "{kind}");
        assert!(values(&generation, "b", "a").iter().all(|id| ids("a").contains(id)), "{kind}");
        let kept: usize = generation.tables().iter().map(|table| table.met_references().len()).sum();
        assert_eq!(kept, 1);
        assert!(generation.tables().iter().all(|table| table.judgement().is_none()));
    }
}

#[test]
fn a_cut_key_prefers_null_and_names_its_cycle_otherwise() {
    let a = table("a", "id integer not null; b integer not null").key("id").references("b", 1, "id");
    let b = table("b", "id integer not null; a integer").key("id").references("a", 0, "id");
    let generation = made(vec![a, b], "", 40.0);
    assert_eq!(generation.tables().iter().map(|table| table.name()).collect::<Vec<_>>(), ["b", "a"]);
    // The keys are the foreign keys themselves.
    let a = table("a", "id integer not null").key("id").references("id", 1, "id");
    let b = table("b", "id integer not null").key("id").references("id", 0, "id");
    let generation = made(vec![a, b], "", 40.0);
    assert!(generation.tables().iter().all(|table| table.rows() == 0));
    let note = &generation.notes()[0];
    assert!(note.contains(": no rows; ") && note.contains("is part of the cycle a → b → a"), "{note}");
}

#[test]
fn a_cut_key_takes_values_of_a_third_table() {
    let c = table("c", "id integer not null").key("id");
    let a = table("a", "id integer not null; b integer not null").key("id").references("b", 1, "id");
    let b = table("b", "id integer not null; a integer not null").key("id").references("id", 2, "id");
    let generation = made(vec![a, b.references("a", 0, "id"), c], "", 40.0);
    assert_eq!(generation.notes(), [""; 0]);
    let ids: HashSet<_> = values(&generation, "b", "id").into_iter().collect();
    assert!(values(&generation, "a", "b").iter().all(|id| ids.contains(id)));
}

#[test]
fn tables_that_refer_to_each_other_by_compound_keys_have_pairs_of_rows() {
    let all = table("all", "id text not null").key("id");
    let method = table("method", "id text not null; conf text not null").key("id").references("id", 0, "id");
    let conf = table("conf", "id text not null; method text not null").key("id").key("method, id");
    let method = method.references("id, conf", 2, "method, id");
    let generation = made(vec![all, method, conf.references("method", 1, "id")], "", 40.0);
    assert_eq!(generation.notes(), [""; 0]);
    let pairs: HashSet<_> =
        rows(&generation, "conf").into_iter().map(|row| vec![row[1].clone(), row[0].clone()]).collect();
    assert_eq!(pairs.len(), 40);
    assert!(rows(&generation, "method").iter().all(|row| pairs.contains(row)));
    assert_eq!(constraints(&generation, "method"), None);
}

#[test]
fn a_cut_key_follows_a_table_that_gets_fewer_rows() {
    let a = table("a", "id integer not null; b integer not null").key("id").references("b", 1, "id");
    let b =
        table("b", "id integer not null; lock boolean not null; a integer not null").key("id").key("lock");
    let generation = made(vec![a, b.references("a", 0, "id")], "", 40.0);
    assert_eq!(generation.notes(), ["b: 2 rows; its key (lock) allows no more"]);
    let ids: HashSet<_> = values(&generation, "b", "id").into_iter().collect();
    assert!(values(&generation, "a", "b").iter().all(|id| ids.contains(id)));
}

#[test]
fn the_server_judges_conditions_that_are_not_understood() {
    let t = table(
        "t",
        "a integer not null; b integer; c text; d text not null; e jsonb not null; f bytea not null",
    );
    let t = t
        .check("(a <> 7)", "a")
        .check("((b IS NULL) OR (c ~~ 'c%'::text))", "b, c")
        .check("(d ~ '^[A-Z]{3}-[0-9]+$'::text)", "d")
        .check("(jsonb_typeof(e) = 'array'::text)", "e")
        .check("(octet_length(f) = 32)", "f");
    let generation = made(vec![t], "", 200.0);
    let judgement = generation.table("t").expect("t").judgement().expect("a judgement").clone();
    assert_eq!(judgement.constraints, ["check_0", "check_1", "check_2"]);
    assert_eq!(judgement.conditions[0], "(a <> 7)");
    for column in ["b", "c"] {
        let count = values(&generation, "t", column).len();
        assert!((70..130).contains(&count), "{count}");
    }
    assert!(values(&generation, "t", "d").iter().all(|text| text.len() > 4 && text.as_bytes()[3] == b'-'));
    assert!(values(&generation, "t", "e").iter().all(|text| text.starts_with('[')));
    assert!(values(&generation, "t", "f").iter().all(|text| text.len() == 2 + 64));
}

#[test]
fn unique_texts_follow_a_regular_expression() {
    for (expression, kind) in [
        ("^[a-z0-9-]+$", "text"),
        ("^[A-Z]{3}-[0-9]{4}$", "character varying(8)"),
        (r"^[a-z]+(\.[a-z]+)*@x\.org$", "text"),
    ] {
        let t = table("t", &format!("c {kind} not null"))
            .key("c")
            .check(&format!("(c ~ '{expression}'::text)"), "c");
        let generation = made(vec![t], "", 3000.0);
        let texts = values(&generation, "t", "c");
        assert_eq!(distinct(&texts), 3000, "{expression}");
        let is_lower = |text: &String| {
            text.chars().all(|c| c.is_ascii_lowercase() || "-@.".contains(c) || c.is_ascii_digit())
        };
        assert!(texts.iter().all(|text| is_lower(text) != expression.contains("A-Z")), "{:?}", &texts[..3]);
    }
}

#[test]
fn the_server_judges_domains_by_the_name_of_their_column() {
    let check = CheckDescription {
        name: "odd".to_owned(),
        expression: "(((VALUE % 2) = 1) AND ('value'::text <> ''::text))".to_owned(),
        columns: Vec::new(),
    };
    let domain = TypeKind::Domain { base: "integer".to_owned(), not_null: true, checks: vec![check] };
    let schema = described(vec![table("t", "c public.odd")], vec![("public.odd", domain)], "");
    let generation = Generation::new(&schema, &options(50.0), &NoFiles).expect("a generation");
    let own = generation.table("t").expect("t");
    let conditions = own.judgement().expect("a judgement").conditions.clone();
    assert_eq!(conditions, ["(((\"c\" % 2) = 1) AND ('value'::text <> ''::text))"]);
    assert_eq!(own.column_types().collect::<Vec<_>>(), ["integer"]);
    assert_eq!(values(&generation, "t", "c").len(), 50);
}

#[test]
fn keys_that_are_no_plain_ones_are_judged() {
    let own = |special, columns: &str| {
        table("t", "id integer not null; status text not null; email text not null; flag boolean not null")
            .key("id")
            .special(columns, special)
    };
    let judged = |special, columns: &str| {
        let generation = made(vec![own(special, columns)], "", 100.0);
        (generation.table("t").expect("t").rows(), constraints(&generation, "t"))
    };
    assert_eq!(judged(Special::Partial, "email"), (100, None));
    assert_eq!(judged(Special::Partial, "flag"), (100, Some("partial".to_owned())));
    assert_eq!(judged(Special::Expression, "email"), (100, Some("expression".to_owned())));
    assert_eq!(judged(Special::Expression, "flag"), (100, Some("expression".to_owned())));
    assert_eq!(judged(Special::Exclusion, "status"), (100, Some("exclusion".to_owned())));
    let generation = made(vec![own(Special::Expression, "status")], "", 100.0);
    assert_eq!(distinct(&values(&generation, "t", "status")), 100);
    let computed = table("t", "a integer not null; b integer computed").key("a").key("b");
    assert_eq!(constraints(&made(vec![computed], "", 10.0), "t").as_deref(), Some("t_b"));
}

#[test]
fn partitions_of_several_levels_are_judged() {
    let own = || table("t", "k text not null; y integer not null; b boolean not null");
    let values_of = |generation: &Generation, column: &str| {
        let mut found = values(generation, "t", column);
        found.sort();
        found.dedup();
        found
    };
    let one = own().partitioned(Some("b"), &["FOR VALUES IN (true)"]);
    let generation = made(vec![one], "", 50.0);
    assert_eq!(values_of(&generation, "b"), ["true"]);
    assert_eq!(constraints(&generation, "t"), None);
    let two = own()
        .partitioned(Some("k"), &["FOR VALUES IN ('x', 'y')", "DEFAULT"])
        .partitioned(Some("y"), &["FOR VALUES FROM (MINVALUE) TO (3)", "FOR VALUES FROM (3) TO (5)"]);
    let generation = made(vec![two], "", 50.0);
    assert_eq!(values_of(&generation, "k"), ["x", "y"]);
    assert_eq!(values_of(&generation, "y"), ["1", "2", "3", "4"]);
    assert_eq!(constraints(&generation, "t").as_deref(), Some("partitions of t"));
    let expression = made(vec![own().partitioned(None, &["FOR VALUES FROM (1) TO (3)"])], "", 50.0);
    assert_eq!(constraints(&expression, "t").as_deref(), Some("partitions of t"));
}

#[test]
fn tables_with_types_without_generator_get_no_rows_unless_null_or_a_default_is_possible() {
    let fine = table("t", "a strange; b strange not null default; c integer");
    let generation = made(vec![fine], "", 20.0);
    assert_eq!(generation.table("t").expect("t").columns().collect::<Vec<_>>(), ["a", "c"]);
    assert!(values(&generation, "t", "a").is_empty());
    let wrong = table("t", "a strange not null; b odd not null; c integer");
    let other = table("u", "d strange not null");
    let last = table("v", "id integer not null; t integer not null; u integer").references("t", 0, "c");
    let text = "CREATE TABLE v( -- df: size=7\n);";
    let generation = made(vec![wrong, other, last.references("u", 1, "d")], text, 20.0);
    assert_eq!(
        generation.tables().iter().map(|table| table.rows()).collect::<Vec<_>>(),
        [0, 0],
        "u has no column to copy"
    );
    let notes = generation.notes();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(
        notes[0].starts_with("t: no rows; the type strange of the column a has no generator"),
        "{notes:?}"
    );
    assert!(notes[1].starts_with("u: no rows; ") && notes[1].contains("-- df: "), "{notes:?}");
    assert_eq!(notes[2], "v: no rows; t references t, which has none");
}

#[test]
fn a_table_without_partitions_gets_no_rows() {
    let own = || table("t", "y integer not null").key("y");
    let other = table("u", "y integer").references("y", 0, "y");
    let generation = made(vec![own().partitioned(Some("y"), &[]), other], "", 30.0);
    assert_eq!(generation.notes(), ["t: no rows; it has no partitions; create one in the schema"]);
    assert!(values(&generation, "u", "y").is_empty());
    let generation = made(vec![own().partitioned(Some("y"), &["DEFAULT"])], "", 30.0);
    assert_eq!(generation.notes(), [""; 0]);
}

#[test]
fn ranges_of_users_follow_their_subtype() {
    let kinds = |subtype: &str| vec![("public.r", TypeKind::Range(subtype.to_owned()))];
    let tables = || vec![table("t", "r public.r")];
    let floats = described(tables(), kinds("double precision"), "");
    let generation = Generation::new(&floats, &options(50.0), &NoFiles).expect("a generation");
    assert!(values(&generation, "t", "r").iter().all(|range| range.starts_with('[')));
    for (subtype, start) in [("text", "["), ("uuid", "["), ("inet", "["), ("bytea", "empty")] {
        let own = described(tables(), kinds(subtype), "");
        let generation = Generation::new(&own, &options(50.0), &NoFiles).expect("a generation");
        assert!(values(&generation, "t", "r").iter().all(|range| range.starts_with(start)), "{subtype}");
    }
}

#[test]
fn rows_with_very_many_texts_fit_a_page() {
    let columns: Vec<String> = (0..1001).map(|number| format!("c{number} text not null")).collect();
    let generation = made(vec![table("wide", &columns.join("; "))], "", 5.0);
    // Each text has one more byte in the row; its header has 24 bytes, and 126 for NULL.
    let longest = rows(&generation, "wide").into_iter().map(|row| {
        row.iter().map(|value| value.as_ref().map_or(0, |text| text.len() + 1)).sum::<usize>() + 150
    });
    assert!(longest.max() < Some(8_000));
}

#[test]
fn judged_tables_judge_the_tables_that_refer_to_them() {
    let a = table("a", "id integer not null; n integer not null").key("id").check("(n <> 3)", "n");
    let b = table("b", "id integer not null; a integer").key("id").references("a", 0, "id");
    let c = table("c", "b integer").references("b", 1, "id");
    let generation = made(vec![a, b, c], "", 20.0);
    for table in ["b", "c"] {
        assert_eq!(constraints(&generation, table).as_deref(), Some(""), "{table}");
    }
}

#[test]
fn attempts_draw_again_what_nothing_refers_to() {
    let a = table("a", "id text not null; code integer not null; n integer not null; m text")
        .key("id")
        .key("code");
    let b = table("b", "id integer not null; a integer not null").key("id").references("a", 0, "code");
    let schema = described(vec![a, b], Vec::new(), "-- df t=a a=id: chars='a-z' length=8\n");
    let attempt = |attempt: u32| {
        let options = Options { attempt, ..options(100.0) };
        Generation::new(&schema, &options, &NoFiles).expect("a generation")
    };
    let (first, second, third) = (attempt(0), attempt(1), attempt(2));
    for (table, column) in [("a", "id"), ("a", "code"), ("b", "id")] {
        assert_eq!(values(&first, table, column), values(&second, table, column), "{column}");
    }
    for (table, column) in [("a", "n"), ("a", "m"), ("b", "a")] {
        assert_ne!(values(&first, table, column), values(&second, table, column), "{column}");
        assert_ne!(values(&third, table, column), values(&second, table, column), "{column}");
    }
    let codes: HashSet<_> = values(&first, "a", "code").into_iter().collect();
    assert!(values(&second, "b", "a").iter().all(|code| codes.contains(code)));
}

/// So that nobody has to mend a schema in as many tries as it has errors.
#[test]
fn all_errors_of_a_schema_are_reported_together() {
    let text = "CREATE TABLE a(id int PRIMARY KEY, -- df: siez=3\n b text NOT NULL, -- df: isnull\n c text); -- df: length=x\n\
                CREATE TABLE d(a int NOT NULL);\n-- df t=dd: mult=2\nCREATE TABLE e(y text); -- df: text=missing\n";
    let tables = vec![
        table("a", "id int not null; b text not null; c text").key("id"),
        table("d", "a int not null").references("a", 0, "id"),
        table("e", "y text"),
    ];
    assert_eq!(
        result(tables, text, 10.0).map(drop),
        Err([
            "s.sql:1:43: unknown directive siez; the nearest known name is size",
            "s.sql:2:26: the column b is NOT NULL, and its generator gives NULL",
            "s.sql:3:18: the directive length takes an integer; not \"x\"",
            "s.sql:5:1: the schema has no table dd; the nearest known name is d",
            "s.sql:6:32: text=missing names no macro",
        ]
        .join("\n"))
    );
}
