//! Random schemas on real servers: `init` loads all that a server accepts, with as many rows as it says, and all
//! constraints are as the statements alone make them. CONTRIBUTING.md says how to try many.

#![expect(clippy::print_stdout, reason = "which schemas have failed, while many are tried")]

mod statements;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::{ControlFlow, Range};

use connect::Session;
use pgmeter_workload::{InitOptions, InitProgress, Workload, WorkloadError};
use testkit::cluster::Cluster;
use testkit::extent;

use crate::generated::{folder, open, scaled};
use crate::harness::{NEWEST, OLDEST, lines, target};

/// How many schemas are tried on each of both servers, instead of a few on one.
const COUNT: &str = "PGMETER_RANDOM_SCHEMAS";
/// Schemas that one file has.
const AT_ONCE: u64 = 5;
/// Schemas of a usual test: after a change, or if the tests look at everything.
const FEW: [u64; 2] = [AT_ONCE, 40];

/// What an attempt has shown.
#[derive(Debug, Default)]
struct Findings {
    tables: usize,
    /// Tables with fewer rows than asked for, with what `init` says about them.
    short: Vec<String>,
    /// Schemas that were not loaded, or not as said.
    failures: Vec<String>,
}

/// A schema that the server accepts.
struct Accepted {
    seed: u64,
    statements: Vec<String>,
}

impl Accepted {
    /// The statements that the server accepts, with what they define. Nothing stays.
    fn new(session: &mut Session, seed: u64, version: u32) -> Accepted {
        let mut accepted = Vec::new();
        for statement in statements::statements(seed, version) {
            session.execute("savepoint tried").expect("a savepoint");
            if session.execute(&statement).is_ok() {
                accepted.push(statement);
            } else {
                session.execute("rollback to savepoint tried").expect("a savepoint");
            }
        }
        Accepted { seed, statements: accepted }
    }
}

/// Definitions of constraints, indexes and columns, and whether they are valid. The definition of an index with a list that is
/// cast becomes another text when it is executed, as in a dump that is restored.
const DEFINITIONS: &str = "\
    select n.nspname || ' ' || r.relname || ' ' || c.conname || ' ' || pg_get_constraintdef(c.oid) \
      || ' ' || c.convalidated from pg_constraint c join pg_class r on r.oid = c.conrelid \
      join pg_namespace n on n.oid = r.relnamespace where n.nspname ~ '^s[0-9]' \
    union all select schemaname || ' ' || indexdef from pg_indexes where schemaname ~ '^s[0-9]' \
      and indexdef !~ 'ANY [(]+ARRAY' \
    union all select n.nspname || ' ' || r.relname || ' ' || a.attname || ' ' \
      || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || coalesce(pg_get_expr(d.adbin, d.adrelid), '') \
      || r.relpersistence::text \
      from pg_attribute a join pg_class r on r.oid = a.attrelid join pg_namespace n on n.oid = r.relnamespace \
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum \
      where n.nspname ~ '^s[0-9]' and a.attnum > 0 order by 1";

/// Validates all foreign keys and conditions again. A foreign key to a partitioned table has parts that stand for one partition
/// each, and do not hold alone.
const VALIDATION: &str = "\
    do $$ declare own record; begin \
    update pg_constraint c set convalidated = false where contype in ('c', 'f') and conrelid <> 0 \
      and connamespace::regnamespace::text ~ '^s[0-9]' \
      and coalesce((to_jsonb(c) ->> 'conparentid')::oid, 0) = 0; \
    for own in select conrelid::regclass as owner, conname from pg_constraint where not convalidated loop \
      execute format('alter table %s validate constraint %I', own.owner, own.conname); end loop; end $$";

/// All tables but partitions, as names for FROM, with the names that `init` may use.
fn tables(session: &mut Session) -> Vec<(String, String)> {
    let is_partition = if session.server_version_num() >= 100_000 { "relispartition" } else { "false" };
    let sql = format!(
        "select c.oid::regclass::text from pg_class c where c.relkind in ('r', 'p') and not {is_partition} \
         and c.relnamespace::regnamespace::text ~ '^s[0-9]' order by 1"
    );
    let names = lines(session, &sql);
    names.into_iter().map(|name| (name.clone(), name.replace('"', ""))).collect()
}

