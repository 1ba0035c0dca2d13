//! Secrets are planted wherever one can be given, and then looked for in all that pgmeter leaves behind and says:
//! records, store, pages, logs, stdout and stderr. The files that may hold more than everybody shall know are 0600.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::cluster::Cluster;
use testkit::extent;

use crate::harness::{Bench, Finished, Running, finish};
use crate::processes::ends;

/// What all planted secrets begin with, so that none of them is in anything else.
const PLANTED: &str = "Pl4nted";
/// A secret where only a number can be given.
const NUMBER: &str = "917364501";

/// A secret of its own for each place.
fn secret(place: &str) -> String {
    format!("{PLANTED}-{place}")
}

/// A script with a secret in each way in which SQL, JSON and URIs can hold one. It fails nowhere.
const SCRIPT: &str = r#"-- password=Pl4nted-comment
\set pin_token 917364501
\set x :pin_token + 1
SELECT 'ALTER ROLE a PASSWORD ''Pl4nted-doubled''', $x$ALTER ROLE a PASSWORD 'Pl4nted-plain'$x$;
DO $x$BEGIN IF false THEN ALTER ROLE a PASSWORD E'Pl4nted-escape'; ALTER ROLE a PASSWORD $$Pl4nted-dollar$$;
ALTER ROLE a PASSWORD U&'Pl4nted-unicode'; ALTER ROLE a PASSWORD /* so */ 'Pl4nted-behind-comment'; END IF; END$x$;
SELECT '{"api_key": "Pl4nted-json", "n": 1}', 'postgres://u:Pl4nted-uri@h/d', 'host=h password=Pl4nted-conninfo';
SELECT set_config('app.secret', 'Pl4nted-setting', true), length(':token');
"#;

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Secrets that are in bytes, with what stands around them.
fn found_in(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let around = |(at, _): (usize, &str)| {
        let from = text[..at].char_indices().rev().nth(40).map_or(0, |(place, _)| place);
        text[from..].chars().take(90).collect::<String>()
    };
    text.match_indices(PLANTED).chain(text.match_indices(NUMBER)).map(around).collect()
}

/// What was searched, and secrets found in it.
#[derive(Default)]
struct Search {
    given: Vec<PathBuf>,
    found: Vec<String>,
    searched: usize,
}

impl Search {
    /// A file that the test gives, with secrets in it.
    fn give<'a>(&mut self, bench: &Bench, name: &'a str, text: &str) -> &'a str {
        self.given.push(bench.path().join(name));
        bench.file(name, text)
    }

    fn said(&mut self, what: &str, out: &Finished) {
        for (stream, text) in [("stdout", &out.stdout), ("stderr", &out.stderr)] {
            self.searched += 1;
            let found = found_in(text.as_bytes());
            self.found.extend(found.iter().map(|found| format!("{what}, {stream}: {found}")));
        }
    }

    #[track_caller]
    fn run(&mut self, command: &mut Command, code: i32) -> Finished {
        let out = finish(command).exits(code);
        self.said(&format!("{:?}", command.get_args().take(4).collect::<Vec<_>>()), &out);
        out
    }

    /// All files below, but those that were given; records and stores must be their owner's alone.
    #[track_caller]
    fn left(&mut self, directory: &Path) {
        for path in files(directory).into_iter().filter(|path| !self.given.contains(path)).collect::<Vec<_>>()
        {
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) => panic!("{}: {error}", path.display()),
            };
            self.searched += 1;
            let found = found_in(&bytes);
            self.found.extend(found.iter().map(|found| format!("{}: {found}", path.display())));
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mode = fs::metadata(&path).expect("it is there").permissions().mode() & 0o777;
            let is_private = name.contains(".sqlite") || name.ends_with(".json");
            assert!(!is_private || mode == 0o600, "{} has mode {mode:o}", path.display());
        }
    }

    #[track_caller]
    fn found_nothing(self, searched_min: usize) {
        assert!(self.searched >= searched_min, "only {} texts were searched", self.searched);
        assert!(self.found.is_empty(), "{}", self.found.join("\n"));
    }
}

