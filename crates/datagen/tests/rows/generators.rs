//! A property of each of the 29 generators of the language, and of those added to it.
//! Distributions are tested by chi-square or by five standard deviations, with a fixed seed.

use crate::table::{column, column_in, counts, distinct, generation, rows};

fn integers(values: &[String]) -> Vec<i64> {
    values.iter().map(|value| value.parse().expect("an integer")).collect()
}

#[test]
fn int_draws_uniformly_within_its_size() {
    let counts = counts(column("int", "int size=10 offset=5", 20_000.0));
    assert_eq!(counts.len(), 10);
    // Chi-square with 9 degrees of freedom, 0.1 % quantile 27.9.
    let chi: f64 = counts.values().map(|count| (*count as f64 - 2000.0).powi(2) / 2000.0).sum();
    assert!(chi < 27.9, "{chi}");
    assert!(counts.keys().all(|value| (5..15).contains(&value.parse::<i64>().expect("an integer"))));
}

#[test]
fn bool_has_its_rate() {
    let trues = column("bool", "bool rate=0.2", 10_000.0).iter().filter(|value| *value == "t").count();
    // Five standard deviations of a binomial: 5 · √(10000 · 0.2 · 0.8) = 200.
    assert!(trues.abs_diff(2000) < 200, "{trues}");
}

#[test]
fn float_has_its_distribution_and_the_column_s_scale() {
    let values = column("numeric(8,2)", "float=gauss alpha=100.0 beta=10.0", 10_000.0);
    assert!(values.iter().all(|value| value.split_once('.').is_some_and(|(_, digits)| digits.len() == 2)));
    let mean = values.iter().map(|value| value.parse::<f64>().expect("a number")).sum::<f64>() / 10_000.0;
    assert!((mean - 100.0).abs() < 0.6, "{mean}");
}

#[test]
fn date_counts_from_start_to_end() {
    let values = column("date", "date start=2024-02-27 end=2024-03-04 prec=2", 500.0);
    let mut days: Vec<_> = counts(values).into_keys().collect();
    days.sort();
    assert_eq!(days, ["2024-02-27", "2024-02-29", "2024-03-02", "2024-03-04"]);
}

#[test]
fn date_without_start_counts_back_from_its_end() {
    let values = column("date", "date end=2000-01-01 size=3", 300.0);
    let mut days: Vec<_> = counts(values).into_keys().collect();
    days.sort();
    assert_eq!(days, ["1999-12-30", "1999-12-31", "2000-01-01"]);
}

#[test]
fn timestamp_has_its_precision_and_zone() {
    let values =
        column("timestamptz", "timestamp start='2024-01-01 10:00:00' size=3 prec=30 tz=UTC sub=serial", 3.0);
    assert_eq!(values, ["2024-01-01 10:00:00 UTC", "2024-01-01 10:00:30 UTC", "2024-01-01 10:01:00 UTC"]);
    let values = column("timestamptz", "timestamp start=2024-01-01 size=2 prec=1 sub=serial", 2.0);
    assert_eq!(values, ["2024-01-01 00:00:00+00", "2024-01-01 00:00:01+00"]);
    let values = column("timestamp", "timestamp start=2024-01-01 size=2 prec=1 sub=serial", 2.0);
    assert_eq!(values, ["2024-01-01 00:00:00", "2024-01-01 00:00:01"]);
}

#[test]
fn interval_has_its_unit() {
    assert_eq!(column("interval", "interval size=3 unit=d sub=serial", 3.0), ["1 days", "2 days", "3 days"]);
}

#[test]
fn string_repeats_its_number_up_to_a_length_of_its_own() {
    let values = column("text", "string prefix=ab size=500 lenmin=8 lenmax=12", 3000.0);
    assert!(values.iter().all(|value| (8..=12).contains(&value.len()) && value.starts_with("ab_")));
    assert!(distinct(&values) > 490 && distinct(&values) <= 500);
    let unique = column("varchar(20) UNIQUE", "string", 3000.0);
    assert_eq!(distinct(&unique), 3000);
    assert!(unique.iter().all(|value| (15..=20).contains(&value.len())));
    assert!(column("char(7)", "string", 100.0).iter().all(|value| value.len() == 7));
    assert_eq!(distinct(&column("char(2) UNIQUE", "string", 3000.0)), 3000);
}

