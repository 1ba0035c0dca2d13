//! Differential tests: what an installed `pgbench` makes of a database beside what is made here, to the last catalog
//! row and by checksum of the data. Without a `pgbench` they say so and have nothing to compare.

use std::path::Path;
use std::process::Command;

use connect::Session;
use pgmeter_workload::{InitOptions, Logging, PartitionMethod, Partitioning, Step};
use testkit::cluster::Cluster;
use testkit::{extent, pgbench};

use crate::harness::{NEWEST, OLDEST, ROWS, assert_same, definitions, lines, make};

/// A name that needs its quotes.
const TABLESPACE: &str = "some \"Space\"";

/// The same as arguments of `pgbench`.
fn arguments(options: &InitOptions) -> Vec<String> {
    let letters = options.steps.iter().map(|step| step.facts().letter).collect();
    let mut arguments: Vec<String> =
        vec!["-i".into(), "-q".into(), "-I".into(), letters, "-F".into(), options.fillfactor.to_string()];
    if let Some(Partitioning { method, partitions }) = options.partitioning {
        arguments.push(format!("--partitions={partitions}"));
        arguments.push(format!("--partition-method={method}"));
    }
    if options.logging != Logging::All {
        arguments.push("--unlogged-tables".into());
    }
    arguments.extend(options.tablespace.iter().map(|name| format!("--tablespace={name}")));
    arguments.extend(options.index_tablespace.iter().map(|name| format!("--index-tablespace={name}")));
    arguments
}

/// What `pgbench` makes, as text.
fn theirs(pgbench: &Path, conninfo: &str, options: &InitOptions) -> Vec<String> {
    let output = Command::new(pgbench).args(arguments(options)).arg(conninfo).output().expect("pgbench runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {said}");
    everything(conninfo, options)
}

/// What is made here, as text.
fn ours(conninfo: &str, options: &InitOptions) -> Vec<String> {
    make(&mut Cluster::session(conninfo), options).unwrap_or_else(|error| panic!("{options:?}: {error}"));
    everything(conninfo, options)
}

/// What the planner knows of sizes. How much of a page is visible to all depends, without freezing, on who else was
/// there; and one COPY for several partitions leaves pages at their ends that stay empty.
const PAGES: &str = "\
    select relname || ' ' || relpages || ' pages, ' || reltuples || ' rows' \
    from pg_catalog.pg_class where relname like 'pgbench%' and relname !~ '^pgbench_accounts_[0-9]+$' order by relname";

/// What the planner knows of the columns, as far as it does not depend on which rows were looked at.
const STATISTICS: &str = "\
    select tablename || '.' || attname || ' ' || inherited || ' ' || null_frac || ' null, width ' || avg_width \
        || ', correlation ' || coalesce(round(correlation::numeric, 1)::text, 'none') \
        || case when attname = 'bid' then '' else ', distinct ' || n_distinct end \
    from pg_catalog.pg_stats where tablename like 'pgbench%' order by 1";

/// How the rows lie in the files: for each file a checksum of all places with their rows.
fn order_of_accounts(session: &mut Session) -> Vec<String> {
    let order = "select tableoid::regclass::text || ' ' || md5(string_agg(place || aid, ',' order by aid)) \
                 from (select tableoid, ctid::text as place, aid from pgbench_accounts) accounts \
                 group by tableoid order by tableoid::regclass::text";
    lines(session, order)
}

/// The tables as text. Then they are dropped, so that the database is empty again.
fn everything(conninfo: &str, options: &InitOptions) -> Vec<String> {
    let mut session = Cluster::session(conninfo);
    let mut all = definitions(&mut session);
    let loads = options.steps.iter().any(|step| step.facts().letter.eq_ignore_ascii_case(&'g'));
    if loads {
        all.extend(lines(&mut session, ROWS));
    }
    if loads && options.steps.contains(&Step::Vacuum) {
        all.extend([PAGES, STATISTICS].into_iter().flat_map(|sql| lines(&mut session, sql)));
        all.extend(order_of_accounts(&mut session));
    }
    session
        .execute("drop table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers")
        .expect("tables");
    all
}

/// Whether `pgbench` before 18 cannot do this on a server from 18 on: there a partitioned table cannot be unlogged.
fn only_since_18(options: &InitOptions) -> bool {
    options.logging != Logging::All && options.partitioning.is_some()
}

/// Compares in two empty databases: ours and that of `pgbench`.
fn compare(pgbench: &Path, databases: &[String; 2], options: &InitOptions) {
    let ours = ours(&databases[0], options);
    let theirs = if only_since_18(options) {
        let logged =
            theirs(pgbench, &databases[1], &InitOptions { logging: Logging::All, ..options.clone() });
        logged.into_iter().map(|line| as_unlogged_partition(&line)).collect()
    } else {
        theirs(pgbench, &databases[1], options)
    };
    assert_same(&ours, &theirs, &format!("{options:?}"));
}

