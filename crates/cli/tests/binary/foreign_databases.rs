//! Databases of other roles whose names begin like those of a lab or of a comparison, on a server where pgmeter is a
//! superuser: they stay, and nothing in their names or beside them is executed.

use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};

const EXPERIMENT: &str = "name = \"cleaned\"\n[server]\ndsn = \"DSN\"\n[data]\nworkload = \"none\"\n\
                          [load]\nrate = 50\nduration = \"1s\"\nwarmup = \"0s\"\nscript = \"one.sql\"\n[design]\nrepeats = 3\n";

fn ask(cluster: &Cluster, sql: &str) -> String {
    let rows = Cluster::session(&cluster.conninfo()).query(sql).expect("the statement is right");
    rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned()
}

/// A session of a role that may create databases, and nothing else.
fn session_of_guest(cluster: &Cluster) -> connect::Session {
    Cluster::session(&cluster.conninfo().replace("user=postgres", "user=guest"))
}

/// Functions that run in place of the server's own in a statement that does not name their schema: the types fit better.
const TRAPS: &str = "GRANT CREATE ON SCHEMA public TO guest; SET ROLE guest; \
    CREATE FUNCTION public.\"left\"(name, integer) RETURNS text LANGUAGE plpgsql AS \
    $$BEGIN EXECUTE 'ALTER ROLE guest SUPERUSER'; RETURN pg_catalog.left($1::text, $2); END$$; \
    CREATE FUNCTION public.pg_has_role(oid, text) RETURNS boolean LANGUAGE plpgsql AS \
    $$BEGIN EXECUTE 'ALTER ROLE guest SUPERUSER'; RETURN true; END$$";

fn cluster_with_guest() -> Cluster {
    let cluster = Cluster::start("18");
    cluster.execute("CREATE ROLE guest LOGIN CREATEDB");
    cluster.execute(TRAPS);
    cluster
}

fn create_all(cluster: &Cluster, names: &[String]) {
    let mut guest = session_of_guest(cluster);
    for name in names {
        guest
            .execute(&format!("CREATE DATABASE {}", connect::quote::identifier(name)))
            .expect("the role may create databases");
    }
}

fn count_of_guest(cluster: &Cluster) -> String {
    ask(cluster, "SELECT count(*) FROM pg_database WHERE datdba = 'guest'::regrole")
}

fn guest_is_superuser(cluster: &Cluster) -> bool {
    ask(cluster, "SELECT rolsuper FROM pg_roles WHERE rolname = 'guest'") == "t"
}

#[test]
fn a_crafted_name_of_a_database_gains_nothing_when_a_lab_cleans_up() {
    let (bench, cluster) = (Bench::new(), cluster_with_guest());
    bench.file("one.sql", "SELECT 1;\n");
    let file = EXPERIMENT.replace("DSN", &cluster.conninfo());
    let other = bench.file("other.toml", &file.replace("repeats = 3", "repeats = 1").replace("1s", "200ms"));
    let file = bench.file("cleaned.toml", &file.replace("repeats = 3", "repeats = 5").replace("1s", "2s"));
    let mut lab = Running::start(&mut bench.command(["lab", "run", file, "--store", "out/"]));
    lab.hear("tps");
    let lab_database =
        "SELECT datname FROM pg_database WHERE datname LIKE 'pgmeter!_lab!_%!_trial' ESCAPE '!'";
    let trial = ask(&cluster, lab_database);
    let prefix = trial.strip_suffix("trial").expect("the lab has made it");
    let other = ["lab", "run", other, "--store", "other/", "--quick"];
    let left = format!("the database \"{prefix}trial\" was left by an experiment that was killed");
    let out = bench.run(other).exits(0);
    assert!(!out.stderr.contains(&left), "it is in use: {}", out.stderr);
    let out = bench.run(["runs", "--store", "out/"]).exits(0);
    assert!(!out.stderr.contains("was killed"), "it has not ended: {}", out.stderr);
    lab.signal(Signal::KILL);
    lab.finish();
    bench
        .run(["runs", "--store", "out/"])
        .exits(0)
        .says(&[&format!("was killed, so databases whose names begin with {prefix} may be left")]);
    bench.run(other).exits(0).says(&[&left, &format!("or: DROP DATABASE IF EXISTS \"{prefix}trial\";")]);
    let foreign = ["';ALTER ROLE guest SUPERUSER;--", "\";ALTER ROLE guest SUPERUSER;--", "trial2", "data_7"]
        .map(|rest| format!("{prefix}{rest}"));
    create_all(&cluster, &foreign);

    let out = bench.run(["lab", "resume", file, "--store", "out/"]).exits(0);
    assert!(!guest_is_superuser(&cluster), "{}", out.stderr);
    assert_eq!(count_of_guest(&cluster), "4", "they are left alone:\n{}", out.stderr);
    for name in &foreign {
        let sentence = format!("pgmeter did not create the database \"{name}\" of role \"guest\"");
        assert!(out.stderr.contains(&sentence), "{}", out.stderr);
    }
    assert_eq!(ask(&cluster, lab_database), "", "its own are gone");
    let out = bench.run(["runs", "--store", "out/"]).exits(0);
    assert!(!out.stderr.contains("was killed"), "{}", out.stderr);
}

