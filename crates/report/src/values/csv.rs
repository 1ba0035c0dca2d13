//! A table of values as CSV: RFC 4180 with line feeds. The one module that writes it; docs/reports.md lists the columns of
//! each subject.

use super::{Value, ValueTable};
use crate::prose::escaped_line;

/// The table, its head first.
pub(crate) fn csv(table: &ValueTable<'_>) -> String {
    let lines = std::iter::once(&table.columns).chain(&table.rows);
    lines.map(|line| line.iter().map(cell).collect::<Vec<_>>().join(",") + "\n").collect()
}

fn cell(value: &Value<'_>) -> String {
    match value {
        Value::Flag(flag) => flag.to_string(),
        Value::Whole(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => quoted(inert(text)),
        Value::Words(words) => quoted(words.clone()),
        // A cell holds one value.
        Value::Unknown
        | Value::List(_)
        | Value::Fields(_)
        | Value::Goals(_)
        | Value::Waits(_)
        | Value::Steps(_)
        | Value::Status(_) => String::new(),
    }
}

/// On one line, escaped. An apostrophe precedes characters that a spreadsheet would interpret as the start of a formula
/// (OWASP, CSV Injection); a number such as -1 is no formula.
fn inert(text: &str) -> String {
    let is_formula = |line: &str| line.trim_start().starts_with(['=', '+', '-', '@']);
    let line = escaped_line(text);
    if is_formula(&line) && text.parse::<f64>().is_err() { format!("'{line}") } else { line }
}

/// Quoted if the cell contains a comma, a quote or a line end.
fn quoted(cell: String) -> String {
    let must_be = cell.contains([',', '"', '\n', '\r']);
    if must_be { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::fields;

    #[test]
    fn text_is_quoted_and_no_formula_and_a_number_is_a_number() {
        let row = vec![
            "=1+1".into(),
            "a, \"b\"\n".into(),
            "-1".into(),
            Value::from(-1.5),
            Value::Words("a\u{a0}b".to_owned()),
            true.into(),
            Value::Unknown,
        ];
        let table = ValueTable::new("a,b,c,d,e,f,g", vec![row]);
        assert_eq!(csv(&table), "a,b,c,d,e,f,g\n'=1+1,\"a, \"\"b\"\"\",-1,-1.5,a\u{a0}b,true,\n");
    }

    #[test]
    fn fields_are_in_the_columns_with_their_names() {
        let rows = [fields! { "a" => 1_u32, "b" => "x", "other" => 2_u32 }, fields! { "b" => "y" }];
        assert_eq!(csv(&ValueTable::of_fields("b,a,c", rows)), "b,a,c\nx,1,\ny,,\n");
    }
}
