//! CPU time and physical reads and writes of statements, counted by the extension pg_stat_kcache: it asks the kernel
//! (getrusage) before and after each execution, also in parallel workers. Pure; `probe` and `watch` run the queries.
//!
//! Versions differ in the columns of its function: 2.1 has `reads`, 2.2 and 2.3 have `plan_reads` and `exec_reads`. So the
//! catalogs say which there are. In all of them, times are seconds, and reads and writes are bytes (blocks of getrusage,
//! which have 512 bytes on Linux, × 512).

use std::collections::BTreeSet;

use connect::quote::literal;
use connect::{ResultSet, Row, Session};

use crate::catalogue::{self, Column, Pace, Question};
use crate::extension;

/// Name of the extension, of its function, and of its counts among the views.
pub(crate) const NAME: &str = "pg_stat_kcache";

/// A counter of the extension.
struct Counter {
    /// Name in the record.
    name: &'static str,
    /// Columns of the function, the newest version's first.
    columns: &'static [&'static str],
    /// Unit of the record in units of the extension, as SQL.
    factor: &'static str,
    /// Whether it counts what I/O workers would do instead of the backend.
    is_read: bool,
}

const fn counter(name: &'static str, columns: &'static [&'static str]) -> Counter {
    Counter { name, columns, factor: "1", is_read: false }
}

impl Counter {
    /// From seconds.
    const fn milliseconds(self) -> Counter {
        Counter { factor: "1000", ..self }
    }

    /// From bytes.
    const fn blocks(self) -> Counter {
        Counter { factor: BLOCKS_OF_BYTES, ..self }
    }

    const fn reads(self) -> Counter {
        Counter { is_read: true, ..self }
    }
}

/// CPU times come first: without them, the function is not the one that is known.
const COUNTERS: &[Counter] = &[
    counter(USER_CPU, &["exec_user_time", "user_time"]).milliseconds(),
    counter(SYSTEM_CPU, &["exec_system_time", "system_time"]).milliseconds(),
    counter("disk_read_bytes", &["exec_reads", "reads"]).reads(),
    counter("disk_read_blks", &["exec_reads", "reads"]).blocks().reads(),
    counter("disk_written_bytes", &["exec_writes", "writes"]),
    counter("major_faults", &["exec_majflts", "majflts"]),
    counter("voluntary_switches", &["exec_nvcsws", "nvcsws"]),
    counter("involuntary_switches", &["exec_nivcsws", "nivcsws"]),
    counter("plan_user_cpu_ms", &["plan_user_time"]).milliseconds(),
    counter("plan_system_cpu_ms", &["plan_system_time"]).milliseconds(),
    counter("plan_disk_read_bytes", &["plan_reads"]).reads(),
    counter("plan_disk_written_bytes", &["plan_writes"]),
];

/// User and system CPU time of the executions.
pub(crate) const USER_CPU: &str = "user_cpu_ms";
pub(crate) const SYSTEM_CPU: &str = "system_cpu_ms";

/// Key of the counts: the number of the statement, a space, and the text as `statements` has it; without a text if
/// pg_stat_statements does not have the statement, because it was reset or has removed it.
const KEY: &str = "cast(k.queryid as text) || ' ' || coalesce(left(s.query, 1000), '')";

/// What to do if it is not loaded.
const LOAD: &str = "add it to shared_preload_libraries after pg_stat_statements";

/// Factor from bytes to blocks of the server, as SQL.
const BLOCKS_OF_BYTES: &str = "1.0 / current_setting('block_size')::numeric";

/// Executions of fewer ticks get their elapsed time as user time: the extension takes the kernel's times for too coarse.
const TICKS_MIN: f64 = 3.0;
const MS_PER_SECOND: f64 = 1e3;

/// pg_stat_kcache in one database.
#[derive(Clone, Debug, PartialEq)]
pub struct Kcache {
    /// Its schema, quoted.
    schema: String,
    /// Columns of its function.
    columns: BTreeSet<String>,
    /// Executions that take less time than this have their elapsed time as user CPU time.
    pub(crate) shortest_ms: f64,
}

/// What a server says about the extension.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// Its schema, or why it is not safe; `None` if it is not created in this database.
    schema: Option<Result<String, String>>,
    /// Columns of its function, and whether the role may call it.
    function: Option<(String, bool)>,
    /// Settings; `None` if it is not loaded.
    linux_hz: Option<String>,
    track: Option<String>,
    /// Whether it could be created.
    is_installed: bool,
}

