//! Error messages for invalid scripts, identical to those of
//! pgbench 15 in words and columns unless noted.

use insta::assert_snapshot;
use pgmeter_script::{CommandKind, Dialect, Random, Scope, Symbols, Value, Variables, parse};

/// The message for an invalid script.
fn refused(script: &str) -> String {
    match parse("f.sql", script.as_bytes(), &mut Symbols::new(), Dialect::Pgbench) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// The value or error of the last `\set`. `y` is an empty text, `seven` is 7.
fn result(script: &str) -> String {
    let mut symbols = Symbols::new();
    let program = parse("f.sql", script.as_bytes(), &mut symbols, Dialect::Pgbench).unwrap();
    let mut variables = Variables::new(&symbols);
    variables.set(symbols.intern("seven"), Value::Int(7));
    variables.set_text(symbols.intern("y"), "");
    let mut random = Random::from_seed(42);
    let mut last = String::new();
    for command in program.commands() {
        let CommandKind::Set(set) = &command.kind else { continue };
        match set.expression.evaluate(&mut Scope::new(&mut variables, &mut random, &symbols)) {
            Ok(value) => last = value.described(),
            Err(error) => return error.to_string(),
        }
    }
    last
}

/// The result of `\set x …`.
fn value(expression: &str) -> String {
    result(&format!("\\set x {expression}"))
}

#[test]
fn the_caret_stands_under_the_last_byte_read() {
    assert_snapshot!(refused("\\set x 1 -- c\n"), @r#"
        f.sql:1: unexpected function name (c) in command "set"
        \set x 1 -- c
                    ^ error found here
        "#);
    assert_snapshot!(refused("  \\set x 1 +\n"), @r#"
        f.sql:1: syntax error in command "set"
        \set x 1 +
                  ^ error found here
        "#);
    assert_snapshot!(refused("select 1; \\set x 1 + foo(2)\n"), @r#"
        f.sql:1: unexpected function name (foo) in command "set"
        \set x 1 + foo(2)
                     ^ error found here
        "#);
    assert_snapshot!(refused("\\set x\n"), @r#"
        f.sql:1: syntax error in command "set"
        \set x
              ^ error found here
        "#);
    assert_snapshot!(refused("\\set x 1 < 2 < 3\n"), @r#"
        f.sql:1: syntax error in command "set"
        \set x 1 < 2 < 3
                     ^ error found here
        "#);
    assert_snapshot!(refused("\\set x 1 - 9223372036854775808\n"), @r#"
        f.sql:1: syntax error in command "set"
        \set x 1 - 9223372036854775808
                                     ^ error found here
        "#);
    assert_snapshot!(refused("\\set x case when 1 then 2\n"), @r#"
        f.sql:1: syntax error in command "set"
        \set x case when 1 then 2
                                 ^ error found here
        "#);
    assert_snapshot!(refused("\\set x case true when true then 1 end\n"), @r#"
        f.sql:1: syntax error in command "set"
        \set x case true when true then 1 end
                       ^ error found here
        "#);
    assert_snapshot!(refused("\\set x isnull(1)\n"), @r#"
        f.sql:1: syntax error in command "set"
        \set x isnull(1)
                    ^ error found here
        "#);
    assert_snapshot!(refused("\\set x 1 == 1\n"), @r#"
        f.sql:1: syntax error in command "set"
        \set x 1 == 1
                  ^ error found here
        "#);
    assert_snapshot!(refused("\\set x 1.5.5\n"), @r#"
        f.sql:1: syntax error in command "set"
        \set x 1.5.5
                   ^ error found here
        "#);
    assert_snapshot!(refused("\\set x ::a\n"), @r#"
        f.sql:1: unexpected character (:) in command "set"
        \set x ::a
               ^ error found here
        "#);
    assert_snapshot!(refused("\\SET x 1 @\r\n"), @r#"
        f.sql:1: unexpected character (@) in command "SET"
        \SET x 1 @
                 ^ error found here
        "#);
    assert_snapshot!(refused("\\ set x 1 +\n"), @r#"
        f.sql:1: syntax error in command "set"
        \ set x 1 +
                   ^ error found here
        "#);
}

#[test]
fn at_the_end_of_the_file_the_caret_cannot_go_further() {
    assert_snapshot!(refused("\\set x 5 +"), @r#"
        f.sql:1: syntax error in command "set"
        \set x 5 +
                 ^ error found here
        "#);
    assert_snapshot!(refused("\\set x 5 @"), @r#"
        f.sql:1: unexpected character (@) in command "set"
        \set x 5 @
                 ^ error found here
        "#);
    assert_snapshot!(refused("\\set x 1 \\"), @r#"
        f.sql:1: unexpected character (\) in command "set"
        \set x 1 \
                 ^ error found here
        "#);
}

#[test]
fn constants_that_do_not_fit_are_refused() {
    assert_snapshot!(refused("\\set x 99999999999999999999\n"), @r#"
        f.sql:1: bigint constant overflow (99999999999999999999) in command "set"
        \set x 99999999999999999999
                                  ^ error found here
        "#);
    assert_snapshot!(refused("\\set x 1e999\n"), @r#"
        f.sql:1: double constant overflow (1e999) in command "set"
        \set x 1e999
                   ^ error found here
        "#);
    assert_snapshot!(refused("\\set x debug(1e-400)\n"), @r#"
        f.sql:1: double constant overflow (1e-400) in command "set"
        \set x debug(1e-400)
                          ^ error found here
        "#);
}

#[test]
fn calls_are_checked_when_the_script_is_read() {
    assert_snapshot!(refused("\\set x greatest()\n"), @r#"
        f.sql:1: at least one argument expected (greatest) in command "set"
        \set x greatest()
                        ^ error found here
        "#);
    assert_snapshot!(refused("\\set x abs(1,2)\n"), @r#"
        f.sql:1: unexpected number of arguments (abs) in command "set"
        \set x abs(1,2)
                      ^ error found here
        "#);
    assert_snapshot!(refused("\\set x hash(1,2,3)\n"), @r#"
        f.sql:1: unexpected number of arguments (hash) in command "set"
        \set x hash(1,2,3)
                         ^ error found here
        "#);
    assert_snapshot!(refused("\\set x permute(1)\n"), @r#"
        f.sql:1: unexpected number of arguments (permute) in command "set"
        \set x permute(1)
                        ^ error found here
        "#);
    assert_snapshot!(refused("\\set x abs(1,)\n"), @r#"
        f.sql:1: syntax error in command "set"
        \set x abs(1,)
                     ^ error found here
        "#);
    assert_snapshot!(refused("\\set x foo\n"), @r#"
        f.sql:1: unexpected function name (foo) in command "set"
        \set x foo
                 ^ error found here
        "#);
}

/// pgbench counts the caret's column from the start of the command, so the caret is too far right after the first line.
#[test]
fn in_a_continued_command_the_caret_stands_under_its_own_line() {
    assert_snapshot!(refused("\\set x 1 + \\\n  2 + $ + \\\n 3\n"), @r#"
        f.sql:1: unexpected character ($) in command "set"
        \set x 1 + \
          2 + $ + \
              ^ error found here
         3
        "#);
    assert_snapshot!(refused("\\set \\\r\n\tx \\\r\n\té + $\r\n"), @r#"
        f.sql:1: unexpected character ($) in command "set"
        \set \
        	x \
        	é + $
        	    ^ error found here
        "#);
}

/// pgbench reads to the end of the line before it reports an error.
#[test]
fn of_several_errors_the_last_unreadable_token_is_shown() {
    assert_snapshot!(refused("\\set x 'a'\n"), @r#"
        f.sql:1: unexpected character (') in command "set"
        \set x 'a'
                 ^ error found here
        "#);
    assert_snapshot!(refused("\\set x 1 2 $ 99999999999999999999 3\n"), @r#"
        f.sql:1: bigint constant overflow (99999999999999999999) in command "set"
        \set x 1 2 $ 99999999999999999999 3
                                        ^ error found here
        "#);
}

#[test]
fn meta_commands_have_their_own_messages() {
    assert_snapshot!(refused("\n\\foo bar\n"), @r#"
        f.sql:2: invalid command in command "foo"
        \foo bar
        "#);
    assert_snapshot!(refused("select 1;\n\\\\set x 1\n"), @r#"
        f.sql:2: invalid command in command "\set"
        \\set x 1
        "#);
    assert_snapshot!(refused("\\set\n"), @r#"
f.sql:1: missing argument in command "set""#);
    assert_snapshot!(refused("\\sleep\n"), @r#"
        f.sql:1: missing argument in command "sleep"
        \sleep
        "#);
    assert_snapshot!(refused("\\sleep 1 2 3\n"), @r#"
        f.sql:1: too many arguments in command "sleep"
        \sleep 1 2 3
                   ^ error found here
        "#);
    assert_snapshot!(refused("\\sleep 1 parsec\n"), @r#"
        f.sql:1: unrecognized time unit, must be us, ms or s (parsec) in command "sleep"
        \sleep 1 parsec
                 ^ error found here
        "#);
    assert_snapshot!(refused("\\sleep 10xs\n"), @r#"
        f.sql:1: unrecognized time unit, must be us, ms or s (xs) in command "sleep"
        \sleep 10xs
                 ^ error found here
        "#);
    assert_snapshot!(refused("\\sleep 1.5\n"), @r#"
        f.sql:1: unrecognized time unit, must be us, ms or s (.5) in command "sleep"
        \sleep 1.5
                ^ error found here
        "#);
    assert_snapshot!(refused("\\Sleep 1ms s\n"), @r#"
        f.sql:1: invalid sleep time, must be an integer (1ms) in command "Sleep"
        \Sleep 1ms s
               ^ error found here
        "#);
    assert_snapshot!(refused("\\sleep abc\n"), @r#"
        f.sql:1: invalid sleep time, must be an integer (abc) in command "sleep"
        \sleep abc
               ^ error found here
        "#);
    assert_snapshot!(refused("\\sleep :x y\n"), @r#"
        f.sql:1: unrecognized time unit, must be us, ms or s (y) in command "sleep"
        \sleep :x y
                  ^ error found here
        "#);
}

#[test]
fn shell_commands_and_pipelines_have_their_own_messages() {
    assert_snapshot!(refused("\\shell\n"), @r#"
    f.sql:1: missing command in command "shell"
    \shell
    "#);
    assert_snapshot!(refused("\\setshell\n"), @r#"
    f.sql:1: missing argument in command "setshell"
    \setshell
    "#);
    assert_snapshot!(refused("\\setshell x\n"), @r#"
    f.sql:1: missing argument in command "setshell"
    \setshell x
    "#);
    assert_snapshot!(refused("\\StartPipeline 1\n"), @r#"
    f.sql:1: unexpected argument in command "StartPipeline"
    \StartPipeline 1
    "#);
    assert_snapshot!(refused("\\syncpipeline 1\n"), @r#"
    f.sql:1: unexpected argument in command "syncpipeline"
    \syncpipeline 1
    "#);
    assert_snapshot!(refused("\\endpipeline 1 2\n"), @r#"
    f.sql:1: unexpected argument in command "endpipeline"
    \endpipeline 1 2
    "#);
}

/// As in pgbench, a command with too many words is not shown.
#[test]
fn no_meta_command_takes_more_than_255_words() {
    for command in ["shell", "sleep", "foo", "else", "gset"] {
        let message = refused(&format!("select 1;\n\\{command}{}\n", " a".repeat(256)));
        assert_eq!(message, format!("f.sql:2: too many arguments in command \"{command}\""));
    }
    assert_eq!(refused(&format!("\\shell{}\n", " a".repeat(255))), "accepted");
}

/// pgbench names `\gset` for both, and may count the lines of preceding empty commands differently.
#[test]
fn captured_results_need_an_sql_command_of_their_own() {
    assert_snapshot!(refused("\\gset\n"), @r#"f.sql:1: \gset must follow an SQL command"#);
    assert_snapshot!(refused("\\set x 1\n\n\\aset p_\n"), @r#"f.sql:3: \gset must follow an SQL command (\set x 1)"#);
    assert_snapshot!(refused("select 1; \\gset\n\\gset\n"), @r#"f.sql:2: \gset must follow an SQL command"#);
    assert_snapshot!(refused("select 1 \\gset\n\\aset p_\n"), @r#"f.sql:2: \gset must follow an SQL command"#);
    assert_snapshot!(refused("select 1 \\aset a b\n"), @r#"
    f.sql:1: too many arguments in command "aset"
    \aset a b
    "#);
}

/// pgbench reports them when it assigns or reads the value, so never in a skipped branch; the extended dialect rejects
/// them when the script is parsed.
#[test]
fn names_that_cannot_be_are_found_out_late_or_early() {
    assert_snapshot!(result("\\set 1x 2\n"), @r#"set: invalid variable name: "1x""#);
    assert_snapshot!(result("\\set 1x 1 / 0\n"), @"division by zero");
    assert_eq!(refused("\\sleep :\n"), "accepted");
    let extended =
        |script: &str| parse("f.sql", script.as_bytes(), &mut Symbols::new(), Dialect::Extended).unwrap_err();
    assert_snapshot!(extended("\\set 1x 2\n"), @r#"
    f.sql:1: invalid variable name: "1x" in command "set"
    \set 1x 2
         ^ error found here
    "#);
    assert_snapshot!(extended("\\sleep :\n"), @r#"
    f.sql:1: invalid sleep time, must be an integer (:) in command "sleep"
    \sleep :
           ^ error found here
    "#);
}

#[test]
fn what_is_not_utf8_is_kept_in_messages() {
    let message = |script: &[u8]| {
        let error = parse("f.sql", script, &mut Symbols::new(), Dialect::Pgbench).unwrap_err().to_string();
        assert_ne!(encoding::encode(&error), error.as_bytes());
        encoding::shown(&error).into_owned()
    };
    assert_snapshot!(message(b"\\set \xe9t\xe9 \xff + $\n"), @r#"
    f.sql:1: unexpected character ($) in command "set"
    \set �t� � + $
                 ^ error found here
    "#);
    assert_snapshot!(message(b"\\set \xe9t\xe9 $\n"), @r#"
    f.sql:1: unexpected character ($) in command "set"
    \set �t� $
             ^ error found here
    "#);
    assert_snapshot!(message(b"\\f\xfco\n"), @r#"
    f.sql:1: invalid command in command "f�o"
    \f�o
    "#);
}

#[test]
fn scripts_as_a_whole_can_be_wrong() {
    assert_snapshot!(refused(""), @r#"empty command list for script "f.sql""#);
    assert_snapshot!(refused("-- only\n \\\n"), @r#"empty command list for script "f.sql""#);
    assert_snapshot!(refused("select 1;\n\0"), @"f.sql:2: the script contains a NUL byte, which cannot be sent; check that it is a text file");
}

#[test]
fn the_fields_of_an_error_say_where() {
    let wrong =
        |script: &str| parse("f.sql", script.as_bytes(), &mut Symbols::new(), Dialect::Pgbench).unwrap_err();
    let error = wrong("select 1;\n\n  \\set x 1 + $\n");
    assert_eq!((&*error.file, error.line, error.column), ("f.sql", 3, Some(12)));
    assert_eq!(&*error.source, "\\set x 1 + $");
    let error = wrong("\\set x 1 +\r\n");
    assert_eq!((error.line, error.column, &*error.source), (1, Some(11), "\\set x 1 +"));
}

#[test]
fn too_many_parameters_are_found_before_the_run() {
    let list = |count| format!("\n\nselect {};", vec![":a"; count].join(",\n"));
    let program =
        |count| parse("f.sql", list(count).as_bytes(), &mut Symbols::new(), Dialect::Pgbench).unwrap();
    assert!(program(255).check_parameter_counts(255).is_ok());
    assert_snapshot!(program(256).check_parameter_counts(255).unwrap_err(), @r"
        f.sql:3: statement has too many arguments (maximum is 255)
        select :a,
        ");
}

#[test]
fn arithmetic_that_fails_says_how() {
    assert_snapshot!(value("9223372036854775807 + :seven"), @"bigint add out of range");
    assert_snapshot!(value("-9223372036854775808 - 1"), @"bigint sub out of range");
    assert_snapshot!(value("9223372036854775807 * 2"), @"bigint mul out of range");
    assert_snapshot!(value("-9223372036854775808 / -1"), @"bigint div out of range");
    assert_snapshot!(value("-(-9223372036854775808)"), @"bigint sub out of range");
    assert_snapshot!(value("1 / 0"), @"division by zero");
    assert_snapshot!(value("mod(1, 0)"), @"division by zero");
    assert_snapshot!(value("int(1e30)"), @"double to int overflow for 1000000000000000019884624838656.000000");
    assert_snapshot!(value("int(0 / 0.0)"), @"double to int overflow for NaN");
}

#[test]
fn types_that_do_not_fit_are_named() {
    assert_snapshot!(value("true = true"), @"cannot coerce boolean to int");
    assert_snapshot!(value("1 and true"), @"cannot coerce int to boolean");
    assert_snapshot!(value("5 or 0"), @"cannot coerce int to boolean");
    assert_snapshot!(value("true and 1"), @"cannot coerce int to boolean");
    assert_snapshot!(value("not 1"), @"cannot coerce int to boolean");
    assert_snapshot!(value("1.0 + true"), @"cannot coerce boolean to double");
    assert_snapshot!(value("1 + true"), @"cannot coerce boolean to int");
    assert_snapshot!(value("true < :seven"), @"cannot coerce boolean to int");
    assert_snapshot!(value("sqrt(true)"), @"cannot coerce boolean to double");
    assert_snapshot!(value("least(3, true)"), @"cannot coerce boolean to int");
}

#[test]
fn functions_refuse_what_they_cannot_use() {
    assert_snapshot!(value("random(2, 1)"), @"empty range given to random");
    assert_snapshot!(value("random(0, 9223372036854775807)"), @"random range is too large");
    assert_snapshot!(value("random_gaussian(1, 10, 1.5)"), @"gaussian parameter must be at least 2.000000 (not 1.500000)");
    assert_snapshot!(value("random_exponential(1, 10, 0)"), @"exponential parameter must be greater than zero (not 0.000000)");
    assert_snapshot!(value("random_zipfian(1, 10, 1)"), @"zipfian parameter must be in range [1.001, 1000] (not 1.000000)");
    assert_snapshot!(value("random_zipfian(2, 1, 1)"), @"empty range given to random");
    assert_snapshot!(value("permute(1, 0, 5)"), @"permute size parameter must be greater than zero");
    assert_snapshot!(value("least(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18)"), @"too many function arguments, maximum is 16");
}

/// pgbench accepts NaN: `random_zipfian` then does not return, and the result of `abs(true)` is undefined.
#[test]
fn functions_refuse_what_pgbench_should_have_refused() {
    assert_snapshot!(value("random_zipfian(1, 10, 0 / 0.0)"), @"zipfian parameter must be in range [1.001, 1000] (not NaN)");
    assert_snapshot!(value("random_gaussian(1, 10, 0 / 0.0)"), @"gaussian parameter must be at least 2.000000 (not NaN)");
    assert_snapshot!(value("random_exponential(1, 10, 0 / 0.0)"), @"exponential parameter must be greater than zero (not NaN)");
    assert_snapshot!(value("abs(true)"), @"cannot coerce boolean to int");
}

#[test]
fn variables_without_a_value_are_named() {
    assert_snapshot!(value(":nowhere + 1"), @r#"undefined variable "nowhere""#);
    assert_snapshot!(value(":1a"), @r#"undefined variable "1a""#);
    assert_snapshot!(value(":y + 1"), @r#"variable "y" is empty, and an empty text has no value"#);
    assert_snapshot!(value("hash(1)"), @r#"undefined variable "default_seed""#);
}
