//! Experiments as whoever runs them meets them: planned, run, killed and gone on with. What a file means is tested in
//! `lab`.

use std::fs;
use std::path::Path;

use results::{ExperimentRow, Record, Store, TrialStatus};
use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};
use crate::null_server::Null;
use crate::relay::Serving;

const EXPERIMENT: &str = r#"
name = "clients"
[server]
settings = { shared_buffers = "64MB" }
[data]
workload = "none"
[load]
script = "one.sql"
rate = 100
duration = "500ms"
warmup = "0s"
[factors]
protocol = ["simple", "prepared"]
clients = [1, 2]
[design]
repeats = 2
[quick]
repeats = 1
"#;

fn stored(bench: &Bench, profile: &str) -> ExperimentRow {
    let mut store = Store::create(&bench.path().join("out/results.sqlite")).expect("the store can be opened");
    store.newest_experiment("clients", profile).expect("it can be read").expect("it is there")
}

fn complete(row: &ExperimentRow) -> usize {
    row.trials.iter().filter(|trial| trial.status == TrialStatus::Complete).count()
}

#[test]
fn a_plan_is_shown_and_starts_nothing() {
    let bench = Bench::new();
    let file = bench.experiment("clients.toml", EXPERIMENT);
    let out = bench.run(["lab", "plan", file]).exits(0);
    assert!(out.stdout.contains("4 combinations × 2 repeats = 8 trials"), "{}", out.stdout);
    assert!(out.stdout.contains("server 1    PostgreSQL 18, embedded"), "{}", out.stdout);
    assert!(!bench.path().join("pgmeter-results/results.sqlite").exists());
    let file = bench.file("wrong.toml", "name = \"x\"\n[load]\nclient = 3\n");
    let out = bench.run(["lab", "plan", file]).exits(1);
    let sentence =
        "pgmeter: error: wrong.toml:3:1: unknown key \"client\" in [load]; did you mean \"clients\"?\n";
    assert_eq!(out.stderr, sentence);
}

#[test]
fn each_trial_is_a_run_and_a_killed_experiment_goes_on_where_it_was() {
    let bench = Bench::new();
    let file = bench.experiment("clients.toml", EXPERIMENT);
    let words = |action: &'static str| ["lab", action, file, "--store", "out/"];
    let mut run = Running::start(&mut bench.command(words("run")));
    run.hear("trial 3/8");
    run.signal(Signal::KILL);
    run.finish();
    let before = stored(&bench, "full");
    assert_eq!(complete(&before), 2, "{before:?}");
    let early = bench.run(["report", "--store", "out/", "--experiment", "clients"]).exits(0).stdout;
    assert!(early.contains("2 of 8 trials complete, 6 not run"), "{early}");
    let out = bench.run(words("resume")).exits(0);
    assert!(!out.stderr.contains("trial 2/8") && out.stderr.contains("trial 3/8"), "{}", out.stderr);
    assert!(out.stdout.contains("clients (full): 8 of 8 trials complete\n"), "{}", out.stdout);
    assert!(out.stdout.contains("Page with charts\n  pgmeter report --store out/"), "{}", out.stdout);
    every_form_of_the_report(&bench, file);
    a_report_of_two_stores(&bench);
    let after = stored(&bench, "full");
    assert_eq!((complete(&after), after.experiment), (8, before.experiment));
    assert_eq!(after.trials[..2], before.trials[..2], "what was complete is not run twice");
    let records: Vec<_> = fs::read_dir(bench.path().join("out"))
        .expect("it is there")
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "json"))
        .collect();
    assert_eq!(records.len(), 8, "one record for each trial");
    let record = Record::read(&records[0].as_ref().expect("it is listed").path()).expect("it is a record");
    assert_eq!(record.plan.command_line, None, "no command makes this one trial again");
    let out = bench.run(words("resume")).exits(0);
    assert!(!out.stderr.contains("trial "), "{}", out.stderr);
    assert_eq!(bench.servers_left(), Vec::<String>::new());
    fs::write(bench.path().join(file), EXPERIMENT.replace("500ms", "600ms")).expect("it can be changed");
    let out = bench.run(words("resume")).exits(1);
    assert!(out.stderr.contains("is not what it was when the experiment was begun"), "{}", out.stderr);
}

