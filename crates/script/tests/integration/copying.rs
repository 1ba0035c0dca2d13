//! `\copy_rows` and `\copy_file` of the extended dialect: the rows of a COPY as they are sent, and the errors.
//! `engine` tests how they are sent.

use std::sync::Arc;

use insta::assert_snapshot;
use pgmeter_script::{CommandKind, CopySource, Dialect, Program, Random, Scope, Symbols, Variables, parse};

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

/// The rows of the first command, in pieces of at least this number of bytes.
fn rows(text: &str, piece: usize) -> Result<Vec<String>, String> {
    let (program, symbols) = read(text);
    let (mut variables, mut random) = (Variables::new(&symbols), Random::from_seed(42));
    let mut pieces = Vec::new();
    for command in program.commands() {
        let mut scope = Scope::new(&mut variables, &mut random, &symbols);
        match &command.kind {
            CommandKind::Set(set) => set.execute(&mut scope).unwrap(),
            CommandKind::SetArray(set) => set.execute(&mut scope).unwrap(),
            CommandKind::SetString(set) => set.execute(&mut scope).unwrap(),
            CommandKind::Sql(sql) => {
                let Some(CopySource::Rows(rows)) = sql.copy_source() else { continue };
                let mut position = rows.begin(&mut scope).map_err(|error| error.to_string())?;
                loop {
                    let mut out = Vec::new();
                    let goes_on = rows.write_piece(&mut position, piece, &mut variables, &symbols, &mut out);
                    let goes_on = goes_on.map_err(|error| error.to_string())?;
                    pieces.push(String::from_utf8(out).unwrap());
                    if !goes_on {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(pieces)
}

fn all_rows(arguments: &str) -> String {
    rows(&format!("COPY t FROM STDIN;\n\\copy_rows {arguments}\n"), usize::MAX).unwrap().concat()
}

#[test]
fn rows_of_a_copy_are_written_as_postgresql_reads_them() {
    assert_eq!(all_rows("2 (:copy_row, 'a b')"), "1\ta b\n2\ta b\n");
    assert_eq!(all_rows("1 (null, 1 = 1, 0.5, -7, 'it''s')"), "\\N\ttrue\t0.5\t-7\tit's\n");
    assert_eq!(all_rows("1 ('a\\b', '\t', '\\.', '')"), "a\\\\b\t\\t\t\\\\.\t\n");
    assert_eq!(all_rows("1 ((1 + 2) * 3, case when 1 > 2 then 1 else 2 end)"), "9\t2\n");
    let variables = "\\set a array(2, 7)\n\\set s 'x\ty'\n\\set n null\n\\set i 5\n";
    let text = format!("{variables}COPY t FROM STDIN;\n\\copy_rows :i - 4 (:a, :s, :n, :i, :i + 1)\n");
    assert_eq!(rows(&text, 1000).unwrap().concat(), "{7,7}\tx\\ty\t\\N\t5\t6\n");
    for number in ["0", "-3", "0.2"] {
        assert_eq!(all_rows(&format!("{number} (1)")), "");
    }
}

#[test]
fn rows_are_the_same_in_any_pieces_and_for_the_same_seed() {
    let text =
        "COPY t FROM STDIN;\n\\copy_rows 40 (random(1, 1000), random_string(0, 9), random_element('a,b'))\n";
    let whole = rows(text, usize::MAX).unwrap().concat();
    assert_eq!(whole.lines().count(), 40);
    assert_ne!(whole.lines().next(), whole.lines().nth(1));
    for piece in [0, 1, 2, 7, 100] {
        let pieces = rows(text, piece.max(1)).unwrap();
        assert_eq!(pieces.concat(), whole);
        let [full @ .., _last] = &pieces[..] else { panic!("no pieces") };
        assert!(full.iter().all(|it| it.len() >= piece), "{piece}: {full:?}");
    }
}

#[test]
fn a_value_that_cannot_be_computed_is_an_error_of_the_rows() {
    let error =
        |values: &str| rows(&format!("COPY t FROM STDIN;\n\\copy_rows {values}\n"), 1000).unwrap_err();
    assert_snapshot!(error("3 (1 / (2 - :copy_row))"), @"division by zero");
    assert_snapshot!(error("3 (:x)"), @r#"undefined variable "x""#);
    assert_snapshot!(error("3 (random_element(:x))"), @r#"undefined variable "x""#);
    assert_snapshot!(error("null (1)"), @"cannot coerce null to int");
    assert_snapshot!(error("1 (random_string(5, 2))"), @"the lengths of a random string must be in range [0, 1000000], the lower one first (not 5 and 2)");
}

#[test]
fn a_file_of_rows_keeps_its_name_and_its_line() {
    for (name, expected) in
        [("a.tsv", "a.tsv"), (" my rows.csv \r", "my rows.csv"), ("'it's.tsv'", "it's.tsv"), ("'", "'")]
    {
        let (mut program, _) =
            read(&format!("-- rows\ncopy t\nfrom stdin;\n\\copy_file {name}\nselect 1;\n"));
        let mut names = Vec::new();
        let refused = program.read_files(|name| {
            names.push(name.to_owned());
            Err::<Arc<[u8]>, _>("no")
        });
        assert_eq!((refused, names), (Err((4, "no")), vec![expected.to_owned()]));
    }
}

#[test]
fn a_copy_and_its_rows_must_belong_together() {
    assert_snapshot!(refused("select 1;\n\\copy_rows 1 (1)\n"), @r"f.sql:2: \copy_rows must follow a COPY … FROM STDIN");
    assert_snapshot!(refused("\\copy_file a\n"), @r"f.sql:1: \copy_file must follow a COPY … FROM STDIN");
    assert_snapshot!(refused("copy t from stdin;\n\\set x 1\n\\copy_file a\n"), @r"f.sql:3: \copy_file must follow a COPY … FROM STDIN (\set x 1)");
    assert_snapshot!(refused("copy t from stdin;\n\\copy_file a\n\\copy_file b\n"), @r"f.sql:3: \copy_file must follow a COPY … FROM STDIN");
    assert_snapshot!(refused("select 1;\ncopy t\n  from stdin;\nselect 1;"), @r"
    f.sql:2: COPY … FROM STDIN needs rows; write \copy_rows NUMBER (VALUE, …) or \copy_file NAME below it
    copy t
    ");
    assert_snapshot!(refused("copy t from stdin \\gset\n"), @r"
    f.sql:1: COPY … FROM STDIN needs rows; write \copy_rows NUMBER (VALUE, …) or \copy_file NAME below it
    copy t from stdin
    ");
    assert_snapshot!(refused("copy t from stdin\\; copy u from stdin;\n\\copy_file a\n"), @r"
    f.sql:1: only one COPY … FROM STDIN can be sent at once; end each with a semicolon without a backslash
    copy t from stdin; copy u from stdin;
    ");
    assert_snapshot!(refused("copy t from stdin;\n\\copy_file\n"), @r#"
    f.sql:2: the name of a file is missing, such as \copy_file rows.tsv in command "copy_file"
    \copy_file
    "#);
}

#[test]
fn wrong_rows_are_refused_when_the_script_is_read() {
    let refused = |rows: &str| refused(&format!("copy t from stdin;\n\\copy_rows {rows}\n"));
    assert_snapshot!(refused(""), @r#"
    f.sql:2: the form is \copy_rows NUMBER (VALUE, …), such as \copy_rows 100 (:copy_row, random(1, 10), 'text') in command "copy_rows"
    \copy_rows 
               ^ error found here
    "#);
    assert_snapshot!(refused("5"), @r#"
    f.sql:2: the form is \copy_rows NUMBER (VALUE, …), such as \copy_rows 100 (:copy_row, random(1, 10), 'text') in command "copy_rows"
    \copy_rows 5
                ^ error found here
    "#);
    assert_snapshot!(refused("5 ()"), @r#"
    f.sql:2: the form is \copy_rows NUMBER (VALUE, …), such as \copy_rows 100 (:copy_row, random(1, 10), 'text') in command "copy_rows"
    \copy_rows 5 ()
                  ^ error found here
    "#);
    assert_snapshot!(refused("5 (1, 2"), @r#"
    f.sql:2: a value must be an expression or a whole string, with a comma or the closing parenthesis after it in command "copy_rows"
    \copy_rows 5 (1, 2
                      ^ error found here
    "#);
    assert_snapshot!(refused("5 ('a' 'b')"), @r#"
    f.sql:2: a value must be an expression or a whole string, with a comma or the closing parenthesis after it in command "copy_rows"
    \copy_rows 5 ('a' 'b')
                        ^ error found here
    "#);
    assert_snapshot!(refused("5 (1) 2"), @r#"
    f.sql:2: the form is \copy_rows NUMBER (VALUE, …), such as \copy_rows 100 (:copy_row, random(1, 10), 'text') in command "copy_rows"
    \copy_rows 5 (1) 2
                     ^ error found here
    "#);
    assert_snapshot!(refused("5 (1 + 'a')"), @r#"
    f.sql:2: a value must be an expression or a whole string, with a comma or the closing parenthesis after it in command "copy_rows"
    \copy_rows 5 (1 + 'a')
                        ^ error found here
    "#);
    let many = vec!["1"; 1601].join(",");
    assert!(refused(&format!("5 ({many})")).contains("a row has at most 1600 values"));
}

#[test]
fn pgbench_knows_no_copy() {
    let refused = |text| refused_by(Dialect::Pgbench, text);
    assert_snapshot!(refused("copy t from stdin;\n\\copy_rows 1 (1)\n"), @r#"
    f.sql:2: invalid command in command "copy_rows"
    \copy_rows 1 (1)
    "#);
    assert_snapshot!(refused("copy t from stdin;\n\\copy_file a\n"), @r#"
    f.sql:2: invalid command in command "copy_file"
    \copy_file a
    "#);
    // As in pgbench, only the server's response is an error.
    assert!(parse("f.sql", b"copy t from stdin;", &mut Symbols::new(), Dialect::Pgbench).is_ok());
}
