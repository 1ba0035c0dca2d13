//! What is said when something goes wrong while running, and the status then: servers that refuse, SQL that fails,
//! clients that are aborted, transactions that are tried again.

use testkit::cluster::Cluster;
use testkit::extent;

use crate::conformance::cases::{Bench, Case, DATABASE};
use crate::conformance::shape;

const TABLES: &str = "
    create table kept (id int primary key, word text);
    insert into kept values (1, 'one'), (2, 'two'), (3, null);
    create sequence tries;
    create function fail(code text) returns int language plpgsql as $$
    begin
      raise exception 'failed on purpose' using errcode = code, detail = 'a detail', hint = 'a hint';
    end $$;
    create function stumble(every int, code text) returns int language plpgsql as $$
    begin
      if nextval('tries') % every <> 0 then raise exception 'stumbled' using errcode = code; end if;
      return 1;
    end $$;
    create function tell() returns int language plpgsql as $$
    begin
      raise notice 'a notice
of two lines'; raise warning 'a warning' using hint = 'a hint'; raise info 'info'; raise debug 'debug';
      return 1;
    end $$";

/// Scripts that send something.
const SQL: [&str; 41] = [
    "select 1/0;",
    "select 1;\nselect nosuch from kept;\n",
    "selec 1;\n",
    "select 1\n  from kept\n where nosuch = 1\n   and id = 2;\n",
    "select * from nosuch where x = 'a longer line so that there is something to see around the place where it is';",
    "select 1 \\; select 1/0 \\; select 2;\n",
    "insert into kept values (1, 'again');",
    "select fail('P0001');",
    "select fail('40001');",
    "select fail('40P01');",
    "select fail('57014');",
    "begin;\nselect fail('40001');\nend;\n",
    "select tell();",
    "begin; begin; end;",
    "end;",
    "rollback;",
    "begin;\nselect 1;\n",
    "begin;\nselect 1/0;\nend;\n",
    "select pg_terminate_backend(pg_backend_pid());",
    "copy kept to stdout;",
    "copy kept from stdin;",
    "select 1 \\; copy kept to stdout \\; select 2;",
    ";",
    "select 1 \\; ;",
    "select :nosuch;",
    "select :x, ':x', $1;",
    "select id from kept where id = 7 \\gset\nselect 1;",
    "select id from kept \\gset\nselect 1;",
    "update kept set word = word \\gset\n",
    "select 1 \\; select id from kept where id > 1 \\gset\n",
    "select id, word as \"a b\" from kept where id = 1 \\gset\n",
    "select id, word from kept where id = 1 \\gset p_\n\\set d debug(:p_id)\n\\set d debug(:p_word)\n",
    "select word from kept where id = 3 \\gset\n\\set d debug(:word)\n",
    "select id as one from kept where id = 1 \\; select id as many from kept order by id \\; select id as none from kept where id > 9 \\aset\n\\set d debug(:one)\n\\set d debug(:many)\n\\set d debug(:none)\n",
    "select 1 as \"1x\" \\gset\n",
    "select 1 as \"1x\" \\gset p\n\\set d debug(:p1x)\n",
    "select 1 \\; select 1/0 \\gset\n",
    "select 1 as a, 2 as a \\gset\n\\set d debug(:a)\n",
    "select \\gset\n",
    "listen x; notify x, 'y';",
    "set work_mem = '5MB'; set nosuch = 1;",
];