#[test]
fn chars_has_its_set_and_its_lengths() {
    let values = column("text", r"chars='-a-c\d\x21' length=6 lenvar=2", 2000.0);
    assert!(values.iter().all(|value| (4..=8).contains(&value.len())));
    let used = counts(values.iter().flat_map(|value| value.chars()));
    assert_eq!(used.len(), 15, "{used:?}");
    let skewed =
        column_in("-- df pick: int sub=power rate=0.9", "text", "chars='xyz' length=4 cgen=pick", 500.0);
    let used = counts(skewed.iter().flat_map(|value| value.chars()));
    assert!(used[&'x'] > 1700 && used[&'x'] < 1900, "{used:?}");
    assert_eq!(distinct(&column("text UNIQUE", "chars=ab lenmin=9 lenmax=12", 512.0)), 512);
}

#[test]
fn word_takes_words_of_a_list_or_a_file() {
    let values = column("text", "word=:one,two,three size=2", 300.0);
    assert_eq!(counts(values).len(), 2);
    let mut values = column("text UNIQUE", "word=words.txt", 3.0);
    values.sort();
    assert_eq!(values, ["alpha", "beta", "gamma"]);
    let skewed = counts(column("text", "word=:a,b,c,d sub=power rate=0.7", 5000.0));
    assert!(skewed["a"].abs_diff(3500) < 170, "{skewed:?}");
}

#[test]
fn text_has_words_separators_and_ends() {
    let values = column_in(
        "-- df w: word=:x,yy",
        "text",
        "text=w lenmin=2 lenmax=4 separator='-' prefix='<' suffix='>'",
        200.0,
    );
    for value in &values {
        let words: Vec<&str> = value.trim_matches(['<', '>']).split('-').collect();
        assert!(
            (2..=4).contains(&words.len()) && words.iter().all(|word| matches!(*word, "x" | "yy")),
            "{value}"
        );
    }
    assert!(distinct(&values) > 10);
}

#[test]
fn const_is_escaped_for_copy() {
    assert_eq!(column("text", r"const='a\tb\\c\x21'", 2.0), ["a\tb\\c!", "a\tb\\c!"]);
}

#[test]
fn count_counts_rows_in_its_format() {
    assert_eq!(column("text", "count start=9 step=3 format=05d", 3.0), ["00009", "00012", "00015"]);
}

#[test]
fn cat_joins_its_macros() {
    let values = column_in("-- df a: word=:x,y\n-- df b: count", "text", "cat=a,b", 50.0);
    assert!(
        values
            .iter()
            .zip(1..)
            .all(|(value, row)| value[1..] == row.to_string() && "xy".contains(&value[..1]))
    );
}

#[test]
fn alt_has_its_weights() {
    let counts = counts(column_in("-- df a: const=A\n-- df b: const=B", "text", "alt=a:3,b", 4000.0));
    assert!(counts["A"].abs_diff(3000) < 140, "{counts:?}");
}

#[test]
fn repeat_has_its_extent() {
    let lengths =
        counts(column_in("-- df x: const=x", "text", "repeat=x extent=1-3", 3000.0).iter().map(String::len));
    assert_eq!(lengths.len(), 3);
    assert!(lengths.values().all(|count| count.abs_diff(1000) < 130), "{lengths:?}");
    let skewed = column_in("-- df x: const=x", "text", "repeat=x extent=1-3 sub=power rate=0.8", 3000.0);
    assert!(counts(skewed.iter().map(String::len))[&1].abs_diff(2400) < 120);
}

#[test]
fn reduce_has_its_operation() {
    let before = "-- df two: const=2\n-- df three: const=3.5";
    for (operation, expected) in [("+", "5.5"), ("*", "7"), ("min", "2"), ("max", "3.5"), ("cat", "23.5")] {
        assert_eq!(column_in(before, "text", &format!("reduce=two,three op={operation}"), 1.0), [expected]);
    }
}

