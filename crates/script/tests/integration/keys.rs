//! Keys whose popularity changes: `random_hot` and `random_latest` of the extended dialect in scripts, their errors, and
//! that pgbench's dialect does not have them. `hot_keys` tests the times of moves, `engine` the time of a transaction.

use insta::assert_snapshot;
use pgmeter_script::{
    CommandKind, CopySource, Dialect, Random, Scope, Symbols, Value, Variables, parse, permute,
};

const SECOND: i64 = 1_000_000_000;

/// Assigns an expression this number of times, at a time in nanoseconds since measuring began.
fn draws_at(expression: &str, elapsed_ns: i64, times: usize) -> Result<Vec<Value>, String> {
    let mut symbols = Symbols::new();
    let text = format!("\\set x {expression}\n");
    let program = parse("f.sql", text.as_bytes(), &mut symbols, Dialect::Extended);
    let program = program.map_err(|error| error.to_string())?;
    let (mut variables, mut random) = (Variables::new(&symbols), Random::from_seed(42));
    if let Some(time) = symbols.transaction_time() {
        variables.set(time, Value::Int(elapsed_ns));
    }
    if let Some(seed) = symbols.lookup("default_seed") {
        variables.set(seed, Value::Int(5));
    }
    let CommandKind::Set(set) = &program.commands()[0].kind else { panic!("an expression expected") };
    let mut draw = || {
        set.execute(&mut Scope::new(&mut variables, &mut random, &symbols))?;
        variables.value(set.slot, &symbols)
    };
    (0..times).map(|_| draw().map_err(|error| error.to_string())).collect()
}

fn ints_at(expression: &str, elapsed_ns: i64, times: usize) -> Vec<i64> {
    let draws =
        draws_at(expression, elapsed_ns, times).unwrap_or_else(|error| panic!("{expression}: {error}"));
    let int = |value| if let Value::Int(int) = value { int } else { panic!("{expression}: {value:?}") };
    draws.into_iter().map(int).collect()
}

fn error(expression: &str) -> String {
    draws_at(expression, 0, 1).unwrap_err()
}

/// The draws without repetitions, in ascending order.
fn distinct(mut draws: Vec<i64>) -> Vec<i64> {
    draws.sort_unstable();
    draws.dedup();
    draws
}

#[test]
fn hot_keys_are_drawn_as_often_as_the_share_says_and_move() {
    for (elapsed_ns, first) in [(0, 1), (29 * SECOND, 1), (30 * SECOND, 101), (300 * SECOND, 1), (-1, 901)] {
        let draws = ints_at("random_hot(1, 1000, 0.9, 0.1, 30)", elapsed_ns, 10_000);
        let hot = draws.iter().filter(|key| (first..first + 100).contains(*key)).count();
        // 90 %, and a tenth of the others; the standard deviation is 29.
        assert!((9_000..9_200).contains(&hot), "{elapsed_ns}: {hot}");
        assert!(draws.iter().all(|key| (1..=1000).contains(key)));
    }
    let never = |elapsed_ns| ints_at("random_hot(1, 1000, 0.9, 0.1, 0)", elapsed_ns, 100);
    assert_eq!(never(0), never(1_000 * SECOND));
    let none = ints_at("random_hot(1, 4, 0, 0.25, 1)", 0, 10_000);
    let of_first = none.iter().filter(|key| **key == 1).count();
    assert!((2_350..2_650).contains(&of_first), "{of_first}");
}

#[test]
fn bounds_may_be_expressions_and_any_integers() {
    let all = ints_at("random_hot(10 - 13, 2 * 2, 1, 1, 5)", 7 * SECOND, 1_000);
    assert_eq!(distinct(all), (-3..=4).collect::<Vec<_>>());
    assert_eq!(ints_at("random_hot(7, 7, 0.5, 0.5, 1)", 9 * SECOND, 3), [7, 7, 7]);
    assert_eq!(ints_at("RANDOM_LATEST(7, 7, 2)", 0, 3), [7, 7, 7]);
    let widest = "-9223372036854775808, 9223372036854775807";
    let hot = ints_at(&format!("random_hot({widest}, 1, 0.5, 1)"), SECOND, 1_000);
    assert!(hot.iter().all(|key| *key >= 0), "the upper half is hot");
    let latest = ints_at(&format!("random_latest({widest}, 1.5)"), 0, 1_000);
    let newest = latest.iter().filter(|key| **key == i64::MAX).count();
    // 1 / ζ(1.5) = 0.383; the standard deviation is 15.
    assert!((320..450).contains(&newest), "{newest}");
    assert_eq!(draws_at("random_hot(1, null, 1, 1, 1)", 0, 1), Ok(vec![Value::Null]));
    assert_eq!(draws_at("random_latest(1, 10, null)", 0, 1), Ok(vec![Value::Null]));
}

