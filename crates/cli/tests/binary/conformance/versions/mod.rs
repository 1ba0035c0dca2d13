//! What may differ, each with its reason: what older versions of pgbench print in another way than newer ones, and what
//! the drop-in does in another way on purpose, as docs/pgbench.md says. Nothing else may.

mod deliberate;
mod reports;

use crate::conformance::programs::Program;
use crate::conformance::running::Ended;
use std::collections::BTreeSet;

/// Something that versions before `until` print in another way. `change` makes it new in what the older program left,
/// or takes it out of both where the older one does not say it, and tells whether it was there.
struct Change {
    until: u32,
    reason: &'static str,
    change: fn(older: &mut Ended, newer: &mut Ended) -> bool,
}

/// Oldest last: each brings the text to what the one before expects.
const CHANGES: &[Change] = &[
    Change { until: 17, reason: "17 says which table it fills", change: of_which_table },
    Change { until: 18, reason: "18 spells --client right", change: client_spelled },
    Change { until: 18, reason: "18 quotes the name of a setting", change: quoted_setting },
    Change { until: 18, reason: "18 has one blank in the columns of statements", change: reports::one_blank },
    Change { until: 18, reason: "18 counts all transactions of a script", change: reports::per_script },
    Change { until: 18, reason: "18 goes on when none succeeded", change: reports::none_succeeded },
    Change { until: 19, reason: "19 tells other failures apart", change: reports::other_failures },
    Change { until: 19, reason: "19 tells the error that ended a connection", change: error_of_the_end },
    Change { until: 19, reason: "19 has a 16th field in aggregated logs", change: sixteenth_field },
];

/// Takes out what may differ between the two; says what there was.
pub(crate) fn reconcile(programs: [&Program; 2], ended: &mut [Ended; 2]) -> Vec<&'static str> {
    let [one, other] = ended;
    let mut reasons = Vec::new();
    for change in CHANGES {
        let is_older = programs.map(|program| program.version < change.until);
        let there = match is_older {
            [true, false] => (change.change)(one, other),
            [false, true] => (change.change)(other, one),
            _ => false,
        };
        if there {
            reasons.push(change.reason);
        }
    }
    if programs[1].is_ours {
        reasons.extend(deliberate::take_out(one, other));
    }
    // Which version it is, is no difference.
    for ended in [one, other] {
        if let Some(rest) = ended.stdout.strip_prefix("pgbench (")
            && !rest.starts_with("PostgreSQL)")
        {
            let end = rest.find('\n').unwrap_or(rest.len());
            if rest[..end].ends_with(')') {
                ended.stdout = format!("pgbench (VERSION){}", &rest[end..]);
            }
        }
    }
    reasons
}

fn sixteenth_field(older: &mut Ended, _: &mut Ended) -> bool {
    let is_aggregated = |line: &str| line.split(' ').count() == 15;
    let logs = older.logs.iter_mut().filter(|(_, contents)| contents.lines().any(is_aggregated));
    let changed =
        logs.map(|(_, contents)| *contents = contents.lines().map(|line| format!("{line} 0\n")).collect());
    changed.count() > 0
}

/// Where an error that could be retried ended the connection too, older versions tell of the rollback or of the status.
fn error_of_the_end(older: &mut Ended, newer: &mut Ended) -> bool {
    const DIED: &str = "perhaps the backend died while processing\n";
    const WORDS: [&str; 3] = [
        "aborted while rolling back the transaction after an error; ",
        "aborted while receiving the transaction status",
        "pgbench: error: perhaps",
    ];
    let is_old = |line: &str| WORDS.iter().any(|words| line.contains(words));
    let is_new = |line: &str| line.contains(" aborted in command ") && !line.contains(DIED.trim_end());
    let applies =
        older.stderr.contains(DIED) && !older.stderr.lines().any(is_new) && newer.stderr.lines().any(is_new);
    // Both tell of the same clients.
    let clients = |text: &str, is_it: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        let number = |line: &str| line.split_once("client ")?.1.split(' ').next().map(str::to_owned);
        text.lines().filter(|line| is_it(line)).filter_map(number).collect()
    };
    let died = |line: &str| line.contains(" aborted ") || is_old(line);
    let applies = applies && clients(&older.stderr, &died) == clients(&newer.stderr, &is_new);
    let kept = |text: &str, is_it: &dyn Fn(&str) -> bool| -> String {
        text.split_inclusive('\n').filter(|line| !is_it(line)).collect()
    };
    if applies {
        older.stderr = kept(&older.stderr, &is_old);
        newer.stderr = kept(&newer.stderr, &is_new);
    }
    applies
}

fn of_which_table(older: &mut Ended, _: &mut Ended) -> bool {
    let old = "%) done (elapsed";
    let changed = older.stderr.contains(old);
    older.stderr = older.stderr.replace(old, "%) of pgbench_accounts done (elapsed");
    changed
}

fn client_spelled(older: &mut Ended, _: &mut Ended) -> bool {
    let changed = older.stderr.contains("-c/--clients");
    older.stderr = older.stderr.replace("-c/--clients", "-c/--client");
    changed
}

fn quoted_setting(older: &mut Ended, _: &mut Ended) -> bool {
    let old = "table found in search_path";
    let changed = older.stderr.contains(old);
    older.stderr = older.stderr.replace(old, "table found in \"search_path\"");
    changed
}
