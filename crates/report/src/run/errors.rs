//! The server's errors in the transactions of a run: each kind once, with its count, its place in the script, and a caret
//! below the position that the server named.

use results::{ErrorCounts, Record, TransactionError, TransactionErrors, escaped};

use crate::document::{Block, Tone};
use crate::figures::counted;
use crate::prose::{cut, escaped_line, sentence};

/// Kinds on the terminal, which has room for one screen.
const SHOWN_ON_TERMINAL_MAX: usize = 3;
/// Characters of a DETAIL or HINT: two lines. That of a deadlock names each of its processes.
const MORE_LENGTH_MAX: usize = 180;

/// The errors for the page and Markdown; empty if there were none.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    of_kinds(record, usize::MAX)
}

/// The most frequent errors, for the terminal.
pub(super) fn brief(record: &Record) -> Vec<Block> {
    of_kinds(record, SHOWN_ON_TERMINAL_MAX)
}

fn of_kinds(record: &Record, kinds_max: usize) -> Vec<Block> {
    let Some(TransactionErrors { kinds, others }) = &record.summary.errors else { return Vec::new() };
    let shown = kinds.len().min(kinds_max);
    let mut blocks: Vec<Block> = kinds[..shown].iter().flat_map(|kind| of_kind(record, kind)).collect();
    let more = kinds[shown..].iter().fold(*others, |sum, kind| sum_of(sum, kind.counts));
    if more != ErrorCounts::default() {
        let report = if shown < kinds.len() { " (report --format html shows more of them)" } else { "" };
        let text = format!("Errors of other kinds: {}{report}.", effects(more));
        blocks.push(Block::Paragraph(Tone::Plain, text));
    }
    blocks
}

/// A damaged record may have counts that overflow.
fn sum_of(a: ErrorCounts, b: ErrorCounts) -> ErrorCounts {
    ErrorCounts {
        failed: a.failed.saturating_add(b.failed),
        retried: a.retried.saturating_add(b.retried),
        aborted: a.aborted.saturating_add(b.aborted),
    }
}

/// `22012 division by zero: 12 transactions failed.`, then the place.
fn of_kind(record: &Record, error: &TransactionError) -> [Block; 2] {
    let TransactionError { sqlstate, message, detail, hint, script, line, text, column, counts } = error;
    let message = escaped_line(message.as_str());
    let mut what = format!("{} {message}: {}.", escaped_line(sqlstate), effects(*counts));
    // Only the first error is kept, and the others have other details.
    let ErrorCounts { failed, retried, aborted } = *counts;
    let is_single = failed.saturating_add(retried).saturating_add(aborted) <= 1;
    let of_first = if is_single { "DETAIL" } else { "DETAIL of the first" };
    for (label, more) in [(of_first, detail), ("HINT", hint)] {
        if let Some(more) = more {
            let more = cut(&escaped_line(more.as_str()), MORE_LENGTH_MAX);
            what += &format!(" {label}: {}", sentence(&more));
        }
    }
    let script = usize::try_from(*script).ok().and_then(|at| record.plan.scripts.get(at));
    let file = script.map(|script| escaped_line(&script.description)).unwrap_or_default();
    let place = format!("{file}:{line}: ");
    let shown = escaped(text.as_str());
    let mut code = format!("{place}{shown}");
    if let Some(before) = column.and_then(|column| usize::try_from(column).ok()?.checked_sub(1)) {
        let before: String = text.as_str().chars().take(before).collect();
        let blanks = place.chars().count() + escaped(&before).chars().count();
        code += &format!("\n{}^", " ".repeat(blanks));
    }
    [Block::Paragraph(Tone::Plain, what), Block::Code(code)]
}

/// `12 transactions failed, 3 retries, 1 client aborted`
fn effects(ErrorCounts { failed, retried, aborted }: ErrorCounts) -> String {
    let parts = [
        (failed, format!("{} failed", counted(failed, "transaction", "transactions"))),
        (retried, counted(retried, "retry", "retries")),
        (aborted, format!("{} aborted", counted(aborted, "client", "clients"))),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|(number, _)| *number > 0).map(|(_, part)| part).collect();
    parts.join(", ")
}
