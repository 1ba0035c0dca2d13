//! Whole scripts: their commands, the SQL that is sent, and that the parser accepts any text without a panic.
//! `messages.rs` tests the messages for invalid scripts.

use std::time::Duration;

use pgmeter_script::{
    CaptureKind, Command, CommandKind, Dialect, Program, Random, Scope, Symbols, Value, Variables, parse,
};
use proptest::prelude::*;

fn program(text: &str) -> (Program, Symbols) {
    let mut symbols = Symbols::new();
    let program = parse("f.sql", text.as_bytes(), &mut symbols, Dialect::Pgbench)
        .unwrap_or_else(|error| panic!("{error}"));
    (program, symbols)
}

/// Line, name and display of each command.
fn outline(text: &str) -> Vec<(u32, String, String)> {
    let (program, _) = program(text);
    program
        .commands()
        .iter()
        .map(|command| (command.line, command.name.to_string(), command.display.to_string()))
        .collect()
}

/// The SQL that is sent in simple mode.
fn sent(text: &str) -> Vec<String> {
    let (program, symbols) = program(text);
    let mut variables = Variables::new(&symbols);
    let mut random = Random::from_seed(42);
    let mut sent = Vec::new();
    for command in program.commands() {
        match &command.kind {
            CommandKind::Set(set) => {
                set.execute(&mut Scope::new(&mut variables, &mut random, &symbols)).unwrap()
            }
            CommandKind::Sql(sql) => {
                let mut out = Vec::new();
                sql.write_simple(&variables, &mut out);
                sent.push(String::from_utf8(out).unwrap());
            }
            _ => {}
        }
    }
    sent
}

#[test]
fn commands_know_their_line_and_their_first_words() {
    let text =
        "-- a comment\n\\set x 1 + \\\n  2\n\n  select :x,\n  2;\nselect 3; \\sleep 10 ms\n/* c */\nselect 4";
    let expected = [
        (2, "set", "\\set x 1 + \\\n  2"),
        (5, "SQL", "select :x,"),
        (7, "SQL", "select 3;"),
        (7, "sleep", "\\sleep 10 ms"),
        (8, "SQL", "/* c */"),
    ];
    let expected = expected.map(|(line, name, display)| (line, name.to_owned(), display.to_owned()));
    assert_eq!(outline(text), expected);
}

#[test]
fn a_long_first_line_is_cut_between_characters() {
    let (_, _, display) = outline(&format!("select '{}'", "é".repeat(100))).remove(0);
    assert_eq!(display.len(), 126);
    assert!(display.starts_with("select 'éé"));
}

#[test]
fn windows_line_ends_change_nothing() {
    let text = "\\set x 1\r\n\\set y :x + \\\r\n 1\r\n\\sleep 1 us\r\nselect :y;\r\n";
    assert_eq!(sent(text), ["select 2;"]);
    let displays: Vec<_> = outline(text).into_iter().map(|(_, _, display)| display).collect();
    assert_eq!(displays, ["\\set x 1", "\\set y :x + \\\r\n 1", "\\sleep 1 us", "select :y;"]);
}

#[test]
fn what_is_sent_is_what_pgbench_sends() {
    let text = "\\set x 5\nselect \\:x, 1\\:\\:int; select 2\\; select :x -- c :x\n, 3 /* :x */;\n";
    assert_eq!(sent(text), ["select 5, 1::int;", "select 2; select 5 -- c 5\n, 3 /* 5 */;"]);
    assert_eq!(sent("select 1 \\set x 1\n  , 2;"), ["select 1 ", ", 2;"]);
    assert_eq!(
        sent("\n  -- hi\n select 1 -- a\n  \n;\n\n;;\n select 4  \n\n"),
        ["select 1 -- a\n  \n;", ";", ";", "select 4  \n\n"]
    );
    assert_eq!(
        sent("/* a */ select 1; -- b\n -- c\n/* d */\n-- e\n"),
        ["/* a */ select 1;", "/* d */\n-- e\n"]
    );
    assert_eq!(sent("\\set x case when null then 1 when 0.1 then 3 end + 2\nselect :x;"), ["select 5;"]);
}

#[test]
fn a_lone_backslash_is_nothing() {
    assert_eq!(sent("\\\n\\  \nselect 1;\\\n"), ["select 1;"]);
    assert_eq!(sent("\\\n set x"), ["set x"]);
}

#[test]
fn a_meta_command_goes_on_behind_a_backslash_at_the_end_of_the_line() {
    assert_eq!(sent("\\set \\\n x \\\n 5 \\\n\nselect :x;"), ["select 5;"]);
    assert_eq!(sent("\\SET x\\\n5\nselect :x;"), ["select 5;"]);
}