#[test]
fn a_run_leaves_no_secret_in_its_record_its_store_its_page_its_log_or_its_talk() {
    let (bench, cluster) = (Bench::new(), Cluster::shared("18"));
    let mut search = Search::default();
    search.give(&bench, "script.sql", SCRIPT);
    let dsn =
        format!("{} password='{}' sslpassword={}", cluster.conninfo(), secret("conninfo"), secret("ssl"));
    let other = format!("other={} password={}", cluster.conninfo(), secret("target"));
    let token = format!("token={}", secret("token"));
    let key = format!("-Dapi_key={NUMBER}");
    let spaced = format!("--define=secret={PLANTED} {}", secret("spaced"));
    let words =
        ["bench", &dsn, "--target", &other, "-D", &token, &key, &spaced, "-f", "script.sql", "-t", "3"];
    let more = ["--html", "page.html", "-l", "--log-prefix", "log", "-M", "simple"];
    let service = search.give(&bench, "service.conf", &format!("[s]\npassword={}\n", secret("service")));
    let service = bench.path().join(service);
    let mut command = bench.command(words.iter().chain(&more));
    command.env("PGPASSWORD", secret("environment")).env("PGSERVICEFILE", service).env("PGSERVICE", "s");
    search.run(&mut command, 0);
    let record = bench.record();
    let script = &record.plan.scripts[0];
    assert!(script.masked && script.sha256.as_ref().is_some_and(|hash| hash.len() == 64));
    let masked = record.plan.command_line.as_ref().expect("it has one").as_str();
    assert!(masked.contains("token=***") && masked.contains("host="), "{masked}");
    for format in ["text", "markdown", "html", "csv", "json"] {
        search.run(&mut bench.command(["report", "last", "--format", format, "-o", "-"]), 0);
    }
    search.run(&mut bench.command(["runs", "--format", "json"]), 0);

    // Some fail: their reasons quote the statement, and with it the variable.
    let failing = format!("ALTER ROLE nobody_is_called_so PASSWORD '{}';\n", secret("failing"));
    search.give(&bench, "failing.sql", &failing);
    search.run(&mut bench.command(["bench", &dsn, "-f", "failing.sql", "-t", "1"]), 2);
    search.give(&bench, "folded.sql", "SELECT :token;\n");
    let folded = "token=Pl4ntedfolded";
    let out = search.run(&mut bench.command(["bench", &dsn, "-D", folded, "-f", "folded.sql", "-t", "1"]), 2);
    assert!(!out.stderr.contains("pl4nted") && out.stderr.contains("column \"***\""), "{}", out.stderr);
    search.give(&bench, "quoted.sql", "SELECT ':token' + 1;\n");
    search.run(&mut bench.command(["bench", &dsn, "-D", &token, "-f", "quoted.sql", "-t", "1"]), 2);
    search.left(bench.path());
    search.found_nothing(20);
}

/// `ps` shows the arguments of all processes to all users.
#[test]
fn a_running_process_does_not_show_passwords_in_its_arguments() {
    let (bench, cluster) = (Bench::new(), Cluster::shared("18"));
    let script = bench.file("told.sql", "\\shell echo loaded >&2\nSELECT 1;\n\\sleep 600 s\n");
    let conninfo = format!("{} password='{}'", cluster.conninfo(), secret("conninfo"));
    let other = format!("--target=other={} password={}", cluster.conninfo(), secret("target"));
    let bench_words = ["bench", "-T", "600", "-f", script, &conninfo, &other];
    let drop_in_words = ["pgbench", "-n", "-T", "600", "-f", script, &conninfo];
    for words in [bench_words.as_slice(), &drop_in_words] {
        let mut run = Running::start(&mut bench.command(words));
        run.hear("loaded");
        let shown = fs::read(format!("/proc/{}/cmdline", run.pid())).expect("it runs");
        assert_eq!(found_in(&shown), Vec::<String>::new());
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(shown.contains("password='xxxx") && shown.contains("told.sql"), "{shown}");
        // Not SIGINT: a program in the background of a shell without job control inherits that it is ignored, and the
        // drop-in, as pgbench, leaves it so.
        run.signal(rustix::process::Signal::TERM);
        ends(run);
    }
}

