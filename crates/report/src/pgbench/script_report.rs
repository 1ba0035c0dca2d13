//! The sections of the report per script and per command. Scripts have sections if there are several; commands are
//! listed with `-r`.

use results::{CommandSummary, Record, ScriptSummary};

use super::c_numbers::{fixed, milliseconds, plain};
use super::counts::{average_and_deviation, ended, endings};
use super::{Columns, Presentation};

/// Prefix of the lines of one script.
const PREFIX: &str = " - ";

/// The sections of all scripts; empty for a single script without `-r`.
pub(super) fn scripts(record: &Record, presentation: &Presentation, columns: &Columns) -> String {
    let several = record.plan.scripts.len() > 1;
    let mut out = String::new();
    for (index, script) in record.summary.scripts.iter().enumerate() {
        if several {
            out += &one_of_several(record, index, script, columns);
        }
        if presentation.report_per_command {
            out += &commands(if several { PREFIX } else { "" }, &script.commands, columns);
        }
    }
    out
}

fn one_of_several(record: &Record, index: usize, script: &ScriptSummary, columns: &Columns) -> String {
    let Record { plan, summary, .. } = record;
    let (description, weight) =
        plan.scripts.get(index).map_or(("", 0), |script| (script.description.as_str(), script.weight));
    let weights: u64 = plan.scripts.iter().map(|script| u64::from(script.weight)).sum();
    let targeted = fixed(100.0 * f64::from(weight) / weights as f64, 1);
    let transactions = ended(&script.counts);
    let share = fixed(100.0 * transactions as f64 / ended(&summary.counts) as f64, 1);
    let mut out = format!(
        "SQL script {}: {description}\n\
         {PREFIX}weight: {weight} (targets {targeted}% of total)\n\
         {PREFIX}{transactions} transactions ({share}% of total)\n",
        index + 1
    );
    if transactions > 0 {
        let succeeded = script.counts.succeeded;
        let tps = plain(succeeded as f64 / summary.elapsed_s);
        out += &format!("{PREFIX}number of transactions actually processed: {succeeded} (tps = {tps})\n");
        out += &endings(PREFIX, &script.counts, columns);
    }
    if let Some(response_us) = &script.response_us {
        out += &average_and_deviation(PREFIX, response_us);
    }
    out
}

/// A line for each command, under a heading.
fn commands(prefix: &str, commands: &[CommandSummary], columns: &Columns) -> String {
    let what = if columns.retries { ", failures and retries" } else { " and failures" };
    let mut out = format!("{prefix}statement latencies in milliseconds{what}:\n");
    for command in commands {
        let CommandSummary { text, mean_us, failures, retries, .. } = command;
        let average_ms = milliseconds(mean_us.unwrap_or(0.0));
        out += &format!("   {average_ms:>11}  {failures:>10} ");
        if columns.retries {
            out += &format!("{retries:>10} ");
        }
        out += text;
        out.push('\n');
    }
    out
}
