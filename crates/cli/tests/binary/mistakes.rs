//! Mistakes that are found before anything is measured: statements that the server refuses, names of settings, missing
//! files. Each is named with its place, and nothing is left behind.

use std::fs;

use testkit::cluster::Cluster;

use crate::at_a_terminal::guarded;
use crate::harness::{Bench, Finished, finish};

/// Files and directories that a failed command has left, other than what was there before.
fn left(bench: &Bench) -> Vec<String> {
    let mut left = Vec::new();
    for directory in ["pgmeter-results", "out", "data"] {
        let entries = fs::read_dir(bench.path().join(directory)).into_iter().flatten().flatten();
        left.extend(entries.map(|entry| entry.path().display().to_string()));
    }
    left
}

fn accounts(name: &str) -> String {
    let dsn = Cluster::shared("18").database(name);
    let tables =
        "CREATE TABLE accounts (id int PRIMARY KEY, balance int); INSERT INTO accounts VALUES (1, 0)";
    Cluster::session(&dsn).execute(tables).expect("they are made");
    dsn
}

#[test]
fn a_statement_that_fails_is_named_with_its_line_before_the_run() {
    let bench = Bench::new();
    let dsn = accounts("mistakes_bench");
    let modest = "CREATE ROLE mistakes_modest LOGIN; GRANT SELECT ON accounts TO mistakes_modest";
    Cluster::session(&dsn).execute(modest).expect("it is made");
    let modest = dsn.replace("user=postgres", "user=mistakes_modest");
    let check = |dsn: &str, text: &str, expected: &[&str]| {
        let script = bench.file("own.sql", text);
        for protocol in ["simple", "prepared"] {
            bench.run(["bench", "-t", "1", "-M", protocol, "-f", script, dsn]).exits(1).says(expected);
            assert_eq!(left(&bench), Vec::<String>::new(), "{text}");
        }
    };
    check(
        &dsn,
        "\\set id 1\nSELECT 1;\nSELECT balance\n  FROM acounts WHERE id = :id;\n",
        &[
            "own.sql:4: relation \"acounts\" does not exist\n  FROM acounts WHERE id = :id;\n       ^ error found here\n",
        ],
    );
    check(
        &dsn,
        "UPDATE accounts SET balnce = 1;\n",
        &["own.sql:1: column \"balnce\" of relation", "       ^ error"],
    );
    check(
        &dsn,
        "\\set id 1\nSELECT 1 FROM accounts WHERE id = :id ODRER BY 1;\n",
        &["own.sql:2: syntax error at or near \"ODRER\"", "^ error found here\n"],
    );
    check(&dsn, "SELEC 1;\n", &["own.sql:1: syntax error at or near \"SELEC\""]);
    check(&dsn, "SELECT nothing_of_this_name(1);\n", &["own.sql:1: function nothing_of_this_name(integer)"]);
    check(
        &dsn,
        "\\repeat 0\nSELECT 1;\n\\endrepeat\n\\repeat 2\nSELECT 1 FROM acounts;\n\\endrepeat\n",
        &["own.sql:5: relation \"acounts\" does not exist"],
    );
    check(
        &modest,
        "SELECT 1 FROM accounts;\nDELETE FROM accounts;\n",
        &[
            "own.sql:2: permission denied for table accounts",
            "GRANT the privilege to the role mistakes_modest",
        ],
    );
}

