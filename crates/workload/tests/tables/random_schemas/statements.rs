//! Schemas at random as SQL: the statements of one schema from its seed. A server may refuse some of them. Tables have
//! all kinds of columns, keys, conditions and partitions that the version of the server knows.

/// A linear congruential generator: the schemas are always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % most
    }

    /// Whether something with this chance happens: one of so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// Some of these, at least one, each once.
    fn some<'a, T>(&mut self, all: &'a [T], most: usize) -> Vec<&'a T> {
        let mut left: Vec<&T> = all.iter().collect();
        let count = 1 + self.below(most.min(all.len()));
        (0..count).map(|_| left.swap_remove(self.below(left.len()))).collect()
    }
}

/// Types with the class of their conditions; `$` is the schema's number.
const TYPES: [(&str, Class); 46] = [
    ("integer", Class::Number),
    ("integer", Class::Number),
    ("bigint", Class::Number),
    ("smallint", Class::Number),
    ("numeric", Class::Number),
    ("numeric(6,2)", Class::Number),
    ("numeric(2,0)", Class::Number),
    ("real", Class::Number),
    ("double precision", Class::Number),
    ("text", Class::Text),
    ("text", Class::Text),
    ("varchar(5)", Class::Text),
    ("varchar(40)", Class::Text),
    ("char(2)", Class::Text),
    ("char(1)", Class::Text),
    ("name", Class::Text),
    ("\"char\"", Class::Other),
    ("boolean", Class::Truth),
    ("date", Class::Time),
    ("timestamp", Class::Time),
    ("timestamptz", Class::Time),
    ("timestamp(0)", Class::Time),
    ("time", Class::Other),
    ("timetz", Class::Other),
    ("interval", Class::Other),
    ("uuid", Class::Other),
    ("bytea", Class::Bytes),
    ("json", Class::Other),
    ("jsonb", Class::Json),
    ("integer[]", Class::Array),
    ("text[]", Class::Array),
    ("int4range", Class::Range),
    ("daterange", Class::Range),
    ("tstzrange", Class::Range),
    ("numrange", Class::Range),
    ("inet", Class::Other),
    ("cidr", Class::Other),
    ("macaddr", Class::Other),
    ("bit(4)", Class::Other),
    ("varbit(8)", Class::Other),
    ("money", Class::Other),
    ("point", Class::Other),
    ("box", Class::Other),
    ("xml", Class::Other),
    ("tsvector", Class::Other),
    ("oid", Class::Other),
];

/// What conditions a type may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Number,
    Text,
    Truth,
    Time,
    Bytes,
    Json,
    Array,
    Range,
    Other,
}

const NAMES: [&str; 18] = [
    "id",
    "code",
    "status",
    "city",
    "email",
    "age",
    "price",
    "name",
    "title",
    "created_at",
    "active",
    "x",
    "\"Two words\"",
    "\"order\"",
    "\"a.b\"",
    "\"it's \"\"so\"\"\"",
    "type",
    "year",
];