/// A partition or its index is unlogged, all else is left as it is.
fn as_unlogged_partition(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    let is_relation = words.len() >= 3 && words[0].starts_with("pgbench_accounts_") && words[2] == "p";
    if is_relation && ["r", "i"].contains(&words[1]) {
        words[2] = "u";
    }
    words.join(" ")
}

/// Every combination of what there is to choose, the rows aside.
fn all_options(letters: &str, methods: &[PartitionMethod], with_tablespaces: &[bool]) -> Vec<InitOptions> {
    let mut all = Vec::new();
    let methods = methods.iter().map(|&method| Some(Partitioning { method, partitions: 3 }));
    for partitioning in [None].into_iter().chain(methods) {
        for (fillfactor, logging) in
            [100, 42].into_iter().flat_map(|fill| [(fill, Logging::All), (fill, Logging::NoneAsPgbench)])
        {
            for &with_tablespace in with_tablespaces {
                let tablespace = with_tablespace.then(|| TABLESPACE.to_owned());
                all.push(InitOptions {
                    steps: Step::parse_list(letters).expect("letters of steps"),
                    fillfactor,
                    logging,
                    partitioning,
                    index_tablespace: tablespace.clone(),
                    tablespace,
                    ..InitOptions::default()
                });
            }
        }
    }
    all
}

/// Runs all cases on one server; prints how many there were.
#[allow(clippy::print_stdout, reason = "for whoever wants the figure: cargo test -- --nocapture")]
fn compare_all(major: &str, cases: &[InitOptions]) {
    let Some(pgbench) = pgbench::find() else {
        println!("no pgbench is installed (or named by PGBENCH): nothing to compare with");
        return;
    };
    let databases = ["ours", "theirs"].map(|name| Cluster::shared(major).database(name));
    for options in cases {
        compare(&pgbench, &databases, options);
    }
    println!("{} cases agree with {} on PostgreSQL {major}", cases.len(), pgbench.display());
}

/// A tablespace in the server's own data directory, with which it goes away. The server warns of such a place.
fn create_tablespace(cluster: &Cluster) {
    let mut session = Cluster::session(&cluster.conninfo());
    let data = lines(&mut session, "show data_directory").remove(0);
    let folder = format!("{data}/some_space");
    // The program reads all that the server writes: otherwise the server may fail with a broken pipe.
    let program = format!("cat > /dev/null && mkdir -m 700 {folder}");
    session.execute(&format!("copy (select 1) to program '{program}'")).expect("a folder");
    let name = TABLESPACE.replace('"', "\"\"");
    session.execute(&format!("create tablespace \"{name}\" location '{folder}'")).expect("a tablespace");
}

fn compare_definitions(major: &str, methods: &[PartitionMethod]) {
    create_tablespace(Cluster::shared(major));
    // Without and with foreign keys.
    let [without, with] = ["dtp", "dtpf"].map(|letters| all_options(letters, methods, &[false, true]));
    let cases: Vec<_> = if extent::is_all() {
        without.into_iter().chain(with).collect()
    } else {
        // Half of them: with each kind of partitions, any two of the other options meet in each way.
        let pairs = without.into_iter().zip(with).enumerate();
        let chosen = pairs.filter_map(|(number, (without, with))| {
            let [kind, fillfactor, logging, tablespace] =
                [number / 8, number / 4 % 2, number / 2 % 2, number % 2];
            let is_chosen = is_even(kind + fillfactor + logging + tablespace);
            is_chosen.then(|| if is_even(kind + logging) { without } else { with })
        });
        chosen.collect()
    };
    compare_all(major, &cases);
}

fn compare_rows(major: &str, methods: &[PartitionMethod]) {
    let mut cases = Vec::new();
    for (load, letters) in ["dtgvp", "dtGvp"].into_iter().enumerate() {
        let mut all = all_options(letters, methods, &[false]);
        all.retain(|case| (case.fillfactor == 42) == (case.logging != Logging::All));
        // After a change, the client loads tables without partitions, and the server ranges of unlogged tables with room.
        // `versions` looks at the other ones.
        let kinds = all.chunks(2).enumerate();
        cases.extend(kinds.flat_map(|(kind, both)| match (extent::is_all(), kind) {
            (true, _) => both.to_vec(),
            (false, 0 | 1) if kind == load => vec![both[kind].clone()],
            (false, _) => Vec::new(),
        }));
    }
    compare_all(major, &cases);
}

fn is_even(number: usize) -> bool {
    number.is_multiple_of(2)
}

const BOTH: [PartitionMethod; 2] = [PartitionMethod::Range, PartitionMethod::Hash];

#[test]
fn definitions_equal_those_of_pgbench_on_the_oldest_server() {
    compare_definitions(OLDEST, &[]);
}

#[test]
fn rows_equal_those_of_pgbench_on_the_oldest_server() {
    compare_rows(OLDEST, &[]);
}

#[test]
fn definitions_equal_those_of_pgbench_on_the_newest_server() {
    compare_definitions(NEWEST, &BOTH);
}

#[test]
fn rows_equal_those_of_pgbench_on_the_newest_server() {
    compare_rows(NEWEST, &BOTH);
}