/// Loads schemas in one file into a database of their own.
fn attempt(cluster: &Cluster, seeds: Range<u64>, scale: f64, jobs: u32) -> Result<Findings, String> {
    let conninfo = cluster.database("random");
    let mut session = Cluster::session(&conninfo);
    let version = session.server_version_num() / 10_000;
    session.execute("set client_min_messages to error; begin").expect("a transaction");
    let accepted: Vec<Accepted> = seeds.map(|seed| Accepted::new(&mut session, seed, version)).collect();
    session.execute("reset search_path").expect("a setting");
    let expected = lines(&mut session, DEFINITIONS);
    session.execute("rollback").expect("the end of a transaction");
    let mut text = String::new();
    if !accepted.iter().flat_map(|own| &own.statements).any(|own| own.contains("table ")) {
        return Ok(Findings::default());
    }
    for statement in accepted.iter().flat_map(|own| &own.statements) {
        writeln!(text, "{statement};").expect("memory");
    }
    let found = loaded(&mut session, &text, scale, jobs).and_then(|said| {
        let last = format!("s{}.", accepted.last().map_or(0, |own| own.seed));
        let found = checked(&mut session, &said, scale, &last)?;
        let now = lines(&mut session, DEFINITIONS);
        let lost: Vec<&String> = expected.iter().filter(|line| !now.contains(line)).collect();
        let more: Vec<&String> = now.iter().filter(|line| !expected.contains(line)).collect();
        if lost.is_empty() && more.is_empty() {
            return Ok(found);
        }
        Err(format!("definitions differ: {lost:#?} became {more:#?}"))
    });
    drop(session);
    let database = conninfo.split_once("dbname=").expect("a database").1;
    let database = database.split(' ').next().expect("a name");
    cluster.execute(&format!("drop database {database}"));
    found.map_err(|error| {
        let seeds: Vec<u64> = accepted.iter().map(|own| own.seed).collect();
        format!("seeds {seeds:?}: {error}\n{text}")
    })
}

/// What `init` says.
fn loaded(session: &mut Session, text: &str, scale: f64, jobs: u32) -> Result<Vec<String>, String> {
    let folder = folder(text, &[]);
    let mut said = Vec::new();
    let options = InitOptions { jobs, ..scaled(scale) };
    let target = target(session);
    let done = open(&folder).load(&target, session, &options, &mut |told| {
        if let InitProgress::Found(sentence) = told {
            said.push(sentence.to_owned());
        }
        ControlFlow::Continue(())
    });
    done.map(|_| said).map_err(|error: WorkloadError| error.to_string())
}

/// The number of rows that a sentence about a table says, if it says one.
fn said_rows(note: &str) -> Option<String> {
    let words: Vec<&str> = note.split(' ').collect();
    let number = match words[..] {
        ["no", "rows", ..] | ["no", "rows;", ..] => "0",
        ["only", number, "of", ..] => number,
        ["all", number, ..] if note.contains(" generated rows. ") => number,
        [.., number, "rows", "are", "left"] => number,
        [number, "row" | "row;" | "rows" | "rows;", ..] => number,
        _ => return None,
    };
    number.starts_with(|first: char| first.is_ascii_digit()).then(|| number.replace(',', ""))
}