#[test]
fn sleeps_have_units() {
    let durations = |text: &str| -> Vec<Duration> {
        let (program, mut symbols) = program(text);
        let mut variables = Variables::new(&symbols);
        variables.set(symbols.intern("x"), Value::Int(3));
        let sleep = |command: &Command| match &command.kind {
            CommandKind::Sleep(sleep) => sleep.duration(&variables, &symbols).unwrap(),
            other => panic!("{other:?}"),
        };
        program.commands().iter().map(sleep).collect()
    };
    let text = "\\sleep 2\n\\sleep 10ms\n\\sleep 10 US\n\\sleep :x\n\\sleep :x ms\n\\sleep -5\n\\sleep +5s\n";
    let micros: Vec<_> = durations(text).iter().map(Duration::as_micros).collect();
    assert_eq!(micros, [2_000_000, 10_000, 10, 3_000_000, 3_000, 0, 5_000_000]);
}

#[test]
fn scripts_share_their_symbols() {
    let mut symbols = Symbols::new();
    parse("a.sql", b"\\set x 1\nselect :y;", &mut symbols, Dialect::Pgbench).unwrap();
    let known = symbols.len();
    let program = parse("b.sql", b"select :x, :y, :x;", &mut symbols, Dialect::Pgbench).unwrap();
    assert_eq!(symbols.len(), known);
    let CommandKind::Sql(sql) = &program.commands()[0].kind else { panic!("SQL expected") };
    assert_eq!(sql.numbered_text(), b"select $1, $2, $3;");
    let (x, y) = (symbols.lookup("x").unwrap(), symbols.lookup("y").unwrap());
    assert_eq!(sql.parameters(), [x, y, x]);
    assert_eq!(program.name(), "b.sql");
}

#[test]
fn programs_can_be_shared_by_workers() {
    fn shared<T: Send + Sync>() {}
    shared::<Program>();
    shared::<Symbols>();
    shared::<Variables>();
}

#[test]
fn bytes_that_are_not_utf8_reach_the_server_unchanged() {
    let mut symbols = Symbols::new();
    let text = b"\\set x\xff 5\nselect '\xe9', :x\xff, :y\xfe;\n\\shell echo \xe9 :x\xff\n";
    let program = parse("f.sql", text, &mut symbols, Dialect::Pgbench).unwrap();
    let (x, y) = (symbols.lookup(b"x\xff").unwrap(), symbols.lookup(b"y\xfe").unwrap());
    let mut variables = Variables::new(&symbols);
    variables.set(x, Value::Int(5));
    variables.set_text(y, b"\xc3\xff");
    let [_, sql, shell] = program.commands() else { panic!("three commands expected") };
    let (CommandKind::Sql(sql), CommandKind::Shell(shell)) = (&sql.kind, &shell.kind) else {
        panic!("SQL and \\shell expected")
    };
    let mut out = Vec::new();
    sql.write_simple(&variables, &mut out);
    assert_eq!(out, b"select '\xe9', 5, \xc3\xff;");
    assert_eq!(sql.numbered_text(), b"select '\xe9', $1, $2;");
    assert_eq!(sql.parameters(), [x, y]);
    assert_eq!(shell.command_line(&variables, &symbols).unwrap(), b"echo \xe9 5");
    assert_eq!(symbols.name(x), "x\u{10ffff}");
    assert_eq!(
        variables.value(y, &symbols).unwrap_err().to_string(),
        "malformed variable \"y\u{10fffe}\" value: \"\u{10ffc3}\u{10ffff}\""
    );
}

#[test]
fn results_are_captured_by_the_command_before() {
    let text = "select 1 as a \\gset\nselect 2 as b; \\aset p_\n\nselect 3;\n\\GSET \\\n q_ \nselect 4;";
    let (program, _) = program(text);
    let capture = |command: &Command| match &command.kind {
        CommandKind::Sql(sql) => {
            sql.capture().map(|capture| (capture.kind, String::from_utf8_lossy(&capture.prefix).into_owned()))
        }
        other => panic!("{other:?}"),
    };
    let captures: Vec<_> = program.commands().iter().map(capture).collect();
    let some = |kind, prefix: &str| Some((kind, prefix.to_owned()));
    let expected =
        [some(CaptureKind::Gset, ""), some(CaptureKind::Aset, "p_"), some(CaptureKind::Gset, "q_"), None];
    assert_eq!(captures, expected);
    assert_eq!(sent(text), ["select 1 as a ", "select 2 as b;", "select 3;", "select 4;"]);
}