/// The same experiment from two stores, whose hosts have one name.
fn a_report_of_two_stores(bench: &Bench) {
    let place = bench.path().join("elsewhere");
    fs::create_dir(&place).expect("it can be made");
    for entry in fs::read_dir(bench.path().join("out")).expect("it is there") {
        let entry = entry.expect("it is listed");
        fs::copy(entry.path(), place.join(entry.file_name())).expect("it can be copied");
    }
    let report = |words: &[&str]| bench.run([&["report", "--store", "out/"], words].concat());
    let both = ["--store", "elsewhere", "--experiment", "clients", "--format", "csv"];
    let csv = report(&both).exits(0).stdout;
    assert!(csv.starts_with("experiment,profile,trial,protocol,clients,host,repeat,"), "{csv}");
    let of = |host: &str| csv.lines().filter(|line| line.contains(&format!(",{host},1,complete,"))).count();
    assert_eq!((of("out"), of("elsewhere")), (4, 4), "{csv}");
    let twice = report(&["--store", "./out", "--experiment", "clients"]).exits(1).stderr;
    assert!(twice.contains("the store ./out/results.sqlite is given twice"), "{twice}");
    let runs = report(&["--store", "elsewhere", "1"]).exits(1).stderr;
    assert!(runs.contains("several stores are for an experiment, by --experiment NAME"), "{runs}");
}

/// The only experiment of the store is meant if none is named.
fn every_form_of_the_report(bench: &Bench, file: &str) {
    for (format, words) in [
        ("text", "protocol, clients"),
        ("markdown", "| protocol, clients |"),
        ("html", "<section id=\"charts\""),
        ("csv", "experiment,profile,trial,protocol,clients,repeat,status,reason,run,tps,"),
        ("svg", "Throughput by"),
    ] {
        let out = bench.run(["report", "--store", "out/", "--format", format]).exits(0).stdout;
        assert!(out.contains(words), "{format}: {out}");
    }
    let json = bench.run(["report", file, "--store", "out/", "--format", "json"]).exits(0).stdout;
    assert_eq!(json.matches("\"status\": \"complete\"").count(), 8, "{json}");
    assert!(json.contains("\"trials\": [") && json.contains("\"within_repeats\": true"), "{json}");
    let picture = bench.run(["report", "--store", "out/", "--format", "png", "-o", "clients.png"]).exits(0);
    assert_eq!(picture.stdout, "");
    let full = bench.run(["lab", "resume", file, "--store", "out/", "-o", "/dev/full"]).exits(2).stderr;
    let told = "the trials are stored, but cannot be reported: cannot write the report to \"/dev/full\"";
    assert!(full.contains(told), "{full}");
    let other = bench.run(["report", "--store", "out/", "--experiment", "other"]).exits(1).stderr;
    assert!(other.contains("has no experiment other; it has clients"), "{other}");
}

#[test]
fn a_trial_that_fails_is_kept_with_its_reason_and_the_others_go_on() {
    let bench = Bench::new();
    bench.file("bad.sql", "SELECT 1 / (:clients - 1);\n");
    let bad = EXPERIMENT
        .replace("\"one.sql\"", "\"bad.sql\"")
        .replace("[\"simple\", \"prepared\"]", "[\"simple\"]");
    let bad = bad
        .replace("[factors]", "[factors]\n\"variables.clients\" = [1, 2]")
        .replace("clients = [1, 2]\n[design]", "[design]");
    let file = bench.file("clients.toml", &bad);
    let out = bench.run(["lab", "run", file, "--quick", "--retry-failed", "--store", "out/"]).exits(2);
    assert!(out.stdout.contains("clients (quick): 1 of 2 trials complete, 1 failed\n"), "{}", out.stdout);
    let begun = |name: &str| out.stderr.lines().filter(|line| line.contains(name)).count();
    assert_eq!((begun("variables.clients 1"), begun("variables.clients 2")), (2, 1), "{}", out.stderr);
    let row = stored(&bench, "quick");
    let failed = row.trials.iter().find(|trial| trial.status == TrialStatus::Failed).expect("it failed");
    assert!(failed.reason.as_deref().unwrap_or_default().contains("division by zero"), "{failed:?}");
    assert_eq!(failed.factors["variables.clients"], "1");
    let out = bench.run(["lab", "status", file, "--quick", "--store", "out/"]).exits(0);
    assert!(!out.stdout.contains("next:") && out.stdout.contains("begun at 20"), "{}", out.stdout);
    assert!(out.stdout.contains(" failed: ") && out.stdout.contains("division by zero"), "{}", out.stdout);
}