/// Queries for [`Kcache::find`].
pub(crate) fn probes() -> [String; 3] {
    let name = literal(NAME);
    let function = format!(
        "select array_to_string(p.proargnames, ' '), has_function_privilege(p.oid, 'execute') \
         from pg_extension e join pg_depend d on d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid \
         and d.deptype = 'e' and d.classid = 'pg_proc'::regclass join pg_proc p on p.oid = d.objid \
         where e.extname = {name} and p.proname = {name} and p.pronargs = 0 and p.pronamespace = e.extnamespace"
    );
    let settings = format!(
        "select current_setting('pg_stat_kcache.linux_hz', true), current_setting('pg_stat_kcache.track', true), \
         exists(select from pg_available_extensions where name = {name})"
    );
    [extension::sql(NAME), function, settings]
}

impl Facts {
    fn new(answers: &[ResultSet]) -> Facts {
        let row = |set: usize| answers.get(set).and_then(|set| set.rows.first());
        let setting = |column: usize| row(2).and_then(|row| row.get(column)).map(str::to_owned);
        let function = |row: &Row| (row.get(0).unwrap_or_default().to_owned(), row.get(1) == Some("t"));
        Facts {
            schema: row(0).map(|row| extension::schema(NAME, row)),
            function: row(1).map(function),
            linux_hz: setting(0),
            track: setting(1),
            is_installed: setting(2).as_deref() == Some("t"),
        }
    }
}

impl Kcache {
    /// The extension in this session's database; `None` if the server does not have it.
    ///
    /// # Errors
    /// Why it is not used.
    pub fn of(session: &mut Session) -> Result<Option<Kcache>, String> {
        let rows = |session: &mut Session, sql: &String| {
            let rows = session.query_catalogs(sql).map_err(|error| error.to_string())?;
            Ok::<_, String>(ResultSet { rows, ..ResultSet::default() })
        };
        let answers: Vec<ResultSet> =
            probes().iter().map(|sql| rows(session, sql)).collect::<Result<_, _>>()?;
        Kcache::find(&answers)
    }

    /// From the answers to [`probes`]; `None` without a reason if the server does not have the extension.
    pub(crate) fn find(answers: &[ResultSet]) -> Result<Option<Kcache>, String> {
        Kcache::new(Facts::new(answers))
    }

    fn new(facts: Facts) -> Result<Option<Kcache>, String> {
        let Facts { schema, function, linux_hz, track, is_installed } = facts;
        let why = match (schema, linux_hz) {
            (Some(Err(why)), _) => why,
            (Some(Ok(schema)), Some(hertz)) if track.as_deref() != Some("none") => {
                let columns = columns(function)?;
                return Ok(Some(Kcache { schema, columns, shortest_ms: shortest_ms(&hertz) }));
            }
            (Some(Ok(_)), Some(_)) => "pg_stat_kcache.track is none, so it counts nothing: set it to top".to_owned(),
            (Some(Ok(_)), None) => format!("the extension is created but not loaded: {LOAD}"),
            (None, Some(_)) => {
                "the extension is loaded but not created in this database: run CREATE EXTENSION pg_stat_kcache"
                    .to_owned()
            }
            (None, None) if is_installed => {
                format!("the extension is installed but not loaded: {LOAD}, and run CREATE EXTENSION pg_stat_kcache")
            }
            (None, None) => return Ok(None),
        };
        Err(why)
    }

