//! Limits of a column's values, from CHECK constraints of the usual forms and from partitions. Other forms are ignored,
//! as PostgreSQL checks them anyway.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

/// Permitted values of a column, as texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bounds {
    /// `IN (…)`; several constraints are not intersected.
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
    /// Adds the limits of a domain or of another constraint, where there are none yet.
    pub fn add(&mut self, other: &Self) {
        let Self { values, min, max } = other;
        self.values = self.values.take().or_else(|| values.clone());
        self.min = self.min.take().or_else(|| min.clone());
        self.max = self.max.take().or_else(|| max.clone());
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
            }
        }
        _ => {}
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
fn bare(expression: &Expr) -> &Expr {
    match expression {
        Expr::Nested(inner) => bare(inner),
        Expr::Cast { expr, .. } => bare(expr),
        _ => expression,
    }
}

fn column(expression: &Expr) -> Option<String> {
    match bare(expression) {
        Expr::Identifier(name) => Some(super::ddl::plain(name)),
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
