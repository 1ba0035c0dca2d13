//! Additions of the extended dialect: arrays, `\batch` and `\target`.
//! `engine` tests their effect on a run.

use insta::assert_snapshot;
use pgmeter_script::{CommandKind, Dialect, Program, Random, Scope, Symbols, Variables, parse};

fn read(text: &str) -> (Program, Symbols) {
    let mut symbols = Symbols::new();
    let program = parse("f.sql", text.as_bytes(), &mut symbols, Dialect::Extended);
    (program.unwrap_or_else(|error| panic!("{error}")), symbols)
}

fn refused_by(dialect: Dialect, text: &str) -> String {
    parse("f.sql", text.as_bytes(), &mut Symbols::new(), dialect).unwrap_err().to_string()
}

fn refused(text: &str) -> String {
    refused_by(Dialect::Extended, text)
}

/// Runs the assignments and batches of a script; returns the variables, the SQL, and the sizes of batches.
fn run(text: &str) -> Result<(Vec<String>, Vec<u64>), String> {
    let (program, symbols) = read(text);
    let (mut variables, mut random) = (Variables::new(&symbols), Random::from_seed(42));
    let (mut sent, mut batches) = (Vec::new(), Vec::new());
    for command in program.commands() {
        let mut scope = Scope::new(&mut variables, &mut random, &symbols);
        let done = match &command.kind {
            CommandKind::Set(set) => set.execute(&mut scope),
            CommandKind::SetArray(set) => set.execute(&mut scope),
            CommandKind::Batch(batch) => batch.size(&mut scope).map(|size| batches.push(size)),
            CommandKind::Sql(sql) => {
                let mut out = Vec::new();
                sql.write_simple(&variables, &mut out);
                sent.push(String::from_utf8(out).unwrap());
                Ok(())
            }
            _ => Ok(()),
        };
        done.map_err(|error| error.to_string())?;
    }
    Ok((sent, batches))
}

fn array(expression: &str) -> Result<String, String> {
    let (sent, _) = run(&format!("\\set x array({expression})\n:x"))?;
    Ok(sent.concat())
}

#[test]
fn an_array_is_a_quoted_literal_in_a_simple_query_and_a_plain_one_as_a_parameter() {
    assert_eq!(array("3, 7").unwrap(), "'{7,7,7}'");
    let (program, symbols) = read("\\set x array(2, 1 + 1)\nselect :x;");
    let (mut variables, mut random) = (Variables::new(&symbols), Random::from_seed(42));
    let CommandKind::SetArray(set) = &program.commands()[0].kind else { panic!("an array expected") };
    assert_eq!(&*program.commands()[0].name, "set");
    set.execute(&mut Scope::new(&mut variables, &mut random, &symbols)).unwrap();
    let mut out = Vec::new();
    assert!(variables.write_text(symbols.lookup("x").unwrap(), &mut out));
    assert_eq!(out, b"{2,2}");
}

#[test]
fn elements_are_written_as_postgresql_reads_them() {
    assert_eq!(array("0, 1/0").unwrap(), "'{}'");
    assert_eq!(array("1, null").unwrap(), "'{NULL}'");
    assert_eq!(array("2, 1 = 1").unwrap(), "'{t,t}'");
    assert_eq!(array("1, not true").unwrap(), "'{f}'");
    assert_eq!(array("1, 0.1 + 0.2").unwrap(), "'{0.30000000000000004}'");
    assert_eq!(array("1, 1e300").unwrap(), "'{1e300}'");
    assert_eq!(array("1, 1.0").unwrap(), "'{1}'");
    assert_eq!(array("1, -1e-7").unwrap(), "'{-1e-7}'");
    assert_eq!(array("1, 1 / 0.0").unwrap(), "'{Infinity}'");
    assert_eq!(array("1, -9223372036854775808").unwrap(), "'{-9223372036854775808}'");
}

#[test]
fn each_element_is_a_draw_of_its_own_in_order() {
    let singles =
        run("\\set a random(1, 1000)\n\\set b random(1, 1000)\n\\set c random(1, 1000)\n'{:a,:b,:c}'");
    assert_eq!(array("3, random(1, 1000)").unwrap(), singles.unwrap().0.concat());
}

#[test]
fn the_length_is_an_expression_with_limits() {
    assert_eq!(run("\\set n 2\n\\set x array(:n * 2, :n)\n:x").unwrap().0, ["'{2,2,2,2}'"]);
    assert_eq!(array("2.5, 1").unwrap(), "'{1,1}'");
    assert_snapshot!(array("-1, 1").unwrap_err(), @"the length of an array must be in range [0, 1000000] (not -1)");
    assert_snapshot!(array("1000001, 1").unwrap_err(), @"the length of an array must be in range [0, 1000000] (not 1000001)");
    assert_snapshot!(array("null, 1").unwrap_err(), @"cannot coerce null to int");
    assert_snapshot!(array("2, 1 / 0").unwrap_err(), @"division by zero");
    assert_eq!(array("1000000, 1").unwrap().len(), 2 * 1_000_000 + 3);
}