/// Scripts that send nothing, or nothing that the protocol matters for.
const COMMANDS: [&str; 54] = [
    "\\SET x 1/0",
    "\\SeT 1x 2",
    "\\IF 1/0\n\\endif",
    "\\if false\n\\ELIF 1/0\n\\endif",
    "\\SLEEP :nosuch",
    "\\set x 1.5\n\\Sleep :x",
    "\\SETSHELL x nosuch_command",
    "\\SETSHELL 1x echo 1",
    "\\setshell x nosuch_command",
    "\\shell nosuch_command",
    "\\SHELL exit 3",
    "\\set x 1/0",
    "\\set x 1%0",
    "\\set x :nosuch + 1",
    "\\set x 9223372036854775807 + 1",
    "\\set x -9223372036854775807 - 2",
    "\\set x 9223372036854775807 * 2",
    "\\set x (-9223372036854775807 - 1) / -1",
    "\\set x debug((-9223372036854775807 - 1) % -1)",
    "\\set x int(1e19)",
    "\\set x int(ln(0))",
    "\\set x int(sqrt(-1))",
    "\\set x 5 or 0",
    "\\set x true = true",
    "\\set x not 1",
    "\\set x true + 1",
    "\\set x debug(null + 1)\n\\set x debug(null and false)\n\\set x debug(null or true)",
    "\\set x exp(true)",
    "\\set x random(2, 1)",
    "\\set x random(-9223372036854775807, 9223372036854775807)",
    "\\set x random_gaussian(1, 10, 1.9)",
    "\\set x random_exponential(1, 10, 0)",
    "\\set x random_zipfian(1, 10, 1)",
    "\\set x random_zipfian(1, 10, 1000.1)",
    "\\set x permute(1, 0)",
    "\\set x 1\n\\set y :word + 1",
    "\\set y :empty + 1",
    "\\set y :long + 1",
    "\\set y debug(:word is null)",
    "\\if :nosuch\nselect 1;\n\\endif",
    "\\if 1/0\nselect 1;\n\\endif",
    "\\if null\n\\set d debug(1)\n\\elif 0.1\n\\set d debug(2)\n\\else\n\\set d debug(3)\n\\endif",
    "\\if false\n\\set d 1/0\n\\if 1/0\n\\endif\n\\elif true\n\\set d debug(4)\n\\elif 1/0\n\\endif",
    "\\sleep :nosuch",
    "\\sleep :word us",
    "\\sleep :zero ms\n\\sleep :seven us\n\\sleep 0",
    "\\setshell x echo 42\n\\set d debug(:x)",
    "\\setshell x echo nothing",
    "\\setshell x false",
    "\\setshell x true",
    "\\setshell x echo :nosuch",
    "\\setshell x echo ::seven\n",
    "\\shell echo said :seven ::seven\nselect 1;",
    "\\shell exit 3",
];

/// Only for the protocols that have pipelines.
const PIPELINES: [&str; 15] = [
    "\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline\n",
    "\\startpipeline\n\\endpipeline\n",
    "\\endpipeline\n",
    "\\startpipeline\n\\startpipeline\n\\endpipeline\n",
    "\\startpipeline\nselect 1;\n",
    "\\startpipeline\nselect 1/0;\n\\endpipeline\n",
    "\\startpipeline\nselect 1;\nselect 1/0;\nselect 2;\n\\endpipeline\nselect 3;\n",
    "\\startpipeline\nselect 1 as x \\gset\n\\endpipeline\n",
    "\\startpipeline\nselect 1 as x \\aset\n\\endpipeline\n",
    "begin;\n\\startpipeline\nselect 1;\nend;\n\\endpipeline\n",
    "\\startpipeline\nbegin;\nselect stumble(3, '40001');\nend;\n\\endpipeline\n",
    "\\startpipeline\n\\set d debug(random(1, 1000))\nselect stumble(2, '40P01');\n\\endpipeline\n",
    "\\startpipeline\nselect nosuch;\n\\endpipeline\n",
    "\\startpipeline\nselect pg_terminate_backend(pg_backend_pid());\n\\endpipeline\n",
    "\\startpipeline\n\\sleep 1 ms\nselect :seven;\n\\endpipeline\n\\startpipeline\nselect 2;\n\\endpipeline\n",
];

const PROTOCOLS: [&str; 3] = ["simple", "extended", "prepared"];

/// The protocols for a script with this number: each for a third of them, or all for each.
fn protocols(number: usize) -> &'static [&'static str] {
    extent::choose(&PROTOCOLS[number % 3..][..1], &PROTOCOLS)
}

const VARIABLES: &str = "-D word=abc -D zero=0 -D seven=7 -D empty=X -D long=99999999999999999999";

fn case(text: &str, options: &str) -> Case {
    let mut case =
        Case::new(&format!("-n {options}")).named(format!("{text:?} {options}")).file("script.sql", text);
    case.arguments.extend(["-f", "script.sql", DATABASE].map(str::to_owned));
    case
}