#[test]
fn a_statement_that_may_be_valid_in_the_run_is_not_refused() {
    let bench = Bench::new();
    let dsn = accounts("mistakes_valid");
    let prepare = "CREATE TABLE accounts_7 (id int); CREATE SCHEMA other; CREATE TABLE other.things (id int); \
                   CREATE FUNCTION make_table() RETURNS int LANGUAGE sql AS \
                   'CREATE TEMP TABLE IF NOT EXISTS of_function (id int); SELECT 1'";
    Cluster::session(&dsn).execute(prepare).expect("they are made");
    for text in [
        "CREATE TEMP TABLE IF NOT EXISTS made (id int);\nSELECT * FROM made;\n",
        "SET search_path = other;\nSELECT * FROM things;\nRESET search_path;\n",
        "SELECT make_table();\nSELECT * FROM of_function;\n",
        "\\set n 7\nSELECT * FROM accounts_:n;\n",
        "SELECT 1 AS a \\; SELECT * FROM accounts;\n",
        "\\if false\nSELECT * FROM nowhere;\nSELEC 1;\n\\endif\nSELECT 1;\n",
        "\\set n 0\n\\repeat :n\nSELECT * FROM nowhere;\n\\endrepeat\nSELECT 1;\n",
        "\\repeat 0\nSELEC 1;\n\\endrepeat\n\\repeat 2\nSELECT 1;\n\\endrepeat\n",
        "SELECT 'accounts' AS name \\gset\nSELECT * FROM :name;\nSELECT count(*) AS :name FROM accounts;\n",
        "\\set direction 1\nSELECT * FROM accounts WHERE id = :direction AND balance::text <> ':direction';\n",
        "SELECT 1 INTO TEMP into_table;\nSELECT * FROM into_table;\nDROP TABLE into_table;\n",
    ] {
        let script = bench.file("own.sql", text);
        let out = bench.run(["bench", "-n", "-t", "1", "--observe", "off", "-f", script, &dsn]);
        assert_eq!(out.status.code(), Some(0), "{text}\n{}", out.stderr);
    }
    // The user wants to go on after errors.
    let script = bench.file("own.sql", "SELECT 1;\nSELECT * FROM nowhere;\n");
    bench.run(["bench", "-n", "-t", "1", "--continue-on-error", "-f", script, &dsn]).exits(2);
}

fn experiment(server: &str, script: &str) -> String {
    format!(
        "name = \"mistakes\"\nserver = {{ {server} }}\nload = {{ script = \"{script}\", transactions = 1, warmup = \"0s\" }}\n\
         factors = {{ clients = [1, 2] }}\ndesign = {{ repeats = 1 }}\n"
    )
}

#[test]
fn experiments_name_a_statement_that_fails_and_leave_nothing_behind() {
    let bench = Bench::new();
    let dsn = accounts("mistakes_lab");
    bench.file("table.sql", "SELECT 1;\nSELECT * FROM acounts;\n");
    bench.file("syntax.sql", "SELEC 1;\n");
    bench.file("variable.sql", "\\set id 1\nSELECT :idd;\n");
    let check = |actions: &[&str], server: &str, script: &str, expected: &[&str]| {
        let file = bench.file("experiment.toml", &experiment(server, script));
        for action in actions {
            let out: Finished = bench.run(["lab", action, file]).exits(1).says(expected);
            assert!(!out.stderr.contains("trial 2/2"), "{}", out.stderr);
            assert_eq!(left(&bench), Vec::<String>::new(), "{server} {script}");
        }
    };
    let in_place = format!("dsn = \"{dsn}\", in_place = true");
    let before = "the experiment cannot run: ";
    check(&["plan", "run"], &in_place, "table.sql", &[before, "table.sql:2: relation \"acounts\""]);
    check(&["plan", "run"], &in_place, "syntax.sql", &[before, "syntax.sql:1: syntax error"]);
    check(
        &["plan", "run"],
        "version = \"18\"",
        "variable.sql",
        &["variable.sql:2: undefined variable \":idd\""],
    );
    // The tables of other trials are loaded first; the grammar is known at once.
    check(
        &["plan", "run"],
        &format!("dsn = \"{dsn}\""),
        "syntax.sql",
        &[before, "syntax.sql:1: syntax error"],
    );
    let advice = "in_place = true runs them on the tables of your database";
    check(&["run"], &format!("dsn = \"{dsn}\""), "table.sql", &["table.sql:2: relation \"acounts\"", advice]);
    check(
        &["run"],
        "version = \"18\"",
        "table.sql",
        &["trial 1/2", "table.sql:2: relation \"acounts\"", advice],
    );
}

