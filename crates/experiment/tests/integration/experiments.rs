//! Experiment files: meaning, order of trials, and error messages.
//! Nothing is run.

use std::path::Path;

use pgmeter_experiment::{Experiment, Plan, Profile};
use proptest::prelude::*;
use run::ScriptSource;

/// The example of the manual, in a directory with its files.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["batch.sql", "batch_function.sql"] {
            std::fs::write(folder.path().join(name), "SELECT 1;\n").unwrap();
        }
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self, text: &str, profile: Profile) -> Result<(Experiment, Plan), String> {
        let in_words = |error: pgmeter_experiment::ExperimentError| {
            error.to_string().replace(&self.path().display().to_string(), "FOLDER")
        };
        let experiment = Experiment::parse(text, "x.toml", self.path(), profile).map_err(in_words)?;
        let plan = Plan::of(&experiment, "x.toml", self.path()).map_err(in_words)?;
        Ok((experiment, plan))
    }
}

const INTERFACE: &str = r#"
name = "interface"
title = "Reconsidering the interface: one hot row, many writers"
source = "CYBERTEC, September 2025 (D1–D4)"
[server]
version = "18"
settings = { shared_buffers = "2GB", max_connections = 1000 }
[data]
workload = "tpcb"
scale = 10
[load]
duration = "60s"
warmup = "10s"
threads = 2
[factors]
network = ["socket", { delay = "10ms" }]
style = ["interactive", "batch"]
clients = [1, 8, 64, 512]
[levels.style.batch]
script = "batch.sql"
setup = "batch_function.sql"
[design]
repeats = 3
order = "interleaved"
seed = 1
[quick]
duration = "3s"
repeats = 2
factors = { clients = [1, 8] }
[[chart]]
x = "clients"
y = "tps"
series = "style"
facet = "network"
x_scale = "log"
"#;

#[test]
fn the_levels_of_all_factors_are_multiplied_out_and_each_means_what_it_says() {
    let folder = Folder::new();
    let (experiment, plan) = folder.read(INTERFACE, Profile::Full).unwrap();
    assert_eq!((plan.cells.len(), plan.trials.len()), (2 * 2 * 4, 2 * 2 * 4 * 3));
    assert_eq!((plan.servers.len(), plan.data.len(), experiment.charts.len()), (1, 1, 1));
    let cell = &plan.cells[15];
    let shown: Vec<_> = cell.levels.iter().map(|(factor, level)| format!("{factor}={level}")).collect();
    assert_eq!(shown, ["network=delay 10ms", "style=batch", "clients=512"]);
    let load = &cell.configuration.load;
    assert_eq!(load.scripts[0].source, ScriptSource::File(folder.path().join("batch.sql")));
    assert_eq!((load.clients, load.workers, cell.configuration.setup.is_some()), (512, 2, true));
    assert_eq!(cell.configuration.network.delay.as_millis(), 10);
    assert_eq!(cell.configuration.server.settings["max_connections"], "1000");
    assert_eq!(plan.cells[0].configuration.setup, None, "a level of another trial sets nothing here");
}

#[test]
fn the_quick_profile_is_the_same_experiment_made_small() {
    let (experiment, plan) = Folder::new().read(INTERFACE, Profile::Quick).unwrap();
    assert_eq!((plan.cells.len(), plan.trials.len(), experiment.design.repeats), (8, 16, 2));
}

#[test]
fn a_ladder_sets_each_case_on_top_of_the_one_before() {
    let text = r#"
        name = "ladder"
        cases = [
            { name = "reconnecting", reconnect = true, network = "tls" },
            { name = "persistent", reconnect = false },
            { name = "prepared", protocol = "prepared" },
        ]
        factors = { script = ["tpcb-like", "select-only"] }
        exclude = [{ case = "prepared", script = "tpcb-like" }]
    "#;
    let (_, plan) = Folder::new().read(text, Profile::Full).unwrap();
    let shown: Vec<String> = plan
        .cells
        .iter()
        .map(|cell| {
            let load = &cell.configuration.load;
            format!("{:?} {} {:?}", cell.configuration.network.kind, load.reconnect, load.protocol)
        })
        .collect();
    let expected =
        ["Tls true Simple", "Tls true Simple", "Tls false Simple", "Tls false Simple", "Tls false Prepared"];
    assert_eq!(shown, expected);
}

