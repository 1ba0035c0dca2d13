//! What cannot work gets one clear sentence and a status that is not zero, before anything is started.
//! What goes wrong later is in `bad_luck`.

use connect::Session;
use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};
use crate::processes::ends;

#[test]
fn a_script_with_an_error_shows_its_place() {
    let bench = Bench::new();
    let script = bench.file("bad.sql", "SELECT 1;\n\\set x 1 +\n");
    bench.run(["bench", "-f", script]).exits(1).says(&[
        "bad.sql:2",
        "syntax error",
        "\\set x 1 +",
        "^ error found here",
    ]);
}

#[test]
fn commands_that_do_not_belong_together_are_refused_before_anything_is_connected() {
    let bench = Bench::new();
    let script = bench.file("early.sql", "\\set x 1\n\\gset\n");
    bench.run(["bench", "-f", script]).exits(1).says(&["early.sql:2", "\\gset must follow an SQL command"]);
}

#[test]
fn a_script_that_is_not_there_or_cannot_be_sent_is_named() {
    let bench = Bench::new();
    bench.run(["bench", "-f", "nowhere.sql"]).exits(1).says(&["nowhere.sql", "No such file in /"]);
    std::fs::create_dir(bench.path().join("scripts")).expect("it can be made");
    bench.file("scripts/transfer.sql", "SELECT 1;\n");
    bench
        .run(["bench", "-f", "scripts/transfers.sql"])
        .exits(1)
        .says(&["/scripts; did you mean \"scripts/transfer.sql\"?"]);
    std::fs::write(bench.path().join("binary.sql"), b"SELECT 1;\n\xff\0").expect("it can be written");
    bench.run(["bench", "-f", "binary.sql"]).exits(1).says(&["binary.sql:2", "NUL"]);
}

#[test]
fn a_statement_with_more_parameters_than_the_protocol_carries_is_refused_with_its_place() {
    let bench = Bench::new();
    let statement =
        |count| format!("SELECT 1;\n\\set a 1\nSELECT 2 WHERE :a IN ({});\n", vec![":a"; count].join(","));
    bench.file("many.sql", &statement(65_535));
    for protocol in ["extended", "prepared"] {
        let words = ["bench", "-h", "nowhere.invalid", "-f", "many.sql", "-M", protocol];
        let out =
            bench.run(words).exits(1).says(&["many.sql:3", "maximum is 65535", "use -M simple", protocol]);
        assert!(!out.stderr.contains("panic") && !out.stderr.contains("nowhere"), "{}", out.stderr);
    }
    // The simple protocol has no parameters, and 65,535 are accepted: only the server is missing.
    bench
        .run(["bench", "-h", "nowhere.invalid", "-f", "many.sql", "-M", "simple"])
        .exits(1)
        .says(&["nowhere.invalid"]);
    bench.file("many.sql", &statement(65_534));
    bench
        .run(["bench", "-h", "nowhere.invalid", "-f", "many.sql", "-M", "prepared"])
        .exits(1)
        .says(&["nowhere.invalid"]);
}

#[test]
fn connection_parameters_that_a_server_would_refuse_without_a_word_are_refused_with_their_length() {
    let bench = Bench::new();
    let options = format!("options=-capplication_name={}", "x".repeat(10_000));
    let words = ["bench", "-d", &format!("{} {options}", Cluster::shared("18").conninfo()), "-S"];
    bench.run(words).exits(1).says(&["bytes, and the server accepts at most 10000", "shorten options"]);
}

#[test]
fn options_of_pgbench_without_a_command_are_met_with_the_commands_that_take_them() {
    let bench = Bench::new();
    let words = ["-c", "4", "-T", "5", "-f", "transfer.sql", "shop"];
    bench.run(words).exits(1).says(&["'-c'", "pgmeter bench -c 4 -T 5 -f transfer.sql shop"]);
    let out = bench.run(["bench", "--wrong"]).exits(1);
    assert!(!out.stderr.contains("pgmeter pgbench"), "{}", out.stderr);
}

