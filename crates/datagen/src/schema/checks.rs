//! What CHECK constraints say about single columns, and whether rows that follow it meet the whole condition. The server
//! judges the rows of all other conditions.

use sqlparser::ast::{BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use super::bounds::{self, Bounds, Limit, bare};
use super::split::Piece;
use super::tokens::Tokens;
use super::{Column, Type};
use crate::error::Place;

/// The directive for a JSON value: objects with a few fields.
pub(crate) const JSON: &str = r#"pattern='\{"id": [:count:], "name": "[a-z]{4,10}", "active": (true|false), "score": \d\.\d{2}, "tags": \["[a-z]{3,6}", "[a-z]{3,6}"\]\}'"#;

/// A fact about one column, whose name comes first.
#[derive(Debug, PartialEq)]
enum Fact {
    Bounds(Bounds),
    NotNull,
    /// Least and greatest number of characters or bytes.
    Length(u32, u32),
    /// A regular expression.
    Pattern(String),
    /// The kind of a JSON value.
    Json(String),
    /// No letters in upper case.
    Lower,
    /// Not this value, which no generator of a number or range gives.
    Not(&'static str),
}

/// A condition, as far as it is understood.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Condition {
    facts: Vec<(String, Fact)>,
    /// The facts are the whole condition.
    is_whole: bool,
    /// A part that is not understood distinguishes NULL from other values.
    pub tests_null: bool,
}

/// Longest text that a condition may ask for.
const LENGTH_MAX: u32 = 10_000;

impl Condition {
    /// Reads an expression as `pg_get_expr` writes it. An expression that cannot be read has no facts.
    pub fn new(expression: &str) -> Self {
        let mut own = Self { is_whole: true, ..Self::default() };
        match parsed(expression) {
            Some(condition) => own.read(&condition),
            None => {
                own.is_whole = false;
                own.tests_null = tests_null(expression);
            }
        }
        own
    }

    fn read(&mut self, condition: &Expr) {
        match condition {
            Expr::Nested(inner) => self.read(inner),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.read(left);
                self.read(right);
            }
            _ => self.read_part(condition),
        }
    }

    fn read_part(&mut self, part: &Expr) {
        let bounds = bounds::of_condition(part);
        if !bounds.is_empty() {
            self.facts.extend(bounds.into_iter().map(|(name, bounds)| (name, Fact::Bounds(bounds))));
            return;
        }
        let fact = match part {
            Expr::IsNotNull(inner) => bounds::column(inner).map(|name| (name, Fact::NotNull)),
            Expr::Between { expr, negated: false, low, high } => {
                length_of(expr).and_then(|name| Some((name, Fact::Length(whole(low)?, whole(high)?))))
            }
            Expr::BinaryOp { op: BinaryOperator::Or, .. } => return self.read_alternatives(part),
            Expr::BinaryOp { left, op, right } => comparison(left, op, right),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } if empty_range(expr).is_some() => {
                empty_range(expr).map(|name| (name, Fact::Not("empty")))
            }
            Expr::IsTrue(inner) | Expr::IsNotFalse(inner) => truth(inner, true),
            Expr::IsFalse(inner) | Expr::IsNotTrue(inner) => truth(inner, false),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => truth(expr, false),
            _ => truth(part, true),
        };
        match fact {
            Some(fact) => {
                // A regular expression is more than the texts that a pattern gives.
                self.is_whole &= !matches!(fact.1, Fact::Pattern(_));
                self.facts.push(fact);
            }
            None => {
                self.is_whole = false;
                self.tests_null |= tests_null(&part.to_string());
            }
        }
    }

    /// `c IS NULL OR …` about one column is what follows, as NULL meets each condition of a column. Alternatives that
    /// list values are one list.
    fn read_alternatives(&mut self, part: &Expr) {
        let mut parts = Vec::new();
        alternatives(part, &mut parts);
        let mut nullable = Vec::new();
        let mut inner: Vec<Self> = Vec::new();
        for part in &parts {
            if let Expr::IsNull(own) = part {
                nullable.extend(bounds::column(own));
                continue;
            }
            let mut own = Self { is_whole: true, ..Self::default() };
            own.read(part);
            inner.push(own);
        }
        let mut names = nullable.clone();
        names.extend(inner.iter().flat_map(|own| &own.facts).map(|(name, _)| name.clone()));
        names.dedup();
        let is_one = names.len() == 1 && nullable.len() < parts.len();
        if is_one && let [own] = &mut inner[..] {
            let is_open = own.facts.is_empty();
            self.facts.append(&mut own.facts);
            self.is_whole &= own.is_whole;
            self.tests_null |= is_open;
            return;
        }
        let listed = inner.iter().map(|own| match &own.facts[..] {
            [(_, Fact::Bounds(Bounds { values: Some(values), min: None, max: None }))] if own.is_whole => {
                Some(values.clone())
            }
            _ => None,
        });
        match listed.collect::<Option<Vec<_>>>().filter(|_| is_one) {
            Some(lists) => {
                let bounds = Bounds { values: Some(lists.concat()), ..Bounds::default() };
                self.facts.push((names[0].clone(), Fact::Bounds(bounds)));
            }
            None => {
                self.is_whole = false;
                self.tests_null |= tests_null(&part.to_string());
            }
        }
    }

    /// Whether rows that follow its facts meet it.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The columns that it has facts about.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.facts.iter().map(|(name, _)| name)
    }

    /// Whether it requires nothing but values that are not NULL.
    pub fn is_not_null(&self) -> bool {
        self.is_whole && self.facts.iter().all(|(_, fact)| *fact == Fact::NotNull)
    }

    /// Narrows the values of these columns, whose names may be given by `name`. `false`: rows may violate the condition.
    pub fn apply(self, columns: &mut [Column], name: impl Fn(&Column) -> &str) -> bool {
        let mut is_met = self.is_whole;
        for (wanted, fact) in self.facts {
            let column = columns.iter_mut().find(|column| name(column) == wanted);
            is_met &= column.is_some_and(|column| apply(column, fact));
        }
        is_met
    }
}

