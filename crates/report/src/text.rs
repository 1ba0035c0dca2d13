//! The summary of one run as terminal text that fits one screen: what ran, how fast, how long it took,
//! what it cost, and what to know before believing it. Called by `cli` after each run and for stored ones.

use results::{
    Connecting, Connection, Counts, EventLoop, Generator, Latency, Limit, LimitedBy, Plan, Record, Script,
    Status, Summary, Verdict,
};

use stats::INTERVALS_MIN;

use crate::figures::{
    TIE, UNKNOWN_SIZE, as_asked, asked_seconds, count, counted, latency, measured_seconds, percent,
    plus_minus, rate, with_ordinary_spaces,
};
use crate::latency_table::{Row, ScriptFigures, latency_table};
use crate::prose::{Emphasis, emphasise, enumerate, escaped_line, wrap};
use crate::sections::{self, precision};
use crate::server_lines::server_lines;
use crate::wording;

/// How text may look.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// Whether ANSI colours may be used; nothing is said by colour alone.
    pub colour: bool,
    /// Columns of the terminal; longer lines of prose are wrapped.
    pub width: usize,
}

/// Blanks before everything below the title.
const INDENT: usize = 2;

/// Where the values of labelled lines begin.
const VALUE_COLUMN: usize = 16;

/// The summary of a run, several lines, the last with its line end.
pub fn text(record: &Record, style: &TextStyle) -> String {
    let mut out = status_lines(record, style);
    out += &accusation(record, style);
    out += &title(record, style);
    out += &indented(&load(record), style);
    out += &event_loop(record).map_or(String::new(), |event_loop| indented(&event_loop, style));
    out.push('\n');
    for (label, value) in labelled(record, style) {
        out += &labelled_line(label, &value, style);
    }
    out.push('\n');
    out += &latencies(record, style);
    out += &warnings(record, style);
    with_ordinary_spaces(&out)
}

/// Nothing for a complete run; otherwise the first thing that is read.
fn status_lines(record: &Record, style: &TextStyle) -> String {
    let Record { status, plan, summary, .. } = record;
    let measured = summary.duration_s > 0.0;
    let when = match plan.limit {
        _ if !measured => "before anything was measured".to_owned(),
        Limit::Duration(asked) => {
            format!(
                "after {} of {}",
                measured_seconds(summary.duration_s),
                asked_seconds(asked.as_secs_f64())
            )
        }
        Limit::TransactionsPerClient(_) => format!("after {}", measured_seconds(summary.duration_s)),
    };
    let figures = if measured { " The figures are of that part only." } else { "" };
    let what = match status {
        Status::Complete => return String::new(),
        Status::Interrupted => format!("INTERRUPTED {when}.{figures}"),
        Status::Failed { reason } => {
            format!("FAILED {when}: {}{figures}", sentence(&escaped_line(reason.as_str())))
        }
    };
    format!("{}\n\n", emphasise(&wrap(&what, 0, 0, style.width), Emphasis::Alarm, style))
}

/// What pgmeter has against itself; nothing if something else was the limit, which `limit` then says.
fn accusation(record: &Record, style: &TextStyle) -> String {
    let Some(Generator { verdict: Verdict { limit: LimitedBy::Generator, evidence, .. }, .. }) =
        &record.summary.generator
    else {
        return String::new();
    };
    let what = format!(
        "CLIENT-LIMITED: {} The figures say more about pgmeter than about the server.",
        sentence(&escaped_line(evidence))
    );
    format!("{}\n\n", emphasise(&wrap(&what, 0, 0, style.width), Emphasis::Alarm, style))
}

/// With a full stop at its end, whether or not it came with one.
fn sentence(text: &str) -> String {
    let ended = text.ends_with(['.', '!', '?']);
    format!("{text}{}", if ended { "" } else { "." })
}

/// `tpcb-like on PostgreSQL 18.1`
fn title(record: &Record, style: &TextStyle) -> String {
    let scripts = &record.plan.scripts;
    let weighted = scripts.windows(2).any(|pair| pair[0].weight != pair[1].weight);
    let name = |script: &Script| {
        let weight = weighted.then(|| format!("weight {}", script.weight));
        let target = script.target.as_ref().map(|target| format!("at {}", escaped_line(target)));
        let what: Vec<String> = weight.into_iter().chain(target).collect();
        let what = if what.is_empty() { String::new() } else { format!(" ({})", what.join(", ")) };
        escaped_line(&script.name) + &what
    };
    let mut title = enumerate(&scripts.iter().map(name).collect::<Vec<_>>());
    if let Some(server) = &record.environment.server {
        title += &format!(" on PostgreSQL {}", escaped_line(&server.version));
    }
    format!("{}\n", emphasise(&wrap(&title, 0, INDENT, style.width), Emphasis::Strong, style))
}