#[test]
fn permute_scatters_the_hot_keys() {
    let at = |elapsed_ns| ints_at("1 + permute(random_hot(1, 1000, 1, 0.01, 30), 1000)", elapsed_ns, 1_000);
    let images = |keys: std::ops::RangeInclusive<i64>| {
        distinct(keys.map(|key| 1 + permute(key, 1000, 5)).collect::<Vec<_>>())
    };
    let first = distinct(at(0));
    assert_eq!(first, images(1..=10));
    assert!(first.windows(2).any(|pair| pair[1] - pair[0] > 100), "{first:?}");
    assert_eq!(distinct(at(30 * SECOND)), images(11..=20));
    let all = distinct((0..100).flat_map(|moved| at(moved * 30 * SECOND)).collect());
    assert_eq!(all, (1..=1000).collect::<Vec<_>>(), "each key becomes hot");
}

#[test]
fn the_latest_keys_are_the_mirror_of_a_zipfian_distribution() {
    for parameter in ["1.001", "1.2", "2", "1000"] {
        let latest = ints_at(&format!("random_latest(11, 500, {parameter})"), 0, 200);
        let zipfian = ints_at(&format!("11 + 500 - random_zipfian(11, 500, {parameter})"), 0, 200);
        assert_eq!(latest, zipfian, "{parameter}");
    }
    let draws = ints_at("random_latest(1, 10, 1.5)", 0, 100_000);
    let weights: Vec<f64> = (1..=10).map(|rank| f64::from(rank).powf(-1.5)).collect();
    let total: f64 = weights.iter().sum();
    let deviation = |(key, weight): (i64, &f64)| {
        let expected = 100_000.0 * weight / total;
        let found = draws.iter().filter(|drawn| **drawn == key).count() as f64;
        (found - expected).powi(2) / expected
    };
    let chi_square: f64 = (1..=10).rev().zip(&weights).map(deviation).sum();
    // With 9 degrees of freedom, 27.9 is exceeded with a probability of 0.1 %.
    assert!(chi_square < 27.9, "{chi_square}");
}

#[test]
fn arrays_and_rows_of_a_copy_may_contain_them() {
    let text = "\\set ids array(3, random_hot(1, 10, 1, 0.1, 1))\nCOPY t FROM STDIN;\n\
                \\copy_rows 2 (random_hot(1, 10, 1, 0.1, 1), random_latest(3, 3, 2))\n";
    let mut symbols = Symbols::new();
    let program = parse("f.sql", text.as_bytes(), &mut symbols, Dialect::Extended).unwrap();
    let (mut variables, mut random) = (Variables::new(&symbols), Random::from_seed(42));
    variables.set(symbols.transaction_time().unwrap(), Value::Int(4 * SECOND));
    let [CommandKind::SetArray(set), CommandKind::Sql(sql)] =
        [0, 1].map(|index| &program.commands()[index].kind)
    else {
        panic!("an array and a COPY expected")
    };
    let mut scope = Scope::new(&mut variables, &mut random, &symbols);
    set.execute(&mut scope).unwrap();
    let Some(CopySource::Rows(rows)) = sql.copy_source() else { panic!("rows expected") };
    let mut position = rows.begin(&mut scope).unwrap();
    let mut out = Vec::new();
    assert!(variables.write_text(set.slot, &mut out));
    rows.write_piece(&mut position, usize::MAX, &mut variables, &symbols, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "{5,5,5}5\t3\n5\t3\n");
}

