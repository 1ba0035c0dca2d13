//! CHECK constraints about several columns, as alternatives: "either the one or the other is NULL", or values that decide
//! which columns are NULL. Each row takes one of the cases that meet all of these constraints.

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value,
};

use super::Type;
use super::bounds::{self, Bounds, bare};
use super::checks::Condition;
use super::table::{Case, Cases, Column, Demand};
use crate::description::CheckDescription;

/// Most cases of a table: a product of alternatives can be large.
const CASES_MAX: usize = 512;

/// Columns that one condition may count by num_nonnulls, if any subset of them is possible.
const COUNTED_MAX: usize = 8;

/// A part of a condition.
#[derive(Clone, Debug)]
enum Literal {
    Null(String),
    NotNull(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    /// A condition about one column that all rows may meet.
    Fact(String),
    Unknown,
}

type Conjunction = Vec<Literal>;

impl Cases {
    /// Adds a constraint, whose facts narrow the columns. `is_fixed`: the values of the column are those of another table.
    /// `false`: the cases stay as they are, and the server must judge the constraint.
    pub fn add(
        &mut self,
        check: &CheckDescription,
        columns: &mut Vec<Column>,
        is_fixed: impl Fn(&Column) -> bool,
    ) -> bool {
        let Some(condition) = super::checks::parsed(&check.expression) else { return false };
        let mut narrowed = columns.clone();
        let mut own: Vec<Case> = Vec::new();
        let mut unknown = 0;
        for literals in alternatives(&condition, true) {
            if literals.iter().any(|literal| matches!(literal, Literal::Unknown)) {
                unknown += 1;
            } else if let Some(case) = resolved(&literals, &mut narrowed, &is_fixed)
                && !own.contains(&case)
            {
                own.push(case);
            }
        }
        // A single case beside others that are not understood would make all rows alike, and one of values has few.
        let has_values = own.iter().flatten().any(|(_, demand)| matches!(demand, Demand::Values(_)));
        if own.is_empty() || (own.len() < 2 && (unknown > 0 || has_values)) {
            return false;
        }
        let list = if self.list.is_empty() { own } else { combined(&self.list, &own) };
        if list.is_empty() {
            return false;
        }
        (self.list, *columns) = (list, narrowed);
        self.met.add(&check.name);
        self.met.conditions.push(check.expression.clone());
        true
    }
}

/// Pairs of cases that do not contradict each other.
fn combined(some: &[Case], others: &[Case]) -> Vec<Case> {
    let mut list = Vec::new();
    for first in some {
        for second in others {
            let mut case = first.clone();
            let fits = second.iter().all(|(column, demand)| require(&mut case, *column, demand.clone()));
            if fits && list.len() < CASES_MAX && !list.contains(&case) {
                list.push(case);
            }
        }
    }
    list
}

/// Adds a demand to a case. `false`: it contradicts the others.
fn require(case: &mut Case, column: usize, demand: Demand) -> bool {
    let Some((_, own)) = case.iter_mut().find(|(other, _)| *other == column) else {
        case.push((column, demand));
        return true;
    };
    match (&mut *own, demand) {
        (Demand::Null, other) | (Demand::NotNull, other @ Demand::Null) => *own == other,
        (_, Demand::NotNull) => true,
        (Demand::NotNull, values) => {
            *own = values;
            true
        }
        (Demand::Values(_), Demand::Null) => false,
        (Demand::Values(own), Demand::Values(other)) => {
            own.retain(|value| other.contains(value));
            !own.is_empty()
        }
    }
}

/// The case of a conjunction; `None` if no row can meet it.
fn resolved(
    literals: &[Literal],
    columns: &mut Vec<Column>,
    is_fixed: &impl Fn(&Column) -> bool,
) -> Option<Case> {
    let mut case = Case::new();
    let mut narrowed = columns.clone();
    for literal in literals {
        let named = |name: &String| columns.iter().position(|column| column.name == *name);
        let (column, demand) = match literal {
            Literal::Unknown => return None,
            Literal::Fact(text) => {
                let condition = Condition::new(text);
                let is_own = condition
                    .names()
                    .all(|name| columns.iter().any(|column| column.name == *name && !is_fixed(column)));
                if !is_own || !condition.apply(&mut narrowed, |column| &column.name) {
                    return None;
                }
                continue;
            }
            Literal::Null(name) => (named(name)?, Demand::Null),
            Literal::NotNull(name) => (named(name)?, Demand::NotNull),
            Literal::In(name, values) => {
                let column = named(name)?;
                let known = known(&columns[column]);
                let is_known = |value: &&String| known.as_ref().is_none_or(|known| known.contains(value));
                (column, Demand::Values(values.iter().filter(is_known).cloned().collect()))
            }
            Literal::NotIn(name, values) => {
                let column = named(name)?;
                (column, Demand::Values(others(&columns[column], values)))
            }
        };
        let own = &columns[column];
        let is_possible = match &demand {
            Demand::Null => !own.not_null && !own.computed,
            Demand::NotNull => !own.computed,
            Demand::Values(values) => !values.is_empty() && !is_fixed(own) && has_words(&own.kind),
        };
        if !is_possible || !require(&mut case, column, demand) {
            return None;
        }
    }
    *columns = narrowed;
    case.sort_by_key(|(column, _)| *column);
    Some(case)
}

fn has_words(kind: &Type) -> bool {
    matches!(
        kind,
        Type::Integer { .. } | Type::Numeric { .. } | Type::Text { .. } | Type::Enum(_) | Type::Bool
    )
}

/// All values of a column, if they are listed.
fn known(column: &Column) -> Option<Vec<String>> {
    match &column.kind {
        _ if column.bounds.values.is_some() => column.bounds.values.clone(),
        Type::Enum(labels) => Some(labels.clone()),
        Type::Bool => Some(vec!["true".to_owned(), "false".to_owned()]),
        _ => None,
    }
}

/// Values of a column that are not these.
fn others(column: &Column, excluded: &[String]) -> Vec<String> {
    let fits = |text: &str| match &column.kind {
        Type::Text { max, .. } => max.is_none_or(|max| text.len() <= max as usize),
        Type::Integer { .. } | Type::Numeric { .. } => text.parse::<u8>().is_ok(),
        _ => false,
    };
    let all = known(column).unwrap_or_else(|| {
        let words = ["other", "a", "b", "c", "1", "2", "3", "4", "5"];
        words.iter().filter(|text| fits(text)).map(|text| (*text).to_owned()).collect()
    });
    all.into_iter().filter(|value| !excluded.contains(value)).collect()
}

/// The alternatives that make a condition true, or false.
fn alternatives(condition: &Expr, is_true: bool) -> Vec<Conjunction> {
    match condition {
        Expr::Nested(inner) => alternatives(inner, is_true),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => alternatives(expr, !is_true),
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            let (left, right) = (alternatives(left, is_true), alternatives(right, is_true));
            if (*op == BinaryOperator::And) == is_true {
                product(&left, &right)
            } else {
                [left, right].concat()
            }
        }
        Expr::BinaryOp { left, op: op @ (BinaryOperator::Eq | BinaryOperator::NotEq), right }
            if is_truth(left) && is_truth(right) =>
        {
            let is_same = (*op == BinaryOperator::Eq) == is_true;
            let both =
                |value: bool| product(&alternatives(left, value), &alternatives(right, value == is_same));
            [both(true), both(false)].concat()
        }
        Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
            let is_null = matches!(condition, Expr::IsNull(_)) == is_true;
            vec![vec![match bounds::column(inner) {
                Some(name) if is_null => Literal::Null(name),
                Some(name) => Literal::NotNull(name),
                None => Literal::Unknown,
            }]]
        }
        _ => counted(condition, is_true).unwrap_or_else(|| vec![vec![literal(condition, is_true)]]),
    }
}