#[test]
fn an_array_can_be_replaced_and_is_no_number() {
    assert_eq!(run("\\set x array(2, 1)\n\\set x array(1, 5)\n:x;").unwrap().0, ["'{5}';"]);
    assert_eq!(run("\\set x array(2, 1)\n\\set x 5\n:x;").unwrap().0, ["5;"]);
    assert_snapshot!(run("\\set x array(2, 1)\n\\set y :x + 1\n").unwrap_err(), @r#"malformed variable "x" value: "{1,1}""#);
    let mut symbols = Symbols::new();
    let program = parse("f.sql", b"\\set x array(1, 1)\n:x", &mut symbols, Dialect::Extended).unwrap();
    let CommandKind::SetArray(set) = &program.commands()[0].kind else { panic!("an array expected") };
    let CommandKind::Sql(sql) = &program.commands()[1].kind else { panic!("SQL expected") };
    let (mut variables, mut random) = (Variables::new(&symbols), Random::from_seed(42));
    set.execute(&mut Scope::new(&mut variables, &mut random, &symbols)).unwrap();
    variables.set_text(set.slot, "plain");
    let mut out = Vec::new();
    sql.write_simple(&variables, &mut out);
    assert_eq!(out, b"plain");
}

#[test]
fn a_wrong_array_is_refused_when_the_script_is_read() {
    assert_snapshot!(refused("\\set x array(3)\n"), @r#"
    f.sql:1: unexpected number of arguments (array) in command "set"
    \set x array(3)
                  ^ error found here
    "#);
    assert_snapshot!(refused("\\set x array(3, 1, 2)\n"), @r#"
    f.sql:1: unexpected number of arguments (array) in command "set"
    \set x array(3, 1, 2)
                     ^ error found here
    "#);
    assert_snapshot!(refused("\\set x array\n"), @r#"
    f.sql:1: syntax error in command "set"
    \set x array
                ^ error found here
    "#);
    assert_snapshot!(refused("\\set x array(3, 1) + 1\n"), @r#"
    f.sql:1: array(number, expression) cannot be part of a larger expression in command "set"
    \set x array(3, 1) + 1
                       ^ error found here
    "#);
    assert_snapshot!(refused("\\set x 1 + array(3, 1)\n"), @r#"
    f.sql:1: array(number, expression) cannot be part of a larger expression in command "set"
    \set x 1 + array(3, 1)
                   ^ error found here
    "#);
    assert_snapshot!(refused("\\set 1x array(3, 1)\n"), @r#"
    f.sql:1: invalid variable name: "1x" in command "set"
    \set 1x array(3, 1)
         ^ error found here
    "#);
}

#[test]
fn a_batch_stands_for_at_least_one_transaction() {
    assert_eq!(run("\\set n 10\n\\batch :n * 5\nselect 1;").unwrap().1, [50]);
    assert_snapshot!(run("\\batch 0\n").unwrap_err(), @"a batch must stand for at least one transaction (not 0)");
    assert_snapshot!(run("\\batch -3\n").unwrap_err(), @"a batch must stand for at least one transaction (not -3)");
    assert_snapshot!(run("\\batch null\n").unwrap_err(), @"cannot coerce null to int");
    assert_snapshot!(refused("\\batch\n"), @r#"
    f.sql:1: syntax error in command "batch"
    \batch
          ^ error found here
    "#);
}

#[test]
fn a_target_is_named_once_before_the_first_command() {
    let (program, _) = read("-- reads\n\\target replica\nselect 1;");
    assert_eq!((program.target(), program.commands().len()), (Some("replica"), 1));
    assert_eq!(read("select 1;").0.target(), None);
    assert_snapshot!(refused("\\target a\n\\target b\nselect 1;"), @r#"
    f.sql:2: a script can have only one \target, before its first command
    \target b
    "#);
    assert_snapshot!(refused("select 1;\n\\target a\n"), @r#"
    f.sql:2: a script can have only one \target, before its first command
    \target a
    "#);
    assert_snapshot!(refused("\\target\nselect 1;"), @r#"
    f.sql:1: missing argument in command "target"
    \target
    "#);
    assert_snapshot!(refused("\\target a b\nselect 1;"), @r#"
    f.sql:1: too many arguments in command "target"
    \target a b
              ^ error found here
    "#);
    assert_snapshot!(refused("\\target a\n"), @r#"empty command list for script "f.sql""#);
}

#[test]
fn pgbench_knows_none_of_them() {
    let refused = |text| refused_by(Dialect::Pgbench, text);
    assert_snapshot!(refused("\\batch 5\n"), @r#"
    f.sql:1: invalid command in command "batch"
    \batch 5
    "#);
    assert_snapshot!(refused("\\target a\n"), @r#"
    f.sql:1: invalid command in command "target"
    \target a
    "#);
    assert_snapshot!(refused("\\set x array(1, 2)\n"), @r#"
    f.sql:1: unexpected function name (array) in command "set"
    \set x array(1, 2)
               ^ error found here
    "#);
    assert_snapshot!(refused("\\set x array\n"), @r#"
    f.sql:1: unexpected function name (array) in command "set"
    \set x array
               ^ error found here
    "#);
}
