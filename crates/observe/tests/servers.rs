//! The observer with real servers: every version supports its queries, and activity is detected. Sessions of the test
//! stand for those of the benchmark.

mod kernel;
mod recorded;

use std::cell::Cell;
use std::thread;

use connect::{Environment, Overrides, Session, Target, resolve};
use pgmeter_observe::{BackendFilter, Observer, ObserverOptions, Ran, Script};
use results::{EventKind, Observation, ObserveLevel, WaitMean};
use testkit::cluster::Cluster;
use testkit::pooler::PgBouncer;

const VERSIONS: [&str; 3] = ["9.6", "13", "18"];
/// Missing on these servers, which do not have the extension and use default settings.
const EXPECTED_MISSING: [&str; 4] =
    ["pg_stat_statements", "blocks_dirtied", "track_io_timing", "running share by CPU time"];

fn target(conninfo: &str) -> Target {
    resolve(Some(conninfo), &Overrides::default(), &Environment::default()).unwrap()
}

/// A unique name: tests run concurrently on one server, each in its own database.
fn mark(conninfo: &str) -> String {
    format!("test of {}", target(conninfo).database)
}

fn client(conninfo: &str) -> Session {
    let target = Target { application_name: Some(mark(conninfo)), ..target(conninfo) };
    Session::connect(&target).unwrap()
}

fn observer(conninfo: &str, commands: &[&str]) -> Observer {
    let commands = commands.iter().map(|text| Some((*text).to_owned())).collect();
    Observer::start(ObserverOptions {
        level: ObserveLevel::Full,
        target: target(conninfo),
        filter: BackendFilter::Marked(mark(conninfo)),
        scripts: vec![Script { weight: 1, commands }],
        reconnects: false,
        elsewhere: Vec::new(),
    })
}

/// Within so many of its sleeps, the observer reports what is waited for; most of the time limit of sessions that wait.
const SLEEPS_MAX: u32 = 150;

/// Runs `pg_sleep` as the benchmark's backend until the observer has reported a second that fulfils `seen`.
fn sleep_until(observer: &Observer, session: &mut Session, seen: impl Fn(&[WaitMean]) -> bool) {
    let recent_waits = observer.recent_waits();
    for _ in 0..SLEEPS_MAX {
        if seen(&recent_waits.waits()) {
            return;
        }
        session.execute("select pg_sleep(0.3)").unwrap();
    }
    panic!("the observer reports other waits: {:?}", recent_waits.waits());
}

fn ran(transactions: u64) -> Ran {
    Ran { measured_s: 1.0, transactions, warmup_transactions: 0 }
}

fn missing(observation: &Observation) -> Vec<String> {
    let shown = |missing: &results::Missing| format!("{}: {}", missing.what, missing.why.as_str());
    let is_new = |missing: &&results::Missing| {
        !EXPECTED_MISSING.contains(&missing.what.as_str())
            && !missing.what.starts_with("/proc")
            && !missing.why.as_str().starts_with("too little to measure")
    };
    observation.missing.iter().filter(is_new).map(shown).collect()
}

#[test]
fn each_version_answers_all_that_it_is_asked() {
    for version in Cluster::versions(VERSIONS) {
        let conninfo = Cluster::shared(version).database("answers");
        let insert = "insert into kept select generate_series(1, 1000)";
        client(&conninfo).execute("create table kept (id int primary key)").unwrap();
        let observer = observer(&conninfo, &[insert, "select pg_sleep(1.5)"]);
        let mut session = client(&conninfo);
        observer.measure_from(Observer::now());
        // The observer reads the initial values before the first second.
        sleep_until(&observer, &mut session, |waits| !waits.is_empty());
        session.execute(insert).unwrap();
        drop(session);
        let observation = observer.finish(ran(1));
        assert_eq!(missing(&observation), [""; 0], "{version}");
        let views: Vec<_> = observation.counters.iter().map(|table| table.view.as_str()).collect();
        assert!(views.contains(&"pg_statio_user_indexes"), "{version}: {views:?}");
        let tables = observation.counters.iter().find(|table| table.view == "pg_stat_user_tables").unwrap();
        assert_eq!(
            (tables.rows[0].key.as_str(), tables.rows[0].values["n_tup_ins"]),
            ("kept", 1000.0),
            "{version}"
        );
        assert!(observation.per_transaction.wal_bytes.unwrap() > 1000.0, "{version}");
        let waits = observation.waits.unwrap();
        assert_eq!(
            waits.top.first().map(|wait| wait.event.as_str()),
            sleeping(version),
            "{version}: {waits:?}"
        );
        assert_eq!(waits.top, waits.scripts[0]);
        assert!(observation.samples.iter().any(|sample| sample.values.contains_key("commits")), "{version}");
    }
}