fn compare_scripts(bench: &mut Bench) {
    for (number, text) in SQL.into_iter().enumerate() {
        for protocol in protocols(number) {
            bench.compare(&case(text, &format!("-t 2 -M {protocol}")), shape::times);
        }
    }
    for text in COMMANDS {
        let case = case(text, &format!("-t 1 --random-seed 5 {VARIABLES}"));
        bench.compare_without_database(&case, shape::times);
    }
    for (number, text) in PIPELINES.into_iter().enumerate() {
        for protocol in protocols(number) {
            bench.execute("alter sequence tries restart");
            let options =
                format!("-t 2 -M {protocol} --random-seed 5 --max-tries 2 --verbose-errors {VARIABLES}");
            bench.compare(&case(text, &options), shape::times);
        }
    }
}

/// A database without an encoding repeats bytes as they came: in errors, notices and names of columns.
fn compare_bytes(bench: &mut Bench) {
    let name = format!("without_encoding_{}", std::process::id());
    let cluster = Cluster::shared("18");
    cluster.execute(&format!(
        "create database {name} template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'"
    ));
    let scripts: [&[u8]; 6] = [
        b"select nosuch\xff\xe4;\n",
        b"select 1;\nselect '\xe4\xf6' || 1/0;\n",
        b"do $$ begin raise notice 'caf\xe9'; raise warning '\xff' using hint = '\xfe'; end $$;\n",
        b"select 1 as \"\xe4\xf6\" \\gset\n\\set d debug(:\xe4\xf6)\n",
        b"select '\xe4\xf6' as x;\n\\sleep :\xe4\xf6\n",
        b"\\sleep 0 -- \xe4\xf6\n",
    ];
    for (number, text) in scripts.into_iter().enumerate() {
        for options in
            extent::choose(&[["-r"], ["-r -M prepared"]][number % 2][..], &["-r", "-r -M prepared"][..])
        {
            let shown = String::from_utf8_lossy(text);
            let mut case = Case::new(&format!("-n -t 1 {options}"))
                .named(format!("{shown:?} {options}"))
                .file("script.sql", text);
            case.arguments.extend(["-f".to_owned(), "script.sql".to_owned()]);
            case.arguments.push(format!("{DATABASE} dbname={name}"));
            bench.compare(&case, shape::times);
        }
    }
    cluster.execute(&format!("drop database {name}"));
}

fn compare_tries(bench: &mut Bench) {
    let scripts = [
        "select stumble(3, '40001');",
        "begin;\nselect 1;\nselect stumble(3, '40P01');\nend;\n",
        "\\if true\nbegin;\nselect stumble(2, '40001') \\; select 2;\n\\endif\nend;\n",
        "select stumble(3, '22012');",
    ];
    for (number, text) in scripts.into_iter().enumerate() {
        for tries in [1, 2, 3] {
            for protocol in protocols(number + tries) {
                bench.execute("alter sequence tries restart");
                let options = format!(
                    "-t 4 -M {protocol} --max-tries {tries} --verbose-errors --failures-detailed -r -l"
                );
                bench.compare(&case(text, &options), shape::times);
            }
        }
    }
    let clients = case("\\if :client_id = 1\nselect 1/0;\n\\endif\nselect 1;\n", "-c 3 -t 3");
    bench.compare(&clients, shape::times_in_any_order);
    let threads = case("\\if :client_id = 1\nselect 1/0;\n\\endif\nselect 1;\n", "-c 3 -j 3 -t 3 -r");
    bench.compare(&threads, shape::report_only);
    let all = case("select 1/0;\n", "-c 3 -j 2 -T 1 -P 1");
    bench.compare(&all, shape::report_only);
}

