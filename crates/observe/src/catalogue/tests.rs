//! Checks the catalogue against the views, columns and functions of all versions. `cargo run -p pgmeter-observe
//! --example record_catalogue` records them in tests/catalogues, so that no server is needed.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::probe::waits_sql;

const RECORDED: [(u32, &str); 11] = [
    (V9_6, include_str!("../../tests/catalogues/9.6.txt")),
    (V10, include_str!("../../tests/catalogues/10.txt")),
    (1100, include_str!("../../tests/catalogues/11.txt")),
    (V12, include_str!("../../tests/catalogues/12.txt")),
    (V13, include_str!("../../tests/catalogues/13.txt")),
    (V14, include_str!("../../tests/catalogues/14.txt")),
    (V15, include_str!("../../tests/catalogues/15.txt")),
    (V16, include_str!("../../tests/catalogues/16.txt")),
    (V17, include_str!("../../tests/catalogues/17.txt")),
    (V18, include_str!("../../tests/catalogues/18.txt")),
    (V19, include_str!("../../tests/catalogues/19rc1.txt")),
];

const ALL: Asked<'_> = Asked { tables: &[1], schema: Some("public"), io_is_timed: true };

/// SQL keywords, functions that every version has, and a system column.
const SQL: &str = "select from where case when then else end and or not in is null as group by order desc limit like \
                   true false union all join on epoch text regclass current_user one public \
                   extract sum count left coalesce clock_timestamp current_database oid";

/// Views and functions of one version: each view with its columns.
struct Recorded {
    views: BTreeMap<&'static str, BTreeSet<&'static str>>,
    functions: BTreeSet<&'static str>,
}

fn recorded(text: &'static str) -> Recorded {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut views: BTreeMap<_, BTreeSet<_>> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, columns)| (name, columns.split(' ').collect()))
        .collect();
    let functions = views.remove("functions").expect("the functions are recorded");
    Recorded { views, functions }
}

/// The names in a statement that this version does not have.
fn unknown(sql: &str, server: &Recorded) -> Vec<String> {
    let outside_quotes: String = sql.split('\'').step_by(2).collect::<Vec<_>>().join("''");
    let words: Vec<&str> = outside_quotes
        .split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .flat_map(|piece| {
            let end = piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len());
            let (word, rest) = piece.split_at(end);
            [word, rest.trim()]
        })
        .filter(|piece| !piece.is_empty())
        .collect();
    let common: BTreeSet<&str> = SQL.split_whitespace().collect();
    let mentioned = words.iter().filter_map(|word| server.views.get(word));
    let columns: BTreeSet<&str> = mentioned.flatten().copied().collect();
    let is_name = |word: &&str| word.len() > 1 && word.starts_with(|c: char| c.is_ascii_alphabetic());
    let known = |word: &&str| {
        common.contains(word)
            || server.views.contains_key(word)
            || columns.contains(word)
            || server.functions.contains(word)
    };
    words.into_iter().filter(is_name).filter(|word| !known(word)).map(str::to_owned).collect()
}

#[test]
fn each_version_has_all_that_it_is_asked_for() {
    for (version, text) in RECORDED {
        let server = recorded(text);
        let mut statements: Vec<String> =
            questions(version, &ALL).into_iter().map(|question| question.sql).collect();
        statements.push(waits_sql(version, "application_name = 'x'", true));
        statements.extend(vacuums(version, &[1]));
        statements.push(QUEUES.to_owned());
        for sql in statements {
            assert_eq!(unknown(&sql, &server), [""; 0], "{version}: {sql}");
        }
    }
}

#[test]
fn what_a_version_lacks_is_found() {
    let server = recorded(RECORDED[0].1);
    let asked = "select pg_wal_lsn_diff(wal_bytes, 'x') from pg_stat_wal where datname = current_database()";
    assert_eq!(unknown(asked, &server), ["pg_wal_lsn_diff", "wal_bytes", "pg_stat_wal", "datname"]);
}

/// Prefixes of views with counters that are not read.
const NOT_READ: [&str; 3] = ["pg_stat_activity", "pg_locks", "pg_stat_progress_"];

#[test]
fn each_recorded_view_is_read_in_its_version() {
    for (version, text) in RECORDED {
        let all: String = questions(version, &ALL).into_iter().map(|question| question.sql + "; ").collect();
        let is_statistics = |name: &&&str| name.starts_with("pg_stat") || name.starts_with("pg_control");
        let unread: Vec<_> = recorded(text)
            .views
            .keys()
            .filter(is_statistics)
            .filter(|name| !NOT_READ.iter().any(|known| name.starts_with(known)))
            .filter(|name| !all.contains(&format!("{name} ")) && !all.contains(&format!("{name};")))
            .filter(|name| !all.contains(&format!("{name}()")))
            .copied()
            .collect();
        assert_eq!(unread, [""; 0], "{version}");
    }
}

fn columns(version: u32, view: &str) -> Vec<&'static str> {
    let questions = questions(version, &ALL);
    let question = questions.iter().find(|question| question.view == view);
    question.map(|question| question.columns.iter().map(|column| column.name).collect()).unwrap_or_default()
}

#[test]
fn checkpoints_are_counted_where_each_version_counts_them() {
    for (version, _) in RECORDED {
        let has = |view, column| columns(version, view).contains(&column);
        assert_eq!(has(BGWRITER, "checkpoints_timed"), version < V17, "{version}");
        assert_eq!(has(CHECKPOINTER, "num_timed"), version >= V17, "{version}");
    }
}

#[test]
fn version_19_says_what_full_page_images_take_and_what_locks_were_waited_for() {
    for (version, _) in RECORDED {
        assert_eq!(columns(version, WAL).contains(&"wal_fpi_bytes"), version >= V19, "{version}");
        assert_eq!(columns(version, "pg_stat_lock").contains(&"wait_time_ms"), version >= V19, "{version}");
        assert_eq!(!columns(version, "pg_stat_recovery").is_empty(), version >= V19, "{version}");
    }
}

#[test]
fn times_that_the_server_does_not_measure_are_not_asked_for() {
    let untimed = |version| questions(version, &Asked { io_is_timed: false, ..ALL });
    for (version, _) in RECORDED {
        let timed = |question: &Question| question.columns.iter().any(|column| column.is_timed);
        let has_times = questions(version, &ALL).iter().filter(|question| timed(question)).count();
        assert_eq!((has_times, untimed(version).iter().any(timed)), (2, false), "{version}");
    }
}

#[test]
fn no_column_is_twice_in_any_version() {
    for (version, _) in RECORDED {
        for question in questions(version, &ALL) {
            let mut names: Vec<_> = question.columns.iter().map(|column| column.name).collect();
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "{} of {version}", question.view);
            assert!(count > 0);
        }
    }
}

#[test]
fn without_tables_nobody_asks_for_tables() {
    let without = questions(V18, &Asked::default());
    assert!(without.iter().all(|question| !question.view.contains("user_")));
    let of_tables = questions(V18, &Asked { tables: &[7, 8], ..Asked::default() });
    assert!(of_tables.iter().any(|question| question.sql.ends_with("relid in (7, 8)")));
}
