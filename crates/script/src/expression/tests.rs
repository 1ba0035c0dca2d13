//! Semantics of expressions: precedence, types, NULL, short-circuit evaluation, order of evaluation; and properties of
//! generated expressions. `tests/` has the tests of messages and random numbers.

use proptest::prelude::*;

use super::*;
use crate::dialect::Dialect;
use crate::error::NESTING_MAX;

/// Evaluates with `a` = 7, `s` = the text "t", `default_seed` = 0; also returns the values of `debug()`.
fn watch(text: &str) -> (Result<Value, String>, Vec<Value>) {
    let mut symbols = Symbols::new();
    let expression = match parse(text.as_bytes(), 0, true, Dialect::Extended, &mut symbols) {
        Ok(expression) => expression,
        Err(fault) => return (Err(fault.kind.to_string()), Vec::new()),
    };
    let mut variables = Variables::new(&symbols);
    variables.set(symbols.intern("a"), Value::Int(7));
    variables.set(symbols.intern("default_seed"), Value::Int(0));
    variables.set_text(symbols.intern("s"), "t");
    let mut shown = Vec::new();
    let mut show = |value| shown.push(value);
    let mut random = Random::from_seed(42);
    let mut scope = Scope::new(&mut variables, &mut random, &symbols);
    scope.debug = Some(&mut show);
    let result = expression.evaluate(&mut scope).map_err(|error| error.to_string());
    (result, shown)
}