#[test]
fn every_command_has_the_name_that_messages_give_it() {
    let text = "\\SET x 1\n\\If 1\n\\elif 1\n\\else\n\\endif\n\\sleep 1 us\n\\setshell y a\n\\shell a\n\
                \\startpipeline\n;\n\\syncpipeline\n\\endpipeline\n";
    let names: Vec<_> = outline(text).into_iter().map(|(_, name, _)| name).collect();
    let expected = "SET If elif else endif sleep setshell shell startpipeline SQL syncpipeline endpipeline";
    assert_eq!(names.join(" "), expected);
}

#[test]
fn large_scripts_are_read() {
    let commands =
        "\\set x random(1, 100000 * :scale) + 5\nselect abalance from t where aid = :x;\n".repeat(20_000);
    assert_eq!(program(&commands).0.commands().len(), 40_000);
    let line = format!("select '{}';", "x".repeat(1 << 20));
    assert_eq!(sent(&line), [line.as_str()]);
    let names: String =
        (0..2_000).map(|number| format!("\\set v{number} {number}\nselect :v{number};\n")).collect();
    assert_eq!(sent(&names).last().map(String::as_str), Some("select 1999;"));
}

/// One piece repeated a thousand times would show steps that are not linear.
#[test]
fn no_text_is_read_twice_over() {
    let pieces =
        ["$a", "$a$", "$", "'", "e'", "e''", "\"", "/*", "*/", "(", ")", "--", "-", ":", "::", "\\", "\\\n"];
    for piece in pieces {
        for other in ["", " ", "\n", ";", "x"] {
            let text = format!("{piece}{other}").repeat(8_000);
            let _ = parse("f.sql", text.as_bytes(), &mut Symbols::new(), Dialect::Extended);
            let _ =
                parse("f.sql", format!("\\set x {text}").as_bytes(), &mut Symbols::new(), Dialect::Extended);
            let _ =
                parse("f.sql", format!("\\sleep {text}").as_bytes(), &mut Symbols::new(), Dialect::Extended);
        }
    }
}

/// Fragments with a meaning for one of the parsers.
fn fragment() -> impl Strategy<Value = String> {
    let known = [
        "\\set ",
        "\\sleep ",
        "\\gset",
        "\\aset p_",
        "\\if ",
        "\\elif ",
        "\\else\n",
        "\\endif\n",
        "\\shell ",
        "\\setshell y ",
        "\\batch ",
        "\\target t\n",
        "\\startpipeline\n",
        "array(",
        "\\",
        "\\\n",
        "\\;",
        "\\:",
        "x ",
        ":x",
        "::",
        ":1",
        "1",
        "9223372036854775808",
        "1.5e",
        "random(",
        "(",
        ")",
        ",",
        "+",
        "-",
        "<",
        "case when ",
        " then ",
        " end",
        ";",
        "\n",
        "\r\n",
        " ",
        "'",
        "\"",
        "e'",
        "$$",
        "$a$",
        "/*",
        "*/",
        "--",
        "create function ",
        "begin ",
        "end ",
        "é",
        "\0",
        "\u{feff}",
        "ms",
    ];
    prop_oneof![8 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "\\PC"]
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(fragments in prop::collection::vec(fragment(), 0..40)) {
        let text = fragments.concat();
        let mut symbols = Symbols::new();
        match parse("f.sql", text.as_bytes(), &mut symbols, Dialect::Extended) {
            Ok(program) => {
                let mut variables = Variables::new(&symbols);
                let mut random = Random::from_seed(1);
                for command in program.commands() {
                    match &command.kind {
                        CommandKind::Set(set) => {
                            let _ = set.execute(&mut Scope::new(&mut variables, &mut random, &symbols));
                        }
                        CommandKind::SetArray(set) => {
                            let _ = set.execute(&mut Scope::new(&mut variables, &mut random, &symbols));
                        }
                        CommandKind::If(condition) | CommandKind::Elif(condition) => {
                            let _ = condition.holds(&mut Scope::new(&mut variables, &mut random, &symbols));
                        }
                        CommandKind::Shell(shell) => {
                            let _ = shell.command_line(&variables, &symbols);
                        }
                        CommandKind::Batch(batch) => {
                            let _ = batch.size(&mut Scope::new(&mut variables, &mut random, &symbols));
                        }
                        CommandKind::Sleep(sleep) => {
                            let _ = sleep.duration(&variables, &symbols);
                        }
                        CommandKind::Sql(sql) => sql.write_simple(&variables, &mut Vec::new()),
                        _ => {}
                    }
                }
            }
            Err(error) => {
                let message = error.to_string();
                prop_assert_eq!(error.column.is_some(), message.contains("^ error found here"), "{}", message);
                prop_assert!(error.column.is_none_or(|column| column <= error.source.len() + 1), "{:?}", error);
            }
        }
    }

    #[test]
    fn any_bytes_are_a_program_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse("f.sql", &bytes, &mut Symbols::new(), Dialect::Extended);
    }
}
