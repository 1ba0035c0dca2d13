//! The names of tables in SQL: which table a statement creates, works on, or would change. Not a parser: it looks for
//! the words before a name. Used by the loaders and by the protection of existing tables.

use std::collections::BTreeSet;

use sql::TokenKind;

use crate::contract::object_kinds::PLAIN_KINDS;
use crate::contract::table_name::TableName;

/// What a statement does with an enum type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EnumChange<'a> {
    /// Its values are strings as they are written.
    Create(Vec<&'a str>),
    Rename(String),
    Add {
        value: &'a str,
        is_if_not_exists: bool,
        /// The value that it stands before (`true`) or after, if one is named.
        beside: Option<(bool, &'a str)>,
    },
    /// DROP TYPE, or another schema.
    Leave,
}

/// What a statement does with an enum type, and with which.
pub(crate) fn enum_change(sql: &str) -> Option<(TableName, EnumChange<'_>)> {
    let (tokens, strings) = tokens_and_strings(sql);
    let mut at = Reader { tokens: &tokens, at: 0 };
    if at.words(&["create", "type"]) {
        let name = at.name()?;
        let is_enum = at.words(&["as", "enum"]) && at.symbol('(');
        while at.symbol(',') {}
        return (is_enum && at.symbol(')') && at.is_at_end()).then_some((name, EnumChange::Create(strings)));
    }
    if at.words(&["drop", "type"]) {
        at.words(&["if", "exists"]);
        return Some((at.name()?, EnumChange::Leave));
    }
    at.words(&["alter", "type"]).then_some(())?;
    let name = at.name()?;
    if at.words(&["rename", "to"]) {
        return Some((name, EnumChange::Rename(at.part()?)));
    }
    if at.words(&["set", "schema"]) {
        return Some((name, EnumChange::Leave));
    }
    at.words(&["add", "value"]).then_some(())?;
    let is_if_not_exists = at.words(&["if", "not", "exists"]);
    let place = if at.word("before") { Some(true) } else { at.word("after").then_some(false) };
    let (value, beside) = match (place, &strings[..]) {
        (None, [value]) => (*value, None),
        (Some(is_before), [value, other]) => (*value, Some((is_before, *other))),
        _ => return None,
    };
    at.is_at_end().then_some((name, EnumChange::Add { value, is_if_not_exists, beside }))
}

/// A token of SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A word outside of quotes, in lower case.
    Word(String),
    /// A quoted identifier, without its quotes.
    Quoted(String),
    /// The text of a dollar-quoted string.
    Dollar(String),
    /// Any other character; strings and comments are left out.
    Symbol(char),
}

/// Words of statements that rewrite tables and indexes.
const MAINTENANCE: [&str; 18] = [
    "vacuum",
    "full",
    "freeze",
    "verbose",
    "analyze",
    "skip_locked",
    "cluster",
    "using",
    "on",
    "drop",
    "index",
    "reindex",
    "table",
    "concurrently",
    "if",
    "exists",
    "cascade",
    "restrict",
];

/// The table that a statement creates.
pub(crate) fn created(sql: &str) -> Option<TableName> {
    let tokens = tokens(sql);
    let mut at = Reader { tokens: &tokens, at: 0 };
    at.word("create").then_some(())?;
    let _ = at.word("global") || at.word("local");
    if at.word("temp") || at.word("temporary") {
        return None;
    }
    let _ = at.word("unlogged") || at.word("foreign");
    at.word("table").then_some(())?;
    at.words(&["if", "not", "exists"]);
    at.name()
}

/// An object that a statement creates, of those that can have marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CreatedObject {
    /// As DROP names it, except that a domain is a `domain` and all views are a `view`.
    pub(crate) kind: &'static str,
    /// `None` for casts and operators, which have no names that are words.
    pub(crate) name: Option<TableName>,
    /// Whether the statement does nothing if there is such an object.
    pub(crate) is_if_not_exists: bool,
}

