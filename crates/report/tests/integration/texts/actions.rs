//! Actions in the reports of a run: their times and endings, and the tables before and after them.
//! What is recorded of a real action is tested with the binary; the sentences of warnings are in `wording`.

use std::time::Duration;

use pgmeter_report::TextStyle;
use results::{
    Action, ActionOutcome, ActionResult, ActionWork, Fault, FaultKind, IndexState, Missing, Record,
    RelationKind, TableState, TablesAt,
};

use crate::texts::fixture::{record, text};

const WIDE: TextStyle = TextStyle { colour: false, width: 160 };

fn view(bytes: u64, dead_rows: u64, deleted_rows: u64) -> TableState {
    TableState {
        name: "public.v".into(),
        kind: RelationKind::MaterializedView,
        bytes: Some(bytes),
        live_rows: Some(1_000),
        dead_rows: Some(dead_rows),
        inserted_rows: Some(1_000),
        updated_rows: Some(0),
        deleted_rows: Some(deleted_rows),
        cached_bytes: None,
        indexes: vec![IndexState { name: "public.k".into(), bytes: Some(40_960), cached_bytes: None }],
    }
}

fn action(at_s: f64, sql: &str, outcome: ActionOutcome, [before, after]: [TablesAt; 2]) -> ActionResult {
    let work = ActionWork::Sql { sql: sql.into() };
    let (begin_s, end_s) = (Some(at_s), Some(at_s + 0.25));
    let action = Action { at_s, work };
    ActionResult { action, begin_s, end_s, outcome, before: Some(before), after: Some(after) }
}

fn with_actions() -> Record {
    let mut record = record();
    let tables = |at_s, table| TablesAt { at_s, tables: vec![table], missing: Vec::new() };
    let [before, after] = [tables(0.0, view(81_920, 0, 0)), tables(2.5, view(98_304, 50, 50))];
    let unread = TablesAt { at_s: 1.0, tables: Vec::new(), missing: vec![Missing::new("tables", "a lock")] };
    let failed = ActionOutcome::Failed { sqlstate: Some("42P01".to_owned()), error: "ERROR: no w".into() };
    record.summary.actions = vec![
        action(2.0, "VACUUM w", failed, [unread, after.clone()]),
        action(1.0, "REFRESH\n  MATERIALIZED VIEW v", ActionOutcome::Succeeded, [before, after]),
    ];
    record.plan.actions = record.summary.actions.iter().map(|result| result.action.clone()).collect();
    record
}

#[test]
fn the_text_has_each_action_by_time_and_the_tables_that_changed() {
    let text = text(&with_actions(), &WIDE);
    let lines: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let at =
        |line: &str| lines.iter().position(|known| known == line).unwrap_or_else(|| panic!("{line}: {text}"));
    at("actions");
    let refresh = at("REFRESH MATERIALIZED VIEW v 1.0 s 250 ms succeeded");
    assert_eq!(at("VACUUM w 2.0 s 250 ms failed (42P01)"), refresh + 1);
    at("Before and after REFRESH MATERIALIZED VIEW v at 1 s");
    at("table or index size before after dead rows before after deleted");
    let row = lines.iter().find(|line| line.starts_with("public.v materialized view"));
    assert!(row.is_some_and(|row| row.ends_with("kB 0 50 50")), "{text}");
    // The index did not change, and the state before the second action is not known.
    assert!(!text.contains("public.k") && !text.contains("Before and after VACUUM"), "{text}");
    at("Not all of the state around VACUUM w at 2 s is known: tables (a lock).");
}

#[test]
fn a_fault_is_shown_as_it_is_written_and_its_states_are_known_or_not() {
    let mut record = record();
    let known = TablesAt { at_s: 4.0, tables: vec![view(81_920, 0, 0)], missing: Vec::new() };
    let unknown =
        TablesAt { tables: Vec::new(), missing: vec![Missing::new("tables", "down")], ..known.clone() };
    let kill = Fault { kind: FaultKind::Kill, lasts: Some(Duration::from_secs(5)) };
    let mut killed = action(3.0, "", ActionOutcome::Succeeded, [unknown, known]);
    killed.action.work = ActionWork::Fault(kill);
    record.summary.actions = vec![killed];
    record.plan.actions = vec![record.summary.actions[0].action.clone()];
    let text = text(&record, &WIDE);
    let row = text.lines().find(|line| line.contains("kill=5s ")).unwrap_or_else(|| panic!("{text}"));
    assert!(row.trim_end().ends_with("succeeded"), "{row}");
    assert!(text.contains("around kill=5s at 3 s is known: tables (down)."), "{text}");
    assert!(!text.contains("Before and after"), "{text}");
}

#[test]
fn a_run_without_actions_has_no_section_about_them() {
    assert!(!text(&record(), &WIDE).contains("\nactions\n"));
}