// Long because: it is a table.
/// Conditions on a column `c` and another one of the same class, `o`.
fn conditions(class: Class) -> &'static [&'static str] {
    match class {
        Class::Number => &[
            "c > 0",
            "c between 1 and 1000",
            "c in (1, 2, 3)",
            "c::int % 2 = 0",
            "c <> 5",
            "c >= 0 and c < 90",
            "not (c < 3)",
            "c is null or c > 10",
            "abs(c) < 5000",
            "c < o",
            "c <= o + 10",
            "c = 7",
            "c * 2 > 10",
            "c >= o",
            "c > 3 or o > 3",
            "c = any (array[10, 20, 30])",
            "c <> o",
            "c + o < 100",
            "(c > 5) is true",
            "case when c > 10 then o > 10 else true end",
            "c > 0 and o > 0",
            "c not in (1, 2)",
            "c > 0 or c is null",
        ],
        Class::Text => &[
            "c <> ''",
            "length(c) > 2",
            "char_length(c) <= 10",
            "c ~ '^[a-z]+$'",
            "c ~ '^[A-Z]{2}[0-9]{3}$'",
            "c = lower(c)",
            "c = upper(c)",
            "c in ('a', 'b', 'c')",
            "c like 'a%'",
            "c !~ ' '",
            "length(trim(c)) > 0",
            "c > 'm'",
            "octet_length(c) = 2",
            "c <> o",
            "c ~* '^[a-f0-9]*$'",
            "c is null or length(c) = 1",
            "c = any (array['x', 'y'])",
            "c not like '%@%'",
            "length(c) between 1 and 4",
            "c < o",
            "coalesce(c, o) <> ''",
        ],
        Class::Truth => {
            &["c", "not c", "c = o", "c or o", "c is not null", "not (c and o)", "c is true", "c <> o"]
        }
        Class::Time => &[
            "c > '2000-01-01'",
            "c < now()",
            "c between '2010-01-01' and '2020-12-31'",
            "extract(year from c) > 2005",
            "c < o",
            "o is null or c <= o",
            "c >= '2020-01-01' and c < '2020-03-01'",
            "c <> o",
            "c > o",
            "extract(dow from c) <> 0",
        ],
        Class::Bytes => {
            &["octet_length(c) = 32", "length(c) > 3", "c <> ''", "octet_length(c) between 2 and 9"]
        }
        Class::Json => {
            &["jsonb_typeof(c) = 'object'", "jsonb_typeof(c) = 'array'", "c <> 'null'", "c is not null"]
        }
        Class::Array => {
            &["cardinality(c) > 0", "array_length(c, 1) <= 3", "c is not null", "c <> o", "c <> '{}'"]
        }
        Class::Range => &["not isempty(c)", "lower(c) is not null", "c is not null", "c <> o", "not c && o"],
        Class::Other => &["c is not null", "c <> o", "c is null", "c = c"],
    }
}

/// Conditions on which of several columns `a`, `b` and `d` are NULL.
const NULL_CONDITIONS: [&str; 7] = [
    "(a is null) = (b is null)",
    "(a is null) <> (b is null)",
    "a is not null or b is not null",
    "num_nonnulls(a, b, d) = 1",
    "num_nulls(a, b) < 2",
    "a is null or b is null",
    "(a is not null and b is null and d is null) or (a is null and b is not null)",
];

#[derive(Clone, Debug)]
struct Column {
    name: String,
    sql_type: String,
    class: Class,
    /// Its type and what follows it.
    definition: String,
}

#[derive(Clone, Debug)]
struct Table {
    name: String,
    columns: Vec<Column>,
    /// Columns of primary keys and unique constraints.
    keys: Vec<Vec<usize>>,
}

/// The statements of the schema with this seed.
pub fn statements(seed: u64, version: u32) -> Vec<String> {
    let mut own = Writer { numbers: Numbers(seed), version, statements: Vec::new(), domains: Vec::new() };
    own.numbers.below(2);
    own.statements.push(format!("create schema s{seed}"));
    own.statements.push(format!("set search_path to s{seed}"));
    own.types();
    let count = 1 + own.numbers.below(5);
    let mut tables: Vec<Table> = (0..count).map(|number| own.table(number)).collect();
    for index in 0..tables.len() {
        for number in 0..own.numbers.below(4) {
            own.reference(&mut tables, index, number);
        }
    }
    own.statements
}

/// All statements so far.
struct Writer {
    numbers: Numbers,
    /// Major version of the server.
    version: u32,
    statements: Vec<String>,
    domains: Vec<(String, Class)>,
}

