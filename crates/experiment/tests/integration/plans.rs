//! Plans of experiments: servers and data, order of the trials, arrangement, expected time, and the description.
//! Parsing is tested in `experiments`.

use std::path::Path;
use std::time::Duration;

use pgmeter_experiment::{
    Arrangement, Experiment, Forecast, Memory, Origin, Plan, Preparation, Profile, Readiness, ServerHost,
    outline,
};

const GB: u64 = 1 << 30;

/// Embedded servers have 4 cores and 16 GB; others are unknown.
fn host(origin: &Origin) -> Result<ServerHost, String> {
    match origin.dsn() {
        None => Ok(ServerHost { cores: Some(4.0), memory_bytes: Some(16_000_000_000) }),
        Some(_) => Err("far away; give a number".to_owned()),
    }
}

fn read(text: &str, available_bytes: u64) -> (Experiment, Plan) {
    let folder = Path::new(".");
    let memory = Memory { available_bytes: Some(available_bytes), shared_buffers_bytes: GB };
    let experiment = Experiment::parse(text, "x.toml", folder, Profile::Full).unwrap();
    let plan = Plan::within(&experiment, "x.toml", folder, &memory, Some(&host)).unwrap();
    (experiment, plan)
}

const VERSIONS: &str = r#"
name = "versions"
factors = { version = ["16", "18"], "settings.shared_buffers" = ["128MB", "1GB"], scale = [1, 10], clients = [1, 2] }
design = { repeats = 2 }
"#;

/// The tested properties of each trial of a plan.
fn of_trials<T>(plan: &Plan, what: impl Fn(usize) -> T) -> Vec<T> {
    plan.trials.iter().map(|trial| what(trial.cell)).collect()
}