/// An expression as `pg_get_expr` writes it.
pub(super) fn parsed(expression: &str) -> Option<Expr> {
    // The server writes btrim so, which the parser does not know.
    let expression = &expression.replace("TRIM(BOTH FROM ", "btrim(");
    let piece = Piece { text: expression, place: Place::default() };
    let tokens = Tokens::read(&piece).ok()?.tokens;
    Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(tokens).parse_expr().ok()
}

/// The parts of an OR.
fn alternatives<'a>(condition: &'a Expr, found: &mut Vec<&'a Expr>) {
    match condition {
        Expr::Nested(inner) => alternatives(inner, found),
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
            alternatives(left, found);
            alternatives(right, found);
        }
        _ => found.push(condition),
    }
}

/// The column of `isempty(column)`.
fn empty_range(condition: &Expr) -> Option<String> {
    let (function, argument) = call(condition)?;
    bounds::column(argument).filter(|_| function == "isempty")
}

/// Without functions that remove blanks: generated texts neither begin nor end with them.
fn trimmed(expression: &Expr) -> &Expr {
    match call(expression) {
        Some((function, argument)) if matches!(&*function, "btrim" | "ltrim" | "rtrim") => argument,
        _ => expression,
    }
}

fn tests_null(text: &str) -> bool {
    let text = text.to_lowercase();
    ["is null", "is not null", "num_nulls", "num_nonnulls"].iter().any(|test| text.contains(test))
}

/// A boolean column that has one value.
fn truth(column: &Expr, value: bool) -> Option<(String, Fact)> {
    let values = Some(vec![value.to_string()]);
    Some((bounds::column(column)?, Fact::Bounds(Bounds { values, ..Bounds::default() })))
}

/// The name and the first argument of a function.
fn call(expression: &Expr) -> Option<(String, &Expr)> {
    let Expr::Function(function) = bare(expression) else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    match &list.args[..] {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] => {
            Some((function.name.to_string().to_lowercase(), argument))
        }
        _ => None,
    }
}

/// The column whose length an expression is.
fn length_of(expression: &Expr) -> Option<String> {
    let (function, argument) = call(expression)?;
    let is_length = matches!(&*function, "char_length" | "character_length" | "length" | "octet_length");
    bounds::column(trimmed(argument)).filter(|_| is_length)
}

