//! What pgmeter said of a run, and whether it is true of the cause: the verdict from the record; the nearest limit and the
//! headline from the report, as a reader sees them.

use std::fmt::Write as _;

use serde_json::Value;

use super::Row;
use super::list::Cause;

pub(super) enum Answer {
    /// The reason.
    NotTried(String),
    Found(Found),
}

/// The parts of an answer as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    verdict: String,
    nearest: String,
    headline: String,
    judgement: Judgement,
}

#[derive(Debug, PartialEq, Eq)]
enum Judgement {
    Right,
    /// No limit was named, or no resource of the server.
    Undecided,
    WrongVerdict,
    WrongNearestLimit,
    EventMissing,
}

impl Judgement {
    fn name(&self) -> &'static str {
        match self {
            Judgement::Right => "right",
            Judgement::Undecided => "undecided",
            Judgement::WrongVerdict => "WRONG",
            Judgement::WrongNearestLimit => "WRONG nearest limit",
            Judgement::EventMissing => "WRONG: the event is missing",
        }
    }
}

/// From this share of it, a bound is near, whatever else limits a run.
const NEAR: f64 = 0.5;
/// The greatest share of a bound that its error explains.
const POSSIBLE: f64 = 1.1;

/// Verdicts that name nothing, or no resource of the server, and so are not wrong.
const NAMELESS: [&str; 3] = ["undecided", "undecided (other programs)", "server"];

impl Answer {
    pub(super) fn new(record: &Value, report: &str, cause: &Cause) -> Answer {
        let verdict = verdict(&record["summary"]["generator"]["verdict"]);
        let nearest = entry(report, "nearest limit").unwrap_or_default();
        let judgement = judgement(cause, &verdict, &nearest, &entry(report, "events").unwrap_or_default());
        let headline = headline(report);
        // The reason of a limit that could not be measured follows a colon.
        let nearest = first_sentence(nearest.split(": ").next().unwrap_or_default());
        Answer::Found(Found { verdict, nearest, headline, judgement })
    }

    pub(super) fn is_wrong(&self) -> bool {
        match self {
            Answer::NotTried(_) => false,
            Answer::Found(found) => !matches!(found.judgement, Judgement::Right | Judgement::Undecided),
        }
    }

    /// In one line.
    pub(super) fn summary(&self) -> String {
        match self {
            Answer::NotTried(reason) => format!("not tried: {reason}"),
            Answer::Found(Found { verdict, nearest, judgement, .. }) => {
                format!("{verdict}; {nearest}: {}", judgement.name())
            }
        }
    }
}

fn judgement(cause: &Cause, verdict: &str, nearest: &str, events: &str) -> Judgement {
    let is_near = |share: f64| (NEAR..=POSSIBLE).contains(&share);
    let is_true = |limit: &Nearest| {
        limit.reached_share <= POSSIBLE && cause.nearest.contains(&limit.name.as_str())
            || is_near(limit.reached_share)
    };
    if !cause.verdicts.contains(&verdict) && !NAMELESS.contains(&verdict) {
        Judgement::WrongVerdict
    } else if Nearest::parse(nearest).is_some_and(|limit| !is_true(&limit)) {
        Judgement::WrongNearestLimit
    } else if cause.event.is_some_and(|event| !events.contains(event)) {
        Judgement::EventMissing
    } else if cause.verdicts.contains(&verdict) {
        Judgement::Right
    } else {
        Judgement::Undecided
    }
}

/// The name of the limit, with the resource of a server.
fn verdict(verdict: &Value) -> String {
    let evidence = &verdict["evidence"];
    let limit = match verdict["limit"].as_str().unwrap_or("missing") {
        "client_count" => "number of clients",
        "network" if evidence["kind"] == "on_the_way" => "network or proxy",
        limit => limit,
    };
    let detail = match verdict["resource"].as_str() {
        Some("row_locks") => Some("row locks"),
        Some("wal_flush") => Some("WAL flush"),
        Some("io") => Some("I/O"),
        Some(resource) => Some(resource),
        None if verdict["others"].is_object() => Some("other programs"),
        None if evidence["kind"] == "cpu_wait" || evidence["remedy"] == "own_cpus" => Some("CPUs of its own"),
        None => None,
    };
    detail.map_or_else(|| limit.to_owned(), |detail| format!("{limit} ({detail})"))
}

/// A nearest limit in a report: `600 tps by CPUs, 107 % reached. …`.
struct Nearest {
    name: String,
    reached_share: f64,
}

impl Nearest {
    /// `None` if the report has none.
    fn parse(entry: &str) -> Option<Self> {
        let (_, rest) = entry.split_once(" tps by ")?;
        let (name, rest) = rest.rsplit_once(" reached").and_then(|(start, _)| start.rsplit_once(", "))?;
        let percent: f64 = rest.split_whitespace().next()?.parse().ok()?;
        Some(Self { name: name.to_owned(), reached_share: percent / 100.0 })
    }
}

/// The text of an entry of the report, in one line.
fn entry(report: &str, label: &str) -> Option<String> {
    let mut lines = report.lines().skip_while(|line| !is_entry(line, label));
    let first = lines.next()?.trim_start().strip_prefix(label)?.trim().to_owned();
    let more = lines.take_while(|line| line.starts_with("      ")).map(str::trim);
    Some(std::iter::once(first.as_str()).chain(more).collect::<Vec<_>>().join(" "))
}

fn is_entry(line: &str, label: &str) -> bool {
    line.strip_prefix("  ")
        .and_then(|line| line.strip_prefix(label))
        .is_some_and(|rest| rest.starts_with("  "))
}

