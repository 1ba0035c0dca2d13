//! `\if`, `\elif`, `\else`, `\endif`: executed branches, evaluated conditions, and errors. The test follows the
//! commands like the engine.

use insta::assert_snapshot;
use pgmeter_script::{CommandKind, Dialect, Program, Random, Scope, Symbols, Value, Variables, parse};
use proptest::prelude::*;

/// The SQL that is sent, or the error.
fn sent(text: &str) -> Result<Vec<String>, String> {
    let mut symbols = Symbols::new();
    let program = parse("f.sql", text.as_bytes(), &mut symbols, Dialect::Pgbench)
        .unwrap_or_else(|error| panic!("{error}"));
    walk(&program, &symbols)
}

fn walk(program: &Program, symbols: &Symbols) -> Result<Vec<String>, String> {
    let (mut variables, mut random) = (Variables::new(symbols), Random::from_seed(1));
    let mut scope = Scope::new(&mut variables, &mut random, symbols);
    let mut sent = Vec::new();
    let commands = program.commands();
    let (mut index, mut entering) = (0, false);
    while let Some(command) = commands.get(index) {
        let from_condition = std::mem::take(&mut entering);
        index = match &command.kind {
            CommandKind::Elif(condition) if !from_condition => condition.end,
            CommandKind::Else(otherwise) if !from_condition => otherwise.end,
            CommandKind::If(condition) | CommandKind::Elif(condition) => {
                entering = !condition.holds(&mut scope).map_err(|error| error.to_string())?;
                if entering { condition.next } else { index + 1 }
            }
            CommandKind::Set(set) => {
                set.execute(&mut scope).map_err(|error| error.to_string())?;
                index + 1
            }
            CommandKind::Sql(sql) => {
                let mut out = Vec::new();
                sql.write_simple(scope.variables, &mut out);
                sent.push(String::from_utf8(out).unwrap());
                index + 1
            }
            _ => index + 1,
        };
    }
    Ok(sent)
}

fn refused(script: &str) -> String {
    parse("f.sql", script.as_bytes(), &mut Symbols::new(), Dialect::Pgbench).unwrap_err().to_string()
}

#[test]
fn the_first_condition_that_holds_decides() {
    let script = |x: &str| {
        format!(
            "\\set x {x}\n\\if :x = 1\none;\n\\elif :x = 2\ntwo;\n\\elif :x = 2\nagain;\n\\else\nmany;\n\\endif\nend;"
        )
    };
    for (x, expected) in [("1", "one;"), ("2", "two;"), ("3", "many;"), ("null", "many;")] {
        assert_eq!(sent(&script(x)).unwrap(), [expected, "end;"], "{x}");
    }
}

#[test]
fn numbers_count_and_null_does_not_hold() {
    for (condition, holds) in [
        ("1", true),
        ("-0.5", true),
        ("true", true),
        ("0", false),
        ("0.0", false),
        ("null", false),
        ("false", false),
    ] {
        let expected: &[&str] = if holds { &["yes;"] } else { &[] };
        assert_eq!(sent(&format!("\\if {condition}\nyes;\\endif")).unwrap(), expected, "{condition}");
    }
}

#[test]
fn what_is_skipped_is_not_evaluated() {
    let text = "\\if false\n\\set x 1/0\n\\if 1/0\n\\elif 1/0\n\\else\nno;\n\\endif\n\\elif true\nyes;\n\\elif 1/0\n\\endif";
    assert_eq!(sent(text).unwrap(), ["yes;"]);
    assert_eq!(sent("\\if true\nyes;\n\\elif :nothing\n\\endif").unwrap(), ["yes;"]);
    assert_eq!(sent("\\if false\n\\elif 1/0\n\\endif").unwrap_err(), "division by zero");
    assert_eq!(sent("\\if :nothing\n\\endif").unwrap_err(), "undefined variable \"nothing\"");
}