fn changes<T: PartialEq>(list: &[T]) -> usize {
    list.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

#[test]
fn versions_and_settings_are_servers_of_their_own_and_are_mixed_where_memory_allows() {
    let (_, plan) = read(VERSIONS, 16 * GB);
    assert_eq!((plan.servers.len(), plan.data.len(), plan.trials.len()), (4, 8, 32));
    assert!(matches!(plan.arrangement, Arrangement::SideBySide { .. }), "{:?}", plan.arrangement);
    let scales = of_trials(&plan, |cell| plan.cells[cell].configuration.data.scale);
    assert!(changes(&scales) <= 3, "data of one kind are gone through as a whole: {scales:?}");
    let servers = of_trials(&plan, |cell| plan.data[plan.data_of[cell]].0);
    assert!(changes(&servers) > 8, "servers are taken in turns: {servers:?}");
}

#[test]
fn each_combination_has_the_number_of_its_own_queries() {
    let text = r#"
name = "queries"
data = { workload = "tpch" }
queries = { repeat = 1 }
factors = { "queries.select" = ["q1", "q"], version = ["16", "18"] }
"#;
    let (_, plan) = read(text, 16 * GB);
    let counts: Vec<usize> = plan.cells.iter().map(|cell| cell.configuration.query_count).collect();
    assert_eq!(counts, [1, 1, 22, 22]);
}

#[test]
fn settings_that_a_session_can_set_need_no_server_of_their_own() {
    let text = r#"
name = "settings"
server = { settings = { jit = "off", work_mem = "1MB" } }
factors = { work_mem = ["1MB", "64MB"], synchronous_commit = ["on", "off"], clients = [1, 2] }
"#;
    let (_, plan) = read(text, GB);
    assert_eq!(plan.servers[0].settings.keys().collect::<Vec<_>>(), ["jit"]);
    let sessions = plan.cells.iter().map(|cell| cell.configuration.session["work_mem"].as_str());
    assert_eq!(sessions.collect::<Vec<_>>(), ["1MB", "1MB", "1MB", "1MB", "64MB", "64MB", "64MB", "64MB"]);
    assert_eq!(plan.servers.len(), 1);
}

#[test]
fn where_memory_does_not_allow_it_one_server_after_another_stands_alone() {
    let (_, plan) = read(VERSIONS, GB);
    assert!(matches!(plan.arrangement, Arrangement::OneAtATime { .. }), "{:?}", plan.arrangement);
    assert_eq!(plan.trials.len(), 32);
    let servers = of_trials(&plan, |cell| plan.data[plan.data_of[cell]].0);
    assert_eq!(changes(&servers), 3, "each server is started once: {servers:?}");
    let repeats: Vec<_> = plan.trials[..8].iter().map(|trial| trial.repeat).collect();
    assert_eq!(repeats, [1, 1, 1, 1, 2, 2, 2, 2], "its repeats are interleaved within");
    let (_, roomy) = read(VERSIONS, 16 * GB);
    let sorted = |plan: &Plan| {
        let mut trials: Vec<_> =
            plan.trials.iter().map(|trial| (trial.cell, trial.repeat, trial.seed)).collect();
        trials.sort_unstable();
        trials
    };
    assert_eq!(sorted(&plan), sorted(&roomy), "the trials are the same, whatever their order");
}

/// Preparation of trials of these cells in order: `S` start, `L` load, `C` copy.
fn needs(plan: &Plan, cells: &[usize]) -> String {
    let mut readiness = Readiness::default();
    let letters = |what: Preparation| {
        let Preparation { starts, loads, copies, restarts: _ } = what;
        [(starts, 'S'), (loads, 'L'), (copies, 'C')]
            .into_iter()
            .filter(|part| part.0)
            .map(|part| part.1)
            .collect()
    };
    let needs: Vec<String> = cells.iter().map(|cell| letters(readiness.next(plan, *cell))).collect();
    needs.join(" ")
}

#[test]
fn data_are_loaded_once_and_copied_for_those_who_write() {
    let (_, plan) =
        read("name = \"x\"\nfactors = { scale = [1, 2], script = [\"tpcb-like\", \"select-only\"] }", GB);
    assert_eq!(needs(&plan, &[0, 0, 1, 1, 0, 2, 1]), "SLC C C   LC C");
    let never = "name = \"x\"\ndata = { restore = \"never\" }\nfactors = { scale = [1, 2] }";
    let (_, plan) = read(never, GB);
    assert_eq!(needs(&plan, &[0, 0, 1, 1, 0]), "SL  L  L", "what another scale left is nobody's data");
    let (_, plan) = read(&never.replace("never", "reload"), GB);
    assert_eq!(needs(&plan, &[0, 0, 1]), "SL L L");
    let (_, plan) = read("name = \"x\"\nfactors = { version = [\"17\", \"18\"] }", GB);
    assert_eq!(needs(&plan, &[0, 1, 0, 1]), "SLC SLC C C");
    let (_, plan) = read("name = \"x\"\nfactors = { version = [\"17\", \"18\"] }", GB / 16);
    assert_eq!(needs(&plan, &[0, 1, 0]), "SLC SLC SLC", "the one before is removed");
}

#[test]
fn the_forecast_learns_from_the_trials_that_were_made() {
    let (_, plan) = read(
        "name = \"x\"\nload = { duration = \"10s\", warmup = \"0s\" }\nfactors = { clients = [1, 2] }",
        GB,
    );
    let seconds = |time: Duration| time.as_secs_f64();
    let mut forecast = Forecast::default();
    let what = Preparation { starts: true, loads: true, copies: true, restarts: false };
    let guess = forecast.expected(&plan, 0, what);
    assert!((10.0..20.0).contains(&seconds(guess.trials)) && seconds(guess.preparing) > 1.0, "{guess:?}");
    forecast.learn(&plan, 0, what, guess.preparing * 3, Duration::from_secs(14));
    let learnt = forecast.expected(&plan, 0, what);
    assert_eq!(learnt.trials, Duration::from_secs(14), "as long as the one before");
    assert!((seconds(learnt.preparing) / seconds(guess.preparing) - 3.0).abs() < 1e-6);
    assert_eq!(
        forecast.expected(&plan, 1, what).trials,
        Duration::from_secs(14),
        "4 s more than asked here too"
    );
    let slow = Duration::from_secs(u64::MAX);
    forecast.learn(&plan, 1, what, slow, slow);
    assert!(forecast.expected(&plan, 1, what).total() > Duration::from_secs(1 << 60), "it does not overflow");
}

#[test]
fn a_server_that_runs_already_takes_no_time_to_start() {
    let first = |server: &str| {
        let load = "load = { duration = \"1s\", warmup = \"0s\" }\ndata = { scale = 1 }";
        let (_, plan) = read(&format!("name = \"x\"\n{load}\nserver = {{ {server} }}"), GB);
        let what = Preparation { starts: true, loads: true, copies: true, restarts: false };
        Forecast::default().expected(&plan, 0, what).total().as_secs_f64()
    };
    let (running, own) = (first("dsn = \"host=h\""), first("version = \"18\""));
    assert!((own - running - 5.0).abs() < 1e-6, "{own} s and {running} s");
    assert!(running < 6.0, "{running} s for a trial of one second");
}

#[test]
fn a_plan_is_told_with_servers_data_time_and_why() {
    let text = r#"
        name = "versions"
        source = "somebody"
        data = { scale = 100, restore = "reload" }
        load = { script = "select-only" }
        factors = { version = ["17", "18"], script = ["select-only", "tpcb-like"], restore = ["auto", "never"] }
        design = { repeats = 1, order = "sequential" }
        exclude = [{ version = "18", script = "tpcb-like" }]
    "#;
    let (experiment, plan) = read(text, 2 * GB);
    insta::assert_snapshot!(outline(&experiment, &plan), @r"
    versions
      source      somebody
      trials      6 combinations × 1 repeat = 6 trials, in the order of the file
      time        about 7 min, estimated: 4 min of trials, 3 min of starting, loading and restoring
      factor      version: 17 | 18
      factor      script: select-only | tpcb-like
      factor      restore: auto | never
      load        1 client on 1 thread, simple, 30s after 5s of warm-up
      server 1    PostgreSQL 17, embedded
      server 2    PostgreSQL 18, embedded
      servers     one at a time, in the order of the file: with data and connections they need about 8175 MB, too much for 2048 MB
      data 1      on server 1: TPC-B-like tables at scale 100, about 1497 MB
                  loaded once; trials that write get their own copies (template database), trials that only read share one
      data 2      on server 1: TPC-B-like tables at scale 100, about 1497 MB
                  loaded once and never restored, as configured: trials see the changes of earlier trials
      data 3      on server 2: TPC-B-like tables at scale 100, about 1497 MB
                  loaded once; all trials share a copy, because they only read
      data 4      on server 2: TPC-B-like tables at scale 100, about 1497 MB
                  loaded once and never restored, as configured: trials see the changes of earlier trials

      1  repeat 1  version 17, script select-only, restore auto
      2  repeat 1  version 17, script select-only, restore never
      3  repeat 1  version 17, script tpcb-like, restore auto
      4  repeat 1  version 17, script tpcb-like, restore never
      5  repeat 1  version 18, script select-only, restore auto
      6  repeat 1  version 18, script select-only, restore never
    ");
    let (_, plan) = read(text, 64 * GB);
    let told = outline(&experiment, &plan);
    let servers = told.lines().find(|line| line.starts_with("  servers")).unwrap();
    insta::assert_snapshot!(servers, @"  servers     side by side, in the order of the file: with data and connections they need about 8175 MB of the 64 GB there are");
}

/// The ladder of the published measurement A9: each rung adds keys of several sections to the previous one.
const LADDER: &str = r#"
name = "ladder"
source = "A9"
load = { clients = 1, duration = "30s", warmup = "2s" }
cases = [
    { name = "reconnecting, TLS", script = "ro3.sql", network = "tls", reconnect = true, fillfactor = 90 },
    { name = "reconnecting", network = "tcp" },
    { name = "persistent, TLS", network = "tls", reconnect = false },
    { name = "no TLS", network = { kind = "tcp", delay = "1ms" } },
    { name = "prepared", protocol = "prepared" },
    { name = "function", protocol = "simple", script = "function.sql", setup = "make.sql", "variables.n" = 3 },
    { name = "function, prepared", protocol = "prepared" },
    { name = "built-in", script = "tpcb-like", setup = "", "settings.wal_compression" = "on" },
    { name = "socket", network = "socket", unlogged = true },
]
[factors]
size = ["small", "large"]
[levels.size.large]
scale = 10
[[chart]]
x = "case"
y = "tps"
"#;

#[test]
fn a_ladder_may_set_network_reconnecting_script_and_anything_else() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["ro3.sql", "function.sql", "make.sql"] {
        std::fs::write(folder.path().join(name), "SELECT 1;\n").unwrap();
    }
    let experiment = Experiment::parse(LADDER, "x.toml", folder.path(), Profile::Full).unwrap();
    let plan = Plan::of(&experiment, "x.toml", folder.path()).unwrap();
    let told: Vec<String> = plan
        .cells
        .iter()
        .map(|cell| {
            let it = &cell.configuration;
            let script = format!("{:?}", it.load.scripts[0].source);
            let script = script.replace(&folder.path().display().to_string(), "");
            let flags = [
                (it.load.reconnect, "reconnecting"),
                (it.setup.is_some(), "setup"),
                (it.data.unlogged, "unlogged"),
                (!it.server.settings.is_empty() || !it.session.is_empty(), "settings"),
                (!it.load.variables.is_empty(), "variables"),
            ];
            let flags: Vec<&str> = flags.into_iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
            let level = &cell.levels[1].1;
            format!(
                "{level} {} {}: {script} {:?} {} {}",
                it.data.scale,
                it.data.fillfactor,
                it.load.protocol,
                it.network,
                flags.join(" ")
            )
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    small 1 90: File("/ro3.sql") Simple TLS reconnecting
    large 10 90: File("/ro3.sql") Simple TLS reconnecting
    small 1 90: File("/ro3.sql") Simple TCP reconnecting
    large 10 90: File("/ro3.sql") Simple TCP reconnecting
    small 1 90: File("/ro3.sql") Simple TLS 
    large 10 90: File("/ro3.sql") Simple TLS 
    small 1 90: File("/ro3.sql") Simple TCP, 1ms each way 
    large 10 90: File("/ro3.sql") Simple TCP, 1ms each way 
    small 1 90: File("/ro3.sql") Prepared TCP, 1ms each way 
    large 10 90: File("/ro3.sql") Prepared TCP, 1ms each way 
    small 1 90: File("/function.sql") Simple TCP, 1ms each way setup variables
    large 10 90: File("/function.sql") Simple TCP, 1ms each way setup variables
    small 1 90: File("/function.sql") Prepared TCP, 1ms each way setup variables
    large 10 90: File("/function.sql") Prepared TCP, 1ms each way setup variables
    small 1 90: OfWorkload("tpcb-like") Prepared TCP, 1ms each way settings variables
    large 10 90: OfWorkload("tpcb-like") Prepared TCP, 1ms each way settings variables
    small 1 90: OfWorkload("tpcb-like") Prepared Unix socket unlogged settings variables
    large 10 90: OfWorkload("tpcb-like") Prepared Unix socket unlogged settings variables
    "#);
    assert_eq!(plan.servers.len(), 1, "connections set the setting of the last rungs for themselves");
}

#[test]
fn relative_values_are_numbers_by_the_servers_host_and_their_levels_keep_the_words() {
    let text = r#"
        name = "relative"
        data = { scale = "50% of memory" }
        load = { clients = "1/core" }
        factors = { clients = ["1/core", "2/core", 3], size = ["large", "small"] }
        [levels.size.small]
        scale = 7
    "#;
    let (experiment, plan) = read(text, 16 * GB);
    let told = plan.cells.iter().map(|cell| {
        let it = &cell.configuration;
        (cell.levels[0].1.as_str(), it.load.clients, it.data.scale.units())
    });
    // 8 GB are 509 times the 15.7 MB of pgbench's tables.
    let expected = [
        ("1/core", 4, 509.0),
        ("1/core", 4, 7.0),
        ("2/core", 8, 509.0),
        ("2/core", 8, 7.0),
        ("3", 3, 509.0),
        ("3", 3, 7.0),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert_eq!(plan.data.len(), 2);
    let words = outline(&experiment, &plan);
    let line = "  resolved    clients 1/core = 4, clients 2/core = 8, scale 50% of memory = 509\n";
    assert!(words.contains(line), "{words}");
}

/// The error of planning an experiment in a directory with a workload.
fn refused(text: &str, manifest: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    let files = "load = [\"a.sql\"]\nscripts = [\"a.sql\"]\n";
    std::fs::write(own.join("workload.toml"), format!("name = \"own\"\n{files}{manifest}")).unwrap();
    std::fs::write(own.join("a.sql"), "SELECT 1;\n").unwrap();
    let experiment = Experiment::parse(text, "x.toml", folder.path(), Profile::Full).unwrap();
    match Plan::within(&experiment, "x.toml", folder.path(), &Memory::PLENTY, Some(&host)) {
        Ok(plan) => format!("scale {}", plan.cells[0].configuration.data.scale),
        Err(error) => error.to_string().replace(&folder.path().display().to_string(), "FOLDER"),
    }
}

#[test]
fn a_workload_of_ones_own_says_how_large_it_is() {
    let text = "name = \"x\"\n[data]\nworkload = \"own\"\nscale = \"50% of memory\"\n";
    assert_eq!(refused(text, "bytes_per_scale = 1_000_000\n"), "scale 8000");
    insta::assert_snapshot!(refused(text, ""), @r#"x.toml:4:9: scale = "50% of memory": the size of the workload FOLDER/own is unknown; add bytes_per_scale to its workload.toml"#);
    insta::assert_snapshot!(refused(&text.replace("own", "none"), ""), @r#"x.toml:4:9: scale = "50% of memory": a relative scale requires a workload of known size; give a number"#);
    let elsewhere = "name = \"x\"\n[server]\ndsn = \"host=a\"\n[load]\nclients = \"2/core\"\n";
    insta::assert_snapshot!(refused(elsewhere, ""), @r#"x.toml:5:11: clients = "2/core": far away; give a number"#);
}