/// The wait event of `pg_sleep`; 9.6 has none.
fn sleeping(version: &str) -> Option<&'static str> {
    Some(if version == "9.6" { "running" } else { "PgSleep" })
}

#[test]
fn the_recorded_catalogues_are_those_of_real_servers() {
    let files = [
        include_str!("catalogues/9.6.txt"),
        include_str!("catalogues/13.txt"),
        include_str!("catalogues/18.txt"),
    ];
    for (version, file) in VERSIONS.into_iter().zip(files) {
        let conninfo = Cluster::shared(version).database("catalogue");
        assert_eq!(recorded::catalogue(&mut client(&conninfo)), file, "{version}");
    }
}

#[test]
fn a_queue_for_one_row_is_an_event_that_names_it() {
    for version in Cluster::versions(VERSIONS) {
        let conninfo = Cluster::shared(version).database("queue");
        client(&conninfo).execute("create table hot as select 1 as id").unwrap();
        let update = "update hot set id = 1";
        let observer = observer(&conninfo, &[update]);
        let mut holder = client(&conninfo);
        observer.measure_from(Observer::now());
        holder.execute("begin; update hot set id = 1").unwrap();
        let clients: Vec<_> = (0..5).map(|_| client(&conninfo)).collect();
        let waiting = clients.into_iter().map(|mut session| thread::spawn(move || session.execute(update)));
        let waiting: Vec<_> = waiting.collect();
        let waiting_now = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' \
                           and datname = current_database()";
        while holder.query(waiting_now).unwrap()[0].get(0) != Some("5") {}
        // In such seconds the observer has queried the queues for locks. PostgreSQL 9.6 forgets what a session waits for
        // if its deadlock check, after a second, waits for a lightweight lock: the session then counts as running.
        let fewest = if version == "9.6" { 2.5 } else { 4.5 };
        let queueing = |wait: &&WaitMean| wait.event_type == "Lock";
        let seconds = Cell::new(0);
        sleep_until(&observer, &mut holder, |waits| {
            let queued: f64 = waits.iter().filter(queueing).map(|wait| wait.backends).sum();
            seconds.set(seconds.get() + u32::from(queued > fewest));
            seconds.get() > 5
        });
        holder.execute("commit").unwrap();
        for thread in waiting {
            assert_eq!(thread.join().unwrap().unwrap(), 1);
        }
        let observation = observer.finish(ran(6));
        let queue = observation.events.iter().find(|event| event.kind == EventKind::LockQueue);
        let detail = queue.map(|queue| queue.detail.as_str().to_owned()).unwrap_or_default();
        assert!(
            detail.contains("up to 5 of 6") && detail.contains("row (0,1) of hot"),
            "{version}: {detail}"
        );
    }
}

/// Is in shared buffers of the first session, and in local buffers of the second.
const FILLER: &str = "as select i, repeat('x', 500) as filler from generate_series(1, 35000) as i";

#[test]
fn the_memory_of_backends_is_without_shared_buffers() {
    let conninfo = Cluster::shared("18").database("memory");
    let observer = observer(&conninfo, &["select pg_sleep(0.3)"]);
    let (mut shared, mut local) = (client(&conninfo), client(&conninfo));
    shared.execute(&format!("create table filled {FILLER}")).unwrap();
    shared.execute("select count(*) from filled").unwrap();
    local.execute("set temp_buffers = '64MB'").unwrap();
    local.execute(&format!("create temp table filled {FILLER}")).unwrap();
    observer.measure_from(Observer::now());
    sleep_until(&observer, &mut shared, |waits| !waits.is_empty());
    shared.execute("select pg_sleep(4)").unwrap();
    drop((shared, local));
    let observation = observer.finish(ran(1));
    let Some(memory) = observation.backend_memory else {
        let is_reason = |missing: &results::Missing| missing.what.starts_with("/proc");
        assert!(observation.missing.iter().any(is_reason), "{:?}", observation.missing);
        // The processes of the server cannot be read.
        return;
    };
    assert_eq!(memory.backends, 2);
    // 20 MB in local buffers are those of one session.
    assert!((20e6..40e6).contains(&memory.private_max_bytes), "{memory:?}");
    assert!(memory.private_mean_bytes < 0.7 * memory.private_max_bytes, "{memory:?}");
    assert!((50e3..5e6).contains(&memory.page_tables_mean_bytes), "{memory:?}");
}

#[test]
fn without_a_backend_that_lasts_there_is_no_memory_but_a_reason() {
    let conninfo = Cluster::shared("18").database("no_memory");
    let observer = observer(&conninfo, &["select 1"]);
    observer.measure_from(Observer::now());
    let observation = observer.finish(ran(1));
    assert_eq!(observation.backend_memory, None);
    let reasons = observation.missing.iter();
    let reasons: Vec<&str> =
        reasons.filter(|it| it.why.as_str().contains("was read")).map(|it| it.why.as_str()).collect();
    let is_hidden = observation.missing.iter().any(|missing| missing.what.starts_with("/proc"));
    assert!(
        is_hidden || reasons == ["no backend was read: run for 1 s or more"],
        "{:?}",
        observation.missing
    );
}