#[test]
fn what_does_not_belong_together_is_found_when_the_script_is_read() {
    assert_snapshot!(refused("\\if 1\n"), @r#"condition error in script "f.sql" command 2: \if without matching \endif"#);
    assert_snapshot!(refused("\\else\n"), @r#"condition error in script "f.sql" command 1: \else without matching \if"#);
    assert_snapshot!(refused(";\n\\elif 1\n"), @r#"condition error in script "f.sql" command 2: \elif without matching \if"#);
    assert_snapshot!(refused("\\endif\n"), @r#"condition error in script "f.sql" command 1: \endif without matching \if"#);
    assert_snapshot!(refused("\\if 1\n\\else\n\\else\n\\endif\n"), @r#"condition error in script "f.sql" command 3: \else after \else"#);
    assert_snapshot!(refused("\\if 1\n\\else\n\\elif 2\n\\endif\n"), @r#"condition error in script "f.sql" command 3: \elif after \else"#);
    assert_snapshot!(refused("\\if 1\n\\if 1\n\\endif\n"), @r#"condition error in script "f.sql" command 4: \if without matching \endif"#);
    assert_snapshot!(refused("\\if 1\n\\endif\n\\endif\n"), @r#"condition error in script "f.sql" command 3: \endif without matching \if"#);
}

#[test]
fn conditions_are_expressions_and_the_others_stand_alone() {
    assert_snapshot!(refused("\\if\n"), @r#"
    f.sql:1: syntax error in command "if"
    \if
       ^ error found here
    "#);
    assert_snapshot!(refused("\\elif 1 +\n"), @r#"
    f.sql:1: syntax error in command "elif"
    \elif 1 +
             ^ error found here
    "#);
    assert_snapshot!(refused("\\if 1\n\\else x\n\\endif\n"), @r#"
    f.sql:2: unexpected argument in command "else"
    \else x
    "#);
    assert_snapshot!(refused("\\ENDIF 1\n"), @r#"
    f.sql:1: unexpected argument in command "ENDIF"
    \ENDIF 1
    "#);
}

#[test]
fn depth_has_no_limit() {
    const DEPTH: usize = 40_000;
    let text = "\\if true\n".repeat(DEPTH) + "yes;\n" + &"\\else\nno;\n\\endif\n".repeat(DEPTH);
    assert_eq!(sent(&text).unwrap(), ["yes;"]);
    let long = format!("\\if false\n{}\\else\nyes;\n\\endif\n", "\\elif false\n".repeat(DEPTH));
    assert_eq!(sent(&long).unwrap(), ["yes;"]);
    assert!(refused(&"\\if 1\n".repeat(DEPTH)).contains("command 40001: \\if without matching \\endif"));
}

/// Nested conditions, and the SQL that they send.
fn block() -> impl Strategy<Value = (String, Vec<String>)> {
    let leaf = (0..1000_u32).prop_map(|number| (format!("s{number};\n"), vec![format!("s{number};")]));
    leaf.prop_recursive(5, 60, 6, |inner| {
        let branch = (any::<bool>(), prop::collection::vec(inner, 0..3));
        (prop::collection::vec(branch, 1..4), any::<bool>()).prop_map(|(branches, with_else)| {
            let (mut text, mut expected, mut decided) = (String::new(), Vec::new(), false);
            let last = branches.len() - 1;
            for (index, (holds, body)) in branches.into_iter().enumerate() {
                let is_else = with_else && index == last && index > 0;
                text += &match index {
                    0 => format!("\\if {holds}\n"),
                    _ if is_else => "\\else\n".to_owned(),
                    _ => format!("\\elif {holds}\n"),
                };
                let taken = !decided && (holds || is_else);
                decided |= taken;
                for (inner, sent) in body {
                    text += &inner;
                    expected.extend(sent.into_iter().filter(|_| taken));
                }
            }
            (text + "\\endif\n", expected)
        })
    })
}

proptest! {
    #[test]
    fn any_blocks_send_what_their_conditions_say((text, expected) in block()) {
        prop_assert_eq!(sent(&text).unwrap(), expected);
    }

    #[test]
    fn whatever_is_accepted_leads_forwards_and_to_an_end(
        kinds in prop::collection::vec(prop::sample::select(vec!["\\if 1", "\\elif 1", "\\else", "\\endif", ";"]), 1..30)
    ) {
        let mut symbols = Symbols::new();
        let text = kinds.join("\n");
        let depth = |kind: &&&str| match **kind { "\\if 1" => 1, "\\endif" => -1, _ => 0 };
        let Ok(program) = parse("f.sql", text.as_bytes(), &mut symbols, Dialect::Pgbench) else { return Ok(()) };
        prop_assert_eq!(kinds.iter().map(|kind| depth(&kind)).sum::<i32>(), 0);
        let commands = program.commands();
        let is_end = |index: usize| matches!(commands[index].kind, CommandKind::EndIf);
        for (index, command) in commands.iter().enumerate() {
            match &command.kind {
                CommandKind::If(condition) | CommandKind::Elif(condition) => {
                    prop_assert!(index < condition.next && condition.next <= condition.end);
                    prop_assert!(is_end(condition.end));
                }
                CommandKind::Else(otherwise) => prop_assert!(index < otherwise.end && is_end(otherwise.end)),
                _ => {}
            }
        }
        prop_assert!(walk(&program, &symbols).is_ok());
    }
}

#[test]
fn variables_decide_each_time_anew() {
    let mut symbols = Symbols::new();
    let program = parse("f.sql", b"\\if :x\nyes;\n\\endif", &mut symbols, Dialect::Pgbench).unwrap();
    let CommandKind::If(condition) = &program.commands()[0].kind else { panic!("\\if expected") };
    let (mut variables, mut random) = (Variables::new(&symbols), Random::from_seed(1));
    let x = symbols.lookup("x").unwrap();
    for (value, holds) in [(Value::Int(1), true), (Value::Int(0), false), (Value::Boolean(true), true)] {
        variables.set(x, value);
        let mut scope = Scope::new(&mut variables, &mut random, &symbols);
        assert_eq!(condition.holds(&mut scope), Ok(holds));
    }
    variables.set_text(x, "off");
    assert_eq!(condition.holds(&mut Scope::new(&mut variables, &mut random, &symbols)), Ok(false));
}