#[test]
fn a_weight_follows_the_name_of_a_script_as_on_the_command_line() {
    let weights = |script: &str| {
        let text = format!("name = \"x\"\nload = {{ script = {script} }}\n");
        let (_, plan) = Folder::new().read(&text, Profile::Full)?;
        let scripts = &plan.cells[0].configuration.load.scripts;
        Ok::<_, String>(scripts.iter().map(|it| (it.source.name(), it.weight)).collect::<Vec<_>>())
    };
    let expected = vec![("select-only".to_owned(), 1), ("tpcb-like".to_owned(), 200)];
    assert_eq!(weights("[\"select-only@1\", \"tpcb-like@200\"]"), Ok(expected.clone()));
    let tables = "[\"select-only\", { script = \"tpcb-like\", weight = 200 }]";
    assert_eq!(weights(tables), Ok(expected));
    let error = weights("\"select-only@1000001\"").expect_err("it is too large");
    assert!(error.contains("expected a weight of at most 1000000"), "{error}");
}

#[test]
fn differences_and_ratios_name_two_combinations() {
    let text = "name = \"x\"\ncases = [{ name = \"anew\", reconnect = true }, { name = \"kept\", reconnect = false }]\n\
                [levels.style.batch]\noperations = 1000\n[factors]\nstyle = [\"batch\"]\n[[difference]]\n\
                name = \"connecting\"\nof = { case = \"anew\" }\nminus = { case = \"kept\" }\n[[difference]]\nname = \"tail\"\n\
                metric = \"p99\"\nof = { case = \"kept\" }\n[[ratio]]\nname = \"gain\"\nof = { case = \"kept\" }\n\
                to = { case = \"anew\" }\n";
    let folder = Folder::new();
    let (experiment, plan) = folder.read(text, Profile::Full).unwrap();
    let [connecting, tail] = &experiment.differences[..] else { panic!("{:?}", experiment.differences) };
    let case = |name: &str| vec![("case".to_owned(), name.to_owned())];
    assert_eq!(
        (&*connecting.metric, &connecting.of, &connecting.reference),
        ("cycle", &case("anew"), &Some(case("kept")))
    );
    assert_eq!((&*tail.metric, &tail.of, &tail.reference), ("p99", &case("kept"), &None));
    let [gain] = &experiment.ratios[..] else { panic!("{:?}", experiment.ratios) };
    assert_eq!((&*gain.metric, &gain.of, &gain.reference), ("tps", &case("kept"), &Some(case("anew"))));
    assert!(plan.cells.iter().all(|cell| cell.configuration.operations == 1000));
    let without = text.replace("to = { case = \"anew\" }\n", "");
    let told = folder.read(&without, Profile::Full).unwrap_err();
    insta::assert_snapshot!(told, @r#"x.toml:15:1: a ratio requires "to", a combination such as { case = "first" }"#);
    let wrong = text.replace("of = { case = \"anew\" }", "of = { case = \"new\" }");
    let told = folder.read(&wrong, Profile::Full).unwrap_err();
    insta::assert_snapshot!(told, @"x.toml:9:6: the factor case has no level new");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_repeat_goes_through_all_combinations_once_in_an_order_of_its_own(seed in 0_u32..1000, repeats in 2_u32..6) {
        let text = format!(
            "name = \"x\"\nfactors = {{ clients = [1, 2, 3, 4, 5, 6, 7], scale = [1, 2] }}\n\
             design = {{ repeats = {repeats}, seed = {seed} }}"
        );
        let (_, plan) = Folder::new().read(&text, Profile::Full).unwrap();
        let rounds: Vec<Vec<usize>> =
            plan.trials.chunks(14).map(|round| round.iter().map(|trial| trial.cell).collect()).collect();
        prop_assert_eq!(rounds.len(), repeats as usize);
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..14).collect::<Vec<_>>());
        }
        prop_assert!(rounds.windows(2).any(|pair| pair[0] != pair[1]), "the order changes");
        let seeds: Vec<u64> = plan.trials.iter().map(|trial| trial.seed).collect();
        prop_assert!(seeds.chunks(14).all(|round| round.iter().all(|seed| *seed == round[0])));
        prop_assert_ne!(seeds[0], seeds[14]);
        let (_, again) = Folder::new().read(&text, Profile::Full).unwrap();
        prop_assert_eq!(plan.trials, again.trials);
    }

    #[test]
    fn no_text_makes_it_panic(text in "(name|title|\\[load\\]|\\[factors\\]|clients|=|\"x\"|\\[1, 2\\]|\\{|\\}|cases|\n| |-1|1e999|nan){0,30}") {
        let _ = Folder::new().read(&text, Profile::Full);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_would_be_right() {
    let folder = Folder::new();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("away.sql")).unwrap();
    let wrong = |text: &str| folder.read(text, Profile::Full).map(|_| ()).unwrap_err();
    let named = |text: &str| wrong(&format!("name = \"x\"\n{text}"));
    insta::assert_snapshot!(wrong("title = \"x\""), @r#"x.toml:1:1: an experiment requires a name, such as name = "fillfactor""#);
    insta::assert_snapshot!(wrong("name = \"a b\""), @r#"x.toml:1:8: expected a short name of letters, digits, - and _, found "a b""#);
    insta::assert_snapshot!(named("= 3"), @r#"x.toml:2:1: invalid TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`"#);
    insta::assert_snapshot!(named("[load]\ndurration = \"3s\""), @r#"x.toml:3:1: unknown key "durration" in [load]; did you mean "duration"?"#);
    insta::assert_snapshot!(named("[load]\nscale = 3"), @r#"x.toml:3:1: "scale" belongs into [data]"#);
    insta::assert_snapshot!(named("[server]\nfrobnicate = 3"), @r#"x.toml:3:1: unknown key "frobnicate" in [server]; known are version, bin_dir, dsn, settings, tablespaces, instrumentation, in_place, standby, standby_network, synchronous_standbys"#);
    insta::assert_snapshot!(named("[load]\nduration = 3"), @r#"x.toml:3:12: expected a number with a unit (us, ms, s, min, h), such as "60s", found 3"#);
    insta::assert_snapshot!(named("[load]\nduration = \"0s\""), @r#"x.toml:3:12: expected a time above zero, found "0s""#);
    insta::assert_snapshot!(named("[load]\nclients = 0"), @r#"x.toml:3:11: expected a whole number from 1 to 100000, found 0"#);
    insta::assert_snapshot!(named("[load]\nclients = \"2/cores\""), @r#"x.toml:3:11: expected a whole number from 1 to 100000, or up to 10000 clients per core of the server's host, such as "2/core", found "2/cores""#);
    insta::assert_snapshot!(named("[factors]\nscale = [\"50% of memory\", \"500% of memory\"]"), @r#"x.toml:3:27: expected a number above 0, at most 2147483647, or up to 400% of the memory of the server's host, such as "50% of memory", found "500% of memory""#);
    insta::assert_snapshot!(named("[load]\nscript = \"nowhere.sql\""), @r#"x.toml:3:10: there is no file nowhere.sql (looked for at FOLDER/nowhere.sql)"#);
    insta::assert_snapshot!(named("[load]\nscript = \"../batch.sql\""), @r#"x.toml:3:10: expected a file in the experiment's directory, found "../batch.sql""#);
    insta::assert_snapshot!(named("[load]\nscript = \"selects\""), @r#"x.toml:3:10: expected tpcb-like, simple-update, select-only, or the name of a file, found "selects""#);
    insta::assert_snapshot!(named("[server]\nversion = 9.6"), @r#"x.toml:3:11: expected a version in quotation marks, such as "18", found 9.6"#);
    insta::assert_snapshot!(named("[server]\ndsn = \"postgresql://me:secret@host/db\""), @r#"x.toml:3:7: an experiment file must not contain a password: set PGPASSWORD or use a password file"#);
    insta::assert_snapshot!(named("[server]\nversion = \"18\"\nbin_dir = \"bin\""), @r#"x.toml:4:1: "bin_dir" cannot be combined with "version" of line 3: both select the server"#);
    insta::assert_snapshot!(named("[server]\ndsn = \"\"\nsettings.fsync = false"), @"x.toml:1:1: a session cannot set fsync, and pgmeter does not change the configuration of a running server: change it there yourself, or leave out the dsn (and in_place), so that pgmeter starts servers with the setting");
    insta::assert_snapshot!(named("[server]\nwork_mem = \"1MB\""), @r#"x.toml:3:1: "work_mem" is a setting: write settings.work_mem"#);
    insta::assert_snapshot!(named("[server]\nsettings.wrk_mem = \"1MB\""), @r#"x.toml:1:1: unknown setting "wrk_mem"; did you mean "work_mem"?"#);
    insta::assert_snapshot!(named("[factors]\nwrk_mem = [1]"), @r#"x.toml:3:1: "wrk_mem" is not a key, and no [levels.wrk_mem.LEVEL] defines it; did you mean "work_mem"?"#);
    insta::assert_snapshot!(named("[factors]\nwork_mem = [1]\n\"settings.work_mem\" = [2]"), @r#"x.toml:4:24: "settings.work_mem" is set by the factor settings.work_mem and, in line 3, by the factor work_mem: only one factor can set a key"#);
    insta::assert_snapshot!(named("[server]\nin_place = true"), @r#"x.toml:1:1: in_place requires a running server: set dsn in [server]; dsn = "" means the server of PGHOST and the other PG variables"#);
    insta::assert_snapshot!(named("[server]\ndsn = \"\"\nin_place = true\n[data]\nfillfactor = 50"), @"x.toml:1:1: fillfactor changes the database or needs a copy of it, and in_place uses it as it is: remove fillfactor or in_place");
    insta::assert_snapshot!(named("[quick]\nduration = \"1s\"\ntransactions = 3"), @r#"x.toml:4:1: "transactions" cannot be combined with "duration" of line 3: both end the trial"#);
    insta::assert_snapshot!(named("[factors]\nversion = [\"17\"]\ndsn = [\"host=a\"]"), @r#"x.toml:4:8: "dsn" cannot be combined with "version" of line 3: both select the server"#);
    insta::assert_snapshot!(named("[server]\ndsn = \"\"\n[factors]\n\"settings.fsync\" = [false]"), @"x.toml:1:1: a session cannot set fsync, and pgmeter does not change the configuration of a running server: change it there yourself, or leave out the dsn (and in_place), so that pgmeter starts servers with the setting");
    insta::assert_snapshot!(named("[load]\nscript = \"away.sql\""), @r#"x.toml:3:10: expected a file in the experiment's directory, not a link to a file outside of it, found "away.sql""#);
    insta::assert_snapshot!(named("[[action]]\nsql = \"vacuum\""), @r#"x.toml:2:1: an action requires a time, such as at = "30s""#);
    insta::assert_snapshot!(named("[[action]]\nat = 3\nsql = \"vacuum\""), @r#"x.toml:3:6: expected a number with a unit (us, ms, s, min, h), such as "60s", found 3"#);
    insta::assert_snapshot!(named("[[action]]\nat = \"3s\""), @"x.toml:2:1: an action requires what to do: sql, stop, start, restart, kill, kill_backend, pause, promote, switchover, cut, blackhole, blackhole_to_server, blackhole_to_client, slow or heal");
    insta::assert_snapshot!(named("[[action]]\nat = \"3s\"\nsql = \" ; \""), @"x.toml:4:7: the SQL is empty: give one or more statements");
    insta::assert_snapshot!(named("[[action]]\nat = \"3s\"\nsq = \"vacuum\""), @r#"x.toml:4:1: unknown key "sq" in [[action]]; did you mean "sql"?"#);
    insta::assert_snapshot!(named("[load]\nduration = \"3s\"\naction = { at = \"3s\", sql = \"vacuum\" }"), @"x.toml:1:1: an action is set to begin at 3 s, and the measurement lasts 3 s: choose an earlier time or a longer duration");
    insta::assert_snapshot!(named("[load]\naction = { at = \"3s\", sql = \"vacuum\" }\n[[action]]\nat = \"1s\"\nsql = \"vacuum\""), @"x.toml:4:3: actions are defined in [load] too: define all of them in one place");
    insta::assert_snapshot!(named("[factors]\nclient = [1]"), @r#"x.toml:3:1: "client" is not a key, and no [levels.client.LEVEL] defines it; did you mean "clients"?"#);
    insta::assert_snapshot!(named("[factors]\nclients = 1"), @r#"x.toml:3:11: expected a list in brackets, found 1"#);
    insta::assert_snapshot!(named("[factors]\nclients = [1, 1]"), @r#"x.toml:3:15: the level 1 is defined twice"#);
    insta::assert_snapshot!(named("[factors]\nstyle = [\"a\"]\n[levels.style.b]\nclients = 1"), @r#"x.toml:4:15: unknown key "b" in [levels.style]; known are a"#);
    insta::assert_snapshot!(named("[factors]\nnetwork = [{ delay = \"10\" }]"), @r#"x.toml:3:22: expected a number with a unit (us, ms, s, min, h), such as "60s", found "10""#);
    insta::assert_snapshot!(named("[factors]\nclients = [1]\n[quick]\nfactors = { clients = [2] }"), @r#"x.toml:5:24: clients has no level 2 of which this could be a part"#);
    insta::assert_snapshot!(named("[factors]\nclients = [1]\n[[chart]]\nx = \"clients\"\ny = \"speed\""), @r#"x.toml:6:5: expected one of tps, operations, mean, stddev, p50, p90, p95, p99, p999, max, cycle, failed, late, wal_bytes, server_cpu, server_user_cpu, server_system_cpu, shared_buffers_share, system_cache_share, disk_share, client_cpu, round_trips, sent_bytes, received_bytes, pooler_cpu, pooler_cpu_share, pooler_wait, plan_time, execution_time, backend_memory, replay_lag, replay_lag_max, replay_lag_bytes, stale_reads, staleness, write_outage, recovery, renewed_sessions, connecting_p99, reconnect_storm, found "speed""#);
    insta::assert_snapshot!(named("factors = { clients = [1] }\nexclude = [{ clients = 1 }]"), @r#"x.toml:1:1: exclude leaves out all combinations"#);
    insta::assert_snapshot!(named("factors = { clients = [1, 2] }\nexclude = [{ clients = 9 }]"), @"x.toml:3:12: the factor clients has no level 9");
    insta::assert_snapshot!(named("factors = { clients = [1, 2] }\nexclude = [{ clients = 1 }]\n[design]\nbase = { clients = 1 }"), @"x.toml:4:2: base is a combination that exclude leaves out");
    insta::assert_snapshot!(named("[factors]\nclients = [1, 2]\nload = [\"a\"]\n[levels.load.a]\nclients = 3"), @r#"x.toml:6:11: "clients" is set by the factor load and, in line 3, by the factor clients: only one factor can set a key"#);
    insta::assert_snapshot!(named("[factors]\nscale = [1]\n[quick]\nscale = 9"), @r#"x.toml:5:1: "scale" has no effect here: each level of scale sets it; instead, select the levels to keep in the factors of [quick]"#);
    insta::assert_snapshot!(named("[factors]\nclients = [1]\n[quick]\nfactors = { clients = [1, 1] }"), @"x.toml:5:27: the level 1 is defined twice");
    insta::assert_snapshot!(named("[quick]\ntimes = 2"), @r#"x.toml:3:9: "times" requires a [[step]]"#);
    insta::assert_snapshot!(named("[server]\nversion = \"9.5\""), @r#"x.toml:3:11: expected a version, "9.6" or newer, found "9.5""#);
    insta::assert_snapshot!(named("[load]\nvariables = { \"1x\" = 2 }"), @r#"x.toml:3:13: "1x" is not a valid variable name: use letters, digits and _, and do not begin with a digit"#);
    insta::assert_snapshot!(named("[design]\norder = \"random\""), @r#"x.toml:3:9: expected "interleaved" or "sequential", found "random""#);
}

#[test]
fn prepared_statements_need_a_pooler_that_keeps_some() {
    let folder = Folder::new();
    let read = |protocol: &str, pooler: &str| {
        let text =
            format!("name = \"x\"\n[load]\nprotocol = \"{protocol}\"\n[pooler]\npool_size = 4\n{pooler}\n");
        folder.read(&text, Profile::Full).map(drop)
    };
    for mode in ["transaction", "statement"] {
        let zero = format!("mode = \"{mode}\"\nmax_prepared_statements = 0");
        let refused = read("prepared", &zero).expect_err(mode);
        assert!(refused.contains(&format!("{mode} pooling loses prepared statements")), "{refused}");
        assert_eq!(read("extended", &zero), Ok(()));
        assert_eq!(read("prepared", &format!("mode = \"{mode}\"")), Ok(()));
    }
    assert_eq!(read("prepared", "mode = \"session\"\nmax_prepared_statements = 0"), Ok(()));
}

#[test]
fn a_mistake_is_told_in_one_line_that_cannot_steer_a_terminal() {
    let folder = Folder::new();
    for text in [
        "name = \"x\"\n\"a\\u001b[2J\\nb\" = 1\n",
        "name = \"x\"\n[design]\nbase = { \"a\\n\\u202eb\" = \"c\" }\n",
    ] {
        let said = folder.read(text, Profile::Full).expect_err(text);
        assert!(!said.contains(|c: char| c.is_control() || c == '\u{202e}'), "{said:?}");
        assert!(said.contains("\\n"), "{said:?}");
    }
}

#[test]
fn a_short_file_cannot_ask_for_more_combinations_than_can_be_planned() {
    let folder = Folder::new();
    let levels = |count: u32| (1..=count).map(|level| level.to_string()).collect::<Vec<_>>().join(", ");
    let text = |count| {
        let (first, second) = (levels(count), levels(100));
        format!("name = \"x\"\n[factors]\n\"variables.a\" = [{first}]\nclients = [{second}]\n")
    };
    let said = folder.read(&text(101), Profile::Full).expect_err("too many");
    assert!(said.contains("has 10100 combinations, more than 10000"), "{said}");
    assert!(folder.read(&text(10), Profile::Full).is_ok());
}

#[test]
fn infinity_and_nan_are_no_values_of_any_key() {
    let folder = Folder::new();
    let said = folder.read("name = \"x\"\n[server]\nsettings = { a = [-inf], b = nan }\n", Profile::Full);
    assert_eq!(said.err().as_deref(), Some("x.toml:3:19: expected a finite number, found -inf"));
    let said = folder.read("name = \"x\"\n[factors]\n\"settings.a\" = [1, nan]\n", Profile::Full);
    assert_eq!(said.err().as_deref(), Some("x.toml:3:20: expected a finite number, found NaN"));
}

#[test]
fn an_experiment_that_a_store_keeps_is_read_without_its_folder() {
    let text = "name = \"kept\"\n[data]\nworkload = \"./gone\"\n[load]\nscript = \"./sql/a.sql\"\n[factors]\nclients = [1, 2]\n";
    let files = [("kept.toml", text), ("sql/a.sql", "SELECT 1;\n")];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let read =
        |text: &str| Experiment::parse(text, "kept.toml", config::Folder::Stored(&files), Profile::Full);
    let experiment = read(text).unwrap();
    let plan = Plan::of(&experiment, "kept.toml", config::Folder::Stored(&files)).unwrap();
    assert_eq!(plan.cells.len(), 2);
    let other = read(&text.replace("a.sql", "b.sql")).unwrap_err().to_string();
    assert!(other.contains("there is no file ./sql/b.sql"), "{other}");
}

const STANDBYS: &str = r#"
name = "x"
[server]
version = "18"
standby_network = "1ms"
synchronous_standbys = "any 1"
[factors]
synchronous_commit = ["local", "on", "remote_apply"]
[[standby]]
name = "near"
mode = "synchronous"
[[standby]]
name = "other"
mode = "synchronous"
network = { delay = "5ms", bandwidth = "100Mbit" }
settings = { work_mem = "8MB" }
[[standby]]
name = "far"
from = "near"
"#;

#[test]
fn standbys_are_part_of_the_server_and_their_distance_of_the_plan() {
    let folder = Folder::new();
    let (experiment, plan) = folder.read(STANDBYS, Profile::Full).unwrap();
    assert_eq!((plan.servers.len(), plan.cells.len()), (1, 3), "synchronous_commit is set by sessions");
    let outline = pgmeter_experiment::outline(&experiment, &plan);
    let line = outline.lines().find(|line| line.contains("server 1")).unwrap();
    insta::assert_snapshot!(line.trim(), @"server 1    PostgreSQL 18, embedded, synchronous standby near (1ms each way), synchronous standby other (5ms each way, 100000 kbit/s), asynchronous standby far from near (1ms each way), commits wait for any 1");
    // A distance that is a factor makes a server for each level.
    let text = STANDBYS.replace("[factors]", "[factors]\nstandby_network = [\"0ms\", \"10ms\"]");
    assert_eq!(folder.read(&text, Profile::Full).unwrap().1.servers.len(), 2);
}

#[test]
fn standbys_that_cannot_be_are_refused_with_what_to_do() {
    let folder = Folder::new();
    let wrong = |old: &str, new: &str| {
        assert!(STANDBYS.contains(old), "{old}");
        folder.read(&STANDBYS.replacen(old, new, 1), Profile::Full).map(|_| ()).unwrap_err()
    };
    insta::assert_snapshot!(wrong("name = \"near\"\n", ""), @r#"x.toml:9:1: a standby requires a name, such as name = "near""#);
    insta::assert_snapshot!(wrong("\"near\"", "\"Near\""), @r#"x.toml:10:8: expected the name of a standby: at most 40 lower-case letters, digits and underscores, and not "standbys", which means all of them, found "Near""#);
    insta::assert_snapshot!(wrong("\"other\"", "\"near\""), @"x.toml:1:1: there are two standbys near: give each its own name");
    insta::assert_snapshot!(wrong("from = \"near\"", "from = \"nowhere\""), @"x.toml:1:1: the standby far receives WAL from nowhere, which is no standby before it: define nowhere first");
    insta::assert_snapshot!(wrong("from = \"near\"", "from = \"near\"\nmode = \"synchronous\""), @"x.toml:1:1: the standby far cannot be synchronous: a commit waits only for standbys of the primary itself, and it receives WAL from near");
    insta::assert_snapshot!(wrong("\"any 1\"", "\"any 3\""), @r#"x.toml:1:1: synchronous_standbys waits for 3, and mode = "synchronous" is set for 2"#);
    insta::assert_snapshot!(wrong("\"any 1\"", "\"all\""), @r#"x.toml:6:24: expected the standbys that a commit waits for, such as "first 1" or "any 2", found "all""#);
    insta::assert_snapshot!(wrong("version = \"18\"", "dsn = \"host=db\""), @"x.toml:1:1: standbys are made of embedded servers only: remove [[standby]], or dsn from [server]");
    insta::assert_snapshot!(wrong("work_mem", "wrk_mem"), @r#"x.toml:16:14: unknown setting "wrk_mem"; did you mean "work_mem"?"#);
    insta::assert_snapshot!(wrong("{ delay = \"5ms\",", "{ kind = \"tcp\","), @"x.toml:15:20: a standby is always connected over TCP or a Unix socket: remove kind");
    insta::assert_snapshot!(wrong("version = \"18\"", "standby = []\nsettings = { synchronous_standby_names = \"*\" }"), @r#"x.toml:1:1: synchronous_standby_names follows from mode = "synchronous" of each standby: remove it from the settings"#);
    insta::assert_snapshot!(wrong("version = \"18\"", "standby = { name = \"one\" }"), @"x.toml:9:3: standbys are defined in [server] too: define all of them in one place");
}

#[test]
fn a_verified_promotion_needs_a_primary_that_is_down() {
    let folder = Folder::new();
    let with = |actions: &[(&str, &str)]| {
        let actions: String =
            actions.iter().map(|(at, action)| format!("[[action]]\nat = \"{at}\"\n{action}\n")).collect();
        let text = format!(
            "name = \"x\"\n[server]\nversion = \"18\"\n[load]\nverify = true\nduration = \"9s\"\n[[standby]]\nname = \"near\"\n{actions}"
        );
        folder.read(&text, Profile::Full).map(|_| ())
    };
    let (kill, promote, start) = ("kill = true", "promote = \"near\"", "start = true");
    for two in [
        with(&[("2s", promote)]),
        with(&[("2s", promote), ("3s", kill)]),
        with(&[("1s", kill), ("2s", promote), ("3s", start)]),
        // It is up again before the promotion.
        with(&[("1s", "kill = \"500ms\""), ("2s", promote)]),
        with(&[("1s", kill), ("1500ms", start), ("2s", promote)]),
        // Clients do not reach it, but it accepts writes.
        with(&[("1s", "blackhole = true"), ("2s", promote)]),
        with(&[("1s", "cut = \"5s\""), ("2s", promote)]),
        with(&[("1s", "pause = \"5s\""), ("2s", promote)]),
    ] {
        let two = two.unwrap_err();
        assert!(two.contains("clients must not write to two primaries"), "{two}");
    }
    assert_eq!(with(&[("1s", kill), ("2s", promote)]), Ok(()));
    assert_eq!(with(&[("1s", "stop = \"fast,2s\""), ("2s", promote)]), Ok(()));
    assert_eq!(with(&[("1s", "blackhole = true"), ("2s", "switchover = \"near\"")]), Ok(()));
}
