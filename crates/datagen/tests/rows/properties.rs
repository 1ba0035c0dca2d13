//! One row for each generator: directives, and the property that their values must have. The manual has the same table.
//! `generators` tests parameters further.

use crate::table::{column_in, counts, distinct};

/// A generator with the property that is tested.
struct Row {
    generator: &'static str,
    /// As in docs/data.md.
    property: &'static str,
    /// SQL and macros before the table.
    before: &'static str,
    kind: &'static str,
    directives: &'static str,
    holds: fn(&[String]) -> bool,
}

/// Rows of each table.
const ROWS: f64 = 4000.0;

const fn row(
    generator: &'static str,
    property: &'static str,
    [before, kind, directives]: [&'static str; 3],
    holds: fn(&[String]) -> bool,
) -> Row {
    Row { generator, property, before, kind, directives, holds }
}

fn numbers(values: &[String]) -> Vec<f64> {
    values.iter().map(|value| value.parse().expect("a number")).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Whether the share of the values with the property is as expected, within five standard deviations.
fn has_share(values: &[String], expected: f64, of: impl Fn(&str) -> bool) -> bool {
    let count = values.iter().filter(|value| of(value)).count() as f64;
    let rows = values.len() as f64;
    (count - rows * expected).abs() < 5.0 * (rows * expected * (1.0 - expected)).sqrt()
}

fn check_digit(value: &str, weight: u32, folded: bool) -> bool {
    let digits = value.bytes().rev().map(|byte| u32::from(byte - b'0')).enumerate();
    let weighted = digits.map(|(at, digit)| {
        let product = if at % 2 == 1 { digit * weight } else { digit };
        if folded { product / 10 + product % 10 } else { product }
    });
    weighted.sum::<u32>().is_multiple_of(10)
}

const TABLE: [Row; 32] = [
    row(
        "int",
        "the shares of `size` values are uniform (chi-square, 0.1 %)",
        ["", "int", "int size=10"],
        |values| {
            let counts = counts(values);
            let chi: f64 = counts.values().map(|count| (*count as f64 - 400.0).powi(2) / 400.0).sum();
            counts.len() == 10 && chi < 27.9
        },
    ),
    row("bool", "the share of true is `rate`", ["", "bool", "bool rate=0.2"], |values| {
        has_share(values, 0.2, |value| value == "t")
    }),
    row(
        "float",
        "mean of the distribution; decimals of the type",
        ["", "numeric(9,2)", "float=gauss alpha=100 beta=10"],
        |values| {
            let decimals =
                values.iter().all(|value| value.split_once('.').is_some_and(|(_, part)| part.len() == 2));
            decimals && (mean(&numbers(values)) - 100.0).abs() < 5.0 * 10.0 / ROWS.sqrt()
        },
    ),
    row(
        "date",
        "all days from `start` to `end` in steps of `prec`",
        ["", "date", "date start=2024-02-27 end=2024-03-04 prec=2"],
        |values| {
            let mut days: Vec<String> = counts(values).into_keys().cloned().collect();
            days.sort();
            days == ["2024-02-27", "2024-02-29", "2024-03-02", "2024-03-04"]
        },
    ),
    row(
        "timestamp",
        "counts from `start` in steps of `prec`, with `tz`",
        ["", "timestamptz", "timestamp start='2024-01-01 23:59:30' prec=30 tz=UTC sub=serial"],
        |values| values[..2] == ["2024-01-01 23:59:30 UTC", "2024-01-02 00:00:00 UTC"],
    ),
    row(
        "interval",
        "numbers with their `unit`",
        ["", "interval", "interval size=3 unit=d sub=serial"],
        |values| values[..4] == ["1 days", "2 days", "3 days", "1 days"],
    ),
    row(
        "string",
        "at most `size` texts, all within the lengths",
        ["", "text", "string prefix=ab size=500 lenmin=8 lenmax=12"],
        |values| {
            distinct(values) <= 500
                && values.iter().all(|value| (8..=12).contains(&value.len()) && value.starts_with("ab_"))
        },
    ),
    row(
        "chars",
        "every character is of the set; all occur",
        ["", "text", r"chars='a-c\d' length=6 lenvar=2"],
        |values| {
            let used = counts(values.iter().flat_map(|value| value.chars()));
            used.len() == 13 && values.iter().all(|value| (4..=8).contains(&value.len()))
        },
    ),
    row(
        "word",
        "the words of the list, the first with its `rate`",
        ["", "text", "word=:a,b,c sub=power rate=0.7"],
        |values| distinct(values) == 3 && has_share(values, 0.7, |value| value == "a"),
    ),
    row(
        "text",
        "numbers of words within the lengths, with separators and ends",
        ["-- df w: word=:x,yy", "text", "text=w lenmin=2 lenmax=4 separator='-' prefix='<' suffix='>'"],
        |values| {
            values.iter().all(|value| {
                let words: Vec<&str> = value.trim_matches(['<', '>']).split('-').collect();
                (2..=4).contains(&words.len()) && words.iter().all(|word| matches!(*word, "x" | "yy"))
            })
        },
    ),
    row("const", "the text, with its escapes", ["", "text", r"const='a\tb\x21'"], |values| {
        values.iter().all(|value| value == "a\tb!")
    }),
    row(
        "count",
        "the row's number in its `format`",
        ["", "text", "count start=9 step=3 format=05d"],
        |values| values[..3] == ["00009", "00012", "00015"] && distinct(values) == values.len(),
    ),
    row(
        "cat",
        "the texts of its macros one after the other",
        ["-- df a: word=:x,y\n-- df b: count", "text", "cat=a,b"],
        |values| {
            values
                .iter()
                .zip(1..)
                .all(|(value, row)| value[1..] == row.to_string() && "xy".contains(&value[..1]))
        },
    ),
    row(
        "alt",
        "shares of the macros by their weights",
        ["-- df a: const=A\n-- df b: const=B", "text", "alt=a:3,b"],
        |values| has_share(values, 0.75, |value| value == "A"),
    ),
    row(
        "repeat",
        "all numbers of repetitions of `extent`, uniform",
        ["-- df x: const=x", "text", "repeat=x extent=1-4"],
        |values| (1..=4).all(|length| has_share(values, 0.25, |value| value.len() == length)),
    ),
    row(
        "reduce",
        "the macros' numbers combined by `op`",
        ["-- df a: const=2\n-- df b: const=3.5", "numeric", "reduce=a,b op=*"],
        |values| values.iter().all(|value| value == "7"),
    ),
    row(
        "tuple",
        "a row literal with quoted fields",
        [
            "CREATE TYPE pair AS (a int, b text);\n-- df a: const=1\n-- df b: const='x, y'",
            "pair",
            "tuple=a,b",
        ],
        |values| values.iter().all(|value| value == "(1,\"x, y\")"),
    ),
    row(
        "array",
        "numbers of elements within the lengths, elements quoted",
        ["-- df e: word=':a,b c'", "text[]", "array=e lenmin=1 lenmax=2"],
        |values| {
            let mut all: Vec<String> = counts(values).into_keys().cloned().collect();
            all.sort();
            all.len() == 6 && all.contains(&"{\"b c\",a}".to_owned()) && all.contains(&"{a}".to_owned())
        },
    ),
    row(
        "value",
        "one draw for each row, so few values for both columns",
        ["-- df v: int size=9", "int", "value=v"],
        |values| distinct(values) == 9 && values.iter().all(|value| value.len() == 1),
    ),
    row(
        "pattern",
        "every text matches the expression",
        ["", "text", r"pattern='[a-c]{2}\d?(x|yy)-[:count:]'"],
        |values| {
            values.iter().zip(1..).all(|(value, row)| {
                let (head, tail) = value.split_once('-').expect("a minus");
                let middle = head[2..].trim_start_matches(|c: char| c.is_ascii_digit());
                tail == row.to_string()
                    && matches!(middle, "x" | "yy")
                    && head[..2].chars().all(|c| "abc".contains(c))
            })
        },
    ),
    row("uuid", "the form of a UUID; all different", ["", "uuid", "uuid"], |values| {
        let form = |value: &String| value.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
        values.iter().all(form) && distinct(values) == values.len()
    }),
    row("bit", "the length of the type; all its values", ["", "bit(5)", "bit"], |values| {
        values.iter().all(|value| value.len() == 5) && distinct(values) == 32
    }),
    row(
        "blob",
        "`size` values with lengths in bytes",
        ["", "bytea", "blob lenmin=2 lenmax=4 size=20"],
        |values| {
            distinct(values) == 20
                && values.iter().all(|value| value.starts_with("\\x") && (6..=10).contains(&value.len()))
        },
    ),
    row("file", "the contents of the files, as bytes", ["", "bytea", "file=*.bin"], |values| {
        let mut all: Vec<&String> = counts(values).into_keys().collect();
        all.sort();
        all == ["\\x00ff", "\\x010203"]
    }),
    row(
        "inet",
        "addresses of the network, all but the first and the last",
        ["", "inet", "inet=10.1.2.0/28"],
        |values| {
            let hosts =
                |value: &String| value.strip_prefix("10.1.2.").and_then(|host| host.parse::<u8>().ok());
            distinct(values) == 14
                && values.iter().all(|value| hosts(value).is_some_and(|host| (1..=14).contains(&host)))
        },
    ),
    row("mac", "the form of an address; `size` values", ["", "macaddr", "mac size=10"], |values| {
        distinct(values) == 10 && values.iter().all(|value| value.split(':').map(str::len).eq([2; 6]))
    }),
    row(
        "luhn",
        "valid check digits, length and `prefix`",
        ["", "text", "luhn length=16 prefix=4000"],
        |values| {
            values
                .iter()
                .all(|value| value.len() == 16 && value.starts_with("4000") && check_digit(value, 2, true))
        },
    ),
    row("ean", "valid check digits, length of the type", ["", "ean13", "ean"], |values| {
        values.iter().all(|value| value.len() == 13 && check_digit(value, 3, false))
    }),
    row("isnull", "NULL in every row", ["", "int", ""], |_| true),
    row(
        "time",
        "all times from `start` to `end`",
        ["", "time", "time start=08:00 end=09:00 prec=60"],
        |values| {
            distinct(values) == 61
                && values.iter().all(|value| ("08:00:00"..="09:00:00").contains(&value.as_str()))
        },
    ),
    row(
        "list",
        "the values of the list, with escapes and exact weights",
        ["", "text", r"list='a\x2cb,c' sub=weighted weights=0.25,0.75"],
        |values| {
            let counts = counts(values.iter().map(String::as_str));
            counts.len() == 2 && counts["a,b"] == 1000
        },
    ),
    row(
        "linear",
        "differences from the line have the standard deviation `noise`",
        ["", "numeric(9,3)", ""],
        |_| true,
    ),
];

/// Generators whose property needs two columns or NULL.
fn of_rows(name: &str) -> bool {
    use crate::table::{generation, rows};
    match name {
        "isnull" => {
            let rows = rows(&generation("CREATE TABLE t(a int, -- df: isnull\n b int);", 100.0), "t");
            rows.iter().all(|row| row[0].is_none())
        }
        "value" => {
            let schema = "-- df v: int size=9\nCREATE TABLE t(\n a int NOT NULL, -- df: value=v\n b int NOT NULL -- df: value=v\n);";
            rows(&generation(schema, 200.0), "t").iter().all(|row| row[0] == row[1])
        }
        "linear" => {
            let schema = "CREATE TABLE t(\n a int NOT NULL, -- df: int size=1000\n b numeric(9,3) NOT NULL -- df: linear=a slope=2 intercept=5 noise=3\n);";
            let number =
                |value: &Option<String>| value.as_ref().expect("not NULL").parse::<f64>().expect("a number");
            let rows = rows(&generation(schema, ROWS), "t");
            let left: Vec<f64> =
                rows.iter().map(|row| number(&row[1]) - 2.0 * number(&row[0]) - 5.0).collect();
            let deviation = mean(&left.iter().map(|left| left * left).collect::<Vec<_>>()).sqrt();
            // The standard deviation of an estimated deviation is σ / √(2n).
            (deviation - 3.0).abs() < 5.0 * 3.0 / (2.0 * ROWS).sqrt()
        }
        _ => true,
    }
}

#[test]
fn each_generator_has_its_property() {
    for Row { generator, property, before, kind, directives, holds } in &TABLE {
        if !directives.is_empty() {
            let values = column_in(before, kind, directives, ROWS);
            assert!(holds(&values), "{generator}: {property}: {:?}", &values[..10]);
        }
        assert!(of_rows(generator), "{generator}: {property}");
    }
}

#[test]
fn the_manual_names_the_same_properties() {
    let manual = include_str!("../../../../docs/data.md");
    for Row { generator, property, .. } in &TABLE {
        let line = format!("| `{generator}` | {property} |");
        assert!(manual.contains(&line), "docs/data.md lacks the line {line}");
    }
}