impl Writer {
    fn types(&mut self) {
        let labels = ["a", "B c", "it''s", "d", "e"];
        let count = 1 + self.numbers.below(labels.len());
        self.statements.push(format!("create type e as enum ('{}')", labels[..count].join("', '")));
        self.statements.push("create type pair as (x integer, y text)".to_owned());
        self.statements.push("create type span as range (subtype = float8)".to_owned());
        self.domains = vec![("e".to_owned(), Class::Other)];
        if self.numbers.once_in(4) {
            self.domains.push(("pair".to_owned(), Class::Other));
            self.domains.push(("span".to_owned(), Class::Other));
            self.domains.push(("e[]".to_owned(), Class::Other));
        }
        for number in 0..self.numbers.below(3) {
            let (base, class) = self.type_of_column();
            let value =
                Column { name: "value".to_owned(), sql_type: base.clone(), class, definition: String::new() };
            let check = self.condition(&[value]);
            let not_null = if self.numbers.once_in(4) { " not null" } else { "" };
            self.statements.push(format!("create domain d{number} as {base}{not_null} check ({check})"));
            self.domains.push((format!("d{number}"), class));
        }
    }

    fn type_of_column(&mut self) -> (String, Class) {
        if self.numbers.once_in(5) && !self.domains.is_empty() {
            return self.domains[self.numbers.below(self.domains.len())].clone();
        }
        let (name, class) = TYPES[self.numbers.below(TYPES.len())];
        (name.to_owned(), class)
    }

    fn column(&mut self, number: usize) -> Column {
        let name = self.numbers.pick(&NAMES);
        let name = match name.strip_suffix('"') {
            Some(name) => format!("{name}{number}\""),
            None => format!("{name}_{number}"),
        };
        let (sql_type, class) = self.type_of_column();
        let mut definition = sql_type.clone();
        match self.numbers.below(12) {
            0 if class == Class::Number => {
                definition = self.numbers.pick(&["serial", "bigserial"]).to_owned()
            }
            1 if class == Class::Number && self.version >= 10 => {
                let kind = self.numbers.pick(&["always", "by default"]);
                definition = format!("bigint generated {kind} as identity");
            }
            2 => definition += " default null",
            3 if class == Class::Text => definition += " default 'x'",
            4 if class == Class::Text => definition += " collate \"C\"",
            _ => {}
        }
        if self.numbers.once_in(2) {
            definition += " not null";
        }
        Column { name, sql_type, class, definition }
    }

    /// A condition on one or two of these columns, with their names.
    fn condition(&mut self, columns: &[Column]) -> String {
        if self.numbers.once_in(5) && columns.len() >= 3 {
            let three = [(); 3].map(|()| columns[self.numbers.below(columns.len())].name.clone());
            let condition = self.numbers.pick(&NULL_CONDITIONS);
            return worded(condition, &[("a", &three[0]), ("b", &three[1]), ("d", &three[2])]);
        }
        let column = &columns[self.numbers.below(columns.len())];
        let is_other = |own: &&Column| own.sql_type == column.sql_type && own.name != column.name;
        let others: Vec<&Column> = columns.iter().filter(is_other).collect();
        let all = conditions(column.class);
        let alone: Vec<&str> =
            all.iter().filter(|own| worded(own, &[("o", "c")]) == **own).copied().collect();
        match others.get(self.numbers.below(others.len().max(1))) {
            Some(other) => worded(self.numbers.pick(all), &[("c", &column.name), ("o", &other.name)]),
            None => worded(self.numbers.pick(&alone), &[("c", &column.name)]),
        }
    }