/// Compares the rows of all tables with what `init` has said, and validates all constraints. The search path finds the tables
/// of the schema `last`, which are named without it.
fn checked(session: &mut Session, said: &[String], scale: f64, last: &str) -> Result<Findings, String> {
    let tables = tables(session);
    let counts: Vec<String> = tables
        .iter()
        .map(|(name, _)| format!("select count(*) from only {name}"))
        .map(|sql| sql.replace("from only", "from"))
        .collect();
    let counts = if counts.is_empty() { Vec::new() } else { lines(session, &counts.join(" union all ")) };
    let mut notes: BTreeMap<String, &str> = BTreeMap::new();
    // Rows are deleted after the others were counted.
    let is_last = |(_, note): &(&str, &str)| note.contains(" rows were deleted, ");
    let sentences = || said.iter().filter_map(|sentence| sentence.split_once(": "));
    for (table, note) in sentences().filter(|one| !is_last(one)).chain(sentences().filter(is_last)) {
        if said_rows(note).is_some() {
            notes.insert(table.replace('"', ""), note);
        }
    }
    let mut found = Findings { tables: tables.len(), ..Findings::default() };
    for ((name, plain), count) in tables.iter().zip(counts) {
        let bare = plain.strip_prefix(last).unwrap_or(plain);
        let note = notes.get(plain).or_else(|| notes.get(bare)).copied();
        let rows = note.and_then(said_rows).unwrap_or_else(|| format!("{scale}"));
        // Of many checked tables, some are only counted.
        if note.is_none_or(|note| !note.contains(" generated rows. "))
            && said.iter().any(|sentence| sentence.starts_with("the server checked the rows of "))
        {
            continue;
        }
        if rows != count {
            return Err(format!("{name} has {count} rows, and init says {rows} ({said:?})"));
        }
        if count != format!("{scale}") {
            let conditions = lines(
                session,
                &format!(
                    "select pg_get_constraintdef(oid) from pg_constraint \
                where conrelid = '{}'::regclass and contype <> 'f'",
                    name.replace('\'', "''")
                ),
            );
            found.short.push(format!("{name}: {} {}", note.unwrap_or_default(), conditions.join("; ")));
        }
    }
    session.execute(VALIDATION).map_err(|error| format!("a constraint is violated: {error}"))?;
    Ok(found)
}

/// Tries schemas in batches. What fails is tried again one by one, so that the failing schemas are known.
fn tried(major: &str, seeds: Range<u64>) -> Findings {
    let cluster = Cluster::shared(major);
    let mut all = Findings::default();
    let mut start = seeds.start;
    while start < seeds.end {
        let end = seeds.end.min(start + AT_ONCE);
        let (scale, jobs) =
            ([30.0, 100.0][usize::from(start.is_multiple_of(20))], 1 + u32::from(start.is_multiple_of(15)));
        match attempt(cluster, start..end, scale, jobs) {
            Ok(found) => all.add(found),
            Err(together) => {
                let before = all.failures.len();
                for seed in start..end {
                    match attempt(cluster, seed..seed + 1, scale, jobs) {
                        Ok(found) => all.add(found),
                        Err(error) => {
                            println!("FAILED on {major}: {error}");
                            all.failures.push(error);
                        }
                    }
                }
                if all.failures.len() == before {
                    println!("FAILED on {major}: {together}");
                    all.failures.push(together);
                }
            }
        }
        start = end;
        if start.is_multiple_of(100) {
            println!("{major}: up to {start}, {} failures", all.failures.len());
        }
    }
    all
}

impl Findings {
    fn add(&mut self, Findings { tables, short, failures }: Findings) {
        self.tables += tables;
        self.short.extend(short);
        self.failures.extend(failures);
    }
}

#[test]
fn random_schemas_that_a_server_accepts_are_loaded_as_init_says() {
    let many = std::env::var(COUNT).ok();
    let (majors, seeds) = match &many {
        // From a seed on: 100+50 are the seeds 100 to 149.
        Some(text) => {
            let (first, count) = text.split_once('+').unwrap_or(("0", text));
            let [first, count] = [first, count].map(|text| text.parse::<u64>().expect("a number of schemas"));
            (&[NEWEST, OLDEST][..], first..first + count)
        }
        None => (&[NEWEST][..], 0..extent::choose(FEW[0], FEW[1])),
    };
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> =
            majors.iter().map(|major| scope.spawn(|| (*major, tried(major, seeds.clone())))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect::<Vec<_>>()
    });
    let mut failures = 0;
    for (major, Findings { tables, short, failures: own }) in results {
        println!(
            "{major}: {} schemas, {tables} tables, {} with fewer rows",
            seeds.end - seeds.start,
            short.len()
        );
        if many.is_some() {
            short.iter().for_each(|short| println!("{major} short {short}"));
        }
        failures += own.len();
        assert!(tables > 0, "{major}: no table");
    }
    assert_eq!(failures, 0, "schemas that were not loaded");
}
