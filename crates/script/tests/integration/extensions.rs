//! Additions of the extended dialect: arrays, strings, loops, `\batch`, `\target`, and NULL from `\gset`.
//! `engine` tests their effect on a run.

use insta::assert_snapshot;
use pgmeter_script::{
    CaptureKind, CommandKind, Dialect, Program, Random, Scope, Symbols, Value, Variables, parse,
};

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
            CommandKind::SetString(set) => set.execute(&mut scope),
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

#[test]
fn pgbench_knows_no_loops() {
    assert_snapshot!(refused_by(Dialect::Pgbench, "\\repeat 2\nselect 1;\n\\endrepeat\n"), @r#"
    f.sql:1: invalid command in command "repeat"
    \repeat 2
    "#);
    assert_snapshot!(refused_by(Dialect::Pgbench, "select 1;\n\\endrepeat\n"), @r#"
    f.sql:2: invalid command in command "endrepeat"
    \endrepeat
    "#);
}

#[test]
fn a_loop_knows_its_ends_and_whether_it_is_certain() {
    let (program, _) = read("\\repeat 2\n\\repeat :n\nselect 1;\n\\endrepeat\n\\endrepeat\n");
    let found = program.commands().iter().map(|command| match &command.kind {
        CommandKind::Repeat(repeat) => (repeat.end, repeat.is_certain()),
        CommandKind::EndRepeat(end) => (end.start, false),
        _ => (9, false),
    });
    assert_eq!(found.collect::<Vec<_>>(), [(4, true), (3, false), (9, false), (1, false), (0, false)]);
    assert!(!matches!(&read("\\repeat 0\n\\endrepeat").0.commands()[0].kind,
        CommandKind::Repeat(repeat) if repeat.is_certain()));
}

#[test]
fn loops_and_conditions_must_nest() {
    assert_snapshot!(refused("select 1;\n\n\\repeat :n * 2\nselect 2;\n"), @r#"
    f.sql:3: \repeat has no \endrepeat; write a line "\endrepeat" below the commands to repeat
    \repeat :n * 2
    ^ error found here
    "#);
    assert_snapshot!(refused("select 1;\n\\endrepeat\n"), @r#"
    f.sql:2: \endrepeat without \repeat; write a line "\repeat N" above the commands to repeat
    \endrepeat
    ^ error found here
    "#);
    assert_snapshot!(refused("\\if true\n\\endrepeat\n\\endif"), @r#"
    f.sql:2: \endrepeat without \repeat; write a line "\repeat N" above the commands to repeat
    \endrepeat
    ^ error found here
    "#);
    assert_snapshot!(refused("\\repeat 2\n\\if true\n\\endrepeat\n\\endif\n"), @r#"
    f.sql:3: \endrepeat inside the \if of line 2; write \endif before it
    \endrepeat
    ^ error found here
    "#);
    assert_snapshot!(refused("\\if true\n\\repeat 2\n\\endif\n\\endrepeat\n"), @r#"
    f.sql:3: \endif inside the \repeat of line 2; write \endrepeat before it
    \endif
    ^ error found here
    "#);
    assert_snapshot!(refused("\\if true\n\\repeat 2\n\\else\n\\endrepeat\n\\endif"), @r#"
    f.sql:3: \else inside the \repeat of line 2; write \endrepeat before it
    \else
    ^ error found here
    "#);
    assert_snapshot!(refused("\\repeat 2\n\\endif\n\\endrepeat\n"), @r#"condition error in script "f.sql" command 2: \endif without matching \if"#);
    assert_snapshot!(refused("\\repeat 2\n\\if true\n\\endif\n\\elif true\n\\endrepeat\n"), @r#"condition error in script "f.sql" command 4: \elif without matching \if"#);
    assert_snapshot!(refused("\\repeat 2\n\\if true\n"), @r#"condition error in script "f.sql" command 3: \if without matching \endif"#);
    assert_snapshot!(refused("\\repeat\n\\endrepeat\n"), @r#"
    f.sql:1: syntax error in command "repeat"
    \repeat
           ^ error found here
    "#);
    assert_snapshot!(refused("\\repeat 1\n\\endrepeat 2\n"), @r#"
    f.sql:2: unexpected argument in command "endrepeat"
    \endrepeat 2
    "#);
}

/// The text of `:x` after `\set x` with this value, in several runs of the script with one random stream.
fn strings(value: &str, runs: usize) -> Vec<String> {
    let script = format!("\\set x {value}\n:x;\n").repeat(runs);
    let (sent, _) = run(&script).unwrap_or_else(|error| panic!("{error}"));
    sent.iter().map(|text| text.strip_suffix(';').unwrap().to_owned()).collect()
}

fn string_error(value: &str) -> String {
    run(&format!("\\set x {value}\n")).unwrap_err()
}

#[test]
fn a_string_is_sent_as_it_is() {
    assert_eq!(strings("'abc'", 1), ["abc"]);
    assert_eq!(strings("  'it''s, \"é\" :y -- \\ 1'  ", 1), ["it's, \"é\" :y -- \\ 1"]);
    assert_eq!(strings("''''", 1), ["'"]);
    assert_eq!(run("\\set x ''\n[:x]").unwrap().0, ["[]"]);
    assert_eq!(run("\\set x 'a'\n\\set x 5\n\\set x :x + 1\n:x").unwrap().0, ["6"]);
    assert_eq!(run("\\set x array(1, 1)\n\\set x 'a'\n:x").unwrap().0, ["a"]);
}

#[test]
fn a_random_string_has_a_length_and_characters_from_the_stream_of_the_client() {
    let drawn = strings("random_string(3, 8)", 200);
    assert!((3..=8).all(|length| drawn.iter().any(|text| text.len() == length)), "a length never occurs");
    assert!(drawn.iter().all(|text| (3..=8).contains(&text.len())));
    assert!(drawn.iter().all(|text| text.bytes().all(|byte| byte.is_ascii_alphanumeric())));
    let all = drawn.concat();
    assert!(('a'..='z').chain('A'..='Z').chain('0'..='9').all(|wanted| all.contains(wanted)));
    assert_eq!(drawn, strings("random_string(3, 8)", 200), "one seed, one run");
    // The length and each character are a draw of random().
    let single = "\\set n random(2, 4)\n\\set a random(0, 2)\n\\set b random(0, 2)\n:n :a :b";
    let single = run(single).unwrap().0.concat();
    let numbers: Vec<usize> = single.split(' ').map(|number| number.parse().unwrap()).collect();
    let string = &strings("random_string(2, 4, 'xyz')", 1)[0];
    let named = |number: usize| &"xyz"[number..=number];
    assert_eq!(
        (string.len(), &string[..1], &string[1..2]),
        (numbers[0], named(numbers[1]), named(numbers[2]))
    );
}

#[test]
fn characters_of_a_random_string_may_be_any() {
    let drawn = strings("random_string(2, 2, 'éß')", 50);
    assert!(drawn.iter().all(|text| text.chars().count() == 2 && text.chars().all(|one| "éß".contains(one))));
    assert_eq!(strings("RANDOM_STRING(2 + 1, 3, 'a')", 1), ["aaa"]);
    assert_eq!(strings("random_string(2, 2, '''')", 1), ["''"]);
    assert_eq!(run("\\set n 2\n\\set x random_string(:n, :n, 'b')\n:x").unwrap().0, ["bb"]);
    assert_eq!(run("\\set x random_string(0, 0)\n[:x]").unwrap().0, ["[]"]);
    let (program, symbols) = read("\\set x random_string(4, 4, 'a')\nselect :x;");
    let (mut variables, mut random) = (Variables::new(&symbols), Random::from_seed(42));
    let CommandKind::SetString(set) = &program.commands()[0].kind else { panic!("a string expected") };
    set.execute(&mut Scope::new(&mut variables, &mut random, &symbols)).unwrap();
    assert_eq!(random, Random::from_seed(42), "where there is only one possibility nothing is drawn");
}

#[test]
fn a_random_element_is_one_of_the_list() {
    let drawn = strings("random_element('red, green,blue')", 100);
    for wanted in ["red", "green", "blue"] {
        assert!(drawn.iter().any(|text| text == wanted), "{wanted} never occurs");
    }
    assert!(drawn.iter().all(|text| ["red", "green", "blue"].contains(&text.as_str())));
    let of_variable = "\\set l 'a, b,c'\n\\set x random_element(:l)\n:x;";
    assert_eq!(run(of_variable).unwrap().0, [strings("random_element('a,b,c')", 1)[0].clone() + ";"]);
    assert_eq!(run("\\set l array(3, 7)\n\\set x random_element(:l)\n\\set x :x * 2\n:x").unwrap().0, ["14"]);
    assert_eq!(run("\\set l 5\n\\set x random_element(:l)\n:x").unwrap().0, ["5"]);
    assert_eq!(run("\\set x random_element(',')\n[:x]").unwrap().0, ["[]"]);
    // An element is a number if it looks like one, as with -D.
    assert_eq!(run("\\set x random_element('10')\n\\set x :x + 1\n:x").unwrap().0, ["11"]);
}

#[test]
fn a_string_is_no_number() {
    assert_snapshot!(run("\\set a '12'\n\\set b :a + 1\n").unwrap_err(), @r#"variable "a" is a string, and expressions only calculate with numbers and booleans"#);
    assert_snapshot!(run("\\set a random_string(2, 2)\n\\set b :a\n").unwrap_err(), @r#"variable "a" is a string, and expressions only calculate with numbers and booleans"#);
    assert_snapshot!(run("\\set a random_element('x')\n\\set b :a + 1\n").unwrap_err(), @r#"malformed variable "a" value: "x""#);
    assert_snapshot!(string_error("random_string(3, 2)"), @"the lengths of a random string must be in range [0, 1000000], the lower one first (not 3 and 2)");
    assert_snapshot!(string_error("random_string(-1, 2)"), @"the lengths of a random string must be in range [0, 1000000], the lower one first (not -1 and 2)");
    assert_snapshot!(string_error("random_string(1, 1000001)"), @"the lengths of a random string must be in range [0, 1000000], the lower one first (not 1 and 1000001)");
    assert_snapshot!(string_error("random_string(null, 1)"), @"cannot coerce null to int");
    assert_snapshot!(string_error("random_element(:nothing)"), @r#"undefined variable "nothing""#);
    assert_snapshot!(run("\\set a ''\n\\set b random_element(:a)\n").unwrap_err(), @r#"variable "a" is an empty list"#);
}

#[test]
fn a_wrong_string_is_refused_when_the_script_is_read() {
    assert_snapshot!(refused("\\set x 'abc\n"), @r#"
    f.sql:1: a string has no closing quote in command "set"
    \set x 'abc
              ^ error found here
    "#);
    assert_snapshot!(refused("\\set x 'a' + 1\n"), @r#"
    f.sql:1: a string must be the whole value of \set, it cannot be part of a larger expression in command "set"
    \set x 'a' + 1
               ^ error found here
    "#);
    assert_snapshot!(refused("\\set x 1 + 'a'\n"), @r#"
    f.sql:1: a string must be the whole value of \set, it cannot be part of a larger expression in command "set"
    \set x 1 + 'a'
                 ^ error found here
    "#);
    assert_snapshot!(refused("\\if :x = 'a'\n\\endif\n"), @r#"
    f.sql:1: a string must be the whole value of \set, it cannot be part of a larger expression in command "if"
    \if :x = 'a'
               ^ error found here
    "#);
    assert_snapshot!(refused("\\set x 1 + random_string(1, 2)\n"), @r#"
    f.sql:1: a string must be the whole value of \set, it cannot be part of a larger expression in command "set"
    \set x 1 + random_string(1, 2)
                           ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_string(1, 2) + 1\n"), @r#"
    f.sql:1: a string must be the whole value of \set, it cannot be part of a larger expression in command "set"
    \set x random_string(1, 2) + 1
                               ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_string('a', 2)\n"), @r#"
    f.sql:1: a string must be the whole value of \set, it cannot be part of a larger expression in command "set"
    \set x random_string('a', 2)
                           ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_string(1)\n"), @r#"
    f.sql:1: unexpected number of arguments (random_string) in command "set"
    \set x random_string(1)
                          ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_string(1, 2, 3)\n"), @r#"
    f.sql:1: the characters of random_string must be a string, such as 'abc' in command "set"
    \set x random_string(1, 2, 3)
                               ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_string(1, 2, '')\n"), @r#"
    f.sql:1: random_string needs at least one character in command "set"
    \set x random_string(1, 2, '')
                                ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_string(1, 2, 'a', 1)\n"), @r#"
    f.sql:1: unexpected number of arguments (random_string) in command "set"
    \set x random_string(1, 2, 'a', 1)
                                  ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_element('')\n"), @r#"
    f.sql:1: random_element needs a list with at least one element, such as 'a,b,c' in command "set"
    \set x random_element('')
                           ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_element('a', 'b')\n"), @r#"
    f.sql:1: random_element has one list, such as 'a,b,c' in command "set"
    \set x random_element('a', 'b')
                             ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_element(1)\n"), @r#"
    f.sql:1: the list of random_element must be a variable or a string, such as 'a,b,c' in command "set"
    \set x random_element(1)
                          ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_element()\n"), @r#"
    f.sql:1: the list of random_element must be a variable or a string, such as 'a,b,c' in command "set"
    \set x random_element()
                          ^ error found here
    "#);
}

#[test]
fn pgbench_knows_no_strings_and_no_null_from_the_server() {
    let refused = |text| refused_by(Dialect::Pgbench, text);
    assert_snapshot!(refused("\\set x 'abc'\n"), @r#"
    f.sql:1: unexpected character (') in command "set"
    \set x 'abc'
               ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_string(1, 2)\n"), @r#"
    f.sql:1: unexpected function name (random_string) in command "set"
    \set x random_string(1, 2)
                       ^ error found here
    "#);
    assert_snapshot!(refused("\\set x random_element('a')\n"), @r#"
    f.sql:1: unexpected character (') in command "set"
    \set x random_element('a')
                            ^ error found here
    "#);
    assert_snapshot!(refused("select 1 \\gset_null\n"), @r#"
    f.sql:1: invalid command in command "gset_null"
    \gset_null
    "#);
    assert_snapshot!(refused("select 1 \\aset_null p_\n"), @r#"
    f.sql:1: invalid command in command "aset_null"
    \aset_null p_
    "#);
}

#[test]
fn null_from_the_server_is_kept_on_request() {
    let capture = |text: &str| match &read(text).0.commands()[0].kind {
        CommandKind::Sql(sql) => sql.capture().cloned().expect("a capture"),
        _ => panic!("SQL expected"),
    };
    assert!(!capture("select 1 \\gset p_\n").keeps_null);
    let kept = capture("select 1 \\gset_null p_\n");
    assert_eq!((kept.kind, &*kept.prefix, kept.keeps_null), (CaptureKind::Gset, &b"p_"[..], true));
    let kept = capture("select 1 \\aset_null\n");
    assert_eq!((kept.kind, &*kept.prefix, kept.keeps_null), (CaptureKind::Aset, &b""[..], true));
}

#[test]
fn a_null_from_the_server_is_null_everywhere() {
    let (program, symbols) = read("select :x;\n\\set y :x is null\nselect :y;");
    let (mut variables, mut random) = (Variables::new(&symbols), Random::from_seed(42));
    let x = symbols.lookup("x").unwrap();
    variables.set_null(x);
    let mut out = Vec::new();
    assert!(!variables.write_parameter(x, &mut out) && out.is_empty());
    let CommandKind::Sql(sql) = &program.commands()[0].kind else { panic!("SQL expected") };
    sql.write_simple(&variables, &mut out);
    assert_eq!(out, b"select NULL;");
    let CommandKind::Set(set) = &program.commands()[1].kind else { panic!("an assignment expected") };
    set.execute(&mut Scope::new(&mut variables, &mut random, &symbols)).unwrap();
    assert_eq!(variables.value(symbols.lookup("y").unwrap(), &symbols), Ok(Value::Boolean(true)));
    variables.set_text(x, "5");
    out.clear();
    assert!(variables.write_parameter(x, &mut out) && out == b"5");
}