/// The object that a statement creates.
pub(crate) fn created_object(sql: &str) -> Option<CreatedObject> {
    const BEFORE: [&str; 8] =
        ["or", "replace", "global", "local", "unlogged", "foreign", "recursive", "materialized"];
    const KINDS: [&str; 9] =
        ["table", "view", "sequence", "type", "domain", "function", "procedure", "aggregate", "schema"];
    let tokens = tokens(sql);
    let mut at = Reader { tokens: &tokens, at: 0 };
    at.word("create").then_some(())?;
    while BEFORE.iter().any(|word| at.word(word)) {}
    let plain = PLAIN_KINDS.iter().map(|(kind, ..)| *kind);
    let kind = KINDS.into_iter().chain(plain).find(|kind| {
        let words: Vec<&str> = kind.split(' ').collect();
        at.words(&words)
    })?;
    let is_if_not_exists = at.words(&["if", "not", "exists"]);
    Some(CreatedObject { kind, name: at.name(), is_if_not_exists })
}

/// The name of this object, without its schema.
pub(crate) fn created_name(sql: &str) -> Option<String> {
    Some(created_object(sql)?.name?.name)
}

/// Every word and quoted name of a statement, with the schema before it, as `to_regclass` reads it: some are names of
/// relations. With each, whether it is certainly no keyword of VACUUM, CLUSTER, DROP INDEX or REINDEX.
pub(crate) fn possible_names(sql: &str) -> Vec<(String, bool)> {
    let tokens = tokens(sql);
    let name = |at: usize| {
        let is_keyword = matches!(&tokens[at], Token::Word(word) if MAINTENANCE.contains(&word.as_str()));
        let name = Reader { tokens: &tokens, at }.name()?;
        Some((name.quoted(), !is_keyword || name.schema.is_some()))
    };
    name_starts(&tokens).filter_map(name).collect()
}

/// Whether a statement has names that its text does not show, such as `U&"\0061"`, or is about a whole schema or database.
pub(crate) fn has_unknown_names(sql: &str) -> bool {
    let has_escaped = sql::code(sql).any(|(kind, _)| kind == TokenKind::UnicodeName);
    let has_wide = |tokens: &[Token]| {
        ["schema", "database", "system"].iter().any(|kind| tokens.contains(&Token::Word((*kind).to_owned())))
    };
    has_escaped || sql::first_words(sql, 1) == ["reindex"] && has_wide(&tokens(sql))
}

/// Every word and quoted name without a schema.
pub(crate) fn unqualified_names(sql: &str) -> Vec<String> {
    all_names(sql).into_iter().filter(|name| name.schema.is_none()).map(|name| name.name).collect()
}

fn all_names(sql: &str) -> Vec<TableName> {
    let tokens = tokens(sql);
    name_starts(&tokens).filter_map(|at| Reader { tokens: &tokens, at }.name()).collect()
}

fn name_starts(tokens: &[Token]) -> impl Iterator<Item = usize> {
    (0..tokens.len()).filter(|at| *at == 0 || tokens.get(at - 1) != Some(&Token::Symbol('.')))
}

/// The name in an identity that the server has written, such as `public."a b"`.
pub fn of_identity(identity: &str) -> Option<TableName> {
    Reader { tokens: &tokens(identity), at: 0 }.name()
}

/// A view that a statement creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CreatedView {
    pub(crate) view: TableName,
    /// Whether it is a materialized view.
    pub(crate) is_stored: bool,
}

/// The view that a statement creates.
pub(crate) fn created_view(sql: &str) -> Option<CreatedView> {
    let tokens = tokens(sql);
    let mut at = Reader { tokens: &tokens, at: 0 };
    at.word("create").then_some(())?;
    at.words(&["or", "replace"]);
    at.word("recursive");
    let is_stored = at.word("materialized");
    at.word("view").then_some(())?;
    at.words(&["if", "not", "exists"]);
    Some(CreatedView { view: at.name()?, is_stored })
}