#[test]
fn what_cannot_be_understood_is_not_repeated_with_its_secrets() {
    let bench = Bench::new();
    let mut search = Search::default();
    let uris = [
        format!("postgresql://u:{}@nowhere.invalid/d", secret("uri")),
        format!("postgresql://u:{}/x@nowhere.invalid/d", secret("slash")),
        format!("postgressql://u:{}@nowhere.invalid/d", secret("scheme")),
        format!("postgresql://u@nowhere.invalid/d?pass%77ord={}&x=y", secret("encoded")),
        format!("host=nowhere.invalid password={} passwort=x", secret("unknown-keyword")),
        format!("host=nowhere.invalid password='{}", secret("unclosed")),
    ];
    for uri in &uris {
        for words in [vec!["bench", "-S", "-t", "1"], vec!["init"]] {
            search.run(&mut bench.command(words.into_iter().chain([uri.as_str()])), 1);
        }
        for target in [uri.clone(), format!("x={uri}"), format!("={uri}")] {
            let words = ["bench", "-S", "-t", "1", "host=nowhere.invalid", "--target", &target];
            search.run(&mut bench.command(words), 1);
        }
        search.said("one word too many", &finish(&mut bench.command(["bench", "-S", "x", uri])));
        let experiment = format!("name = \"e\"\n[server]\ndsn = {uri:?}\n[data]\nworkload = \"none\"\n");
        search.give(&bench, "dsn.toml", &experiment);
        for action in ["plan", "run"] {
            search.said(action, &finish(&mut bench.command(["lab", action, "dsn.toml"])));
        }
        let compare = ["compare", "--factor", "settings.geqo=on,off", "--budget", "1s", "--dsn", uri];
        search.said("compare", &finish(&mut bench.command(compare)));
    }
    let definition = format!("={}", secret("nameless"));
    search.run(&mut bench.command(["bench", "-D", &definition]), 1);
    search.left(bench.path());
    search.found_nothing(60);
}

#[test]
fn an_experiment_keeps_no_secret_and_knows_by_hashes_whether_it_has_changed() {
    let (bench, cluster) = (Bench::new(), Cluster::shared("18"));
    let mut search = Search::default();
    search.give(&bench, "script.sql", SCRIPT);
    let setup = format!("CREATE TABLE t (a int); -- PASSWORD '{}'\n", secret("setup"));
    search.give(&bench, "setup.sql", &setup);
    let mut give = |name: &str, rest: String| {
        let head = format!(
            "name = \"{name}\"\n[server]\ndsn = \"{}\"\n[data]\nworkload = \"none\"\n\
             [design]\nrepeats = 1\n",
            cluster.conninfo()
        );
        search.give(&bench, &format!("{name}.toml"), &(head + &rest));
    };
    let load = "[load]\nsetup = \"setup.sql\"\nscript = \"script.sql\"\nprotocol = \"simple\"\nduration = \"200ms\"\nwarmup = \"0s\"\n\
                variables = { api_key = \"Pl4nted-variable\" }\n\
                [factors]\n\"variables.token\" = [\"Pl4nted-level-1\", \"Pl4nted-level-2\"]\n";
    give("load", load.to_owned());
    let steps = "[load]\nsetup = \"setup.sql\"\nvariables = { token = \"Pl4nted-step-variable\" }\n[[step]]\nname = \"s\"\n\
                 before = \"SET app.secret = 'Pl4nted-before'\"\n\
                 sql = \"SELECT ':token', length('password=Pl4nted-step')\"\n";
    give("steps", steps.to_owned());
    let failing = "[load]\nvariables = { token = \"Pl4nted-failing\" }\n\
                   [[step]]\nname = \"s\"\nsql = \"SELECT ':token' + 1\"\n";
    give("failing", failing.to_owned());
    let before = "[load]\nvariables = { token = \"Pl4nted-before-failing\" }\n\
                  [[step]]\nname = \"s\"\nbefore = \"SELECT ':token' + 1\"\nsql = \"SELECT 1\"\n";
    give("before", before.to_owned());
    let unset = "[load]\nsetup = \"unset.sql\"\nscript = \"script.sql\"\nprotocol = \"simple\"\nduration = \"200ms\"\n";
    give("unset", unset.to_owned());
    let ask = "DO $x$BEGIN ALTER ROLE nobody_is_called_so PASSWORD 'Pl4nted-unset'; END$x$;\n";
    search.give(&bench, "unset.sql", ask);
    let experiments = ["load", "steps", "failing", "before", "unset"];
    for (name, code) in experiments.into_iter().zip([0, 0, 2, 2, 2]) {
        let file = format!("{name}.toml");
        for (action, code) in [("plan", 0), ("run", code), ("status", 0), ("resume", code)] {
            search.run(&mut bench.command(["lab", action, &file]), code);
        }
    }
    const FORMATS: [&str; 5] = ["text", "markdown", "html", "csv", "json"];
    for (number, name) in experiments.into_iter().enumerate() {
        // After a change, all of the one that has a load and one of each other.
        let few = if name == "load" { &FORMATS[..] } else { &FORMATS[number..][..1] };
        for &format in extent::choose(few, &FORMATS[..]) {
            let words = ["report", "--experiment", name, "--format", format, "-o", "-"];
            search.said(format, &finish(&mut bench.command(words)));
        }
    }
    search.left(bench.path());
    // The hash tells what the masked text does not.
    search.give(&bench, "script.sql", &SCRIPT.replace("Pl4nted-plain", "Pl4nted-other"));
    let out = search.run(&mut bench.command(["lab", "resume", "load.toml"]), 1);
    out.says(&["script.sql is not what it was when the experiment was begun"]);
    search.found_nothing(40);
}