#[test]
fn databases_of_others_that_are_called_like_those_of_a_comparison_are_left_alone() {
    let (bench, cluster) = (Bench::new(), cluster_with_guest());
    let mark = "pgmeter_compare_0123456789abcdef_";
    let foreign = ["trial", "\";ALTER ROLE guest SUPERUSER--", "'||pg_read_file('x')||'"]
        .map(|rest| format!("{mark}{rest}"));
    create_all(&cluster, &foreign);
    // As pgmeter makes them, and as a user makes a namesake of one that was renamed.
    cluster.execute(&format!("CREATE DATABASE {mark}data_1 CONNECTION LIMIT 1885826405"));
    cluster.execute(&format!("CREATE DATABASE {mark}data_2"));
    bench.file("one.sql", "SELECT 1;\n");
    let dsn = cluster.conninfo();
    let words = ["compare", "--factor", "settings.geqo=on,off", "--key", "workload=none", "-f", "one.sql"];
    let out = bench.run(words.into_iter().chain(["--budget", "1s", "--block", "0.1", "--dsn", &dsn]));
    // Undecided; or a busy machine has finished no transaction in a block.
    assert!(matches!(out.status.code(), Some(2 | 3)), "{}", out.stderr);
    assert!(!guest_is_superuser(&cluster), "{}", out.stderr);
    assert_eq!(count_of_guest(&cluster), "3", "{}", out.stderr);
    assert!(
        out.stderr.contains(&format!("the database \"{mark}trial\" of role \"guest\"")),
        "{}",
        out.stderr
    );
    assert!(out.stderr.contains(&format!("removed {mark}data_1, left behind")), "{}", out.stderr);
    assert!(out.stderr.contains(&format!("the database \"{mark}data_2\" has a name of pgmeter's, but")));
    assert_eq!(ask(&cluster, &format!("SELECT 1 FROM pg_database WHERE datname = '{mark}data_2'")), "1");
}

#[test]
fn init_where_a_subscriber_would_get_the_rows_is_refused_without_consent() {
    let bench = Bench::new();
    let cluster = Cluster::start_with("18", &[("wal_level", "logical")]);
    for publication in ["FOR ALL TABLES", "FOR TABLES IN SCHEMA public"] {
        let conninfo = cluster.database("published_init");
        let mut session = Cluster::session(&conninfo);
        session.execute(&format!("create publication p {publication}")).expect("a publication");
        let warning = format!("warning: the publication p is {publication}, so it also has the tables");
        session.execute("create view pgbench_tellers as select 1 as tid").expect("a view");
        let out = bench.run(["init", &conninfo]).exits(1);
        assert!(
            out.stderr.contains("nothing was changed") && !out.stderr.contains("warning"),
            "{}",
            out.stderr
        );
        // Nobody receives it.
        let out = bench.run(["init", "--drop", "-I", "dtg", &conninfo]).exits(0);
        assert!(out.stderr.contains(&warning), "{}", out.stderr);
        let place = out.stderr.lines().next().expect("a line");
        let database = session.query("select current_database()").expect("a name");
        let database = database[0].get(0).expect("a name");
        assert!(
            place.starts_with(&format!("in database {database} as role postgres, socket \"/")),
            "{place}"
        );
        session.execute("select pg_create_logical_replication_slot('s', 'pgoutput')").expect("a slot");
        let out = bench.run(["init", &conninfo]).exits(1);
        assert!(
            out.stderr.ends_with(&format!(
                "error: the publication p is {publication}, so the subscriber of the replication slot s would get the rows \
                 of the loaded tables; it would stop there if it does not have these tables, and the slot would keep WAL: \
                 use another database, or --yes to load anyway; nothing was changed\n"
            )),
            "{}",
            out.stderr
        );
        assert!(!out.stderr.contains("before loading"), "{}", out.stderr);
        bench.run(["pgbench", "-i", "-q", "-I", "dtg", &conninfo]).exits(0);
        let out = bench.run(["init", "--yes", "-I", "dtg", &conninfo]).exits(0);
        assert!(out.stderr.contains(&warning), "{}", out.stderr);
        session.execute("select pg_drop_replication_slot('s')").expect("no slot");
    }
}
