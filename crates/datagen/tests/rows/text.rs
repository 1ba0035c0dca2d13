//! Descriptions from short CREATE statements, so that tests show their schemas as SQL. Reads only the forms that tests use;
//! anything else is passed over. In the product, a server reads schemas.

use pgmeter_datagen::{
    CheckDescription, ColumnDescription, Description, Error, KeyDescription, Partitioning,
    ReferenceDescription, Schema, Source, TableDescription, TypeDescription, TypeKind,
};
use sql::{Lexer, Token, TokenKind};

/// The schema of a text, with the directives in its comments.
pub fn schema(text: &str, file: &str) -> Result<Schema, Error> {
    Schema::new(&description(text), &Source::new(text, file))
}

/// What a server would say about these statements.
pub fn description(text: &str) -> Description {
    let text = text.trim_start_matches('\u{feff}');
    let mut own = Own::default();
    for range in sql::statements(text.as_bytes()) {
        let statement = text[range].trim_end().trim_end_matches(';');
        let tokens = Lexer::new(statement.as_bytes()).filter(|token| !token.is_blank()).collect();
        let mut reader = Reader { text: statement, tokens, at: 0 };
        // A command of psql.
        reader.at += if reader.is("\\ set") { 4 } else { 0 };
        own.statement(&mut reader);
    }
    own.resolved()
}

/// A name with its schema.
type Name = (Option<String>, String);

/// A foreign key: table, columns, referenced table, its columns, MATCH FULL.
type Reference = (usize, Vec<String>, Name, Vec<String>, bool);

#[derive(Default)]
struct Own {
    tables: Vec<TableDescription>,
    types: Vec<TypeDescription>,
    references: Vec<Reference>,
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.of(self.text))
    }

    /// Whether these words or symbols come next.
    fn is(&self, words: &str) -> bool {
        words.split(' ').enumerate().all(|(ahead, word)| self.peek(ahead).eq_ignore_ascii_case(word))
    }

    fn takes(&mut self, words: &str) -> bool {
        let found = self.is(words);
        self.at += if found { words.split(' ').count() } else { 0 };
        found
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn name(&mut self) -> Name {
        let first = sql::unquoted(self.peek(0));
        self.at += 1;
        if !self.takes(".") {
            return (None, first);
        }
        let name = sql::unquoted(self.peek(0));
        self.at += 1;
        (Some(first).filter(|schema| schema != "public"), name)
    }

    /// `(a, b)`, and whether the last one is WITHOUT OVERLAPS.
    fn columns(&mut self) -> (Vec<String>, bool) {
        let (mut names, mut temporal) = (Vec::new(), false);
        if self.takes("(") {
            while !self.is_at_end() && !self.takes(")") {
                if self.is("PERIOD") && !matches!(self.peek(1), "," | ")") {
                    self.at += 1;
                }
                names.push(self.name().1);
                temporal |= self.takes("WITHOUT OVERLAPS");
                self.takes(",");
            }
        }
        (names, temporal)
    }

    /// The text up to a comma, a closing parenthesis or one of these words, outside of parentheses.
    fn text_until(&mut self, words: &[&str]) -> String {
        let (start, mut depth) = (self.at, 0);
        while !self.is_at_end() {
            let token = self.peek(0);
            let is_word = |word: &&str| word.eq_ignore_ascii_case(token) && self.at > start;
            if depth == 0 && (token == "," || token == ")" || words.iter().any(is_word)) {
                break;
            }
            depth += i32::from(token == "(") - i32::from(token == ")");
            self.at += 1;
        }
        let end = self.tokens.get(self.at.max(1) - 1).map_or(0, |token| token.end);
        self.tokens.get(start).map_or("", |token| self.text.get(token.start..end).unwrap_or("")).to_owned()
    }

    fn check(&mut self) -> CheckDescription {
        let expression =
            self.text_until(&["NOT", "NULL", "CHECK", "REFERENCES", "PRIMARY", "UNIQUE", "DEFAULT"]);
        let names = Lexer::new(expression.as_bytes());
        let is_name = |token: &Token| matches!(token.kind, TokenKind::Word | TokenKind::QuotedName);
        let columns = names.filter(is_name).map(|token| sql::unquoted(token.of(&expression))).collect();
        CheckDescription { name: "check".to_owned(), expression, columns }
    }
}