/// `8 clients on 2 workers, simple protocol, 10.0 s after 2 s of warm-up`
fn load(record: &Record) -> String {
    let Record { plan, summary, .. } = record;
    let Plan { clients, workers, protocol, limit, warmup_s, reconnect, .. } = plan;
    let mut load = format!(
        "{} on {}, {} protocol, ",
        counted(u64::from(*clients), "client", "clients"),
        counted(u64::from(*workers), "worker", "workers"),
        protocol.name()
    );
    if *reconnect {
        load += "a connection for each transaction, ";
    }
    if let Limit::TransactionsPerClient(transactions) = limit {
        load += &format!("{} per client, ", counted(*transactions, "transaction", "transactions"));
    }
    if summary.duration_s == 0.0 {
        return load + "nothing measured";
    }
    load += &measured_seconds(summary.duration_s);
    if *warmup_s > 0.0 {
        load += &format!(" after {} of warm-up", asked_seconds(*warmup_s));
    }
    load
}

/// `event loop io_uring`, or `event loop epoll, because the system refuses io_uring`.
fn event_loop(record: &Record) -> Option<String> {
    let EventLoop { name, because } = &record.summary.generator.as_ref()?.event_loop;
    let because = because.as_ref().map(|because| format!(", because {}", escaped_line(because.as_str())));
    Some(format!("event loop {}{}", name.name(), because.unwrap_or_default()))
}

/// The lines that have a label, in order.
fn labelled(record: &Record, style: &TextStyle) -> Vec<(&'static str, String)> {
    let Record { plan, summary, .. } = record;
    let mut throughput = emphasise(&format!("{}{TIE}tps", rate(summary.tps)), Emphasis::Strong, style);
    if let Some(sure) = summary.confidence.tps {
        let how_sure = plus_minus(summary.tps, sure.low, sure.high);
        throughput += &format!(" {}", how_sure.unwrap_or_else(|| format!("({UNKNOWN_SIZE})")));
    }
    let too_short = record.intervals.len() < INTERVALS_MIN && summary.confidence.tps.is_none();
    let why_not = too_short && !record.intervals.is_empty();
    if let Some(rate_tps) = plan.rate_tps {
        throughput += &format!(" of {} scheduled", as_asked(rate_tps));
    }
    if why_not {
        throughput += &format!(" (no confidence interval below {INTERVALS_MIN}{TIE}s)");
    }
    let mut lines = vec![("throughput", throughput), ("transactions", transactions(summary, style))];
    lines.extend(precision(record).map(|precision| ("precision", precision)));
    lines.extend(business(summary).map(|business| ("business", business)));
    lines.extend(sections::late_or_skipped(record).map(|late| ("late or skipped", late)));
    lines.extend(sections::stalls(record).map(|stalls| ("stalls", stalls)));
    lines.extend(lag(plan, summary).map(|lag| ("lag", lag)));
    lines.extend(retried(plan, summary).map(|retried| ("retried", retried)));
    lines.extend(connecting(summary).map(|connecting| ("connecting", connecting)));
    lines.extend(client_cpu(plan, summary).map(|cpu| ("client CPU", cpu)));
    lines.extend(limit(summary).map(|limit| ("limit", limit)));
    lines.extend(server_lines(record));
    lines.extend(targets(plan).map(|targets| ("targets", targets)));
    lines
}