fn value(text: &str) -> Value {
    watch(text).0.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn int(text: &str) -> i64 {
    match value(text) {
        Value::Int(value) => value,
        other => panic!("{text} is {other:?}"),
    }
}

fn shown(text: &str) -> Vec<i64> {
    let as_int = |value: &Value| if let Value::Int(value) = value { *value } else { i64::MIN };
    watch(text).1.iter().map(as_int).collect()
}

const TRUE: Value = Value::Boolean(true);
const FALSE: Value = Value::Boolean(false);

#[test]
fn operators_bind_in_their_order() {
    assert_eq!(int("1 + 2 * :a"), 15);
    assert_eq!(int("(1 + 2) * :a"), 21);
    assert_eq!(int("7 - 2 - 1"), 4);
    assert_eq!(int("100 / 10 / 5 % 3 * 4"), 8);
    assert_eq!(int("~1+2"), -4, "~ binds as loosely as #");
    assert_eq!(int("2 * ~1 + 3"), -10);
    assert_eq!(int("~1 | 2"), -2);
    assert_eq!(int("1 | 2 << 3"), 24, "all bit operators are equal");
    assert_eq!(int("5 & 3 + 1"), 4);
    assert_eq!(int("-2 - -3"), 1);
    assert_eq!(int("- -3 * 2"), 6);
    assert_eq!(value("1 < 2 is true"), TRUE);
    assert_eq!(value("not 1 = 2 and 3 > 2"), TRUE);
    assert_eq!(value("true or true and false"), TRUE);
    assert_eq!(value("1 + 1 is null is null"), FALSE);
    assert_eq!(value("null is null and not null is null"), FALSE);
    assert_eq!(value("not not true"), TRUE);
    assert_eq!(value("null = not 1 = 2"), Value::Null, "NOT takes all of 1 = 2");
}

#[test]
fn comparisons_do_not_chain() {
    for text in ["1 < 2 < 3", "1 = 1 = 1", "1 = ~1 < 2", "not 1 = 1 = 1", "1 < 2 >= 3"] {
        assert_eq!(watch(text).0, Err("syntax error".into()), "{text}");
    }
    assert_eq!(watch("(1 < 2) = 1").0, Err("cannot coerce boolean to int".into()));
}

#[test]
fn integers_stay_integers_and_doubles_spread() {
    assert_eq!(int("-7 / 2"), -3);
    assert_eq!(int("-7 % 3"), -1);
    assert_eq!(int("-9223372036854775808 % -1"), 0);
    assert_eq!(int("-9223372036854775808"), i64::MIN);
    assert_eq!(value("7 / 2.0"), Value::Double(3.5));
    assert_eq!(value("1 / 0.0"), Value::Double(f64::INFINITY));
    assert_eq!(int("5.5 % 2"), 0, "5.5 rounds to 6");
    assert_eq!(int("1.5 & 3"), 2);
    assert_eq!(value("1 = 1.0"), TRUE);
    assert_eq!(value("0 / 0.0 = 0 / 0.0"), FALSE);
    assert_eq!(value("-0.0"), Value::Double(0.0));
    assert!(matches!(value("-0.0"), Value::Double(zero) if zero.is_sign_positive()));
}

#[test]
fn shifts_take_their_count_modulo_64() {
    assert_eq!(int("1 << 64"), 1);
    assert_eq!(int("1 << 65"), 2);
    assert_eq!(int("1 << -1"), i64::MIN);
    assert_eq!(int("-1 >> 1"), -1);
    assert_eq!(int("-8 >> 63"), -1);
}

#[test]
fn null_spreads_except_where_it_is_asked_for() {
    for text in ["null + true", "1 < null", "not null", "sqrt(null)", "least(1, null, true)", "mod(null, 0)"]
    {
        assert_eq!(value(text), Value::Null, "{text}");
    }
    assert_eq!(value("random(null, 1)"), Value::Null);
    assert_eq!(value("null is null"), TRUE);
    assert_eq!(value("null isnull"), TRUE);
    assert_eq!(value("null notnull"), FALSE);
    assert_eq!(value("0 is null"), FALSE);
    assert_eq!(value("1 is true"), FALSE);
    assert_eq!(value("true is not false"), TRUE);
    assert_eq!(value("false is not false"), FALSE);
}

#[test]
fn and_and_or_stop_when_they_know_enough() {
    assert_eq!(value("null and false"), Value::Null);
    assert_eq!(value("null or true"), Value::Null);
    assert_eq!(value("true and null"), Value::Null);
    assert_eq!(value("false and null"), FALSE);
    assert_eq!(value("true or null"), TRUE);
    assert_eq!(value("false or null"), Value::Null);
    assert_eq!(shown("false and debug(1) = 1"), [0_i64; 0]);
    assert_eq!(shown("null and debug(1) = 1"), [0_i64; 0]);
    assert_eq!(shown("true or debug(1) = 1"), [0_i64; 0]);
    assert_eq!(shown("true and debug(1) = 1"), [1]);
    assert_eq!(value("false or true and :s"), TRUE);
}

#[test]
fn case_evaluates_what_it_needs() {
    assert_eq!(
        shown("case when debug(0) then debug(1) when debug(2) then debug(3) else debug(4) end"),
        [0, 2, 3]
    );
    assert_eq!(shown("case when debug(0) then debug(1) else debug(4) end"), [0, 4]);
    assert_eq!(value("case when null then 1 end"), Value::Null);
    assert_eq!(int("1 + case when 0.0 then 2 when 0.1 then 3 end + 1"), 5);
    assert_eq!(int("case when true then case when false then 1 else 2 end else 3 end"), 2);
}

#[test]
fn operands_are_evaluated_from_the_left_except_for_greater_signs() {
    assert_eq!(shown("debug(1) + debug(2) * debug(3)"), [1, 2, 3]);
    assert_eq!(shown("debug(1) < debug(2)"), [1, 2]);
    assert_eq!(shown("debug(1) > debug(2)"), [2, 1]);
    assert_eq!(shown("debug(1) >= (debug(2) + debug(3))"), [2, 3, 1]);
    assert_eq!(shown("(debug(1) > debug(2)) is true or debug(3) > debug(4)"), [2, 1, 4, 3]);
    let swapped = "(case when debug(1) > debug(2) then debug(3) else debug(4) end) > (debug(5) + debug(6))";
    assert_eq!(shown(swapped), [5, 6, 2, 1, 4]);
    assert_eq!(shown("least(debug(3), debug(1), debug(2))"), [3, 1, 2]);
    assert_eq!(value("2 > 1"), TRUE);
    assert_eq!(value("1 >= 2"), FALSE);
}

#[test]
fn functions_compute() {
    assert_eq!(int("abs(-5)"), 5);
    assert_eq!(int("abs(-9223372036854775808)"), i64::MIN);
    assert_eq!(value("abs(-5.5)"), Value::Double(5.5));
    assert_eq!(value("double(5)"), Value::Double(5.0));
    assert_eq!((int("int(2.5)"), int("int(3.5)")), (2, 4));
    assert_eq!(value("exp(0)"), Value::Double(1.0));
    assert_eq!(value("ln(0)"), Value::Double(f64::NEG_INFINITY));
    assert!(matches!(value("sqrt(-1)"), Value::Double(root) if root.is_nan()));
    assert_eq!(value("SQRT(4)"), Value::Double(2.0));
    assert_eq!(value("pow(2, 10)"), value("power(2, 10)"));
    assert_eq!(value("pow(0, 0)"), Value::Double(1.0));
    assert_eq!(value("pi()"), Value::Double(std::f64::consts::PI));
    assert_eq!((int("greatest(1, 3, 2)"), int("least(3, 1, 2)"), int("least(5)")), (3, 1, 5));
    assert_eq!(int("least(, 2, 1)"), 1, "a comma too many in front is accepted");
    assert_eq!(value("least(1, 2.0)"), Value::Double(1.0));
    assert_eq!(value("least(0 / 0.0, 1)"), Value::Double(1.0));
    assert!(matches!(value("greatest(1, 0 / 0.0)"), Value::Double(last) if last.is_nan()));
    assert_eq!(int("hash(1)"), int("hash_murmur2(1, 0)"));
    assert_eq!(int("hash_fnv1a(10, 5432)"), -7_793_829_335_365_542_153);
    assert_eq!(int("permute(1, 10, 42)"), 7);
    assert_eq!(int("permute(1, 7)"), 2);
    assert_eq!(int("mod(-7, 3)"), -1);
    assert_eq!(watch("debug(null)"), (Ok(Value::Null), vec![Value::Null]));
}

#[test]
fn sixteen_arguments_are_evaluated_before_a_seventeenth_is_refused() {
    let list: Vec<_> = (1..=17).map(|number| format!("debug({number})")).collect();
    let (result, shown) = watch(&format!("1 + least({})", list.join(", ")));
    assert_eq!(result, Err("too many function arguments, maximum is 16".into()));
    assert_eq!(shown.len(), 16);
    assert_eq!(int(&format!("greatest({})", list[..16].join(", "))), 16);
    let unreached = format!("case when false then least({}) else 1 end", list.join(", "));
    assert_eq!(int(&unreached), 1);
}

/// Constant folding does not change random numbers, and a division by zero fails only when it is evaluated.
#[test]
fn a_draw_that_begins_at_a_constant_is_any_other_draw() {
    assert_eq!(functions::FunctionId::RANDOM.function().name, "random");
    for high in [
        "9",
        "5",
        "4",
        "5.4",
        "null",
        "true",
        ":a",
        ":s",
        "9223372036854775807",
        "2 > random(1, 3)",
        ":a * 3",
        ":a * 0",
        ":s * 2",
        ":b * 2",
    ] {
        let constant = watch(&format!("random(5, {high})"));
        assert_eq!(constant, watch(&format!("random(:a - 2, {high})")), "{high}");
        let twice = format!("random(5, {high}) + 10 * random(1, 9)");
        assert_eq!(watch(&twice), watch(&twice.replace("(5,", "(:a - 2,")), "{high}");
    }
    let widest = watch("random(-1, 9223372036854775806)");
    assert_eq!(widest, watch("random(-1 + 0 * :a, 9223372036854775806)"));
    assert!(widest.0.is_err(), "a range has fewer than 2^63 values");
}

#[test]
fn folding_changes_nothing() {
    assert_eq!(
        parse(b"1 + 2 * 3 - 4", 0, true, Dialect::Extended, &mut Symbols::new()).unwrap().code.len(),
        1
    );
    assert_eq!(int("case when false then 1 / 0 else 2 end"), 2);
    assert_eq!(
        value("random(1, 9) + random(1, :a * 3)"),
        value("random(-8 + 9, 9) + random(1, :a * 2 + :a)")
    );
    assert_eq!(value("random(-5000, 5000)"), value("random(0 - 5000, 2500 + 2500)"));
    let drawn = int("random(1, 1000)");
    assert_eq!(int("5 - random(1, 1000)"), 5 - drawn);
    assert_eq!(int("random(1, 1000) - 5"), drawn - 5);
    assert_eq!(int("5 + random(1, 1000) * :a"), 5 + drawn * 7);
    assert_eq!(int(":a - random(1, 1000)"), 7 - drawn);
}

fn nested(depth: usize) -> [String; 5] {
    let wrap = |open: &str, inner: &str, close: &str| open.repeat(depth) + inner + &close.repeat(depth);
    [
        wrap("(", "1", ")"),
        wrap("abs(", "1", ")"),
        wrap("-", "1", ""),
        wrap("case when true then ", "1", " end"),
        wrap("case when 1 > (", "1", ") then 1 end"),
    ]
}

#[test]
fn deep_nesting_is_refused_and_what_is_allowed_runs_on_a_small_stack() {
    let check = || {
        for text in nested(NESTING_MAX / 3 - 1) {
            assert!(watch(&text).0.is_ok(), "{text}");
        }
        for depth in [NESTING_MAX, 10_000, 100_000] {
            for text in nested(depth) {
                let message = watch(&text).0.unwrap_err();
                assert!(message.starts_with("expression is nested more than 256 levels deep"), "{message}");
            }
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(check).unwrap().join().unwrap();
}

#[test]
fn a_stack_that_would_grow_too_high_is_refused() {
    let open = "least(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,";
    let nested = |depth: usize| open.repeat(depth) + "0" + &")".repeat(depth);
    assert_eq!(int(&nested(60)), 0);
    assert!(watch(&nested(80)).0.unwrap_err().starts_with("expression is nested more than"));
}

#[test]
fn long_expressions_are_not_deep() {
    let sum = vec![":a"; 100_000].join(" + ");
    assert_eq!(int(&sum), 700_000);
    let any = vec![":a = 8"; 10_000].join(" or ");
    assert_eq!(value(&any), FALSE);
}

/// An integer expression with its value in unbounded arithmetic; `None` if it overflows 64 bits or divides by zero.
fn integer_expression() -> impl Strategy<Value = (String, Option<i128>)> {
    let edge = prop_oneof![-3_i64..4, Just(i64::MAX), Just(i64::MIN + 1), Just(7), any::<i64>()];
    let leaf = edge.prop_map(|value| {
        let text = match value {
            7 => ":a".to_owned(),
            i64::MIN..0 => format!("({value})"),
            _ => value.to_string(),
        };
        (text, Some(i128::from(value)))
    });
    leaf.prop_recursive(5, 40, 2, |inner| {
        (inner.clone(), 0..5_usize, inner).prop_map(|((left, first), operator, (right, second))| {
            let text = format!("({left} {} {right})", ["+", "-", "*", "/", "%"][operator]);
            let result = first.zip(second).and_then(|(first, second)| match operator {
                0 => Some(first + second),
                1 => Some(first - second),
                2 => Some(first * second),
                3 => first.checked_div(second),
                _ => first.checked_rem(second),
            });
            (text, result.filter(|&result| i64::try_from(result).is_ok()))
        })
    })
}

proptest! {
    #[test]
    fn arithmetic_is_exact_or_fails((text, expected) in integer_expression()) {
        match (watch(&text).0, expected) {
            (Ok(Value::Int(value)), Some(expected)) => prop_assert_eq!(i128::from(value), expected),
            (Err(message), None) => {
                prop_assert!(message == "division by zero" || message.ends_with("out of range"), "{}", message);
            }
            (result, expected) => prop_assert!(false, "{text}: {result:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn a_written_value_reads_as_itself(integer: i64, double in prop::num::f64::POSITIVE | prop::num::f64::NORMAL) {
        prop_assert_eq!(int(&integer.to_string()), integer);
        prop_assert_eq!(value(&format!("{double:e}")), Value::Double(double));
    }

    #[test]
    fn comparisons_agree_with_each_other(left in -3_i64..3, right in -3_i64..3, double: bool) {
        let text = |operator: &str| {
            let right = if double { format!("({right} + 0.0)") } else { right.to_string() };
            value(&format!("{left} {operator} {right}"))
        };
        let expected = [
            ("<", left < right), ("<=", left <= right), (">", left > right), (">=", left >= right),
            ("=", left == right), ("<>", left != right), ("!=", left != right),
        ];
        for (operator, expected) in expected {
            prop_assert_eq!(text(operator), Value::Boolean(expected));
        }
    }

    #[test]
    fn bits_agree_with_the_machine(left: i64, right: i64) {
        let of = |operator: &str| int(&format!("({left}) {operator} ({right})"));
        prop_assert_eq!(of("&"), left & right);
        prop_assert_eq!(of("|"), left | right);
        prop_assert_eq!(of("#"), left ^ right);
        prop_assert_eq!(int(&format!("~({left})")), !left);
        prop_assert_eq!(of("<<"), left << (right & 63));
        prop_assert_eq!(of(">>"), left >> (right & 63));
    }

    #[test]
    fn draws_stay_in_their_range(low in -1000_i64..1000, size in 0_i64..1000, seed: u64, sharpness in 2.0..20.0_f64) {
        let mut random = Random::from_seed(seed);
        let high = low + size;
        for _ in 0..20 {
            prop_assert!((low..=high).contains(&random.integer(low, high)));
            prop_assert!((low..=high).contains(&random.gaussian(low, high, sharpness)));
            prop_assert!((low..=high).contains(&random.exponential(low, high, sharpness)));
            prop_assert!((low..=high).contains(&random.zipfian(low, high, sharpness)));
        }
    }

    #[test]
    fn rubbish_never_panics(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "1", "9223372036854775808", "2.5", ":a", ":s", "null", "true", "(", ")", ",", "+", "-", "*", "/", "%",
                "<", ">", "=", "<>", "|", "&", "#", "~", "<<", "and", "or", "not", "is", "isnull", "case", "when",
                "then", "else", "end", "abs(", "random(", "least(", "permute(", "hash(", "debug(", "int(",
            ]),
            0..30,
        )
    ) {
        let _ = watch(&words.join(" "));
    }
}