fn product(some: &[Conjunction], others: &[Conjunction]) -> Vec<Conjunction> {
    let pairs = some.iter().flat_map(|first| others.iter().map(move |second| [&first[..], second].concat()));
    pairs.take(CASES_MAX).collect()
}

/// Whether an expression is a condition, and no value.
fn is_truth(expression: &Expr) -> bool {
    match expression {
        Expr::Nested(inner) => is_truth(inner),
        Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::InList { .. } | Expr::AnyOp { .. } => true,
        Expr::UnaryOp { op, .. } => *op == UnaryOperator::Not,
        Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Eq | BinaryOperator::NotEq
        ),
        _ => false,
    }
}

/// A condition about the values of one column.
fn literal(condition: &Expr, is_true: bool) -> Literal {
    if let [(name, Bounds { values: Some(values), min: None, max: None })] =
        &bounds::of_condition(condition)[..]
    {
        let (name, values) = (name.clone(), values.clone());
        return if is_true { Literal::In(name, values) } else { Literal::NotIn(name, values) };
    }
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::NotEq, right } => {
            match (bounds::column(left), bounds::literal(right)) {
                (Some(name), Some(value)) if !is_true => return Literal::In(name, vec![value]),
                (Some(name), Some(value)) if !matches!(&*value, "" | "NaN") => {
                    return Literal::NotIn(name, vec![value]);
                }
                _ => {}
            }
        }
        Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => {
            if let (Some(name), Expr::Array(array)) = (bounds::column(left), bare(right))
                && let Some(values) = array.elem.iter().map(bounds::literal).collect()
            {
                return if is_true { Literal::NotIn(name, values) } else { Literal::In(name, values) };
            }
        }
        Expr::Identifier(_) => {
            if let Some(name) = bounds::column(condition) {
                return Literal::In(name, vec![is_true.to_string()]);
            }
        }
        _ => {}
    }
    let text = condition.to_string();
    if is_true && Condition::new(&text).is_whole() { Literal::Fact(text) } else { Literal::Unknown }
}