/// `12,345 succeeded, 3 failed (0.02 %: 2 serialization, 1 deadlock), 5 unfinished`
fn transactions(summary: &Summary, style: &TextStyle) -> String {
    let counts = &summary.counts;
    let mut failed = format!("{}{TIE}failed", count(counts.failed));
    if counts.failed > 0 {
        let failures = &counts.failures;
        let kinds = [
            (failures.serialization, "serialization"),
            (failures.deadlock, "deadlock"),
            (failures.other, "other"),
        ];
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, kind)| format!("{}{TIE}{kind}", count(*number)))
            .collect();
        let share = percent(counts.failed as f64, counts.scheduled as f64);
        failed = emphasise(&format!("{failed} ({share}: {})", kinds.join(", ")), Emphasis::Alarm, style);
    }
    let mut parts = vec![format!("{}{TIE}succeeded", count(counts.succeeded)), failed];
    if counts.skipped > 0 {
        let share = percent(counts.skipped as f64, counts.scheduled as f64);
        parts.push(format!("{} skipped as too late to start ({share})", count(counts.skipped)));
    }
    if counts.unfinished > 0 {
        parts.push(format!("{} unfinished at the end", count(counts.unfinished)));
    }
    parts.join(", ")
}

/// `123,423 tps: a transaction stands for 100 on average`, if any stand for more than themselves.
fn business(summary: &Summary) -> Option<String> {
    let Counts { business, succeeded, .. } = summary.counts;
    let per_transaction = business as f64 / succeeded as f64;
    let tps = rate(summary.tps * per_transaction);
    (business > succeeded)
        .then(|| format!("{tps}{TIE}tps: a transaction stands for {} on average", as_asked(per_transaction)))
}

/// `1.00 ms on average, 12.3 ms at most, from due to begun`, where transactions are due at all.
fn lag(plan: &Plan, summary: &Summary) -> Option<String> {
    let lag_us = summary.lag_us.filter(|_| plan.rate_tps.is_some())?;
    Some(format!("{} on average, {} at most, from due to begun", latency(lag_us.mean), latency(lag_us.max)))
}

/// `12 transactions (0.1 %), 15 times in all, up to 3 tries`, if there were any or might have been.
fn retried(plan: &Plan, summary: &Summary) -> Option<String> {
    let counts = &summary.counts;
    let tries = match plan.max_tries {
        Some(1) if counts.retried == 0 => return None,
        Some(1) => String::new(),
        Some(max) => format!(", up to {}", counted(u64::from(max), "try", "tries")),
        None => ", tries unlimited".to_owned(),
    };
    if counts.retried == 0 {
        return Some(format!("0 transactions{tries}"));
    }
    let transactions = counted(counts.retried, "transaction", "transactions");
    let share = percent(counts.retried as f64, counts.scheduled as f64);
    let retries = counted(counts.retries, "time", "times");
    Some(format!("{transactions} ({share}), {retries} in all{tries}"))
}

/// `1,234 times, 2.13 ms each, disconnecting included`, if transactions had connections of their own.
fn connecting(summary: &Summary) -> Option<String> {
    let Connecting { connects, total_s } = summary.connecting.filter(|connecting| connecting.connects > 0)?;
    let each = latency(total_s * 1e6 / connects as f64);
    Some(format!("{}, {each} each, disconnecting included", counted(connects, "time", "times")))
}

/// `replica is db2:5432`, if scripts name any.
fn targets(plan: &Plan) -> Option<String> {
    let target = |target: &results::Target| {
        let Connection { host, port, .. } = &target.connection;
        format!("{} is {}:{port}", escaped_line(&target.name), escaped_line(host.as_str()))
    };
    let targets: Vec<String> = plan.targets.iter().map(target).collect();
    (!targets.is_empty()).then(|| enumerate(&targets))
}

/// `12.3 µs per transaction, 4 % of its workers' time`: near 100 % it was the client that was measured.
fn client_cpu(plan: &Plan, summary: &Summary) -> Option<String> {
    let per_transaction_us = summary.client_cpu_us_per_transaction?;
    let ran = summary.counts.succeeded.saturating_add(summary.counts.failed);
    let busy_us = per_transaction_us * ran as f64;
    let workers_us = summary.duration_s * 1e6 * f64::from(plan.workers);
    let whose = if plan.workers == 1 { "its worker's" } else { "its workers'" };
    let share = percent(busy_us, workers_us);
    Some(format!("{} per transaction, {share} of {whose} time", latency(per_transaction_us)))
}

/// `server: the worker was idle 63 % of the time …`; what pgmeter has against itself stands at the top.
fn limit(summary: &Summary) -> Option<String> {
    let Verdict { limit, evidence, resource } = &summary.generator.as_ref()?.verdict;
    let of = resource.map_or(String::new(), |resource| format!(" ({})", resource.name()));
    (*limit != LimitedBy::Generator).then(|| format!("{}{of}: {}", limit.name(), escaped_line(evidence)))
}