/// The table that CREATE INDEX and ALTER TABLE work on.
pub(crate) fn worked_on(sql: &str) -> Option<TableName> {
    let tokens = tokens(sql);
    let mut at = Reader { tokens: &tokens, at: 0 };
    if at.words(&["alter", "table"]) {
        return at.altered();
    }
    at.word("create").then_some(())?;
    at.word("unique");
    at.word("index").then_some(())?;
    at.indexed()
}

/// The view, index, trigger or constraint that a statement creates.
pub(crate) fn created_later(sql: &str) -> Option<String> {
    let tokens = tokens(sql);
    let kinds = ["view", "index", "trigger", "constraint"].map(|kind| Token::Word(kind.to_owned()));
    let kind = tokens.iter().position(|token| kinds.contains(token))?;
    let mut at = Reader { tokens: &tokens, at: kind + 1 };
    at.word("concurrently");
    at.words(&["if", "not", "exists"]);
    Some(at.name()?.name)
}

/// Whether a statement has one of these names or words.
pub(crate) fn mentions(sql: &str, names: &BTreeSet<String>) -> bool {
    let is_named =
        |token: &Token| matches!(token, Token::Word(name) | Token::Quoted(name) if names.contains(name));
    tokens(sql).iter().any(is_named)
}

/// Whether an ALTER TABLE names an index, as CLUSTER ON and REPLICA IDENTITY USING INDEX do.
pub(crate) fn uses_index(sql: &str) -> bool {
    let tokens = tokens(sql);
    let is_here = |at| {
        let mut at = Reader { tokens: &tokens, at };
        at.words(&["cluster", "on"]) || at.words(&["using", "index"])
    };
    (0..tokens.len()).any(is_here)
}

/// What a statement would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Rows or the definition of a table, if it exists.
    Table(TableName),
    /// All tables of a schema.
    Schema(String),
}

/// The tables that a statement changes if they exist: by DROP, TRUNCATE, ALTER, DELETE, UPDATE, INSERT, MERGE, COPY, CREATE
/// INDEX and CREATE TABLE IF NOT EXISTS; also within WITH and DO. Texts that functions execute are not seen.
pub(crate) fn changes(sql: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    let tokens = tokens(sql);
    let is_block = tokens.first() == Some(&Token::Word("do".to_owned()));
    for start in 0..tokens.len() {
        if let (Token::Dollar(body), true) = (&tokens[start], is_block) {
            changes.extend(self::changes(body));
        }
        let mut at = Reader { tokens: &tokens, at: start };
        let tables = changed_tables(&mut at);
        changes.extend(tables.into_iter().map(Change::Table));
        let mut at = Reader { tokens: &tokens, at: start };
        if at.words(&["drop", "schema"]) {
            at.words(&["if", "exists"]);
            changes.extend(at.names().into_iter().map(|name| Change::Schema(name.name)));
        }
    }
    changes
}

/// The tables after the words at this place.
fn changed_tables(at: &mut Reader<'_>) -> Vec<TableName> {
    if at.words(&["drop", "table"]) || at.words(&["drop", "foreign", "table"]) {
        at.words(&["if", "exists"]);
        return at.names();
    }
    if at.word("truncate") {
        at.word("table");
        return at.names();
    }
    let one = |name: Option<TableName>| name.into_iter().collect();
    if at.words(&["alter", "table"]) || at.words(&["alter", "foreign", "table"]) {
        return one(at.altered());
    }
    if at.words(&["delete", "from"]) || at.words(&["insert", "into"]) || at.words(&["merge", "into"]) {
        at.word("only");
        return one(at.name());
    }
    if at.word("update") {
        at.word("only");
        let name = at.name();
        // UPDATE t SET, UPDATE t AS x SET, UPDATE t x SET; but not FOR UPDATE OF t.
        at.symbol('*');
        at.word("as");
        let sets = at.word("set") || at.part().is_some() && at.word("set");
        return one(name.filter(|_| sets));
    }
    if at.word("copy") {
        let name = at.name();
        at.columns();
        return one(name.filter(|_| at.word("from")));
    }
    if at.word("create") {
        let _ = at.word("unlogged") || at.word("unique");
        if at.words(&["table", "if", "not", "exists"]) {
            return one(at.name());
        }
        if at.word("index") {
            return one(at.indexed());
        }
    }
    Vec::new()
}