/// A relay is what goes away: behind it the server keeps what the lab has made there.
#[test]
fn a_server_that_goes_away_costs_no_more_than_a_trial_and_keeps_nothing() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let word = |name: &str| {
        let all = cluster.conninfo();
        let found = all.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.expect("it is said").to_owned()
    };
    let socket = format!("{}/.s.PGSQL.{}", word("host"), word("port"));
    let relay = || Serving::start(&bench, &["relay", "--listen", "./.s.PGSQL.6001", "--to", &socket]);
    let dsn = format!("host={} port=6001 user=postgres dbname=postgres", bench.path().display());
    let there = EXPERIMENT.replace("settings = { shared_buffers = \"64MB\" }", &format!("dsn = \"{dsn}\""));
    let file = bench.experiment("clients.toml", &there.replace("repeats = 2", "repeats = 1"));
    let way = relay();
    let mut run = Running::start(&mut bench.command(["lab", "run", file, "--store", "out/"]));
    // The first has had its data by then.
    run.hear("trial 2/4");
    way.end();
    run.hear("the server of this trial is no longer reachable");
    let way = relay();
    let out = run.finish();
    assert!(matches!(out.status.code(), Some(0 | 2)), "{}", out.stderr);
    assert!(complete(&stored(&bench, "full")) >= 3, "{}", out.stderr);
    way.end();
    let left = Cluster::session(&cluster.conninfo())
        .query("SELECT count(*) FROM pg_database WHERE datname LIKE 'pgmeter_lab_%'")
        .expect("the server answers");
    assert_eq!(left[0].get(0), Some("0"), "{}", out.stderr);
}

#[test]
fn all_that_can_be_asked_of_a_run_can_be_varied_and_is_in_the_record() {
    let bench = Bench::new();
    let cluster = Cluster::shared("18");
    let conninfo = cluster.database("lab_keys");
    let word = |name: &str| {
        let found = conninfo.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.expect("it is said").to_owned()
    };
    // Two names of one server.
    let (alias, directory) = (bench.path().join("alias"), word("host"));
    std::os::unix::fs::symlink(&directory, &alias).expect("it can be made");
    let dsn = conninfo.replace(&directory, &alias.display().to_string());
    bench.file("there.sql", "\\target there\nSELECT 1;\n\\sleep 5 ms\n");
    let text = format!(
        r#"
name = "clients"
exclude = [
    {{ observe = "off", continue_on_error = false, hosts = "{alias}:{port}" }},
    {{ observe = "off", continue_on_error = true, hosts = "{directory}" }},
    {{ observe = "full", continue_on_error = false, hosts = "{directory}" }},
    {{ observe = "full", continue_on_error = true, hosts = "{alias}:{port}" }},
]
[server]
dsn = "{dsn}"
[data]
workload = "none"
[load]
script = "there.sql"
duration = "500ms"
warmup = "0s"
workers = 2
clients = 2
targets = {{ there = "{conninfo}" }}
event_loop = "epoll"
until = "1%"
[factors]
observe = ["off", "full"]
continue_on_error = [false, true]
hosts = ["{directory}", "{alias}:{port}"]
[design]
repeats = 1
order = "sequential"
"#,
        alias = alias.display(),
        port = word("port"),
    );
    let file = bench.file("clients.toml", &text);
    bench.run(["lab", "run", file, "--store", "out/"]).exits(0);
    let row = stored(&bench, "full");
    assert_eq!(complete(&row), 4, "{row:?}");
    let store = bench.path().join("out/results.sqlite");
    for trial in &row.trials {
        let number = trial.run.expect("it is a run").to_string();
        let record = results::find(&store, &number).expect("it is kept");
        let (plan, factor) = (&record.plan, |name: &str| trial.factors[name].as_str());
        assert_eq!((plan.until, plan.workers, plan.clients), (Some(0.01), 2, 2));
        assert_eq!((plan.targets.len(), plan.targets[0].name.as_str()), (1, "there"));
        assert_eq!(plan.continue_on_error, factor("continue_on_error") == "on", "{trial:?}");
        let host = factor("hosts").split(':').next().expect("a host");
        assert_eq!(plan.connection.host.as_str(), host, "{trial:?}");
        assert_eq!(record.observation.is_some(), factor("observe") == "full", "{trial:?}");
        let event_loop = record.summary.generator.as_ref().expect("it is there").event_loop.name;
        assert_eq!(event_loop, results::EventLoopName::Epoll);
    }
}