#[test]
fn tuple_is_a_row_literal() {
    let before = "CREATE TYPE pair AS (a int, b text);\n-- df a: const=1\n-- df b: const='x, \"y\\\\'\n-- df n: isnull";
    assert_eq!(column_in(before, "pair", "tuple=a,b,n", 1.0), [r#"(1,"x, \"y\\",)"#]);
    let composed = column_in("CREATE TYPE pair AS (a int, b bool);", "pair", "null=0.0", 20.0);
    assert!(
        composed
            .iter()
            .all(|value| value.starts_with('(') && (value.ends_with(",t)") || value.ends_with(",f)")))
    );
    let by_macro = column_in(
        "CREATE TYPE pair AS (a int, b text);\n-- df pair: tuple=a,a\n-- df a: const=7",
        "pair",
        "null=0.0",
        1.0,
    );
    assert_eq!(by_macro, ["(7,7)"]);
}

#[test]
fn array_has_its_elements_and_lengths() {
    let values = column_in("-- df e: word=':a,b c,NULL'", "text[]", "array=e lenmin=1 lenmax=2", 100.0);
    assert!(values.iter().all(|value| value.starts_with('{') && value.ends_with('}')));
    assert!(values.iter().any(|value| value.contains("\"NULL\"")), "the text NULL is quoted");
    let numbers = column("int[]", "length=2", 50.0);
    assert!(numbers.iter().all(|value| value.matches(',').count() == 1), "{numbers:?}");
}

#[test]
fn value_is_the_same_wherever_its_macro_is_named() {
    let schema = "-- df v: int size=1000\nCREATE TABLE t(\n a int NOT NULL, -- df: value=v\n b int NOT NULL, -- df: value=v\n c int NOT NULL -- df: use=v\n);";
    let rows = rows(&generation(schema, 200.0), "t");
    assert!(rows.iter().all(|row| row[0] == row[1]));
    assert!(rows.iter().filter(|row| row[0] == row[2]).count() < 10);
}

#[test]
fn pattern_matches_its_expression() {
    let values = column(
        "text",
        r"pattern='[a-c]{2}\d?(x|yy)+[^!-~]-[:alpha:]\.[:int size=9 offset=1:][[:upper:]_]'",
        500.0,
    );
    for value in &values {
        let (head, tail) = value.split_once('-').expect("a minus");
        assert!(head.starts_with(['a', 'b', 'c']) && head.ends_with(' '), "{value}");
        assert!(
            head.trim_end()
                .trim_start_matches(|c: char| "abc0123456789".contains(c))
                .chars()
                .all(|c| "xy".contains(c)),
            "{value}"
        );
        let parts: Vec<char> = tail.chars().collect();
        assert!(
            parts[0].is_ascii_alphabetic() && parts[1] == '.' && ('1'..='9').contains(&parts[2]),
            "{value}"
        );
        assert!(parts[3].is_ascii_uppercase() || parts[3] == '_', "{value}");
    }
    let emails = column("text UNIQUE", r"pattern='u[:count format=04d:]@x\.(org|com)'", 300.0);
    assert_eq!((distinct(&emails), emails[6].starts_with("u0007@x.")), (300, true));
    assert_eq!(distinct(&column("text UNIQUE", r"pattern='[a-d]{3}\d'", 640.0)), 640);
}

#[test]
fn uuid_has_its_form_and_is_unique() {
    let values = column("uuid", "uuid", 2000.0);
    assert_eq!(distinct(&values), 2000);
    let form = |value: &String| value.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    assert!(
        values.iter().all(|value| form(value) && value.chars().all(|c| c == '-' || c.is_ascii_hexdigit()))
    );
}

#[test]
fn bit_has_the_length_of_its_type() {
    assert!(column("bit(5)", "bit", 100.0).iter().all(|value| value.len() == 5));
    let free = column("varbit", "bit lenmin=3 lenmax=6", 300.0);
    assert_eq!(counts(free.iter().map(String::len)).len(), 4);
    assert_eq!(distinct(&column("bit(8) UNIQUE", "bit", 256.0)), 256);
}

#[test]
fn blob_is_hexadecimal_and_a_function_of_its_number() {
    let values = column("bytea", "blob lenmin=2 lenmax=4 size=20", 500.0);
    assert!(values.iter().all(|value| value.starts_with("\\x") && (6..=10).contains(&value.len())));
    assert_eq!(distinct(&values), 20);
    assert_eq!(distinct(&column("bytea UNIQUE", "blob length=2", 3000.0)), 3000);
}

#[test]
fn file_gives_the_contents_of_files() {
    let mut values = column("bytea", "file=*.bin", 50.0);
    values.sort();
    values.dedup();
    assert_eq!(values, ["\\x00ff", "\\x010203"]);
    assert_eq!(column("text", "file=*.txt mode=text", 1.0), ["line 1\nline 2\t\\"]);
}

#[test]
fn inet_stays_in_its_network() {
    let values = column("inet UNIQUE", "inet=10.1.2.0/24", 254.0);
    assert_eq!(distinct(&values), 254);
    assert!(
        values
            .iter()
            .all(|value| value.starts_with("10.1.2.") && !value.ends_with(".0") && !value.ends_with(".255"))
    );
}

#[test]
fn mac_has_as_many_values_as_its_size() {
    let values = column("macaddr", "mac size=10", 500.0);
    assert_eq!(distinct(&values), 10);
    assert!(values.iter().all(|value| value.split(':').map(str::len).eq([2; 6])));
    assert_eq!(distinct(&column("macaddr UNIQUE", "mac", 2000.0)), 2000);
}

#[test]
fn luhn_numbers_are_valid() {
    let values = column("text UNIQUE", "luhn length=16 prefix=4000", 1000.0);
    assert_eq!(distinct(&values), 1000);
    for value in &values {
        let digits = value.bytes().rev().map(|byte| u32::from(byte - b'0'));
        let sum: u32 = digits
            .enumerate()
            .map(|(at, digit)| if at % 2 == 1 { digit * 2 / 10 + digit * 2 % 10 } else { digit })
            .sum();
        assert!(value.len() == 16 && value.starts_with("4000") && sum.is_multiple_of(10), "{value}");
    }
}

#[test]
fn ean_numbers_are_valid() {
    for (kind, length, prefix) in
        [("ean13", 13, ""), ("isbn13", 13, "978"), ("upc", 12, ""), ("text", 13, "")]
    {
        for value in column(&format!("{kind} UNIQUE"), "ean", 500.0) {
            let digits = value.bytes().rev().map(|byte| u32::from(byte - b'0'));
            let sum: u32 =
                digits.enumerate().map(|(at, digit)| if at % 2 == 1 { digit * 3 } else { digit }).sum();
            assert!(
                value.len() == length && value.starts_with(prefix) && sum.is_multiple_of(10),
                "{kind}: {value}"
            );
        }
    }
}

#[test]
fn isnull_is_null() {
    let rows = rows(&generation("CREATE TABLE t(a int, -- df: isnull\n b int);", 20.0), "t");
    assert!(rows.iter().all(|row| row[0].is_none()));
}

#[test]
fn time_stays_within_its_bounds() {
    let values = column("time", "time start=08:00 end=09:00:00 prec=60", 500.0);
    assert_eq!(distinct(&values), 61);
    assert!(values.iter().all(|value| ("08:00:00"..="09:00:00").contains(&value.as_str())));
}

#[test]
fn linear_follows_its_column_with_noise() {
    let schema = "CREATE TABLE t(\n a int NOT NULL, -- df: int size=1000\n b numeric(9,3) NOT NULL -- df: linear=a slope=2 intercept=5 noise=3\n);";
    let rows = rows(&generation(schema, 5000.0), "t");
    let number = |value: &Option<String>| value.as_ref().expect("not NULL").parse::<f64>().expect("a number");
    let residuals: Vec<f64> = rows.iter().map(|row| number(&row[1]) - 2.0 * number(&row[0]) - 5.0).collect();
    let variance = residuals.iter().map(|residual| residual * residual).sum::<f64>() / 5000.0;
    assert!((variance - 9.0).abs() < 1.0, "{variance}");
}

#[test]
fn share_makes_columns_functions_of_one_number() {
    let schema = "-- df pool: int size=50\nCREATE TABLE t(\n a macaddr NOT NULL, -- df: share=pool\n b inet NOT NULL -- df: share=pool inet=10.0.0.0/8\n);";
    let rows = rows(&generation(schema, 2000.0), "t");
    let pairs: std::collections::HashSet<_> = rows.iter().map(|row| (&row[0], &row[1])).collect();
    let macs: std::collections::HashSet<_> = rows.iter().map(|row| &row[0]).collect();
    // Two numbers may have the same address, as both draw it from 2,000.
    assert!(pairs.len() == 50 && (45..=50).contains(&macs.len()), "{} {}", pairs.len(), macs.len());
}

#[test]
fn shift_step_xor_and_mangle_keep_the_values() {
    for directives in [
        "int sub=serial step=7 shift=3 xor=5 size=100",
        "int sub=serial mangle size=100",
        "int sub=serial step=10 size=100",
    ] {
        let mut values = integers(&column("int", directives, 100.0));
        assert_ne!(values, (1..=100).collect::<Vec<_>>(), "{directives}");
        values.sort_unstable();
        assert_eq!(values, (1..=100).collect::<Vec<_>>(), "{directives}");
    }
}

#[test]
fn rates_of_power_and_scale_are_those_of_the_first_value() {
    for sub in ["power", "scale"] {
        let counts = counts(column("int", &format!("int size=10 sub={sub} rate=0.3"), 10_000.0));
        assert!(counts["1"].abs_diff(3000) < 230, "{sub}: {counts:?}");
    }
}