#[test]
fn comparisons_and_screenings_that_cannot_start_leave_nothing_behind() {
    let bench = Bench::new();
    let dsn = accounts("mistakes_compare");
    bench.file("table.sql", "SELECT 1;\nSELECT * FROM acounts;\n");
    bench.file("settings.toml", "work_mem = [\"1MB\", \"2MB\"]\n");
    let factor =
        ["compare", "--factor", "clients=1,2", "-f", "table.sql", "--budget", "5s", "--store", "out/"];
    let in_place = bench.run(factor.iter().chain(&["--in-place", "--dsn", &dsn])).exits(1);
    in_place.says(&["table.sql:2: relation \"acounts\" does not exist"]);
    bench
        .run(factor.iter().chain(&["--in-place", "--dsn", "host=/nowhere"]))
        .exits(1)
        .says(&["cannot connect"]);
    bench.file("one.sql", "SELECT 1;\n");
    let invalid =
        ["compare", "--factor", "work_mem=4MB,64XB", "-f", "one.sql", "--budget", "5s", "--store", "out/"];
    let out = bench.run(invalid.iter().chain(&["--in-place", "--dsn", &dsn])).exits(1);
    assert!(!out.stderr.contains("cannot connect"), "{}", out.stderr);
    out.says(&["refused the value of a setting: invalid value for parameter \"work_mem\": \"64XB\""]);
    let screen =
        ["screen", "-f", "table.sql", "--settings", "settings.toml", "--budget", "1min", "--store", "out/"];
    for server in [vec!["--in-place", "--dsn", &dsn], vec![]] {
        let out =
            bench.run(screen.iter().chain(&server)).exits(1).says(&["table.sql:2: relation \"acounts\""]);
        assert!(
            !out.stderr.contains("out/screens/screen-table/table.sql"),
            "the user's file: {}",
            out.stderr
        );
    }
    assert!(!bench.path().join("out").exists(), "{:?}", left(&bench));
}

#[test]
fn an_undefined_variable_is_told_with_file_and_line_before_anything_connects() {
    let bench = Bench::new();
    bench.file("script", "SELECT 1;\nSELECT :nme;\n");
    let script = bench.path().join("script");
    bench.file("e.toml", "name = \"e\"\n[server]\ndsn = \"host=/nowhere\"\n[load]\nscript = \"script\"\n");
    let nowhere = ["-h", "/nowhere"];
    let commands: [&[&str]; 5] = [
        &["bench", "-n", "-f", "script"],
        &["compare", "--factor", "clients=1,2", "-f", "script"],
        &["compare", "--factor", "clients=1,2", "-f", "-"],
        &["screen", "--in-place", "-f", "script"],
        &["lab", "run", "e.toml"],
    ];
    for words in commands {
        let mut command = bench.command(words.iter().chain(&nowhere).copied());
        command.stdin(fs::File::open(&script).expect("it was written"));
        let out = finish(&mut command).exits(1).says(&[":2: undefined variable \":nme\""]);
        assert!(!out.stderr.contains("cannot connect") && out.stdout.is_empty(), "{words:?}: {}", out.stderr);
    }
    bench.run(["bench", "-i"]).exits(1).says(&["pgmeter init"]);
}

#[test]
fn the_most_common_mistakes_end_in_one_sentence_with_the_command_that_was_meant() {
    let bench = Bench::new();
    let dsn = Cluster::shared("18").database("common_mistakes");
    let no_database = dsn.replace("common_mistakes", "shop");
    let (_cluster, guarded) = guarded();
    bench.file("one.sql", "SELECT 1;\n");
    bench.file("ladder.toml", "name = \"ladder\"\n");
    bench.run(["bench", "-n", "-t", "1", "-f", "one.sql", &dsn]).exits(0);
    let table: [(&[&str], &str); 16] = [
        (&["bench", "-h", "127.0.0.1", "-p", "1"], "\"pgmeter quickstart\""),
        (&["bench", &no_database], "\"createdb shop_"),
        (&["bench", &dsn], "`pgmeter init`"),
        (&["bench", "-n", "-f", "one.sql", &guarded], "PGPASSWORD=*** pgmeter bench"),
        (&["bench", "-i", "-s", "10", "shop"], "pgmeter init -s 10 shop"),
        (&["-i", "-s", "10", "shop"], "pgmeter init -s 10 shop"),
        (&["-c", "4", "-T", "10", "shop"], "pgmeter bench -c 4 -T 10 shop"),
        (&["bench", "--durations", "10", "shop"], "pgmeter bench --duration 10 shop"),
        (&["bench", "shop", "-c"], "pgmeter bench shop -c 8"),
        (&["bench", "-T", "long", "shop"], "pgmeter bench -T 60 shop"),
        (&["initt", "shop"], "pgmeter init shop"),
        (&["bench", "-f", "nowhere.txt"], "pgmeter bench -b tpcb-like"),
        (&["bench", "-b", "select-onyl"], "pgmeter bench -b select-only"),
        (&["bench", "--workload", "tpcc", &dsn], "`pgmeter init --workload tpcc`"),
        (&["report", "99"], "`pgmeter runs`"),
        (&["lab", "run", "lader.toml"], "pgmeter lab run ladder.toml"),
    ];
    for (words, expected) in table {
        let out = bench.run(words).exits(1);
        // Which store is used may be told before, and a password is asked for.
        let is_before = |line: &&str| line.starts_with("store: ") || line.starts_with("Password: ");
        let told: Vec<&str> = out.stderr.lines().filter(|line| !is_before(line)).collect();
        assert!(matches!(told.as_slice(), [only] if only.contains(expected)), "{words:?}: {}", out.stderr);
        assert!(out.stdout.is_empty(), "{words:?}: {}", out.stdout);
    }
}