/// A place in the tokens.
struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Reader<'_> {
    fn word(&mut self, wanted: &str) -> bool {
        self.words(&[wanted])
    }

    /// Passes over these words if they are next.
    fn words(&mut self, wanted: &[&str]) -> bool {
        let next = self.tokens.get(self.at..self.at + wanted.len());
        let is_next = next.is_some_and(|next| {
            next.iter().zip(wanted).all(|(token, word)| matches!(token, Token::Word(next) if next == word))
        });
        if is_next {
            self.at += wanted.len();
        }
        is_next
    }

    fn symbol(&mut self, wanted: char) -> bool {
        let is_next = self.tokens.get(self.at) == Some(&Token::Symbol(wanted));
        self.at += usize::from(is_next);
        is_next
    }

    fn is_at_end(&self) -> bool {
        self.tokens.iter().skip(self.at).all(|token| *token == Token::Symbol(';'))
    }

    fn part(&mut self) -> Option<String> {
        match self.tokens.get(self.at)? {
            Token::Word(word) | Token::Quoted(word) => {
                self.at += 1;
                Some(word.clone())
            }
            Token::Dollar(_) | Token::Symbol(_) => None,
        }
    }

    /// `table`, `schema.table` or `database.schema.table`.
    fn name(&mut self) -> Option<TableName> {
        let mut schema = None;
        let mut name = self.part()?;
        while self.symbol('.') {
            schema = Some(name);
            name = self.part()?;
        }
        Some(TableName { schema, name })
    }

    /// Names with commas between them, each with ONLY before it or `*` after it.
    fn names(&mut self) -> Vec<TableName> {
        let mut names = Vec::new();
        loop {
            self.word("only");
            names.extend(self.name());
            self.symbol('*');
            if !self.symbol(',') {
                return names;
            }
        }
    }

    /// The table after ALTER TABLE.
    fn altered(&mut self) -> Option<TableName> {
        self.words(&["if", "exists"]);
        self.word("only");
        self.name()
    }

    /// The table after CREATE INDEX.
    fn indexed(&mut self) -> Option<TableName> {
        self.word("concurrently");
        self.words(&["if", "not", "exists"]);
        if !self.word("on") {
            self.name()?;
            self.word("on").then_some(())?;
        }
        self.word("only");
        self.name()
    }

    /// A list in parentheses.
    fn columns(&mut self) {
        if self.symbol('(') {
            while self.at < self.tokens.len() && !self.symbol(')') {
                self.at += 1;
            }
        }
    }
}

/// The tokens of a text.
pub(crate) fn tokens(sql: &str) -> Vec<Token> {
    tokens_and_strings(sql).0
}