#[test]
fn arguments_outside_of_their_ranges_are_refused_in_one_sentence() {
    assert_snapshot!(error("random_hot(10, 1, 0.9, 0.1, 30)"), @"random_hot needs at least one key (not the range from 10 to 1)");
    assert_snapshot!(error("random_hot(1, 10, 1.5, 0.1, 30)"), @"the share of random_hot must be in range [0, 1] (not 1.5)");
    assert_snapshot!(error("random_hot(1, 10, -0.1, 0.1, 30)"), @"the share of random_hot must be in range [0, 1] (not -0.1)");
    assert_snapshot!(error("random_hot(1, 10, 0 / 0.0, 0.1, 30)"), @"the share of random_hot must be in range [0, 1] (not NaN)");
    assert_snapshot!(error("random_hot(1, 10, 0.9, 0, 30)"), @"the fraction of hot keys of random_hot must be greater than 0 and at most 1 (not 0)");
    assert_snapshot!(error("random_hot(1, 10, 0.9, 10, 30)"), @"the fraction of hot keys of random_hot must be greater than 0 and at most 1 (not 10)");
    assert_snapshot!(error("random_hot(1, 10, 0.9, 0 / 0.0, 30)"), @"the fraction of hot keys of random_hot must be greater than 0 and at most 1 (not NaN)");
    assert_snapshot!(error("random_hot(1, 10, 0.9, 0.1, -1)"), @"the time between moves of random_hot must be at least 0 seconds (not -1)");
    assert_snapshot!(error("random_hot(1, 10, 0.9, 0.1, 0 / 0.0)"), @"the time between moves of random_hot must be at least 0 seconds (not NaN)");
    assert_snapshot!(error("random_hot(1, 10, true, 0.1, 30)"), @"cannot coerce boolean to double");
    assert_snapshot!(error("random_latest(10, 1, 1.5)"), @"random_latest needs at least one key (not the range from 10 to 1)");
    assert_snapshot!(error("random_latest(1, 10, 1)"), @"the parameter of random_latest must be in range [1.001, 1000] (not 1)");
    assert_snapshot!(error("random_latest(1, 10, 0 / 0.0)"), @"the parameter of random_latest must be in range [1.001, 1000] (not NaN)");
}

#[test]
fn a_wrong_number_of_arguments_is_refused_when_the_script_is_read() {
    assert_snapshot!(error("random_hot(1, 10, 0.9, 0.1)"), @r#"
    f.sql:1: unexpected number of arguments (random_hot) in command "set"
    \set x random_hot(1, 10, 0.9, 0.1)
                                     ^ error found here
    "#);
    assert_snapshot!(error("random_hot(1, 10, 0.9, 0.1, 30, 1)").lines().next().unwrap(), @r#"f.sql:1: unexpected number of arguments (random_hot) in command "set""#);
    assert_snapshot!(error("random_latest(1, 10)").lines().next().unwrap(), @r#"f.sql:1: unexpected number of arguments (random_latest) in command "set""#);
}

#[test]
fn pgbench_has_neither() {
    let refused = |text: &str| {
        parse("f.sql", text.as_bytes(), &mut Symbols::new(), Dialect::Pgbench).unwrap_err().to_string()
    };
    assert_snapshot!(refused("\\set x random_hot(1, 10, 0.9, 0.1, 30)\n"), @r#"
    f.sql:1: unexpected function name (random_hot) in command "set"
    \set x random_hot(1, 10, 0.9, 0.1, 30)
                    ^ error found here
    "#);
    assert_snapshot!(refused("\\if random_latest(1, 10, 1.5) > 2\n\\endif\n").lines().next().unwrap(), @r#"f.sql:1: unexpected function name (random_latest) in command "if""#);
}

#[test]
fn only_a_script_that_uses_the_time_asks_for_it() {
    let uses_time = |text: &str| {
        let mut symbols = Symbols::new();
        parse("f.sql", text.as_bytes(), &mut symbols, Dialect::Extended).unwrap();
        symbols.transaction_time().is_some()
    };
    assert!(uses_time("\\set x 1 + random_hot(1, 10, 0.9, 0.1, 30)\n"));
    assert!(!uses_time("\\set x random_latest(1, 10, 1.5) + random_zipfian(1, 10, 1.5)\n"));
}