/// Words that end the type of a column, or its default.
const OPTIONS: [&str; 9] =
    ["NOT", "NULL", "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "DEFAULT", "GENERATED", "CONSTRAINT"];

impl Own {
    fn statement(&mut self, reader: &mut Reader<'_>) {
        if reader.takes("CREATE TABLE") || reader.takes("CREATE UNLOGGED TABLE") {
            reader.takes("IF NOT EXISTS");
            self.table(reader);
        } else if reader.takes("ALTER TABLE") {
            reader.takes("ONLY");
            let name = reader.name();
            let Some(table) = self.find(&name) else { return };
            if reader.takes("ATTACH PARTITION") {
                let part = reader.name();
                self.partition(table, reader);
                self.find(&part).into_iter().for_each(|part| self.tables[part].is_partition = true);
            } else if reader.takes("ADD COLUMN") {
                self.column(table, reader);
            } else if reader.takes("ADD") {
                self.constraint(table, reader);
            }
        } else if reader.takes("CREATE DOMAIN") {
            let name = reader.name();
            reader.takes("AS");
            let base = type_name(&reader.text_until(&OPTIONS));
            let (mut not_null, mut checks) = (false, Vec::new());
            while !reader.is_at_end() {
                if reader.takes("NOT NULL") {
                    not_null = true;
                } else if reader.takes("CHECK") {
                    checks.push(reader.check());
                } else {
                    reader.at += 1;
                }
            }
            self.add_type(&name, TypeKind::Domain { base, not_null, checks });
        } else if reader.takes("CREATE TYPE") {
            let name = reader.name();
            let is_enum = reader.takes("AS ENUM");
            reader.takes("AS");
            reader.takes("(");
            let mut parts = Vec::new();
            while !reader.is_at_end() && !reader.takes(")") {
                if is_enum {
                    parts.push(reader.peek(0).trim_matches('\'').replace("''", "'"));
                    reader.at += 1;
                } else {
                    reader.name();
                    parts.push(type_name(&reader.text_until(&[])));
                }
                reader.takes(",");
            }
            let kind = if is_enum { TypeKind::Enum(parts) } else { TypeKind::Composite(parts) };
            self.add_type(&name, kind);
        }
    }

    fn add_type(&mut self, (schema, name): &Name, kind: TypeKind) {
        let schema = schema.iter().map(|schema| format!("{}.", written(schema)));
        let name: String = schema.chain([written(name)]).collect();
        let parts = |kind: &TypeKind| match kind {
            TypeKind::Composite(parts) => parts.join(" "),
            TypeKind::Domain { base, .. } => base.clone(),
            _ => String::new(),
        };
        // A server knows no type that contains itself.
        if self.types.iter().map(|own| &own.kind).chain([&kind]).any(|kind| parts(kind).contains(&name)) {
            return;
        }
        self.types.push(TypeDescription { name, kind });
    }

    fn find(&self, (schema, name): &Name) -> Option<usize> {
        let fits = |own: &TableDescription| own.name == *name && (schema.is_none() || own.schema == *schema);
        self.tables.iter().position(fits)
    }

    fn partition(&mut self, parent: usize, reader: &mut Reader<'_>) {
        let bounds = reader.text_until(&[]);
        let partitioning = self.tables[parent].partitioning.first_mut();
        partitioning.into_iter().for_each(|level| level.bounds.push(bounds.clone()));
    }

    fn table(&mut self, reader: &mut Reader<'_>) {
        let (schema, name) = reader.name();
        let own = TableDescription { schema, name, ..TableDescription::default() };
        if reader.takes("PARTITION OF") {
            let parent = reader.name();
            let Some(parent) = self.find(&parent) else { return };
            let columns = self.tables[parent].columns.clone();
            self.partition(parent, reader);
            self.tables.push(TableDescription { columns, is_partition: true, ..own });
            return;
        }
        let table = self.tables.len();
        self.tables.push(own);
        reader.takes("(");
        while !reader.is_at_end() && !reader.takes(")") {
            if !self.constraint(table, reader) {
                self.column(table, reader);
            }
            reader.text_until(&[]);
            reader.takes(",");
        }
        if reader.takes("PARTITION BY") {
            reader.at += 2;
            let column = Some(reader.name().1);
            self.tables[table].partitioning.push(Partitioning { column, bounds: Vec::new() });
            self.tables[table].is_partitioned = true;
        }
    }

    fn column(&mut self, table: usize, reader: &mut Reader<'_>) {
        let name = reader.name().1;
        let type_name = type_name(&reader.text_until(&OPTIONS));
        let sequence = type_name.to_lowercase().contains("serial");
        let (not_null, has_default) = (sequence, sequence);
        let mut own = ColumnDescription { name, type_name, not_null, sequence, has_default, computed: false };
        let one = vec![own.name.clone()];
        while !reader.is_at_end() && !matches!(reader.peek(0), "," | ")") {
            if reader.takes("NOT NULL") {
                own.not_null = true;
            } else if reader.takes("PRIMARY KEY") {
                self.key(table, one.clone(), (true, false));
            } else if reader.takes("UNIQUE") {
                self.key(table, one.clone(), (false, false));
            } else if reader.takes("CHECK") {
                let check = reader.check();
                self.tables[table].checks.push(check);
            } else if reader.takes("REFERENCES") {
                self.reference(table, one.clone(), reader);
            } else if reader.takes("DEFAULT") {
                let value = reader.text_until(&OPTIONS);
                (own.has_default, own.sequence) = (true, own.sequence || value.starts_with("nextval"));
            } else if reader.takes("GENERATED ALWAYS AS (") {
                own.computed = true;
                reader.text_until(&[]);
                reader.at += 1;
            } else if reader.takes("GENERATED ALWAYS AS IDENTITY")
                || reader.takes("GENERATED BY DEFAULT AS IDENTITY")
            {
                (own.sequence, own.not_null, own.has_default) = (true, true, true);
            } else {
                reader.at += 1;
            }
        }
        self.tables[table].columns.push(own);
    }

    fn key(&mut self, table: usize, columns: Vec<String>, (primary, temporal): (bool, bool)) {
        let own = &mut self.tables[table];
        let name = if primary {
            format!("{}_pkey", own.name)
        } else {
            format!("{}_{}_key", own.name, columns.join("_"))
        };
        own.keys.push(KeyDescription { name, columns, primary, temporal, special: None });
    }

    /// REFERENCES table (columns) MATCH FULL
    fn reference(&mut self, table: usize, columns: Vec<String>, reader: &mut Reader<'_>) {
        let (target, (referenced, _)) = (reader.name(), reader.columns());
        let full = reader.takes("MATCH FULL");
        self.references.push((table, columns, target, referenced, full));
    }

    /// Whether a constraint of the table was there.
    fn constraint(&mut self, table: usize, reader: &mut Reader<'_>) -> bool {
        if reader.takes("CONSTRAINT") {
            reader.name();
        }
        let primary = reader.takes("PRIMARY KEY");
        if primary || (reader.is("UNIQUE (") && reader.takes("UNIQUE")) {
            let (columns, temporal) = reader.columns();
            self.key(table, columns, (primary, temporal));
        } else if reader.takes("FOREIGN KEY") {
            let (columns, _) = reader.columns();
            reader.takes("REFERENCES");
            self.reference(table, columns, reader);
        } else if reader.is("CHECK (") && reader.takes("CHECK") {
            let check = reader.check();
            self.tables[table].checks.push(check);
        } else {
            return false;
        }
        true
    }

    fn resolved(mut self) -> Description {
        for table in &mut self.tables {
            let primary: Vec<&String> =
                table.keys.iter().filter(|key| key.primary).flat_map(|key| &key.columns).collect();
            table.columns.iter_mut().for_each(|own| own.not_null |= primary.contains(&&own.name));
        }
        for (table, columns, target, mut referenced, full) in std::mem::take(&mut self.references) {
            let Some(index) = self.find(&target) else { continue };
            if referenced.is_empty() {
                let primary = self.tables[index].keys.iter().find(|key| key.primary);
                referenced = primary.map(|key| key.columns.clone()).unwrap_or_default();
            }
            let name = format!("{}_{}_fkey", self.tables[table].name, columns.join("_"));
            let key = ReferenceDescription { name, columns, table: index, referenced, full };
            self.tables[table].foreign_keys.push(key);
        }
        Description { tables: self.tables, types: self.types }
    }
}

/// As `format_type` writes names.
fn written(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_plain { name.to_owned() } else { sql::identifier(name) }
}

fn type_name(text: &str) -> String {
    text.strip_prefix("public.").unwrap_or(text).to_owned()
}