    /// Query for the sums of all statements of the database: milliseconds of user and system CPU time, and blocks read
    /// from disk, those of planning included where it is counted.
    pub fn sums(&self) -> String {
        let sum = |names: [&[&'static str]; 2], factor: &str| {
            let columns = names.iter().filter_map(|names| self.column(names));
            let parts: Vec<String> = columns.map(|name| format!("coalesce(sum({name}), 0)")).collect();
            if parts.is_empty() { "null".to_owned() } else { format!("({}) * {factor}", parts.join(" + ")) }
        };
        // With pg_stat_kcache.track = all, statements within functions have rows, and their callers have their work too.
        let top = if self.columns.contains("top") { " and top" } else { "" };
        format!(
            "select {}, {}, {} from {} where dbid = (select oid from pg_database where datname = current_database()){top}",
            sum([&["exec_user_time", "user_time"], &["plan_user_time"]], "1000"),
            sum([&["exec_system_time", "system_time"], &["plan_system_time"]], "1000"),
            sum([&["exec_reads", "reads"], &["plan_reads"]], BLOCKS_OF_BYTES),
            self.function()
        )
    }

    /// Executions that take less time than this have their elapsed time as user CPU time.
    pub fn shortest_ms(&self) -> f64 {
        self.shortest_ms
    }

    /// The function and its schema, to be called.
    pub(crate) fn function(&self) -> String {
        format!("{}.{NAME}()", self.schema)
    }

    /// The first of these columns that its function has.
    pub(crate) fn column(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.columns.contains(*name))
    }

    /// The query for the counts of this role's statements in this database, by number and text. `statements` is the schema
    /// of pg_stat_statements. `with_reads`: backends do their reads themselves.
    pub(crate) fn question(&self, statements: &str, with_reads: bool) -> Question {
        let read = COUNTERS.iter().filter(|counter| with_reads || !counter.is_read);
        let found = read.filter_map(|counter| Some((counter, self.column(counter.columns)?)));
        let (columns, listed): (Vec<Column>, Vec<String>) = found
            .map(|(counter, column)| {
                (catalogue::column(counter.name), format!("sum(k.{column}) * {}", counter.factor))
            })
            .unzip();
        let mine = "userid = (select oid from pg_roles where rolname = current_user) and dbid = (select oid from \
                    pg_database where datname = current_database())";
        let sql = format!(
            "select {KEY}, null, {} from (select * from {} where {mine}) as k left join (select queryid, min(query) as query \
             from {statements}.pg_stat_statements where {mine} group by 1) as s on s.queryid = k.queryid group by 1",
            listed.join(", "),
            self.function()
        );
        Question { view: NAME, pace: Pace::Ends, is_by_relation: false, columns, sql }
    }
}

/// The columns of the function.
fn columns(function: Option<(String, bool)>) -> Result<BTreeSet<String>, String> {
    let (names, may_call) = function.unwrap_or_default();
    let columns: BTreeSet<String> = names.split_whitespace().map(str::to_owned).collect();
    let has_keys = ["queryid", "userid", "dbid"].iter().all(|key| columns.contains(*key));
    let has_cpu = COUNTERS[..2].iter().all(|cpu| cpu.columns.iter().any(|name| columns.contains(*name)));
    if !(has_keys && has_cpu) {
        return Err(
            "its function pg_stat_kcache() does not have the columns of the versions 2.1 to 2.3, which \
                    pgmeter knows"
                .to_owned(),
        );
    }
    match may_call {
        true => Ok(columns),
        false => Err("this role may not call its function: GRANT EXECUTE ON FUNCTION pg_stat_kcache() to it"
            .to_owned()),
    }
}

