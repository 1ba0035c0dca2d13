//! How the final report changed from version to version of pgbench, as changes to its text. Used by the table of
//! changes only.

use crate::conformance::running::Ended;

const PROCESSED: &str = "number of transactions actually processed: ";
const FAILED: &str = "number of failed transactions: ";
const SKIPPED: &str = "number of transactions skipped: ";

/// Rewrites stdout line by line; says whether a line changed.
fn map_stdout(ended: &mut Ended, mut change: impl FnMut(&str) -> Option<String>) -> bool {
    let mut changed = false;
    let mut stdout = String::new();
    for line in ended.stdout.split_inclusive('\n') {
        let new = change(line);
        changed |= new.is_some();
        stdout += new.as_deref().unwrap_or(line);
    }
    ended.stdout = stdout;
    changed
}

/// The whole number that `text` begins with.
fn number(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().unwrap_or(0)
}

/// The number behind `label` in the first of these lines that has it.
fn after(lines: &[&str], label: &str) -> u64 {
    lines.iter().find_map(|line| line.split_once(label)).map_or(0, |(_, rest)| number(rest))
}

pub(crate) fn other_failures(older: &mut Ended, _: &mut Ended) -> bool {
    map_stdout(older, |line| {
        let (before, _) = line.split_once("number of deadlock failures: ")?;
        Some(format!("{line}{before}number of other failures: 0 (0.000%)\n"))
    })
}

/// Under the header of statements: average, failures, retries if any, text.
pub(crate) fn one_blank(older: &mut Ended, _: &mut Ended) -> bool {
    let mut with_retries = false;
    map_stdout(older, |line| {
        if line.contains("statement latencies in milliseconds") {
            with_retries = line.contains("and retries");
        }
        let fields: Vec<&str> = line.split_whitespace().take(2).collect();
        let is_statement = line.starts_with("   ")
            && matches!(fields[..], [average, failures] if average.contains('.') && failures.parse::<u64>().is_ok());
        is_statement.then(|| {
            let (columns, text) =
                line.split_at(if with_retries { 3 + 11 + 2 + 10 + 2 + 10 } else { 3 + 11 + 2 + 10 });
            let columns = if with_retries {
                format!("{}{}", &columns[..26], &columns[27..])
            } else {
                columns.to_owned()
            };
            format!("{columns}{}", &text[1..])
        })
    })
}

/// Before 18 a script's own lines begin with its successes, and its share is one of them.
pub(crate) fn per_script(older: &mut Ended, _: &mut Ended) -> bool {
    let text = older.stdout.clone();
    let mut parts = text.split("SQL script ");
    let head: Vec<&str> = parts.next().unwrap_or_default().lines().collect();
    let total = after(&head, PROCESSED) + after(&head, FAILED) + after(&head, SKIPPED);
    let scripts: Vec<&str> = parts.collect();
    older.stdout = head.iter().map(|line| format!("{line}\n")).collect();
    for script in &scripts {
        older.stdout += "SQL script ";
        older.stdout += &script_lines(script, total);
    }
    !scripts.is_empty()
}

fn script_lines(script: &str, total: u64) -> String {
    let lines: Vec<&str> = script.lines().collect();
    let own = |label| after(&lines, label);
    let never_run = script.contains("NaN%");
    let mut text = String::new();
    for line in &lines {
        let count = line.strip_prefix(" - ").filter(|rest| rest.contains(" transactions (")).map(number);
        if let Some(succeeded) = count {
            let tps = line.rsplit_once("tps = ").map_or("?)", |(_, tps)| tps);
            let all = succeeded + own(FAILED) + own(SKIPPED);
            let share = 100.0 * all as f64 / total as f64;
            text += &format!(" - {all} transactions ({share:.1}% of total)\n");
            if all > 0 {
                text += &format!(" - {PROCESSED}{succeeded} (tps = {tps}\n");
            }
        } else if line.contains("NaN%") || (never_run && line.starts_with(" - total number of retries: ")) {
            // 18 says nothing about a script that was never run.
        } else {
            text += &format!("{line}\n");
        }
    }
    text
}

/// Before 18 the report ends there; what 18 adds is compared only with a pgbench that has it.
pub(crate) fn none_succeeded(older: &mut Ended, newer: &mut Ended) -> bool {
    let head_ends = |ended: &Ended| {
        let processed = ended.stdout.split_once(PROCESSED)?.1;
        let none = number(processed) == 0 && !older_goes_on(&older.stdout);
        none.then(|| ended.stdout.find("latency average").unwrap_or(ended.stdout.len()))
    };
    let (Some(one), Some(other)) = (head_ends(older), head_ends(newer)) else { return false };
    older.stdout.truncate(one);
    newer.stdout.truncate(other);
    // With nothing at all even the new one ends before that.
    if older.stdout.contains("NaN%") {
        map_stdout(older, |line| {
            (line.contains("NaN%") || line == "total number of retries: 0\n").then(String::new)
        });
    }
    true
}

fn older_goes_on(stdout: &str) -> bool {
    stdout.contains("latency average")
}
