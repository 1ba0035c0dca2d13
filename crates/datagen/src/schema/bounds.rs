//! Limits of a column's values, from CHECK constraints of the usual forms and from partitions. Other forms are ignored,
//! as PostgreSQL checks them anyway.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use super::names::plain;

/// Permitted values of a column, as texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bounds {
    /// `IN (…)`.
    pub values: Option<Vec<String>>,
    /// Least value, included.
    pub min: Option<Limit>,
    /// Greatest value.
    pub max: Option<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    pub text: String,
    pub included: bool,
}

impl Bounds {
    /// Keeps only the values that `other` permits, too. `false`: that is not possible exactly.
    pub fn narrow(&mut self, other: &Self) -> bool {
        let (min, max) = (narrowed(&self.min, &other.min, true), narrowed(&self.max, &other.max, false));
        let (Some(min), Some(max)) = (min, max) else { return false };
        (self.min, self.max) = (min, max);
        if let Some(values) = &other.values {
            match &mut self.values {
                Some(own) if own.iter().any(|value| values.contains(value)) => {
                    own.retain(|value| values.contains(value));
                }
                Some(_) => return false,
                None => self.values = Some(values.clone()),
            }
        }
        let Some(values) = self.values.as_ref().filter(|_| self.min.is_some() || self.max.is_some()) else {
            return true;
        };
        let number = |text: &str| text.parse::<f64>().ok();
        let within = |value: &str, limit: &Option<Limit>, is_min: bool| {
            let Some(limit) = limit else { return Some(true) };
            let (value, bound) = (number(value)?, number(&limit.text)?);
            Some((limit.included && value == bound) || (value > bound) == is_min && value != bound)
        };
        let left = values.iter().filter_map(|value| {
            Some((value, within(value, &self.min, true)? && within(value, &self.max, false)?))
        });
        let left: Vec<(&String, bool)> = left.collect();
        let kept: Vec<String> =
            left.iter().filter(|(_, is_in)| *is_in).map(|(text, _)| (*text).clone()).collect();
        let is_exact = left.len() == values.len() && !kept.is_empty();
        if is_exact {
            self.values = Some(kept);
        }
        is_exact
    }

    /// Adds a partition of the column: the union of all partitions, which are assumed to have no gaps.
    pub fn add_partition(&mut self, partition: &Self) {
        if let Some(values) = &partition.values {
            self.values.get_or_insert_default().extend(values.iter().cloned());
        }
        let number = |limit: &Limit| limit.text.parse::<f64>().ok();
        let less = |a: &Limit, b: &Limit| match (number(a), number(b)) {
            (Some(a), Some(b)) => a < b,
            _ => a.text < b.text,
        };
        if let Some(min) = &partition.min
            && self.min.as_ref().is_none_or(|own| less(min, own))
        {
            self.min = Some(min.clone());
        }
        if let Some(max) = &partition.max
            && self.max.as_ref().is_none_or(|own| less(own, max))
        {
            self.max = Some(max.clone());
        }
    }
}

/// The narrower of two limits; `None` if they cannot be compared.
fn narrowed(own: &Option<Limit>, other: &Option<Limit>, is_min: bool) -> Option<Option<Limit>> {
    let (Some(a), Some(b)) = (own, other) else { return Some(own.clone().or_else(|| other.clone())) };
    let number = |limit: &Limit| limit.text.parse::<f64>().ok();
    // Dates of one form sort like their texts.
    let order = match (number(a), number(b)) {
        (Some(a), Some(b)) => a.partial_cmp(&b)?,
        (None, None) if a.text.len() == b.text.len() => a.text.cmp(&b.text),
        _ => return None,
    };
    let first = match order {
        std::cmp::Ordering::Equal => !a.included,
        std::cmp::Ordering::Less => !is_min,
        std::cmp::Ordering::Greater => is_min,
    };
    Some(Some(if first { a.clone() } else { b.clone() }))
}

/// Limits of single columns in a condition: pairs of the column's name (`value` in a domain) and its limits.
pub(crate) fn of_condition(condition: &Expr) -> Vec<(String, Bounds)> {
    let mut found = Vec::new();
    collect(condition, &mut found);
    found
}

