//! Scripts of extreme size, depth and content. There are no clocks: with texts of these sizes, code that is not linear
//! would not finish.

use pgmeter_script::{
    CommandKind, Dialect, ParseErrorKind, Program, Random, Scope, Symbols, Value, Variables, parse,
};

fn read(text: &[u8]) -> (Program, Symbols) {
    let mut symbols = Symbols::new();
    let program = parse("f.sql", text, &mut symbols, Dialect::Extended);
    (program.unwrap_or_else(|error| panic!("{error}")), symbols)
}

fn refused(text: &str) -> ParseErrorKind {
    parse("f.sql", text.as_bytes(), &mut Symbols::new(), Dialect::Extended).unwrap_err().kind
}

/// The value of the last `\set`.
fn value(text: &str) -> Value {
    let (program, symbols) = read(text.as_bytes());
    let (mut variables, mut random) = (Variables::new(&symbols), Random::from_seed(1));
    let mut last = Value::Null;
    for command in program.commands() {
        let CommandKind::Set(set) = &command.kind else { continue };
        let mut scope = Scope::new(&mut variables, &mut random, &symbols);
        set.execute(&mut scope).unwrap();
        last = variables.value(set.slot, &symbols).unwrap();
    }
    last
}

#[test]
fn ten_megabytes_are_read() {
    const LINE: usize = 1 << 20;
    let line = format!("select '{}';\n", "x".repeat(LINE));
    let (program, _) = read(line.repeat(10).as_bytes());
    assert_eq!(program.commands().len(), 10);
    assert!(program.commands().iter().all(|command| command.display.len() == 127));
}

#[test]
fn a_hundred_thousand_lines_without_a_command_are_only_counted() {
    let comment = "-- nothing\n \t \n".repeat(50_000) + "select 1;";
    assert_eq!(read(comment.as_bytes()).0.commands()[0].line, 100_001);
}

#[test]
fn a_hundred_thousand_commands_of_every_kind_are_read() {
    const TIMES: usize = 10_000;
    let piece = "\\set x 1\n\\if :x\nselect 1 \\gset p_\n\\else\n\\shell echo :x\n\\endif\n\\setshell y echo 1\n\
                 \\startpipeline\nselect :x;\n\\syncpipeline\n\\endpipeline\n\\sleep :x us\n";
    let (program, symbols) = read(piece.repeat(TIMES).as_bytes());
    assert_eq!(program.commands().len(), 12 * TIMES);
    assert_eq!(symbols.len(), 2);
}

#[test]
fn thousands_of_variables_get_texts_and_values_in_turn() {
    const NAMES: usize = 2_000;
    const ROUNDS: i64 = 50;
    let text: String = (0..NAMES).map(|name| format!("select :v{name};\n")).collect();
    let (_, mut symbols) = read(text.as_bytes());
    assert_eq!(symbols.len(), NAMES);
    let mut variables = Variables::new(&symbols);
    for round in 0..ROUNDS {
        for name in 0..NAMES {
            let slot = symbols.intern(format!("v{name}"));
            variables.set_text(slot, format!("{round}"));
            assert_eq!(variables.value(slot, &symbols), Ok(Value::Int(round)));
            variables.set(slot, Value::Null);
        }
    }
}

#[test]
fn a_line_of_a_megabyte_is_one_expression() {
    const TERMS: usize = 250_000;
    let sum = format!("\\set a 1\n\\set x {}\n", vec![":a"; TERMS].join(" + "));
    assert_eq!(value(&sum), Value::Int(250_000));
    let continued = format!("\\set a 1\n\\set x {}\n", vec![":a"; TERMS / 10].join(" + \\\n"));
    assert_eq!(value(&continued), Value::Int(25_000));
    let any = format!("\\set a 1\n\\set x {}\n", vec![":a > 1"; TERMS / 10].join(" or "));
    assert_eq!(value(&any), Value::Boolean(false));
}

/// Each `>` moves the code of its operands, so the time is proportional to length times depth, and the depth is
/// limited.
#[test]
fn greater_signs_around_a_long_operand_move_it_once_each() {
    const DEPTH: usize = 60;
    let sum = vec![":a"; 20_000].join(" + ");
    let (open, close) = ("case when (".repeat(DEPTH), ") > -:a then :a else 0 end".repeat(DEPTH));
    assert_eq!(value(&format!("\\set a 1\n\\set x {open}{sum}{close}\n")), Value::Int(1));
}

#[test]
fn what_is_too_deep_is_refused_with_a_sentence() {
    for (open, close) in [("(", ")"), ("-", ""), ("abs(", ")"), ("case when ", " then 1 end"), ("1 > (", ")")]
    {
        for depth in [10_000, 20_000] {
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            for command in ["\\set x ", "\\if ", "\\batch ", "\\set x array(", "\\set x array(1, "] {
                assert_eq!(
                    refused(&format!("{command}{deep}\n")),
                    ParseErrorKind::TooDeep,
                    "{command}{open}"
                );
            }
        }
    }
}

/// One piece repeated many times would show steps that are not linear.
#[test]
fn no_meta_command_reads_its_words_twice_over() {
    let commands =
        ["\\gset ", "\\shell ", "\\setshell x ", "\\if ", "\\target ", "\\batch ", "\\foo ", "\\else "];
    for piece in [" ", "a", " a", "\\\n", "\\\r\n", ":a ", "::", "(", "é", "\t\x0b"] {
        let text = piece.repeat(10_000);
        for command in commands {
            let _ =
                parse("f.sql", format!("{command}{text}").as_bytes(), &mut Symbols::new(), Dialect::Extended);
            let _ = parse(
                "f.sql",
                format!("{command}x{text}\n;").as_bytes(),
                &mut Symbols::new(),
                Dialect::Extended,
            );
        }
    }
}