fn whole(expression: &Expr) -> Option<u32> {
    bounds::literal(expression)?.parse().ok()
}

fn comparison(left: &Expr, operator: &BinaryOperator, right: &Expr) -> Option<(String, Fact)> {
    if matches!(operator, BinaryOperator::PGRegexMatch | BinaryOperator::PGRegexIMatch) {
        return Some((bounds::column(left)?, Fact::Pattern(bounds::literal(right)?)));
    }
    if *operator == BinaryOperator::Eq
        && let Some((function, argument)) = call(left)
        && matches!(&*function, "jsonb_typeof" | "json_typeof")
    {
        return Some((bounds::column(argument)?, Fact::Json(bounds::literal(right)?)));
    }
    if *operator == BinaryOperator::Eq
        && let Some((function, argument)) = call(right)
        && function == "lower"
        && bounds::column(argument) == bounds::column(left)
    {
        return Some((bounds::column(left)?, Fact::Lower));
    }
    if *operator == BinaryOperator::NotEq {
        match bounds::literal(right).as_deref() {
            Some("") => return Some((bounds::column(trimmed(left))?, Fact::Length(1, u32::MAX))),
            Some("NaN") => return Some((bounds::column(left)?, Fact::Not("NaN"))),
            Some("empty") => return Some((bounds::column(left)?, Fact::Not("empty"))),
            _ => {}
        }
    }
    let (name, number, flipped) = match (length_of(left), whole(right), length_of(right), whole(left)) {
        (Some(name), Some(number), ..) => (name, number, false),
        (.., Some(name), Some(number)) => (name, number, true),
        _ => return None,
    };
    let (min, max) = match (operator, flipped) {
        (BinaryOperator::Eq, _) => (number, number),
        (BinaryOperator::LtEq, false) | (BinaryOperator::GtEq, true) => (0, number),
        (BinaryOperator::Lt, false) | (BinaryOperator::Gt, true) => (0, number.checked_sub(1)?),
        (BinaryOperator::GtEq, false) | (BinaryOperator::LtEq, true) => (number, u32::MAX),
        (BinaryOperator::Gt, false) | (BinaryOperator::Lt, true) => (number.checked_add(1)?, u32::MAX),
        (BinaryOperator::NotEq, _) if number == 0 => (1, u32::MAX),
        _ => return None,
    };
    Some((name, Fact::Length(min, max)))
}

/// Narrows a column. `false`: its values may still be others.
fn apply(column: &mut Column, fact: Fact) -> bool {
    match fact {
        Fact::Bounds(bounds) => {
            // A list comes before a generator that a condition suggests.
            let is_alone = bounds.values.is_none() || column.described.hint.is_none();
            is_usable(&column.kind, &bounds) && column.bounds.narrow(&bounds) && is_alone
        }
        Fact::NotNull => {
            column.not_null = true;
            true
        }
        Fact::Length(min, max) => narrow_length(column, min, max),
        Fact::Lower | Fact::Json(_) if column.bounds.values.is_some() => false,
        Fact::Pattern(text) => {
            let described = &mut column.described;
            if let Some(pattern) = pattern(&text)
                && let Type::Text { max, .. } = column.kind
            {
                let lengths = described.lengths.map(|(min, most)| (min, most.min(max.unwrap_or(most))));
                let limited = lengths.and_then(|lengths| with_lengths(&pattern, lengths));
                let is_length = described.hint.as_ref().is_some_and(|hint| hint.starts_with("string len"));
                if described.hint.is_none() || (is_length && limited.is_some()) {
                    described.hint = Some(format!("pattern='{}'", limited.unwrap_or(pattern)));
                }
            }
            false
        }
        Fact::Lower => lower(column),
        Fact::Not("NaN") => matches!(column.kind, Type::Numeric { .. } | Type::Float),
        Fact::Not(_) => matches!(&column.kind, Type::Other(name) if name.ends_with("range")),
        Fact::Json(kind) => {
            let value = match &*kind {
                "object" => JSON,
                "array" => r#"pattern='\[[1-9]\d{0,2}, [1-9]\d{0,2}, "[a-z]{3,8}"\]'"#,
                "string" => r#"pattern='"[a-z]{3,8}"'"#,
                "number" => "int",
                "boolean" => "bool",
                _ => return false,
            };
            let is_free = column.kind == Type::Json && column.described.hint.is_none();
            if is_free {
                let value = if value == "bool" { "word=:true,false" } else { value };
                column.described.hint = Some(value.to_owned());
            }
            is_free
        }
    }
}