#[test]
fn a_misspelt_setting_gets_the_nearest_name_before_a_server_starts() {
    let bench = Bench::new();
    for command in [vec!["quickstart"], vec!["server", "install", "mine"]] {
        let out = bench.run(command.iter().chain(&["--set", "wrk_mem=1MB"])).exits(1);
        assert!(!out.stderr.contains("PostgreSQL 18"), "{}", out.stderr);
        out.says(&["--set wrk_mem=1MB: unknown setting \"wrk_mem\"; did you mean \"work_mem\"?"]);
    }
    assert_eq!((bench.servers_left(), left(&bench)), (Vec::new(), Vec::new()));
}

#[test]
fn resume_without_a_fitting_file_names_the_experiments_that_have_trials_left() {
    let bench = Bench::new();
    let dsn = accounts("mistakes_resume");
    bench.file("one.sql", "SELECT 1;\n");
    let text = experiment(&format!("dsn = \"{dsn}\", in_place = true"), "one.sql");
    let file = bench.file("cells.toml", &text);
    bench.run(["lab", "resume"]).exits(1).says(&["name the experiment's file, such as experiment.toml\n"]);
    let out = bench.run(["lab", "run", file, "--budget", "1ms"]).exits(3);
    out.says(&["2 of 2 trials remain; continue with pgmeter lab resume cells.toml"]);
    let left = "with trials left: pgmeter lab resume cells.toml (2 of 2)";
    bench.run(["lab", "resume"]).exits(1).says(&["name the experiment's file", left]);
    let other = bench.file("other.toml", &text.replace("\"mistakes\"", "\"other\""));
    bench.run(["lab", "resume", other]).exits(1).says(&["start it with pgmeter lab run other.toml", left]);
}

#[test]
fn a_step_that_would_fail_in_each_trial_ends_the_experiment() {
    let bench = Bench::new();
    let dsn = Cluster::shared("18").conninfo();
    let text = format!(
        "name = \"steps\"\nserver = {{ dsn = \"{dsn}\" }}\ndata = {{ workload = \"none\" }}\ndesign = {{ repeats = 3 }}\n\
         [[step]]\nname = \"one\"\nsql = \"SELECT 1\"\n[[step]]\nname = \"two\"\nsql = \"SELECT * FROM nowhere\"\n"
    );
    let file = bench.file("steps.toml", &text);
    let out = bench.run(["lab", "run", file]).exits(2);
    assert!(!out.stderr.contains("trial 2/3"), "{}", out.stderr);
    out.says(&[
        "step two, execution 1: ",
        "relation \"nowhere\" does not exist",
        "this failure would repeat, so the other 2 trials were not run",
    ]);
}

#[test]
fn a_budget_that_is_too_short_for_two_servers_is_told_before_the_first_pair() {
    let bench = Bench::new();
    bench.file("one.sql", "SELECT 1;\n");
    let words = [
        "compare",
        "--factor",
        "shared_buffers=16MB,32MB",
        "--key",
        "workload=none",
        "-f",
        "one.sql",
        "-c",
        "1",
        "--budget",
        "1s",
        "--block",
        "0.1",
    ];
    let out = bench.run(words.iter().chain(&["--store", "out/"])).exits(3);
    let told = out.stderr.find("--budget 1s is too short for an answer: setting up the two servers took ");
    let begun = out.stderr.find("comparing: ");
    assert!(told.is_some() && begun.is_some() && told < begun, "{}", out.stderr);
    let shown = ["no verdict: 1 of the 3 pairs needed", "Measured: 1 of at most 1 pair"];
    assert!(shown.iter().all(|words| out.stdout.contains(words)), "{}", out.stdout);
    out.says(&["or more. This comparison measures one pair", "stored as comparison c1"]);
}
