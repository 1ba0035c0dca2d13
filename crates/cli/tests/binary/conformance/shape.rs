//! What measured values look like instead of what they are. Pure text; the areas choose what becomes a shape and what
//! must be equal.

use std::collections::BTreeSet;

use crate::conformance::running::Ended;

/// Lines whose fractions are measured; all else is exact.
const MEASURED: [&str; 11] = [
    "latency average = ",
    "latency stddev = ",
    "rate limit schedule lag: ",
    "initial connection time = ",
    "average connection time = ",
    "tps = ",
    "number of transactions actually processed: ",
    "done in ",
    "progress: ",
    "number of transactions above the ",
    "client ",
];

/// Every number with a fraction becomes `#.###`, with as many digits behind the point; with `whole`, whole
/// numbers become `#` too. Blanks that only pad a number go.
pub(crate) fn shape(line: &str, whole: bool) -> String {
    let bytes = line.as_bytes();
    let mut shaped = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let in_word = at > 0 && (bytes[at - 1].is_ascii_alphabetic() || bytes[at - 1] == b'_');
        if !bytes[at].is_ascii_digit() || in_word {
            let character = line[at..].chars().next().map_or(1, char::len_utf8);
            let end = at + character.max(digits(at));
            shaped += &line[at..end];
            at = end;
            continue;
        }
        let end = at + digits(at);
        let decimals = if bytes.get(end) == Some(&b'.') { digits(end + 1) } else { 0 };
        if decimals > 0 {
            shaped += &format!("#.{}", "#".repeat(decimals));
            at = end + 1 + decimals;
        } else {
            shaped += if whole { "#" } else { &line[at..end] };
            at = end;
        }
    }
    shaped
}

/// What was measured is shaped, in lines that have measured numbers; `whole` says whether counts depend on time too.
fn shape_text(text: &str, whole: bool) -> String {
    // A line of the columns of statements, and not the caret below a line of SQL.
    let is_statement = |line: &str| line.starts_with("   ") && !line.trim_start().starts_with('^');
    let is_measured = |line: &str| {
        let line = line.strip_prefix(" - ").unwrap_or(line);
        is_statement(line) || MEASURED.iter().any(|start| line.starts_with(start))
    };
    let line = |line: &str| {
        let line = if whole || is_measured(line) { shape(line, whole) } else { line.to_owned() };
        // A measured number takes more or fewer of the blanks that pad it.
        if is_statement(&line) && whole {
            line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n"
        } else if is_statement(&line) {
            format!("   {}\n", line.trim_start())
        } else {
            line + "\n"
        }
    };
    text.lines().map(line).collect()
}

/// For runs of a known number of transactions: times are shaped, counts are compared.
pub(crate) fn times(ended: &mut Ended) {
    counted(ended, &[2, 4, 5]);
}

/// The same for runs with a rate, whose logs have the lag as well.
pub(crate) fn times_and_lags(ended: &mut Ended) {
    counted(ended, &[2, 4, 5, 6]);
}

fn counted(ended: &mut Ended, measured: &[usize]) {
    ended.stdout = shape_text(&ended.stdout, false);
    ended.stderr = shape_text(&ended.stderr, false);
    for (_, contents) in &mut ended.logs {
        let mut lines: Vec<String> = contents.lines().map(|line| log_line(line, measured)).collect();
        // Lines of several clients come in any order.
        lines.sort();
        *contents = lines.concat();
    }
}

/// For runs whose counts depend on time: all numbers are shaped, and lines that come out alike count once.
pub(crate) fn all(ended: &mut Ended) {
    ended.stdout = shape_text(&ended.stdout, true);
    let mut seen = BTreeSet::new();
    let stderr = shape_text(&ended.stderr, true);
    ended.stderr = stderr.lines().filter(|line| seen.insert(*line)).map(|line| format!("{line}\n")).collect();
    for (_, contents) in &mut ended.logs {
        // How often a word such as "skipped" comes depends on time.
        let shapes: BTreeSet<String> = contents.lines().map(|line| shape(line, true)).collect();
        *contents = shapes.into_iter().map(|line| line + "\n").collect();
    }
}

/// Fields of a log that hold a time or a lag become `#`. Words such as `failed` stay, and the lag beside them, which is
/// not measured.
fn log_line(line: &str, measured: &[usize]) -> String {
    let fields: Vec<&str> = line.split(' ').collect();
    let is_number = |field: &&str| field.bytes().all(|byte| byte.is_ascii_digit());
    let succeeded = fields.get(2).is_some_and(is_number);
    let shaped = fields.iter().enumerate().map(|(index, field)| {
        let hide = measured.contains(&index) && is_number(field) && (succeeded || index != 6);
        if hide { "#" } else { field }
    });
    shaped.collect::<Vec<_>>().join(" ") + "\n"
}

/// For runs with several clients, whose messages come in any order.
pub(crate) fn times_in_any_order(ended: &mut Ended) {
    times(ended);
    let mut lines: Vec<&str> = ended.stderr.lines().collect();
    lines.sort_unstable();
    ended.stderr = lines.iter().map(|line| format!("{line}\n")).collect();
}

/// For runs with several threads, which mix what they say.
pub(crate) fn report_only(ended: &mut Ended) {
    times(ended);
    ended.stderr.clear();
}

/// Everything as it is.
pub(crate) fn exact(_: &mut Ended) {}