/// What the report begins with: a sentence above the title if there is one, the throughput otherwise.
fn headline(report: &str) -> String {
    let start = report.lines().next().unwrap_or_default();
    if start.contains(": ") || start.ends_with('.') {
        return first_sentence(start);
    }
    entry(report, "throughput").unwrap_or_else(|| start.to_owned())
}

fn first_sentence(text: &str) -> String {
    text.split_once(". ").map_or(text, |(first, _)| first).to_owned()
}

/// The table in Markdown, with the numbers of answers.
pub(super) fn table(rows: &[Row]) -> String {
    let mut out =
        "| true cause | PostgreSQL | machine | verdict | nearest limit | headline | answer |\n".to_owned();
    out.push_str("|---|---|---|---|---|---|---|\n");
    for Row { cause, version, load, answer } in rows {
        let parts = match answer {
            Answer::NotTried(reason) => format!("not tried: {reason} | | | "),
            Answer::Found(Found { verdict, nearest, headline, judgement }) => {
                format!("{verdict} | {nearest} | {headline} | {}", judgement.name())
            }
        };
        let _ = writeln!(out, "| {cause} | {version} | {} | {parts} |", load.name());
    }
    let number = |of: fn(&Judgement) -> bool| {
        let is_one = |row: &&Row| matches!(&row.answer, Answer::Found(found) if of(&found.judgement));
        rows.iter().filter(is_one).count()
    };
    let (right, undecided) = (
        number(|judgement| *judgement == Judgement::Right),
        number(|judgement| *judgement == Judgement::Undecided),
    );
    let wrong = rows.iter().filter(|row| row.answer.is_wrong()).count();
    let _ = writeln!(out, "\n{} runs: {right} right, {undecided} undecided, {wrong} wrong.", rows.len());
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::list::CAUSES;
    use super::*;

    const REPORT: &str = "row.sql on PostgreSQL 18.6
  16 clients on 1 worker, simple protocol, 5.0 s after 1 s of warm-up

  throughput      599.0 tps (no confidence interval below 20 s)
  events          1 lock queue
  nearest limit   630.6 tps by locks of contended rows, 95 % reached. Transactions compete for
                  1 row, each locked for 2.32 ms until the end of the transaction.

  latency, ms   mean
";

    fn answer(name: &str, verdict: &Value, report: &str) -> (String, String, String, &'static str) {
        let cause = CAUSES.iter().find(|cause| cause.name == name).expect("it is one");
        let record = json!({ "summary": { "generator": { "verdict": verdict } } });
        let Answer::Found(Found { verdict, nearest, headline, judgement }) =
            Answer::new(&record, report, cause)
        else {
            panic!("it was tried")
        };
        (verdict, nearest, headline, judgement.name())
    }

    #[test]
    fn a_true_answer_is_right_and_a_nameless_one_is_undecided() {
        let row_locks = json!({ "limit": "server", "resource": "row_locks", "evidence": {} });
        let nearest = "630.6 tps by locks of contended rows, 95 % reached";
        let throughput = "599.0 tps (no confidence interval below 20 s)";
        let right = ("server (row locks)".into(), nearest.into(), throughput.into(), "right");
        assert_eq!(answer("row-locks", &row_locks, REPORT), right);
        let undecided = json!({ "limit": "undecided", "others": {}, "evidence": {} });
        let (verdict, .., judgement) = answer("row-locks", &undecided, REPORT);
        assert_eq!((verdict.as_str(), judgement), ("undecided (other programs)", "undecided"));
        assert_eq!(answer("row-locks", &json!({ "limit": "server", "evidence": {} }), REPORT).3, "undecided");
    }

    #[test]
    fn another_name_an_impossible_or_distant_limit_and_a_missing_event_are_wrong() {
        let server = |resource: &str| json!({ "limit": "server", "resource": resource, "evidence": {} });
        let generator = json!({ "limit": "generator", "evidence": { "kind": "cpu_wait" } });
        assert_eq!(answer("row-locks", &server("processors"), REPORT).3, "WRONG");
        assert_eq!(answer("row-locks", &generator, REPORT).3, "WRONG");
        let exceeded = REPORT.replace("95 %", "133 %");
        assert_eq!(answer("row-locks", &server("row_locks"), &exceeded).3, "WRONG nearest limit");
        let other = REPORT.replace("locks of contended rows, 95 %", "CPUs, 20 %");
        assert_eq!(answer("row-locks", &server("row_locks"), &other).3, "WRONG nearest limit");
        // Two limits can be near.
        assert_eq!(answer("row-locks", &server("row_locks"), &other.replace("20 %", "80 %")).3, "right");
        assert_eq!(
            answer("checkpoints", &server("io"), &other.replace("20 %", "80 %")).3,
            "WRONG: the event is missing"
        );
    }

    #[test]
    fn a_limit_that_could_not_be_measured_is_none_and_a_sentence_at_the_top_is_the_headline() {
        let report = "CLIENT-LIMITED: The worker was never idle. It ran.\nThe figures.\n\n\
                      \u{20} nearest limit   too little to measure: the load used little\n";
        let generator = json!({ "limit": "generator", "evidence": {} });
        let (_, nearest, headline, judgement) = answer("generator", &generator, report);
        assert_eq!((nearest.as_str(), judgement), ("too little to measure", "right"));
        assert_eq!(headline, "CLIENT-LIMITED: The worker was never idle");
        let way = json!({ "limit": "network", "evidence": { "kind": "on_the_way" } });
        let (verdict, ..) = answer("proxy", &way, REPORT);
        assert_eq!(verdict, "network or proxy");
    }
}