/// The table; response times, with service times beside them where they are something else.
fn latencies(record: &Record, style: &TextStyle) -> String {
    let Record { plan, summary, .. } = record;
    if summary.counts.succeeded == 0 {
        return indented("No transaction succeeded, so there is no latency to show.", style);
    }
    let both = plan.rate_tps.is_some() || summary.response_us != summary.service_us;
    let with_stalls = sections::response_with_stalls(record);
    let mut out = match (plan.scripts.len() > 1, both) {
        (false, false) => {
            let rows: Vec<Row> = std::iter::once(row("response", summary.response_us))
                .chain(with_stalls.map(|with| row("with stalls", Some(with))))
                .collect();
            latency_table("latency", &rows, INDENT, style)
        }
        (false, true) => {
            let rows = [row("response", summary.response_us), row("service", summary.service_us)];
            latency_table("latency", &rows, INDENT, style)
        }
        (true, false) => per_script(Kind::Response, summary, with_stalls, style),
        (true, true) => {
            let response = per_script(Kind::Response, summary, with_stalls, style);
            response + "\n" + &per_script(Kind::Service, summary, None, style)
        }
    };
    if with_stalls.is_some() {
        out.push('\n');
        out += &indented(sections::WITH_STALLS, style);
    }
    if both {
        out.push('\n');
        out +=
            &indented("Response counts from when a transaction was due, service from when it began.", style);
    }
    out
}

fn row(label: &str, latency: Option<Latency>) -> Row {
    Row { label: label.to_owned(), latency, script: None }
}

/// The latencies of all and of each script, of either kind; what is no latency stands beside the first.
fn per_script(kind: Kind, summary: &Summary, with_stalls: Option<Latency>, style: &TextStyle) -> String {
    let figures = |tps: f64, failed: u64| kind.comes_first().then_some(ScriptFigures { tps, failed });
    let all = Row {
        label: "all scripts".to_owned(),
        latency: kind.of(summary.response_us, summary.service_us),
        script: figures(summary.tps, summary.counts.failed),
    };
    let each = summary.scripts.iter().map(|script| Row {
        label: escaped_line(&script.name),
        latency: kind.of(script.response_us, script.service_us),
        script: figures(script.tps, script.counts.failed),
    });
    let stalled = with_stalls.map(|latency| Row {
        label: "all, with stalls".to_owned(),
        latency: Some(latency),
        ..all.clone()
    });
    let rows: Vec<Row> = std::iter::once(all).chain(stalled).chain(each).collect();
    latency_table(kind.name(), &rows, INDENT, style)
}

/// Which latency a table shows.
#[derive(Copy, Clone)]
enum Kind {
    Response,
    Service,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Response => "response",
            Kind::Service => "service",
        }
    }

    fn comes_first(self) -> bool {
        matches!(self, Kind::Response)
    }

    fn of(self, response: Option<Latency>, service: Option<Latency>) -> Option<Latency> {
        match self {
            Kind::Response => response,
            Kind::Service => service,
        }
    }
}

fn warnings(record: &Record, style: &TextStyle) -> String {
    let line = |label: &str, emphasis: Emphasis, warning: &results::Warning| {
        let indent = INDENT + label.len();
        let words = wrap(&wording::warning(warning), indent, indent, style.width);
        format!("{}{}{words}\n", " ".repeat(INDENT), emphasise(label, emphasis, style))
    };
    let warnings = record.cautions().map(|warning| line("warning: ", Emphasis::Caution, warning));
    let notes = record.notes().map(|note| line("note: ", Emphasis::Quiet, note));
    let lines: String = warnings.chain(notes).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn labelled_line(label: &str, value: &str, style: &TextStyle) -> String {
    let column = INDENT + VALUE_COLUMN;
    // Two blanks before the value, however long the label is.
    let width = VALUE_COLUMN.max(label.len() + 2);
    let label = emphasise(&format!("{label:<width$}"), Emphasis::Quiet, style);
    format!("{}{label}{}\n", " ".repeat(INDENT), wrap(value, INDENT + width, column, style.width))
}

fn indented(text: &str, style: &TextStyle) -> String {
    format!("{}{}\n", " ".repeat(INDENT), wrap(text, INDENT, INDENT, style.width))
}