/// The tokens of a text, and its strings as they are written.
fn tokens_and_strings(sql: &str) -> (Vec<Token>, Vec<&str>) {
    let (mut tokens, mut strings) = (Vec::new(), Vec::new());
    for (kind, text) in sql::code(sql) {
        match kind {
            TokenKind::Space | TokenKind::LineComment | TokenKind::BlockComment => {}
            TokenKind::Word | TokenKind::Number | TokenKind::Parameter | TokenKind::Variable => {
                tokens.push(Token::Word(text.to_ascii_lowercase()));
            }
            TokenKind::QuotedName | TokenKind::UnicodeName => tokens.push(Token::Quoted(sql::unquoted(text))),
            TokenKind::DollarString => tokens.push(Token::Dollar(sql::dollar_quoted(text).to_owned())),
            TokenKind::String => strings.push(text),
            // Which value it means is left to the server.
            TokenKind::EscapeString | TokenKind::UnicodeString | TokenKind::BitString => {
                tokens.push(Token::Word(text[..1].to_ascii_lowercase()));
            }
            TokenKind::Operator | TokenKind::Symbol => tokens.extend(text.chars().map(Token::Symbol)),
        }
    }
    (tokens, strings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(change: &Change) -> String {
        match change {
            Change::Table(table) => table.to_string(),
            Change::Schema(schema) => format!("{schema}.*"),
        }
    }

    #[track_caller]
    fn check(sql: &str, expected: &str) {
        let found: Vec<String> = changes(sql).iter().map(plain).collect();
        assert_eq!(found.join(" "), expected, "{sql}");
    }

    #[test]
    fn statements_that_change_tables_are_recognised() {
        check("DROP TABLE IF EXISTS a, b.\"C d\" CASCADE", "a b.C d");
        check("/* x */ TRUNCATE ONLY a, b *, c", "a b c");
        check("alter table if exists only s.a add b int", "s.a");
        check("DELETE FROM ONLY a WHERE 'drop table b' = ''", "a");
        check("WITH gone AS (DELETE FROM a RETURNING *) INSERT INTO b SELECT * FROM gone", "a b");
        check("UPDATE a SET b = 1", "a");
        check("UPDATE a AS x SET b = 1", "a");
        check("UPDATE a x SET b = 1", "a");
        check("COPY a (b, c) FROM PROGRAM 'x'", "a");
        check("MERGE INTO a USING b ON true WHEN MATCHED THEN DELETE", "a");
        check("CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON ONLY a (b)", "a");
        check("CREATE INDEX ON a (b)", "a");
        check("CREATE TABLE IF NOT EXISTS a (b int)", "a");
        check("DO $x$ BEGIN DROP TABLE a; END $x$", "a");
        check("DROP SCHEMA IF EXISTS app, b CASCADE", "app.* b.*");
    }

    #[test]
    fn other_statements_change_nothing() {
        check("CREATE TABLE a (b int REFERENCES c ON DELETE CASCADE)", "");
        check("SELECT 'truncate a', e'\\' truncate b', \"truncate c\" FROM d FOR UPDATE", "");
        check("-- drop table a\nCOPY a TO STDOUT", "");
        check("CREATE TRIGGER t AFTER INSERT OR UPDATE ON a EXECUTE FUNCTION f()", "");
        check("CREATE FUNCTION f() RETURNS void AS $$ DROP TABLE a $$ LANGUAGE sql", "");
    }

    #[test]
    fn created_and_indexed_tables_have_names() {
        let name = |table: Option<TableName>| table.map(|table| table.to_string()).unwrap_or_default();
        assert_eq!(name(created("CREATE UNLOGGED TABLE IF NOT EXISTS \"A\".b (c int)")), "A.b");
        assert_eq!(name(created("create temp table a (b int)")), "");
        assert_eq!(name(worked_on("ALTER TABLE ONLY public.a ADD PRIMARY KEY (b)")), "public.a");
        assert_eq!(name(worked_on("CREATE INDEX i ON a USING gin (b)")), "a");
    }

    #[test]
    fn created_objects_have_kinds_and_names() {
        let object = |sql| {
            let object = created_object(sql)?;
            let name = object.name.map(|name| name.to_string());
            Some((object.kind, name.unwrap_or_default(), object.is_if_not_exists))
        };
        let found = |kind, name: &str, is_if_not_exists| Some((kind, name.to_owned(), is_if_not_exists));
        assert_eq!(object("CREATE MATERIALIZED VIEW a.b AS SELECT 1"), found("view", "a.b", false));
        assert_eq!(object("create or replace function f(int) returns int"), found("function", "f", false));
        assert_eq!(object("CREATE SCHEMA IF NOT EXISTS \"A\""), found("schema", "A", true));
        assert_eq!(
            object("create operator class o for type t using btree"),
            found("operator class", "o", false)
        );
        assert_eq!(object("create operator = (leftarg = t)"), found("operator", "", false));
        assert_eq!(object("create cast (a as b) without function"), found("cast", "", false));
        assert_eq!(object("create index i on t (a)"), None);
    }
}