/// Whether the generators of a type follow these limits.
pub(super) fn is_usable(kind: &Type, bounds: &Bounds) -> bool {
    let reads = |limit: &Option<Limit>| {
        let Some(Limit { text, .. }) = limit else { return true };
        match kind {
            Type::Integer { .. } => text.parse::<i64>().is_ok(),
            Type::Numeric { .. } | Type::Float | Type::Money => text.parse::<f64>().is_ok_and(f64::is_finite),
            Type::Date | Type::Timestamp { .. } => is_point(text, '-'),
            Type::Time { .. } => is_point(text, ':'),
            _ => false,
        }
    };
    bounds.values.is_some() || (reads(&bounds.min) && reads(&bounds.max))
}

/// A date or time with a constant meaning, in ISO's form.
fn is_point(text: &str, separator: char) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.contains(separator)
        && text.chars().all(|c| c.is_ascii_digit() || "-: .+T".contains(c))
}

/// Texts of the generator `string` are the column's name and digits. Short ones are digits of base 62.
fn lower(column: &mut Column) -> bool {
    const DIGITS: usize = 20;
    let is_lower = |text: &str| !text.chars().any(char::is_uppercase);
    let Type::Text { max, .. } = column.kind else { return false };
    let is_long = max.is_none_or(|max| max as usize >= column.name.chars().count() + DIGITS);
    match &column.described.hint {
        None if is_lower(&column.name) => {
            column.described.hint = Some("string".to_owned());
            is_long
        }
        None => false,
        Some(hint) => is_lower(hint) && !hint.contains('\\') && !hint.starts_with("string len"),
    }
}

/// Keeps the lengths of a column between two limits, within those of earlier conditions.
fn narrow_length(column: &mut Column, min: u32, max: u32) -> bool {
    let (least, most) = column.described.lengths.unwrap_or((0, u32::MAX));
    let (min, max) = (min.max(least), max.min(most));
    let is_bytes = match &mut column.kind {
        Type::Text { max: own, .. } => {
            if own.is_none_or(|own| max < own) && max < u32::MAX && max > 0 {
                *own = Some(max);
            }
            false
        }
        Type::Bytes => true,
        _ => return false,
    };
    let most = if let Type::Text { max: Some(most), .. } = column.kind { max.min(most) } else { max };
    if let Some(values) = column.bounds.values.as_mut().filter(|_| !is_bytes) {
        let fits = |value: &String| (min as usize..=max as usize).contains(&value.chars().count());
        let is_possible = values.iter().any(fits);
        values.retain(|value| !is_possible || fits(value));
        return is_possible;
    }
    if min > LENGTH_MAX || min > most {
        return false;
    }
    let described = &mut column.described;
    let generator = if is_bytes { "blob" } else { "string" };
    let made = |hint: &str| hint == "string" || hint.starts_with(&format!("{generator} lenmin="));
    let is_free = described.hint.as_deref().is_none_or(made);
    // Texts of generators have at least one character.
    let is_default = if is_bytes { min <= 8 && max >= 16 } else { min <= 1 };
    if is_default && described.hint.is_none() {
        described.lengths = Some((min, max));
        return max > 0 || min == 0;
    }
    if !is_free {
        let pattern =
            described.hint.as_ref().and_then(|hint| hint.strip_prefix("pattern='")?.strip_suffix('\''));
        if let Some(limited) = pattern.and_then(|pattern| with_lengths(pattern, (min, most))) {
            described.hint = Some(format!("pattern='{limited}'"));
        }
        return false;
    }
    described.lengths = Some((min, max));
    // The other generator gives letters of both cases.
    let was_lower = described.hint.as_deref() == Some("string");
    let least = min.max(1).min(most);
    let most = most.min(least.max(8) + 8);
    described.hint = Some(format!("{generator} lenmin={least} lenmax={most}"));
    !was_lower && (most > 0 || min == 0)
}