    fn names(columns: &[&Column]) -> String {
        columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn table(&mut self, number: usize) -> Table {
        let name = if self.numbers.once_in(6) { format!("\"T {number}\"") } else { format!("t{number}") };
        let count = 1 + self.numbers.below(7);
        let mut columns: Vec<Column> = (0..count).map(|column| self.column(column)).collect();
        if self.version >= 12 && self.numbers.once_in(6) {
            let from = columns[self.numbers.below(columns.len())].clone();
            let (sql_type, expression) = match from.class {
                Class::Number => ("numeric", format!("{}::numeric * 2", from.name)),
                Class::Text => ("text", format!("{}::text || 'x'", from.name)),
                _ => ("boolean", format!("{} is null", from.name)),
            };
            let kind = if self.version >= 18 && self.numbers.once_in(3) { "virtual" } else { "stored" };
            let definition = format!("{sql_type} generated always as ({expression}) {kind}");
            let class = Class::Other;
            columns.push(Column {
                name: "made".to_owned(),
                sql_type: sql_type.to_owned(),
                class,
                definition,
            });
        }
        let mut parts: Vec<String> =
            columns.iter().map(|column| format!("{} {}", column.name, column.definition)).collect();
        let mut later = Vec::new();
        for check in 0..self.numbers.below(3) {
            let check = format!("constraint check_{check} check ({})", self.condition(&columns));
            if self.numbers.once_in(3) { parts.push(check) } else { later.push(check) }
        }
        let is_partitioned = self.version >= 10 && self.numbers.once_in(6);
        let by = &self.numbers.some(&columns, 1)[0].clone();
        let strategy = self.numbers.pick(&["list", "range", "hash", "range"]);
        let partitioned =
            if is_partitioned { format!(" partition by {strategy} ({})", by.name) } else { String::new() };
        let unlogged = if self.numbers.once_in(10) { "unlogged " } else { "" };
        self.statements.push(format!("create {unlogged}table {name} ({}){partitioned}", parts.join(", ")));
        self.statements.extend(later.into_iter().map(|check| format!("alter table {name} add {check}")));
        if is_partitioned {
            self.partitions(&name, by, strategy);
        }
        let keys = self.keys(&name, &columns, number);
        Table { name, columns, keys }
    }

    fn partitions(&mut self, table: &str, by: &Column, strategy: &str) {
        let bounds: &[&str] = match (strategy, by.class) {
            ("hash", _) => &[
                "with (modulus 2, remainder 0)",
                "with (modulus 4, remainder 1)",
                "with (modulus 4, remainder 3)",
            ],
            ("list", Class::Number) => &["in (1, 2, 3)", "in (4)", "in (5, null)"],
            ("list", Class::Truth) => &["in (true)", "in (false, null)"],
            ("list", _) if by.sql_type == "e" => &["in ('a')", "in ('B c', 'it''s')", "in ('d', 'e')"],
            ("list", _) => &["in ('a')", "in ('b', 'c')", "in (null)"],
            (_, Class::Time) => &[
                "from ('2020-01-01') to ('2021-01-01')",
                "from ('2021-01-01') to ('2022-01-01')",
                "from (minvalue) to ('2020-01-01')",
            ],
            (_, Class::Number) => &["from (0) to (10)", "from (10) to (100000)", "from (minvalue) to (0)"],
            _ => &["from ('a') to ('h')", "from ('h') to (maxvalue)", "from (minvalue) to ('a')"],
        };
        let left_out = self.numbers.below(2 * bounds.len());
        for (number, bound) in bounds.iter().enumerate().filter(|(number, _)| *number != left_out) {
            let name = format!("p{}_{number}", self.statements.len());
            self.statements.push(format!("create table {name} partition of {table} for values {bound}"));
        }
        if self.version >= 11 && self.numbers.once_in(2) {
            let name = format!("p{}_rest", self.statements.len());
            self.statements.push(format!("create table {name} partition of {table} default"));
        }
    }

    /// Keys and indexes of a table; returns the columns of those that foreign keys may refer to.
    fn keys(&mut self, table: &str, columns: &[Column], number: usize) -> Vec<Vec<usize>> {
        let mut keys = Vec::new();
        let places: Vec<usize> = (0..columns.len()).collect();
        for key in 0..self.numbers.below(5) {
            let own: Vec<usize> = self.numbers.some(&places, 3).into_iter().copied().collect();
            let of: Vec<&Column> = own.iter().map(|place| &columns[*place]).collect();
            let names = Self::names(&of);
            let name = format!("key_{number}_{key}");
            let index = format!("create unique index {name} on {table}");
            let statement = match self.numbers.below(9) {
                0 | 1 => format!("alter table {table} add primary key ({names})"),
                2 | 3 => format!("alter table {table} add constraint {name} unique ({names})"),
                4 if self.version >= 15 => format!("{index} ({names}) nulls not distinct"),
                4 => format!("{index} ({names})"),
                5 => format!("{index} ({names}) where {}", self.condition(columns)),
                6 => {
                    let first = of[0];
                    let expression = match first.class {
                        Class::Text => format!("lower({}::text)", first.name),
                        Class::Number => format!("({} + 1)", first.name),
                        _ => format!("coalesce({0}, {0})", first.name),
                    };
                    format!(
                        "{index} ({})",
                        [expression.as_str()]
                            .into_iter()
                            .chain(of[1..].iter().map(|own| own.name.as_str()))
                            .collect::<Vec<_>>()
                            .join(", ")
                    )
                }
                7 => {
                    let first = of[0];
                    let (method, operator) = match first.class {
                        Class::Range => ("gist", "&&"),
                        _ => ("btree", "="),
                    };
                    format!(
                        "alter table {table} add constraint {name} exclude using {method} ({} with {operator})",
                        first.name
                    )
                }
                _ => format!("create index {name} on {table} ({names})"),
            };
            if statement.contains("add primary key") || statement.contains(" unique (") {
                keys.push(own);
            }
            self.statements.push(statement);
        }
        keys
    }

    /// A foreign key of this table to a key of any table, with columns of the same types.
    fn reference(&mut self, tables: &mut [Table], index: usize, number: usize) {
        let target = self.numbers.below(tables.len());
        if tables[target].keys.is_empty() {
            return;
        }
        let key = tables[target].keys[self.numbers.below(tables[target].keys.len())].clone();
        let shares = self.numbers.once_in(3);
        let referenced: Vec<Column> =
            key.iter().map(|place| tables[target].columns[*place].clone()).collect();
        let mut own_names: Vec<String> = Vec::new();
        let mut added = Vec::new();
        for (place, column) in referenced.iter().enumerate() {
            let alike = tables[index].columns.iter().find(|own| {
                own.sql_type == column.sql_type
                    && !own_names.contains(&own.name)
                    && (index != target || own.name != column.name)
            });
            if let Some(own) = alike.filter(|_| shares) {
                own_names.push(own.name.clone());
                continue;
            }
            let name = format!("f{number}_{place}");
            let not_null = if self.numbers.once_in(2) { " not null" } else { "" };
            let definition = format!("{}{not_null}", column.sql_type);
            added.push(Column { name: name.clone(), definition, ..column.clone() });
            own_names.push(name);
        }
        let table = tables[index].name.clone();
        let mut actions: Vec<String> =
            added.iter().map(|column| format!("add {} {}", column.name, column.definition)).collect();
        let full = if self.numbers.once_in(6) { " match full" } else { "" };
        let deferrable = if self.numbers.once_in(6) { " deferrable initially deferred" } else { "" };
        let names: Vec<&Column> = referenced.iter().collect();
        actions.push(format!(
            "add constraint fk_{number} foreign key ({}) references {} ({}){full}{deferrable}",
            own_names.join(", "),
            tables[target].name,
            Self::names(&names)
        ));
        tables[index].columns.extend(added);
        self.statements.push(format!("alter table {table} {}", actions.join(", ")));
        if self.numbers.once_in(4) {
            let name = format!("over_{index}_{number}");
            let first = &tables[index].columns[0].name;
            let unique = self.numbers.pick(&["unique ", ""]);
            let columns = format!("{}, {first}", own_names.join(", "));
            self.statements.push(format!("create {unique}index {name} on {table} ({columns})"));
        }
    }
}

/// A condition with these names instead of these letters.
fn worded(condition: &str, names: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut in_text = false;
    let mut rest = condition;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { 1 };
        let word = &rest[..end];
        in_text ^= first == '\'';
        let name = names.iter().find(|(letter, _)| *letter == word && !in_text);
        out.push_str(name.map_or(word, |(_, name)| name));
        rest = &rest[end..];
    }
    out
}
