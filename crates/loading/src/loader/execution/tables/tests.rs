//! Plans of loadings: tasks that run together, and their order.
//! Without a server.

use super::*;
use crate::loader::execution::{Judge, RowSource, RowWriter};

#[derive(Debug)]
struct NoRows;

impl RowSource for NoRows {
    fn rows(&self) -> u64 {
        0
    }

    fn writer(&self, _: u32, _: u32) -> Box<dyn RowWriter + '_> {
        Box::new(NoRows)
    }
}

#[derive(Debug)]
struct ManyRows;

impl RowSource for ManyRows {
    fn rows(&self) -> u64 {
        100_000
    }

    fn writer(&self, _: u32, _: u32) -> Box<dyn RowWriter + '_> {
        Box::new(NoRows)
    }
}

impl RowWriter for NoRows {
    fn write(&mut self, _: &mut Vec<u8>) -> u64 {
        0
    }
}

fn loaded(table: &str, source: Arc<dyn RowSource>) -> LoadTable {
    LoadTable {
        table: TableName::new(table),
        columns: String::new(),
        source,
        judge: None,
        fallback: None,
        references: Vec::new(),
    }
}

#[test]
fn a_table_is_loaded_in_chunks_if_that_can_help() {
    assert_eq!(chunks(1_000_000_000, 1), 1, "frozen");
    assert_eq!(chunks(99_999, 8), 1);
    assert_eq!(chunks(100_000, 8), 2);
    assert_eq!(chunks(1_000_000, 8), 8);
    assert_eq!(chunks(6_001_215, 2), 6);
    assert_eq!(chunks(u64::MAX, 2), 10_000);
}

/// The server looks up the references of its rows by the keys of the tables before.
#[test]
fn a_judged_table_is_one_chunk_after_the_keys_of_the_tables_before() {
    let judge = Judge {
        columns: Vec::new(),
        conditions: Vec::new(),
        references: Vec::new(),
        constraints: Vec::new(),
        refusal: None,
        has_open_keys: false,
        primary_is_met: false,
        is_directed: true,
    };
    let key = |table: &str| AfterRows {
        purpose: Purpose::Key,
        table: Some(TableName::new(table)),
        statement: LoadStatement::new(format!("key of {table}")),
    };
    let set = TableSet {
        tables: vec![
            loaded("a", Arc::new(ManyRows)),
            LoadTable { judge: Some(Arc::new(judge)), ..loaded("b", Arc::new(ManyRows)) },
            loaded("c", Arc::new(ManyRows)),
        ],
        after: ["a", "b"].map(key).into(),
        ..TableSet::default()
    };
    let plan = TablePlan { set: &set, preparation: &LoadPreparation::default(), jobs: 2 }.plan();
    let rows = plan.jobs.iter().enumerate().filter(|(_, job)| job.step == ROWS);
    let rows: Vec<(usize, &[usize])> = rows.map(|(number, job)| (number, &job.after[..])).collect();
    // Jobs 2 and 4 create the keys.
    assert_eq!(rows, [(0, &[][..]), (1, &[]), (3, &[2]), (5, &[]), (6, &[])]);
    let freezes = |job: &Job| matches!(&job.task, Task::Chunks { parts, .. } if parts[0].freezes);
    let one = TablePlan { set: &set, preparation: &LoadPreparation::default(), jobs: 1 }.plan();
    let frozen: Vec<usize> = (0..one.jobs.len()).filter(|&job| freezes(&one.jobs[job])).collect();
    assert_eq!(frozen, [0, 4]);
}

/// A foreign key locks two tables.
#[test]
fn foreign_keys_are_created_one_after_the_other() {
    let key = |table: &str| AfterRows {
        purpose: Purpose::ForeignKey,
        table: Some(TableName::new(table)),
        statement: LoadStatement::new(format!("alter table {table} add foreign key …")),
    };
    let after = ["lineitem", "partsupp", "lineitem"].map(key).into();
    let tables = vec![loaded("lineitem", Arc::new(ManyRows)), loaded("partsupp", Arc::new(ManyRows))];
    let set = TableSet { after, tables, ..TableSet::default() };
    let plan = TablePlan { set: &set, preparation: &LoadPreparation::default(), jobs: 8 }.plan();
    let keys = plan.jobs.iter().filter(|job| job.step == Purpose::ForeignKey.step());
    let after: Vec<&[usize]> = keys.map(|job| &job.after[..]).collect();
    assert_eq!(after[1..], [&[4][..], &[5]]);
}

/// Otherwise the time of an index would count as time of a key.
#[test]
fn one_connection_creates_all_keys_before_the_first_index() {
    let built = |table: &str, purpose| AfterRows {
        purpose,
        table: Some(TableName::new(table)),
        statement: LoadStatement::new(format!("{purpose:?} of {table}")),
    };
    let after = [
        built("a", Purpose::Index),
        built("a", Purpose::Key),
        built("b", Purpose::Key),
        built("b", Purpose::Index),
    ];
    let tables = ["a", "b"].map(|table| loaded(table, Arc::new(ManyRows))).into();
    let set = TableSet { tables, after: after.into(), ..TableSet::default() };
    let steps = |jobs| {
        let plan = TablePlan { set: &set, preparation: &LoadPreparation::default(), jobs }.plan();
        let names: Vec<_> = plan.jobs.iter().map(|job| STEPS[job.step].0).collect();
        names.join(" ")
    };
    assert_eq!(steps(1), "rows rows keys keys indexes indexes vacuum vacuum vacuum vacuum");
    assert_eq!(steps(2), "rows rows keys indexes rows rows keys indexes vacuum vacuum vacuum vacuum");
}

/// Much is examined around each transaction.
#[test]
fn small_tables_and_their_keys_are_worked_on_together() {
    let own = |table: &str, purpose| AfterRows {
        purpose,
        table: Some(TableName::new(table)),
        statement: LoadStatement::new(format!("{purpose:?} of {table}")),
    };
    let names = ["a", "b", "large", "c"];
    let purposes = [Purpose::Key, Purpose::ForeignKey];
    let after = names.iter().flat_map(|name| purposes.map(|purpose| own(name, purpose))).collect();
    let source = |name: &str| -> Arc<dyn RowSource> {
        if name == "large" { Arc::new(ManyRows) } else { Arc::new(NoRows) }
    };
    let tables = names.iter().map(|name| loaded(name, source(name))).collect();
    let set = TableSet { tables, after, ..TableSet::default() };
    let plan = TablePlan { set: &set, preparation: &LoadPreparation::default(), jobs: 1 }.plan();
    let steps = plan.jobs.iter().map(|job| match &job.task {
        Task::Chunks { note, .. } | Task::Noted { note, .. } => note.steps.join(", "),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        steps.collect::<Vec<_>>(),
        [
            "rows \"a\" 1/1, rows \"b\" 1/1",
            "rows \"large\" 1/1",
            "rows \"c\" 1/1",
            "Key Key of a, Key Key of b",
            "Key Key of large",
            "Key Key of c",
            "ForeignKey ForeignKey of a, ForeignKey ForeignKey of b",
            "ForeignKey ForeignKey of large",
            "ForeignKey ForeignKey of c",
            "vacuum \"a\", vacuum \"b\"",
            "analyze \"a\", analyze \"b\"",
            "vacuum \"large\"",
            "analyze \"large\"",
            "vacuum \"c\"",
            "analyze \"c\"",
        ]
    );
}