/// A pattern of single characters whose last one is repeated, with so many repetitions that its texts have these lengths.
fn with_lengths(pattern: &str, (min, max): (u32, u32)) -> Option<String> {
    let body = pattern.strip_suffix(['+', '*'])?;
    let (mut width, mut rest) = (0_u32, body.chars());
    while let Some(character) = rest.next() {
        match character {
            '(' | ')' | '|' | '?' | '*' | '+' | '{' => return None,
            '\\' => drop(rest.next()),
            '[' => loop {
                match rest.next()? {
                    ']' => break,
                    '\\' => drop(rest.next()),
                    _ => {}
                }
            },
            _ => {}
        }
        width += 1;
    }
    let least = min.max(width);
    let most = max.min(least.max(8) + 8);
    (width > 0 && least <= most).then(|| format!("{body}{{{},{}}}", least + 1 - width, most + 1 - width))
}

/// The pattern of a regular expression, without its anchors and PostgreSQL's classes. `None` for what patterns cannot
/// express; the compiler refuses more.
fn pattern(text: &str) -> Option<String> {
    const CLASSES: [(&str, &str); 7] = [
        ("[:alpha:]", "a-zA-Z"),
        ("[:digit:]", "0-9"),
        ("[:alnum:]", "a-zA-Z0-9"),
        ("[:lower:]", "a-z"),
        ("[:upper:]", "A-Z"),
        ("[:xdigit:]", "0-9a-f"),
        ("[:space:]", " "),
    ];
    let mut own = text.strip_prefix('^').unwrap_or(text).to_owned();
    if own.ends_with('$') && !own.ends_with("\\$") {
        own.pop();
    }
    for (class, characters) in CLASSES {
        own = own.replace(class, characters);
    }
    let unknown = ["'", "(?", "\\y", "\\m", "\\M", "\\A", "\\Z", "[:", "\\1"];
    (!unknown.iter().any(|part| own.contains(part))).then(|| own.replace("(?:", "("))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: Type) -> Column {
        Column {
            name: name.to_owned(),
            place: Place::default(),
            kind,
            type_name: String::new(),
            not_null: false,
            sequence: false,
            computed: false,
            bounds: Bounds::default(),
            described: super::super::Described::default(),
        }
    }

    /// Whether rows meet the condition, and the columns after it.
    fn applied(condition: &str) -> (bool, [Column; 5]) {
        let mut columns = [
            column("i", Type::Integer { max: 99 }),
            column("t", Type::Text { max: None, padded: false }),
            column("j", Type::Json),
            column("b", Type::Bytes),
            column("r", Type::Other("int4range".to_owned())),
        ];
        let is_met = Condition::new(condition).apply(&mut columns, |column| &column.name);
        (is_met, columns)
    }

    #[test]
    fn conditions_of_known_forms_are_met_by_the_values_of_their_columns() {
        for condition in [
            "((i > 0) AND (i < 9))",
            "((t)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))",
            "(char_length(t) <= 20)",
            "((length((t)::text) >= 3) AND (octet_length(b) = 32))",
            "(t <> ''::text)",
            "(i IS NOT NULL)",
            "(jsonb_typeof(j) = 'array'::text)",
            "((i >= 1) AND (i >= 5))",
            "((b IS NULL) OR (octet_length(b) = 20))",
            "((i IS NULL) OR ((i >= 0) AND (i <= 255)))",
            "((i = 1) OR (i = 2))",
            "((t)::text = lower((t)::text))",
            "(length(TRIM(BOTH FROM t)) > 0)",
            "(length(btrim(t)) > 0)",
            "(btrim(t) <> ''::text)",
            "((length(t) >= 3) AND (length(t) <= 5))",
            "(NOT isempty(r))",
            "((octet_length(b) >= 2) AND (octet_length(b) <= 9))",
            "((t = ANY (ARRAY['a'::text, 'bcd'::text])) AND (length(t) > 2))",
        ] {
            assert!(applied(condition).0, "{condition}");
        }
        for condition in [
            "(i < length(t))",
            "((i > 0) OR (t IS NULL))",
            "(t ~ '^[A-Z]{3}$'::text)",
            "(t > 'm'::text)",
            "((jsonb_typeof(j) = 'object'::text) AND (jsonb_typeof(j) = 'array'::text))",
            "(i > 0.5)",
            "(char_length(j) < 3)",
            "(i <> 3)",
            "not an ( expression",
            "((i IS NULL) OR (length(t) > 3))",
            "((i = 1) OR (t = 'a'::text))",
            "((length(t) >= 5) AND (length(t) <= 3))",
            "((t = lower(t)) AND (length(t) = 2))",
            "((length(t) = 2) AND (t = lower(t)))",
            "((t = lower(t)) AND (t = ANY (ARRAY['a'::text, 'B'::text])))",
            "((t = ANY (ARRAY['a'::text, 'B'::text])) AND (t = lower(t)))",
            "((t = ANY (ARRAY['a'::text, 'b'::text])) AND (length(t) > 2))",
        ] {
            assert!(!applied(condition).0, "{condition}");
        }
    }

    #[test]
    fn conditions_narrow_their_columns() {
        let (_, columns) =
            applied("((char_length(t) < 9) AND (octet_length(b) = 32) AND (i >= 1) AND (i >= 5))");
        assert_eq!(columns[0].bounds.min, Some(Limit { text: "5".to_owned(), included: true }));
        assert_eq!(columns[1].kind, Type::Text { max: Some(8), padded: false });
        assert_eq!(columns[3].described.hint.as_deref(), Some("blob lenmin=32 lenmax=32"));
        let hint = |condition: &str, at: usize| applied(condition).1[at].described.hint.clone();
        assert_eq!(
            hint("(t ~ '^[[:alpha:]]{3}-\\d+$'::text)", 1).as_deref(),
            Some("pattern='[a-zA-Z]{3}-\\d+'")
        );
        assert_eq!(hint("(t ~ '^(?=x)'::text)", 1), None);
        assert_eq!(
            hint("((b IS NULL) OR (octet_length(b) = 20))", 3).as_deref(),
            Some("blob lenmin=20 lenmax=20")
        );
        assert_eq!(
            hint("((length(t) >= 3) AND (length(t) <= 5))", 1).as_deref(),
            Some("string lenmin=3 lenmax=5")
        );
        assert_eq!(
            hint("((octet_length(b) >= 2) AND (octet_length(b) <= 9))", 3).as_deref(),
            Some("blob lenmin=2 lenmax=9")
        );
        let (_, columns) = applied("((t = ANY (ARRAY['a'::text, 'bcd'::text])) AND (length(t) > 2))");
        assert_eq!(columns[1].bounds.values.as_deref(), Some(&["bcd".to_owned()][..]));
        let (_, columns) = applied("((i = 1) OR (i = 2))");
        assert_eq!(columns[0].bounds.values.as_deref(), Some(&["1".to_owned(), "2".to_owned()][..]));
        assert_eq!(hint("(length(t) > 11)", 1).as_deref(), Some("string lenmin=12 lenmax=20"));
        for (condition, expected) in [
            ("((t ~ '^[a-z.\\-]+$'::text) AND (length(t) > 10))", "pattern='[a-z.\\-]{11,19}'"),
            (
                "((length(TRIM(BOTH FROM t)) > 10) AND (t ~ '^[a-z][\\]a-z0-9]*$'::text))",
                "pattern='[a-z][\\]a-z0-9]{10,18}'",
            ),
            ("((length(t) <= 6) AND (t ~ '^x[0-9]+$'::text))", "pattern='x[0-9]{1,5}'"),
            ("((length(t) = 9) AND (t ~ '^([a-z]+-)+$'::text))", "string lenmin=9 lenmax=9"),
        ] {
            assert_eq!(hint(condition, 1).as_deref(), Some(expected), "{condition}");
        }
        assert!(Condition::new("((i IS NULL) <> (t IS NULL))").tests_null);
        assert!(!Condition::new("(i IS NOT NULL)").tests_null);
    }
}