#[test]
fn a_comparison_keeps_no_secret() {
    let (bench, cluster) = (Bench::new(), Cluster::shared("18"));
    let mut search = Search::default();
    search.give(&bench, "script.sql", SCRIPT);
    let dsn = cluster.conninfo();
    let factor = format!("variables.token={},{}", secret("a"), secret("b"));
    let variable = format!("secret_thing={}", secret("variable"));
    let words = ["compare", "--factor", &factor, "--key", "workload=none", "-f", "script.sql", "--dsn", &dsn];
    let more = ["-D", &variable, "--key", "protocol=simple", "--budget", "3s", "--block", "0.7", "-R", "50"];
    let mut command = bench.command(words.iter().chain(&more));
    search.run(command.env("PGPASSWORD", secret("environment")), 3);
    for format in ["text", "json", "csv", "markdown", "html", "svg"] {
        search.run(&mut bench.command(["report", "--comparison", "last", "--format", format]), 0);
    }
    search.left(bench.path());
    search.found_nothing(5);
}

#[test]
fn loading_and_the_drop_in_tell_no_secret() {
    let (bench, cluster) = (Bench::new(), Cluster::shared("18"));
    let mut search = Search::default();
    let dsn = format!("{} password={}", cluster.database("secrets"), secret("conninfo"));
    let mut init = bench.command(["init", "-s", "1", &dsn]);
    search.run(init.env("PGPASSWORD", secret("environment")), 0);
    search.give(&bench, "script.sql", SCRIPT);
    let token = format!("token={}", secret("token"));
    let drop_in = ["-n", "-D", &token, "-f", "script.sql", "-t", "2", "-l", "--log-prefix=log", &dsn];
    search.run(&mut bench.pgbench(drop_in), 0);
    search.run(&mut bench.pgbench(["-i", "-q", &dsn]), 0);
    search.given.push(bench.path().join("pgbench"));
    search.left(bench.path());
    search.found_nothing(7);
}

#[test]
fn a_server_of_its_own_is_set_up_without_telling_a_secret() {
    let bench = Bench::new();
    let mut search = Search::default();
    let setting = format!("app.token={}", secret("setting"));
    let words = ["quickstart", "--set", &setting, "-s", "1", "--html", "page.html"];
    let short = ["-c", "2", "-T", "500ms", "--warmup", "0"];
    let mut command = bench.command(words.into_iter().chain(short));
    search.run(command.env("PGPASSWORD", secret("environment")), 0);
    search.left(bench.path());
    search.found_nothing(5);
}