fn compare_starts(bench: &mut Bench) {
    let nowhere = [
        "host=/nowhere port=1 user=nobody dbname=nothing",
        "host=127.0.0.1 port=1 user=nobody dbname=nothing",
        "host=/nowhere,127.0.0.1 port=1,2 user=nobody dbname=nothing",
        "postgresql://nobody@127.0.0.1:1/nothing",
        "host=/nowhere nosuch=1",
        "host=/nowhere port=x",
        "host=/nowhere port=99999",
        "host='/nowhere",
        "postgresql://[::1/x",
        "postgresql://nobody@/x?nosuch=1",
    ];
    for conninfo in nowhere {
        let mut case = Case::new("-n -S").named(conninfo);
        case.arguments.push(conninfo.to_owned());
        bench.compare(&case, shape::times);
    }
    let refused = ["user=nosuch", "dbname=nosuch", "options='-c nosuch=1'", "options='-c work_mem=x'"];
    for (number, words) in refused.into_iter().enumerate() {
        let all = ["-n", "-i", "-n -C"];
        for &options in extent::choose(&all[number % all.len()..][..1], &all[..]) {
            let mut case = case("select 1;", options).named(format!("{words} {options}"));
            let last = case.arguments.len() - 1;
            case.arguments[last] = format!("{DATABASE} {words}");
            if options == "-i" {
                case.arguments = vec!["-i".to_owned(), format!("{DATABASE} {words}")];
            }
            bench.compare(&case, shape::times);
        }
    }
    for options in
        ["", "-n", "-v", "-S -s 3", "-C -t 1", "-b se@0 -f script.sql", "-f script.sql", "-v -f script.sql"]
    {
        let mut case =
            Case::new(options).named(format!("without tables: {options}")).file("script.sql", "select 1;");
        case.arguments.push(DATABASE.to_owned());
        bench.compare(&case, shape::times);
    }
}

/// A password file that is not used, and who a client says it is.
fn compare_settings_of_connections(bench: &mut Bench) {
    let passwords = "*:*:*:*:secret\n";
    for (number, options) in ["-t 2", "-t 2 -c 3", "-t 2 -C", "-t 2 -c 2 -j 2 -C"].into_iter().enumerate() {
        let all = ["pgpass", ".", "nosuch"];
        for &file in extent::choose(&all[number % all.len()..][..1], &all[..]) {
            let case = case("select 1;", options).file("pgpass", passwords).env("PGPASSFILE", file);
            let case = case.named(format!("password file {file} {options}"));
            bench.compare(&case, shape::times);
        }
    }
    let known = case("select 1;", "-t 2").file("pgpass", passwords).env("PGPASSFILE", "pgpass");
    let known = known.env("PGPASSWORD", "known").named("password file that is not needed");
    bench.compare(&known, shape::times);
    let mut several = case("select 1;", "-t 2").file("pgpass", passwords).env("PGPASSFILE", "pgpass");
    several.arguments.pop();
    several.arguments.push("host=/nowhere,127.0.0.1 port=1,1 user=nobody".to_owned());
    bench.compare(&several.named("password file for two hosts"), shape::times);
    let mut tables = Case::new("-i -I dt").named("password file -i").file("pgpass", passwords);
    tables.arguments.push(DATABASE.to_owned());
    bench.compare(&tables.env("PGPASSFILE", "pgpass"), shape::times);
    let script = "do $$ begin raise notice '%', current_setting('application_name'); end $$;";
    for words in
        ["", "fallback_application_name=string", "fallback_application_name=string application_name=mine"]
    {
        let mut case = case(script, "-t 1 -c 2").named(format!("who it is: {words}"));
        case.arguments.pop();
        case.arguments.push(format!("{DATABASE} {words}"));
        bench.compare(&case, shape::times);
        bench.compare(
            &case.named(format!("who it is: {words}, and PGAPPNAME")).env("PGAPPNAME", "variable"),
            shape::times,
        );
    }
}

#[test]
fn what_goes_wrong_is_said_in_the_same_words() {
    let Some(mut bench) = Bench::with_databases("messages") else { return };
    bench.execute(TABLES);
    compare_scripts(&mut bench);
    compare_tries(&mut bench);
    compare_bytes(&mut bench);
    compare_starts(&mut bench);
    bench.tally.verdict();
}

#[test]
fn a_password_file_and_a_name_are_taken_as_libpq_takes_them() {
    let Some(mut bench) = Bench::with_databases("connections") else { return };
    compare_settings_of_connections(&mut bench);
    bench.tally.verdict();
}