#[test]
fn an_unknown_or_ambiguous_builtin_lists_what_there_is() {
    let bench = Bench::new();
    bench.run(["bench", "-b", "x"]).exits(1).says(&["no builtin script found for name \"x\"", "tpcb-like"]);
    bench.run(["bench", "-b", "s"]).exits(1).says(&["ambiguous", "simple-update", "select-only"]);
}

#[test]
fn shells_and_man_learn_the_options_from_the_program_itself() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = bench.run(["completions", shell]).exits(0).stdout;
        let option = if shell == "fish" { "-l workers" } else { "--workers" };
        assert!(script.contains(option) && script.contains("quickstart"), "{shell}: {script}");
    }
    bench.run(["completions", "csh"]).exits(1).says(&["bash, zsh, fish"]);
    let pages = bench.path().join("pages/man1");
    bench.run(["man", "pages/man1"]).exits(0);
    let page = std::fs::read_to_string(pages.join("pgmeter-bench.1")).expect("it is written");
    assert!(page.contains("latency\\-limit") && page.contains(".TH pgmeter-bench 1"), "{page}");
    assert!(pages.join("pgmeter.1").exists() && !pages.join("pgmeter-null-server.1").exists());
    bench.file("taken", "");
    bench.run(["man", "taken"]).exits(1).says(&["write manual pages into taken"]);
}

#[test]
fn options_out_of_range_are_refused_with_the_range() {
    let bench = Bench::new();
    for flags in
        [["-c", "0"], ["-j", "0"], ["-t", "0"], ["-T", "0"], ["-T", "x"], ["-R", "-1"], ["-M", "fast"]]
    {
        let out = bench.run(["bench"].iter().chain(&flags)).exits(1);
        assert!(out.stderr.contains(&format!("'{}'", flags[1])), "{}", out.stderr);
    }
    for (flags, says) in
        [(["-c", "x"], "expected a whole number"), (["-c", "99999999999"], "from 1 to 4294967295")]
    {
        let out = bench.run(["bench"].iter().chain(&flags)).exits(1).says(&[says]);
        assert!(!out.stderr.contains("invalid digit"), "{}", out.stderr);
    }
    assert!(bench.run(["bench", "--help"]).exits(0).stdout.contains("Usage: pgmeter bench"));
    bench.run(["bench", "-f", "/dev/zero"]).exits(1).says(&["/dev/zero", "not a regular file"]);
    bench
        .run(["bench", "--html", "-"])
        .exits(1)
        .says(&["--html requires a file", "--format html writes the page to standard output"]);
    bench.run(["runs", "--store", ":memory:"]).exits(1).says(&["a store is a file"]);
    bench.run(["bench", "-f", "a.sql@x"]).exits(1).says(&["invalid weight specification: @x"]);
    bench.run(["bench", "-D", "x"]).exits(1).says(&["invalid variable definition"]);
    bench.run(["init", "-I", "dtx"]).exits(1).says(&["unrecognized initialization step \"x\"", "dtgGvpf"]);
}