/// The alternatives of a condition about the number of columns that are not NULL.
fn counted(condition: &Expr, is_true: bool) -> Option<Vec<Conjunction>> {
    let Expr::BinaryOp { left, op, right } = condition else { return None };
    let wanted: usize = bounds::literal(right)?.parse().ok()?;
    let columns = counted_columns(left)?;
    if columns.len() > COUNTED_MAX {
        let is_few = wanted == 1 && matches!(op, BinaryOperator::Eq | BinaryOperator::LtEq) && is_true;
        return is_few.then(|| single(&columns, *op == BinaryOperator::LtEq));
    }
    let subsets = (0_usize..1 << columns.len()).filter(|subset| {
        let count = subset.count_ones() as usize;
        let holds = match op {
            BinaryOperator::Eq => count == wanted,
            BinaryOperator::NotEq => count != wanted,
            BinaryOperator::Lt => count < wanted,
            BinaryOperator::LtEq => count <= wanted,
            BinaryOperator::Gt => count > wanted,
            BinaryOperator::GtEq => count >= wanted,
            _ => false,
        };
        holds == is_true
    });
    let case = |subset: usize| {
        let parts = columns.iter().enumerate();
        parts.map(|(at, (yes, no))| if subset >> at & 1 == 1 { yes } else { no }.clone()).collect()
    };
    Some(subsets.map(case).collect())
}

/// One of the columns, or also none.
fn single(columns: &[(Literal, Literal)], or_none: bool) -> Vec<Conjunction> {
    let case = |one: usize| {
        let parts = columns.iter().enumerate();
        parts.map(|(at, (yes, no))| if at == one { yes } else { no }.clone()).collect()
    };
    (0..columns.len() + usize::from(or_none)).map(case).collect()
}

/// The terms of `num_nonnulls(a, b)`, and of sums such as `(a IS NOT NULL)::int + (b IS NOT NULL)::int`: what a term
/// requires to count, and not to count.
fn counted_columns(expression: &Expr) -> Option<Vec<(Literal, Literal)>> {
    match expression {
        Expr::Nested(inner) => counted_columns(inner),
        Expr::BinaryOp { left, op: BinaryOperator::Plus, right } => {
            Some([counted_columns(left)?, counted_columns(right)?].concat())
        }
        Expr::Cast { expr, .. } => one_term(expr),
        Expr::Case { operand: None, conditions, else_result: Some(none), .. } => match &conditions[..] {
            [when] if is_number(&when.result, "1") && is_number(none, "0") => one_term(&when.condition),
            _ => None,
        },
        Expr::Function(function) => {
            let FunctionArguments::List(list) = &function.args else { return None };
            let name = function.name.to_string().to_lowercase();
            let terms = list.args.iter().map(|argument| {
                let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else { return None };
                let column = bounds::column(argument)?;
                let pair = (Literal::NotNull(column.clone()), Literal::Null(column));
                match &*name {
                    "num_nonnulls" => Some(pair),
                    "num_nulls" => Some((pair.1, pair.0)),
                    _ => None,
                }
            });
            terms.collect()
        }
        _ => None,
    }
}

fn one_term(condition: &Expr) -> Option<Vec<(Literal, Literal)>> {
    let one = |value: bool| match &mut alternatives(condition, value)[..] {
        [own] if own.len() == 1 => own.pop().filter(|literal| !matches!(literal, Literal::Unknown)),
        _ => None,
    };
    Some(vec![(one(true)?, one(false)?)])
}

fn is_number(expression: &Expr, number: &str) -> bool {
    matches!(bare(expression), Expr::Value(value) if matches!(&value.value, Value::Number(own, _) if own == number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of cases, and the first two.
    fn check(condition: &str, count: usize) {
        let Some(parsed) = super::super::checks::parsed(condition) else { panic!("{condition}") };
        let found = alternatives(&parsed, true);
        let known = found.iter().filter(|case| !case.iter().any(|own| matches!(own, Literal::Unknown)));
        assert_eq!(known.count(), count, "{condition}: {found:?}");
    }

    #[test]
    fn conditions_about_null_are_alternatives() {
        check("((a IS NULL) <> (b IS NULL))", 2);
        check("((a IS NULL) = (b IS NULL))", 2);
        check("(num_nonnulls(a, b, c) = 1)", 3);
        check("(num_nonnulls(a, b, c) <= 1)", 4);
        check("(num_nulls(a, b, c) = 1)", 3);
        check(
            "((CASE WHEN (a IS NOT NULL) THEN 1 ELSE 0 END + CASE WHEN (b IS NOT NULL) THEN 1 ELSE 0 END) = 1)",
            2,
        );
        check("((((a IS NOT NULL))::integer + ((b IS NOT NULL))::integer) = 1)", 2);
        check("(NOT ((a IS NOT NULL) AND (b IS NOT NULL)))", 2);
        check("((status = 'closed'::text) = (closed_at IS NOT NULL))", 2);
        check("((kind <> ALL (ARRAY['x'::text, 'y'::text])) OR (a IS NOT NULL))", 2);
        check("((a IS NULL) OR (a > b))", 1);
        check("((a > b) AND (b IS NULL))", 0);
    }
}