fn collect(condition: &Expr, found: &mut Vec<(String, Bounds)>) {
    match condition {
        Expr::Nested(inner) => collect(inner, found),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            collect(left, found);
            collect(right, found);
        }
        Expr::BinaryOp { left, op, right } => compare(left, op, right, found),
        Expr::Between { expr, negated: false, low, high } => {
            if let (Some(column), Some(low), Some(high)) = (column(expr), literal(low), literal(high)) {
                let limit = |text| Some(Limit { text, included: true });
                found.push((column, Bounds { values: None, min: limit(low), max: limit(high) }));
            }
        }
        Expr::InList { expr, list, negated: false } => listed(expr, list, found),
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => {
            if let Expr::Array(array) = bare(right) {
                listed(left, &array.elem, found);
            } else if let (Some(column), Some(values)) = (column(left), array_constant(right)) {
                found.push((column, Bounds { values: Some(values), ..Bounds::default() }));
            }
        }
        _ => {}
    }
}

/// The elements of an array that is written as one text: `'{a,"b c"}'::text[]`. NULL equals nothing.
fn array_constant(expression: &Expr) -> Option<Vec<String>> {
    let text = literal(expression)?;
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let (mut elements, mut element) = (Vec::new(), String::new());
    let (mut is_in_quotes, mut was_quoted) = (false, false);
    let mut characters = inside.chars();
    loop {
        match characters.next() {
            Some('\\') => element.extend(characters.next()),
            Some('"') => {
                is_in_quotes = !is_in_quotes;
                was_quoted = true;
            }
            Some('{' | '}') if !is_in_quotes => return None,
            end @ (Some(',') | None) if !is_in_quotes => {
                if was_quoted || !element.eq_ignore_ascii_case("null") {
                    elements.push(std::mem::take(&mut element));
                }
                element.clear();
                was_quoted = false;
                if end.is_none() {
                    return Some(elements);
                }
            }
            Some(other) => element.push(other),
            None => return None,
        }
    }
}

fn listed(expression: &Expr, list: &[Expr], found: &mut Vec<(String, Bounds)>) {
    let values: Option<Vec<String>> = list.iter().map(literal).collect();
    if let (Some(column), Some(values)) = (column(expression), values) {
        found.push((column, Bounds { values: Some(values), ..Bounds::default() }));
    }
}

fn compare(left: &Expr, operator: &BinaryOperator, right: &Expr, found: &mut Vec<(String, Bounds)>) {
    let (name, text, flipped) = match (column(left), literal(right), column(right), literal(left)) {
        (Some(name), Some(text), ..) => (name, text, false),
        (.., Some(name), Some(text)) => (name, text, true),
        _ => return,
    };
    let (is_min, included) = match operator {
        BinaryOperator::Gt => (true, false),
        BinaryOperator::GtEq => (true, true),
        BinaryOperator::Lt => (false, false),
        BinaryOperator::LtEq => (false, true),
        BinaryOperator::Eq => {
            found.push((name, Bounds { values: Some(vec![text]), ..Bounds::default() }));
            return;
        }
        _ => return,
    };
    let limit = Some(Limit { text, included });
    let bounds = if is_min == flipped {
        Bounds { max: limit, ..Bounds::default() }
    } else {
        Bounds { min: limit, ..Bounds::default() }
    };
    found.push((name, bounds));
}

/// Without parentheses and casts.
pub(super) fn bare(expression: &Expr) -> &Expr {
    match expression {
        Expr::Nested(inner) => bare(inner),
        Expr::Cast { expr, .. } => bare(expr),
        _ => expression,
    }
}

pub(super) fn column(expression: &Expr) -> Option<String> {
    match bare(expression) {
        Expr::Identifier(name) => Some(plain(name)),
        _ => None,
    }
}

/// A constant as text.
pub(crate) fn literal(expression: &Expr) -> Option<String> {
    match bare(expression) {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => Some(number.clone()),
            Value::Boolean(value) => Some(value.to_string()),
            other => other.clone().into_string(),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => literal(expr).map(|text| format!("-{text}")),
        Expr::TypedString(typed) => typed.value.value.clone().into_string(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn elements_of_an_array_constant_are_read() {
        let read = |sql: &str| {
            let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).expect("tokens");
            array_constant(&parser.parse_expr().expect("an expression"))
        };
        let values = |list: &[&str]| Some(list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(read("'{a,b}'::text[]"), values(&["a", "b"]));
        assert_eq!(
            read(r#"('{"a,\"b",NULL,"null"}'::character varying[])::text[]"#),
            values(&["a,\"b", "null"])
        );
        assert_eq!(read("'{{a},{b}}'::text[]"), None);
        assert_eq!(read("'a'::text"), None);
    }
}