#[test]
fn encryption_is_never_left_out_silently() {
    let bench = Bench::new();
    // This server has no TLS, so whoever insists on it must not get in.
    let tcp = Cluster::shared("18").conninfo_tcp();
    let script = bench.file("one.sql", "SELECT 1;");
    for (mode, words) in [("require", "TLS"), ("verify-ca", "sslrootcert"), ("verify-full", "sslrootcert")] {
        let conninfo = format!("{tcp} sslmode={mode}");
        let mut command = bench.command(["bench", "-n", "-t", "1", "-f", script, &conninfo]);
        // Nobody's certificates lie here.
        crate::harness::finish(command.env("HOME", bench.path())).exits(1).says(&[words]);
        assert!(bench.records().is_empty(), "nothing was run with {mode}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_named_with_what_to_do() {
    let bench = Bench::new();
    // Port 1 of this machine: nobody listens there.
    bench.run(["bench", "host=127.0.0.1 port=1"]).exits(1).says(&[
        "127.0.0.1",
        "port 1",
        "pgmeter quickstart",
    ]);
}

#[test]
fn missing_tables_are_met_with_the_command_that_creates_them() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("no_tables");
    bench.run(["bench", &conninfo]).exits(1).says(&["pgbench_branches", "pgmeter init"]);
}

#[test]
fn a_missing_database_and_a_wrong_password_are_told_apart() {
    let bench = Bench::new();
    let cluster = Cluster::start("9.6");
    cluster.execute("create role eva login password 'secret-word'");
    cluster.admit("host all all 127.0.0.1/32 md5");
    let tcp = cluster.conninfo_tcp();
    let missing = cluster.conninfo().replace("dbname=postgres", "dbname=nowhere");
    bench.run(["bench", &missing]).exits(1).says(&["\"nowhere\"", "does not exist"]);
    let wrong = tcp.replace("user=postgres", "user=eva password=wrong-word");
    let out = bench.run(["bench", &wrong]).exits(1).says(&["eva", "password"]);
    assert!(!out.stderr.contains("wrong-word"), "{}", out.stderr);
    let none = tcp.replace("user=postgres", "user=eva");
    bench.run(["bench", &none]).exits(1).says(&["password", "PGPASSWORD"]);
    assert!(bench.records().is_empty());
}

#[test]
fn more_clients_than_the_server_takes_are_refused_with_the_setting() {
    let bench = Bench::new();
    let cluster = Cluster::start_with("18", &[("max_connections", "10")]);
    let script = bench.file("one.sql", "SELECT 1;");
    let flags = ["bench", "-n", "-c", "40", "-f", script];
    bench.run(flags.iter().chain(&[cluster.conninfo().as_str()])).exits(1).says(&["max_connections", "40"]);
}

#[test]
fn a_load_larger_than_the_free_space_is_refused_before_a_table_is_made() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("no_space");
    let out = bench.run(["init", "-s", "1000000000", &conninfo]).exits(1);
    let out = out.says(&["needs about 1", "PB of disk space", "are free", "--yes"]);
    assert_eq!(out.stderr.lines().count(), 1, "{}", out.stderr);
    let mut session = Cluster::session(&conninfo);
    let count = |session: &mut Session| {
        session.query("select count(*) from pg_class where relname like 'pgbench%'").unwrap()[0].get(0)
            == Some("0")
    };
    assert!(count(&mut session), "no table was made");

    // A workload that claims a gigabyte for each unit of scale, and has three rows.
    std::fs::create_dir(bench.path().join("large")).expect("it can be made");
    bench.file(
        "large/workload.toml",
        "name = \"large\"\ntitle = \"Large\"\nbytes_per_scale = 1_000_000_000\nload = [\"schema.sql\"]\n\
         scripts = [{ file = \"s.sql\", weight = 1 }]\n[[tables]]\nname = \"large_rows\"\n",
    );
    bench.file("large/schema.sql", "CREATE TABLE large_rows AS SELECT generate_series(1, 3) AS id;\n");
    bench.file("large/s.sql", "SELECT 1;\n");
    let words = ["init", "--workload", "large", "-s", "1000000", "-q", &conninfo];
    bench.run(words).exits(1).says(&["909 TB", "--yes"]);
    let words = ["init", "--workload", "large", "-s", "1000000", "--yes", &conninfo];
    bench.run(words).exits(0);
    let rows = session.query("select count(*) from large_rows").unwrap();
    assert_eq!(rows[0].get(0), Some("3"));
}

#[test]
fn free_space_that_a_role_may_not_see_is_said_to_be_unknown() {
    let bench = Bench::new();
    let cluster = Cluster::shared("18");
    let conninfo = cluster.database("unseen_space");
    cluster.execute("drop role if exists nobody_special; create role nobody_special login");
    bench.run(["init", "-s", "100000", &format!("{conninfo} user=nobody_special")]).exits(1).says(&[
        "needs about 1462 GB",
        "free space is not known from here",
        "--yes",
    ]);
}