#[test]
fn a_budget_has_a_unit_and_what_it_leaves_is_told() {
    let bench = Bench::new();
    // A trial takes longer than the budget.
    let file = bench.experiment("clients.toml", &EXPERIMENT.replace("500ms", "5s"));
    let run = |budget: &'static str| bench.run(["lab", "run", file, "--store", "out/", "--budget", budget]);
    let out = run("90");
    assert!(out.stderr.contains("expected a number with a unit (us, ms, s, min, h)"), "{}", out.stderr);
    assert!(!out.status.success() && !bench.path().join("out").exists());
    let out = run("2s").exits(3);
    let sentence = "the time budget is exhausted, 8 of 8 trials remain; continue with pgmeter lab resume";
    assert!(out.stderr.contains(sentence), "{}", out.stderr);
    assert!(!out.stderr.contains("trial 1/8"), "it would end later: {}", out.stderr);
    let out = bench.run(["lab", "status", file, "--store", "out/"]).exits(0);
    assert!(out.stdout.contains("0 of 8 trials complete, 8 planned\n"), "{}", out.stdout);
    assert!(out.stdout.contains("  next: trial 1/8, repeat 1: protocol "), "{}", out.stdout);
    let again = run("2s").exits(3).stderr;
    assert!(again.contains("this is a new execution; the one that began at "), "{again}");
    assert!(
        again.contains("has 8 of 8 trials left: pgmeter lab resume clients.toml would have continued it"),
        "{again}"
    );
}

#[test]
fn no_trial_runs_on_the_data_of_another_however_they_are_brought_back() {
    let bench = Bench::new();
    // Fails where the table is of another scale, or holds what a trial before has left.
    let script = "SELECT 1 / (SELECT count(*) = 3 * :scale FROM t)::int;\n\
                  SELECT 1 / (SELECT :kept = 1 OR count(*) = 0 FROM t WHERE n = -7)::int;\n\
                  UPDATE t SET n = -7;\n";
    bench.file("mine.sql", script);
    fs::create_dir(bench.path().join("small")).expect("it can be made");
    bench.file("small/workload.toml", "name = \"small\"\ntitle = \"Small\"\n");
    bench.file("small/schema.sql", "-- df: size=3\nCREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);\n");
    let text = r#"
        name = "clients"
        server = { settings = { shared_buffers = "64MB" } }
        data = { workload = "small" }
        load = { script = "mine.sql", transactions = 1, warmup = "0s" }
        factors = { way = ["never", "never 2", "reload", "template", "template 2"] }
        design = { repeats = 2 }
        [levels.way]
        never = { restore = "never", "variables.kept" = 1 }
        "never 2" = { scale = 2, restore = "never", "variables.kept" = 1 }
        reload = { restore = "reload", "variables.kept" = 0 }
        template = { restore = "template", "variables.kept" = 0 }
        "template 2" = { scale = 2, restore = "template", "variables.kept" = 0 }
    "#;
    let file = bench.file("clients.toml", text);
    let out = bench.run(["lab", "run", file, "--store", "out/"]).exits(0);
    assert!(out.stdout.contains("10 of 10 trials complete"), "{}{}", out.stdout, out.stderr);
}

#[test]
fn relative_values_are_resolved_on_the_servers_host_and_the_record_has_both() {
    let bench = Bench::new();
    let text = |dsn: &str| {
        format!(
            "name = \"clients\"\nserver = {{ dsn = \"{dsn}\" }}\ndata = {{ scale = \"0.001% of memory\", init_steps = \"dt\" }}\n\
             load = {{ script = \"one.sql\", transactions = 1, warmup = \"0s\" }}\n\
             factors = {{ clients = [\"0.5/core\"] }}\ndesign = {{ repeats = 1 }}\n"
        )
    };
    let file = bench.experiment("clients.toml", &text(&Cluster::shared("18").conninfo()));
    let cores = results::cpus_allowed(std::process::id()).expect("the system tells");
    let clients = (cores / 2.0).ceil();
    let plan = bench.run(["lab", "plan", file]).exits(0).stdout;
    assert!(
        plan.contains(&format!("resolved    clients 0.5/core = {clients}, scale 0.001% of memory = ")),
        "{plan}"
    );
    bench.run(["lab", "run", file, "--store", "out/"]).exits(0);
    let row = stored(&bench, "full");
    assert_eq!(row.trials[0].factors["clients"], "0.5/core");
    let record = Record::read(Path::new(&bench.records_of("out")[0])).expect("it is a record");
    assert_eq!(f64::from(record.plan.clients), clients);
    assert_eq!(record.plan.relative["clients"], "0.5/core");
    assert_eq!(record.plan.relative["scale"], "0.001% of memory");
    let null = Null::start(&bench, "./", &[]);
    let file = bench.file("null.toml", &text(&null.conninfo));
    bench.run(["lab", "plan", file]).exits(1).says(&[
        "null.toml:5:24: clients = \"0.5/core\": the server runs on another host or in a container",
        "give a number",
    ]);
    let file = bench.file("away.toml", &text("host=/nowhere"));
    bench
        .run(["lab", "plan", file])
        .exits(1)
        .says(&["away.toml:5:24: clients = \"0.5/core\": the server's host"]);
}