#[test]
fn a_role_that_may_see_little_is_told_so_and_sees_its_own() {
    for version in Cluster::versions(["9.6", "18"]) {
        let cluster = Cluster::shared(version);
        let conninfo = cluster.database("guest");
        let role = format!("observed_guest_{}", version.replace('.', "_"));
        cluster.execute(&format!("create role {role} login"));
        let guest = conninfo.replace("user=postgres", &format!("user={role}"));
        let observer = observer(&guest, &["select pg_sleep(1.5)"]);
        let mut session = client(&guest);
        observer.measure_from(Observer::now());
        sleep_until(&observer, &mut session, |waits| !waits.is_empty());
        drop(session);
        let observation = observer.finish(ran(1));
        let missing: Vec<_> = observation.missing.iter().map(|missing| missing.what.as_str()).collect();
        assert!(missing.contains(&"pg_monitor"), "{version}: {missing:?}");
        assert!(observation.waits.is_some_and(|waits| !waits.top.is_empty()), "{version}");
    }
}

#[test]
fn a_server_that_goes_away_ends_the_observation_and_nothing_else() {
    let mut cluster = Cluster::start("18");
    let observer = observer(&cluster.conninfo(), &["select 1"]);
    observer.measure_from(Observer::now());
    cluster.server().stop().unwrap();
    let observation = observer.finish(ran(0));
    let said = missing(&observation);
    assert!(said.iter().any(|said| said.contains("connection")), "{said:?}");
}

#[test]
fn where_nobody_answers_the_observation_says_why_it_is_empty() {
    let observer = observer("host=/nowhere user=nobody dbname=none", &[]);
    observer.measure_from(Observer::now());
    let observation = observer.finish(ran(0));
    assert_eq!((observation.missing.len(), observation.waits), (1, None));
    assert!(observation.missing[0].why.as_str().contains("/nowhere"));
}

#[test]
#[allow(clippy::print_stderr)] // reports that it was skipped
fn an_observer_leaves_nothing_behind_in_the_connections_of_a_pooler() {
    let Some(mut pooler) = PgBouncer::start(Cluster::shared("18")) else {
        eprintln!("SKIPPED: there is no pgbouncer, so nothing was tested through a pooler");
        return;
    };
    pooler.session().execute("create table kept (id int)").unwrap();
    let conninfo = pooler.conninfo();
    let observer = observer(&conninfo, &["select 1 from kept"]);
    observer.measure_from(Observer::now());
    // The pooler has one server connection, which both sessions share.
    let mut session = pooler.session();
    for _ in 0..30 {
        session.execute("select pg_sleep(0.05) from (select 1 union all table kept) once").unwrap();
    }
    drop(session);
    let observation = observer.finish(ran(1));
    assert_eq!(missing(&observation), [""; 0]);
    assert_eq!(pooler.left_behind(), [""; 0]);
}

/// A database whose owner is not a superuser, with an extension created by a superuser in a schema of the owner.
#[test]
fn views_of_an_extension_that_another_role_can_replace_are_not_read() {
    let cluster = Cluster::start_with("18", &[("shared_preload_libraries", "pg_stat_statements")]);
    cluster.execute("create role owner_of_it login; create role observer_of_it login");
    let conninfo = cluster.database("replaced");
    let database = target(&conninfo).database;
    cluster.execute(&format!("alter database {database} owner to owner_of_it"));
    let mut superuser = client(&conninfo);
    superuser.execute("create extension pg_stat_statements").unwrap();
    let as_role = |role: &str| conninfo.replace("user=postgres", &format!("user={role}"));
    let said = |conninfo: &str| {
        let observer = observer(conninfo, &["select 1"]);
        observer.measure_from(Observer::now());
        let observation = observer.finish(ran(1));
        let of_statements = observation.missing.iter().find(|missing| missing.what == "pg_stat_statements");
        of_statements.map(|missing| missing.why.as_str().to_owned()).unwrap_or_default()
    };
    for conninfo in [conninfo.clone(), as_role("observer_of_it")] {
        let why = said(&conninfo);
        assert!(why.contains("owner_of_it") && why.contains("ALTER EXTENSION pg_stat_statements"), "{why}");
    }
    superuser.execute("create schema safe; alter extension pg_stat_statements set schema safe").unwrap();
    superuser.execute("grant usage on schema safe to public").unwrap();
    assert_eq!((said(&conninfo), said(&as_role("observer_of_it"))), Default::default());
}