/// Opening a pipe waits for a writer, and a signal would not end that.
#[test]
fn a_named_pipe_is_refused_where_a_file_is_expected() {
    let bench = Bench::new();
    let pipe = bench.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe");
    for words in [
        &["bench", "-f", "pipe", "host=/nowhere"][..],
        &["report", "./pipe"],
        &["data", "--schema", "pipe"],
        &["lab", "run", "./pipe"],
        &["compare", "./pipe"],
    ] {
        let run = Running::start(&mut bench.command(words));
        let out = ends(run);
        assert!(matches!(out.status.code(), Some(1 | 2)), "{words:?}: {:?}", out.status);
        assert!(out.stderr.contains("regular file"), "{words:?}: {}", out.stderr);
    }
}

/// A read of a pipe goes on after a signal, whose only effect is a note that the program looks at later.
#[test]
fn a_signal_ends_the_wait_for_a_script_from_another_program() {
    /// The first word of /proc/PID/syscall for poll and ppoll on x86-64, and ppoll on AArch64.
    const POLLS: [&str; 3] = ["7", "271", "73"];
    let bench = Bench::new();
    for words in [["bench", "-f", "/dev/stdin"], ["bench", "-f", "-"]] {
        let (reader, _writer) = std::io::pipe().expect("a pipe");
        let mut run = Running::start(bench.command(words).stdin(reader));
        let syscall = format!("/proc/{}/syscall", run.pid());
        // The third word is the number of descriptors: Rust's runtime polls three at the start of the program.
        let waits = || {
            let text = std::fs::read_to_string(&syscall).unwrap_or_default();
            let words: Vec<&str> = text.split(' ').collect();
            matches!(words[..], [call, _, "0x1", ..] if POLLS.contains(&call))
        };
        while !waits() {
            assert!(!run.has_ended(), "{words:?} did not wait");
        }
        run.signal(Signal::TERM);
        let out = ends(run);
        assert_eq!(out.status.code(), Some(143), "{words:?}: {}", out.stderr);
        assert!(out.stderr.contains("interrupted before the script was read"), "{words:?}: {}", out.stderr);
    }
}

/// Another user can plant a link in a directory that all may write to, such as /tmp.
#[test]
fn links_in_the_place_of_output_files_are_replaced_and_not_followed() {
    let bench = Bench::new();
    let precious = bench.path().join("precious");
    let plant = |name: &str| {
        std::fs::write(&precious, "precious").expect("our file");
        std::os::unix::fs::symlink(&precious, bench.path().join(name)).expect("a link");
    };
    let is_kept = |name: &str| {
        assert_eq!(std::fs::read_to_string(&precious).expect("it is there"), "precious", "{name}");
        let written = std::fs::symlink_metadata(bench.path().join(name)).expect("it is there");
        assert!(written.is_file() && written.len() > 0, "{name}");
    };
    bench.file("schema.sql", "CREATE TABLE t (id int PRIMARY KEY);\n");
    plant("rows.sql");
    bench.run(["data", "--schema", "schema.sql", "--size", "3", "-o", "rows.sql"]).exits(0);
    is_kept("rows.sql");

    std::fs::create_dir(bench.path().join("pages")).expect("a folder");
    plant("pages/pgmeter.1");
    bench.run(["man", "pages"]).exits(0);
    is_kept("pages/pgmeter.1");
    assert!(bench.path().join("pages/pgmeter-bench.1").is_file());

    // The name of a log has the process's number, so the links are planted for the next ones.
    let conninfo = Cluster::shared("18").database("planted");
    bench.file("one.sql", "SELECT 1;\n");
    let words = ["bench", "-n", "-t", "2", "-f", "one.sql", "-l", "--log-prefix", "log", &conninfo];
    let mut run = Running::start(
        std::process::Command::new("sh")
            .args(["-c", "ln -s precious log.$$; exec \"$@\"", "sh"])
            .arg(bench.command(words).get_program())
            .args(words)
            .envs(bench.command(words).get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(bench.path()),
    );
    let _ = run.has_ended();
    let pid = run.pid();
    ends(run).exits(0);
    is_kept(&format!("log.{pid}"));
}