/// Of the setting `pg_stat_kcache.linux_hz`: ticks per second of the kernel's accounting.
fn shortest_ms(hertz: &str) -> f64 {
    let hertz: f64 = hertz.parse().unwrap_or(0.0);
    if hertz > 0.0 { TICKS_MIN * MS_PER_SECOND / hertz } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_2_1: &str = "queryid userid dbid reads writes user_time system_time minflts majflts nswaps msgsnds \
                          msgrcvs nsignals nvcsws nivcsws";
    const OF_2_3: &str = "queryid top userid dbid plan_reads plan_writes plan_user_time plan_system_time plan_majflts \
                          exec_reads exec_writes exec_user_time exec_system_time exec_majflts exec_nvcsws \
                          exec_nivcsws stats_since";

    /// A server with the extension, ready to be used.
    fn facts(columns: &str) -> Facts {
        Facts {
            schema: Some(Ok("\"odd name\"".to_owned())),
            function: Some((columns.to_owned(), true)),
            linux_hz: Some("1000000".to_owned()),
            track: Some("top".to_owned()),
            is_installed: true,
        }
    }

    fn found(columns: &str) -> Kcache {
        Kcache::new(facts(columns)).unwrap().unwrap()
    }

    #[test]
    fn each_version_is_asked_for_the_columns_that_it_has() {
        let old = found(OF_2_1).question("public", true);
        assert!(old.sql.contains("sum(k.user_time) * 1000,"), "{}", old.sql);
        assert!(old.sql.contains("from \"odd name\".pg_stat_kcache() where"), "{}", old.sql);
        assert!(!old.sql.contains("plan_") && !old.sql.contains("exec_"), "{}", old.sql);
        let new = found(OF_2_3).question("public", true);
        assert!(new.sql.contains("sum(k.exec_user_time) * 1000,"), "{}", new.sql);
        assert!(new.column("plan_user_cpu_ms").is_some() && old.column("plan_user_cpu_ms").is_none());
        assert!(new.column("disk_read_blks").is_some() && old.column("disk_read_blks").is_some());
        let without_reads = found(OF_2_3).question("public", false);
        assert!(!without_reads.sql.contains("reads"), "I/O workers read: {}", without_reads.sql);
    }

    #[test]
    fn the_sums_are_those_of_each_version() {
        let (old, new) = (found(OF_2_1).sums(), found(OF_2_3).sums());
        assert!(old.starts_with("select (coalesce(sum(user_time), 0)) * 1000, "), "{old}");
        assert!(new.ends_with(" and top") && !old.ends_with(" and top"), "{new}");
        assert!(
            new.contains("(coalesce(sum(exec_reads), 0) + coalesce(sum(plan_reads), 0)) * 1.0 / "),
            "{new}"
        );
    }

    #[test]
    fn a_server_without_the_extension_gets_no_word_about_it() {
        assert_eq!(Kcache::new(Facts::default()), Ok(None));
        assert_eq!(Kcache::find(&[]), Ok(None));
    }

    #[test]
    fn whatever_prevents_its_use_is_named_with_the_remedy() {
        let check = |change: fn(&mut Facts), expected: &str| {
            let mut facts = facts(OF_2_3);
            change(&mut facts);
            let why = Kcache::new(facts).unwrap_err();
            assert!(why.contains(expected), "{why}");
        };
        check(
            |it| *it = Facts { is_installed: true, ..Facts::default() },
            "installed but not loaded: add it to shared_preload_libraries",
        );
        check(|it| it.schema = None, "run CREATE EXTENSION pg_stat_kcache");
        check(|it| it.linux_hz = None, "created but not loaded");
        check(|it| it.track = Some("none".to_owned()), "track is none");
        check(|it| it.function = Some((OF_2_3.to_owned(), false)), "GRANT EXECUTE");
        check(|it| it.function = None, "versions 2.1 to 2.3");
        check(|it| it.function = Some(("queryid userid dbid cpu".to_owned(), true)), "versions 2.1 to 2.3");
        check(|it| it.schema = Some(Err("not read: the role x".to_owned())), "the role x");
    }

    #[test]
    fn the_ticks_of_the_kernel_tell_which_executions_are_too_short() {
        assert!((shortest_ms("250") - 12.0).abs() < 1e-9);
        assert!((shortest_ms("1000000") - 0.003).abs() < 1e-9);
        assert!(shortest_ms("-1").abs() < 1e-9 && shortest_ms("").abs() < 1e-9);
    }
}
