//! The summary of one run for the terminal, which fits one screen: the load, how fast it was, how long transactions took,
//! what they cost, and the warnings.

use results::{
    Connecting, Connection, Counts, Event, EventKind, EventLoop, Latency, Limit, LimitedBy, Plan, Record,
    StaleSession, StandbyLag, Summary,
};
use stats::INTERVALS_MIN;

use super::{
    actions, answer, errors, goals, impact, latencies, load, outages, pooler, population, ranks, rules,
    seconds, server, stages, verification, warnings,
};
use crate::document::{Audience, Block, Cell, Column, Fact, Section, Table, Tone};
use crate::figures::{
    TIE, UNKNOWN_SIZE, as_asked, asked_seconds, bytes as size, count, counted, latency as shown_latency,
    measured_seconds, percent, plus_minus, rate, rate_known_to, share,
};
use crate::metrics::{Metric, Quantity};
use crate::prose::{cut, enumerate, escaped_line, sentence};
use crate::wording;

/// The section of the commands.
pub(super) const COMMANDS: &str = "commands";

/// The sections, in the order in which they are shown.
pub(super) fn sections(record: &Record) -> Vec<Section> {
    let section = |id, blocks| Section::new(id, "", "", Audience::Terminal, blocks);
    let paragraph = |text: String| Block::Paragraph(Tone::Plain, text);
    let plan =
        [Some(load_in_words(record)), event_loop(record)].into_iter().flatten().map(paragraph).collect();
    let mut sections = vec![section("load", plan)];
    // The first line has a single goal.
    if record.summary.goals.len() > 1 {
        sections.push(section("goals", goals::blocks(record)));
    }
    let first = vec![
        Fact::new("throughput", throughput(record)),
        Fact::new("transactions", transactions(&record.summary)),
    ];
    sections.push(section("summary", vec![Block::Facts(first)]));
    sections.push(section("brief-stages", stages::blocks(record)));
    sections.extend(latency(record).into_iter().map(|blocks| section("latency", blocks)));
    sections.push(section("details", vec![Block::Facts(facts(record))]));
    sections.push(Section::new("brief-errors", "errors", "", Audience::Terminal, errors::brief(record)));
    sections.push(Section::new("brief-outages", "outages", "", Audience::Terminal, outages::brief(record)));
    sections.push(Section::new("brief-actions", "actions", "", Audience::Terminal, actions::brief(record)));
    sections.push(Section::new(
        "brief-ranks",
        "load generators",
        "",
        Audience::Terminal,
        ranks::brief(record),
    ));
    sections.push(section("rules-in-short", rules::blocks(record)));
    let verified = verification::brief_of_run(record);
    sections.push(Section::new("brief-verification", "verification", "", Audience::Terminal, verified));
    sections.push(section("warnings", warnings::of_run(record, 0)));
    let commands = latencies::commands_of_scripts(record);
    sections.extend(commands.into_iter().map(|blocks| section(COMMANDS, blocks)));
    sections
}

/// `8 clients on 2 workers, prepared protocol, 60.0 s after 5 s of warm-up`
fn load_in_words(record: &Record) -> String {
    let Record { plan, summary, .. } = record;
    let Plan { workers, protocol, limit, warmup_s, reconnect, .. } = plan;
    let mut load = format!(
        "{} on {}, {} protocol, ",
        stages::clients_in_words(plan),
        ranks::in_words(record).unwrap_or_else(|| counted(u64::from(*workers), "worker", "workers")),
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

/// `event loop epoll, because the system refuses io_uring`
fn event_loop(record: &Record) -> Option<String> {
    let EventLoop { name, because } = &record.summary.generator.as_ref()?.event_loop;
    let because = because.as_ref().map(|because| format!(", because {}", escaped_line(because.as_str())));
    Some(format!("event loop {}{}", name.name(), because.unwrap_or_default()))
}

fn facts(record: &Record) -> Vec<Fact> {
    let Record { plan, summary, .. } = record;
    let facts = [
        ("tail", load::tail(summary)),
        ("precision", load::precision(record)),
        ("business", business(summary)),
        ("copied", load::copied(summary)),
        ("per minute", load::per_minute(record)),
        ("late/skipped", load::late_or_skipped(record)),
        ("stalls", load::stalls(record)),
        ("percentiles", answer::left_out(record)),
        ("start delay", load::start_delay(record)),
        ("retried", retried(plan, summary)),
        ("connecting", connecting(summary)),
        ("sessions", population::sessions(record)),
        ("storms", population::storms(record)),
        ("idle", population::idle(record)),
        ("client CPU", client_cpu(plan, summary)),
        ("exchange", exchange(record)),
        ("pooler", pooler::brief(record)),
        ("limit", limit(record)),
        ("actions", impact::of_known(&impact::impacts(record))),
        ("not observed", not_observed(record)),
        ("backends", waits(record)),
        ("server cost", server_cost(record)),
        ("statements", statements(record)),
        ("events", events(record)),
        ("standbys", standbys(record)),
        ("nearest limit", nearest_limit(record)),
        ("rate", plan.curve.as_ref().and_then(|_| stages::rate_in_words(plan))),
        ("gaps", stages::arrivals(plan)),
        ("think time", plan.think.map(|think| think.to_string())),
        ("targets", targets(plan)),
    ];
    Fact::known(facts).chain(Fact::known(population::asked(plan))).collect()
}

/// `1,234 tps ± 1.2 % of 1,500 scheduled`
fn throughput(record: &Record) -> String {
    let Record { plan, summary, .. } = record;
    let half = seconds::precision(record).unwrap_or(0.0);
    let mut throughput = format!("{}{TIE}tps", rate_known_to(summary.tps, half));
    if let Some(interval) = summary.confidence.tps {
        let shown = plus_minus(summary.tps, interval.low, interval.high);
        throughput += &format!(" {}", shown.unwrap_or_else(|| format!("({UNKNOWN_SIZE})")));
    }
    if let Some(rate) = wording::scheduled(plan) {
        let mean = if plan.rate_curve().is_some() { " on average" } else { "" };
        throughput += &format!(" of {rate} scheduled{mean}");
    }
    let is_short = !plan.is_changing()
        && (1..INTERVALS_MIN).contains(&record.intervals.len())
        && summary.confidence.tps.is_none();
    if is_short {
        throughput += &format!(" (no confidence interval below {INTERVALS_MIN}{TIE}s)");
    }
    throughput
}

fn transactions(summary: &Summary) -> String {
    let counts = &summary.counts;
    let mut failed = format!("{}{TIE}failed", count(counts.failed));
    if counts.failed > 0 {
        let failures = &counts.failures;
        let kinds = [
            (failures.serialization, "serialization"),
            (failures.deadlock, "deadlock"),
            (failures.connection, "connection"),
            (failures.other, "other"),
        ];
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, kind)| format!("{}{TIE}{kind}", count(*number)))
            .collect();
        let share = percent(counts.failed as f64, counts.scheduled as f64);
        failed += &format!(" ({share}: {})", kinds.join(", "));
    }
    let mut parts = vec![format!("{}{TIE}succeeded", count(counts.succeeded)), failed];
    if counts.skipped > 0 {
        let share = percent(counts.skipped as f64, counts.scheduled as f64);
        parts.push(format!("{} skipped as too late to start ({share})", count(counts.skipped)));
    }
    if counts.unfinished > 0 {
        parts.push(format!("{} unfinished at the end", count(counts.unfinished)));
    }
    if counts.unknown > 0 {
        parts.push(format!("{} unknown: connection lost after COMMIT was sent", count(counts.unknown)));
    }
    if counts.reserved > 0 {
        parts.push(format!("{} perhaps not replicated", count(counts.reserved)));
    }
    parts.join(", ")
}

/// Throughput in business transactions, where a transaction of the database stands for several.
fn business(summary: &Summary) -> Option<String> {
    let Counts { business, succeeded, .. } = summary.counts;
    let per_transaction = business as f64 / succeeded as f64;
    let tps = rate(summary.tps * per_transaction);
    (business > succeeded)
        .then(|| format!("{tps}{TIE}tps: a transaction stands for {} on average", as_asked(per_transaction)))
}

/// `120 transactions (0.80 %), 133 times in all, up to 3 tries`; nothing if there is one try and none was retried.
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

fn connecting(summary: &Summary) -> Option<String> {
    let Connecting { connects, total_s } = summary.connecting.filter(|connecting| connecting.connects > 0)?;
    let each = shown_latency(total_s * 1e6 / connects as f64);
    Some(format!("{}, {each} each, disconnecting included", counted(connects, "time", "times")))
}

fn targets(plan: &Plan) -> Option<String> {
    let target = |target: &results::Target| {
        let Connection { host, port, .. } = &target.connection;
        format!("{} is {}:{port}", escaped_line(&target.name), escaped_line(host.as_str()))
    };
    let targets: Vec<String> = plan.targets.iter().map(target).collect();
    (!targets.is_empty()).then(|| enumerate(&targets))
}

fn client_cpu(plan: &Plan, summary: &Summary) -> Option<String> {
    let per_transaction_us = summary.client_cpu_us_per_transaction?;
    let ran = summary.counts.succeeded.saturating_add(summary.counts.failed);
    let busy_us = per_transaction_us * ran as f64;
    let workers = summary.workers(plan);
    let workers_us = summary.whole_s() * 1e6 * workers as f64;
    let whose = if workers == 1 { "its worker's" } else { "its workers'" };
    let share = percent(busy_us, workers_us);
    Some(format!("{} per transaction, {share} of {whose} time", shown_latency(per_transaction_us)))
}

/// `7 round trips, 1214 bytes sent and 812 bytes received per transaction`
fn exchange(record: &Record) -> Option<String> {
    let round_trips = Metric::RoundTrips.of(record).filter(|&round_trips| round_trips > 0.0)?;
    let trips = if round_trips == 1.0 { "round trip" } else { "round trips" };
    let [sent, received] = [Metric::SentBytes, Metric::ReceivedBytes].map(|metric| metric.shown(record));
    let is_whole = round_trips.fract() == 0.0;
    let round_trips = if is_whole { as_asked(round_trips) } else { Quantity::Number.shown(round_trips) };
    Some(format!("{round_trips} {trips}, {} sent and {} received per transaction", sent?, received?))
}

/// The resource that limited the throughput; a run that pgmeter limited says so in a banner.
fn limit(record: &Record) -> Option<String> {
    let verdict = &record.summary.generator.as_ref()?.verdict;
    let of = verdict.resource.map_or(String::new(), |resource| format!(" ({})", resource.name()));
    (verdict.limit != LimitedBy::Generator)
        .then(|| format!("{}{of}. {}", verdict.name(), wording::evidence_of_run(record, verdict)))
}

/// Why the server was not observed at all.
fn not_observed(record: &Record) -> Option<String> {
    let missing = &record.observation.as_ref()?.missing;
    let of_all = missing.iter().find(|missing| missing.what == EVERYTHING)?;
    Some(sentence(&escaped_line(of_all.why.as_str())))
}

/// The name of all that an observer can see, where it is missing.
const EVERYTHING: &str = "everything";

/// Wait events that are named.
const WAITS_MAX: usize = 4;
/// Rarer ones are not named.
const SHARE_MIN: f64 = 0.01;

/// `41 % LWLock WALWrite, 28 % IO WalSync, 20 % running; idle 12 % of the time`
fn waits(record: &Record) -> Option<String> {
    let waits = record.observation.as_ref()?.waits.as_ref().filter(|waits| waits.backends_seen > 0)?;
    let named: Vec<String> = waits
        .top
        .iter()
        .filter(|wait| wait.share >= SHARE_MIN)
        .take(WAITS_MAX)
        .map(|wait| {
            format!(
                "{} {}",
                share(wait.share, wait.interval),
                wording::wait_name(&wait.event_type, &wait.event)
            )
        })
        .collect();
    let idle = format!("idle {} of the time", share(waits.idle_share, waits.idle_interval));
    Some(if named.is_empty() { idle } else { format!("{}; {idle}", named.join(", ")) })
}

/// Statements that are named, and characters of each.
const STATEMENTS_MAX: usize = 3;
const STATEMENT_LEN: usize = 40;

/// The statements that took the most time: `UPDATE … (61 %): 300 µs, 4.1 blocks hit, 0.25 read in 25.0 µs`
fn statements(record: &Record) -> Option<String> {
    let mut rows = server::statement_figures(record);
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    let told = |row: &server::StatementFigures| {
        let time = row.read_time_us.map(|us| format!(" in {}", shown_latency(us))).unwrap_or_default();
        let disk = of_disk(row.disk_share_of_reads);
        let read = row.read.map(|blocks| format!("{}{TIE}read{disk}{time}", mean_count(blocks)));
        let hit = row.hit.map(|blocks| format!("{}{TIE}blocks hit", mean_count(blocks)));
        let each = row.each_us.map(shown_latency);
        let cpu = row.cpu_us.map(|[user, system]| {
            format!("{} of user and {} of system CPU", shown_latency(user), shown_latency(system))
        });
        let figures: Vec<String> = [each, cpu, hit, read].into_iter().flatten().collect();
        format!("{} ({}): {}", cut(&row.query, STATEMENT_LEN), percent(row.share, 1.0), figures.join(", "))
    };
    let named: Vec<String> = rows.iter().take(STATEMENTS_MAX).map(told).collect();
    (!named.is_empty()).then(|| named.join("; "))
}

/// ` (40 % of them from disk)`; nothing if it is not known.
fn of_disk(share_of_reads: Option<f64>) -> String {
    share_of_reads.map_or(String::new(), |share| format!(" ({} of them from disk)", percent(share, 1.0)))
}

fn mean_count(mean: f64) -> String {
    Quantity::Number.shown(mean).replace(' ', &TIE.to_string())
}

/// `1234 bytes of WAL (0.012 full pages), 31.3 blocks hit, 0.25 read, 101 µs of CPU per transaction`
fn server_cost(record: &Record) -> Option<String> {
    let of = |metric: Metric| metric.of(record);
    let full_pages = of(Metric::FullPageImages).filter(|&images| images >= 0.001);
    let full_pages = full_pages.map_or(String::new(), |images| format!(" ({} full pages)", few(images)));
    let read_time = of(Metric::BlockReadTime).filter(|&us| us > 0.0);
    let read_time = read_time.map_or(String::new(), |us| format!(" in {}", shown_latency(us)));
    let cpu_us = of(Metric::ServerCpu);
    let costs = record.observation.as_ref().map(|observation| observation.per_transaction);
    let disk = of_disk(costs.and_then(|costs| costs.block_sources()?.disk_share_of_reads()));
    let parts = [
        of(Metric::WalBytes).map(|bytes| format!("{} of WAL{full_pages}", size(bytes))),
        of(Metric::BlocksHit).map(|blocks| format!("{}{TIE}blocks hit", few(blocks))),
        of(Metric::BlocksRead).map(|blocks| format!("{}{TIE}read{disk}{read_time}", few(blocks))),
        of(Metric::TempBytes)
            .filter(|&bytes| bytes >= 1.0)
            .map(|bytes| format!("{} of temporary files", size(bytes))),
        cpu_us.map(|us| format!("{} of CPU", shown_latency(us))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{} per transaction", parts.join(", ")))
}

/// A mean of small counts: `12.3`, `0.004`.
fn few(mean: f64) -> String {
    as_asked(if mean >= 10.0 { (mean * 10.0).round() / 10.0 } else { mean })
}

/// Standbys that are named.
const STANDBYS_MAX: usize = 4;

/// `near (sync) replay lag 2.10 ms, at most 4.00 ms; stale reads: near 0.3 %, far 98 %`
fn standbys(record: &Record) -> Option<String> {
    let observation = record.observation.as_ref()?;
    let lag = |standby: &StandbyLag| {
        let name = format!(
            "{} ({})",
            escaped_line(standby.name.as_str()),
            escaped_line(standby.sync_state.as_str())
        );
        let times = standby.mean_and_max(|sample| sample.replay_us);
        let bytes = standby.mean_and_max(|sample| sample.replay_bytes);
        let shown = |(mean, max): (f64, f64), quantity: Quantity| {
            format!("{name} replay lag {}, at most {}", quantity.shown(mean), quantity.shown(max))
        };
        match (times, bytes) {
            (Some(times), _) => shown(times, Quantity::Microseconds),
            (None, Some(bytes)) => shown(bytes, Quantity::Bytes),
            (None, None) => format!("{name} replay lag unknown"),
        }
    };
    let stale = |session: &StaleSession| {
        let stale = percent(session.stale_reads as f64, session.reads as f64);
        format!("{} {stale}", escaped_line(session.reads_from.as_str()))
    };
    let mut parts: Vec<String> = observation.standbys.iter().take(STANDBYS_MAX).map(lag).collect();
    let sessions = observation.staleness.iter().flat_map(|it| &it.sessions);
    let read: Vec<String> = sessions.filter(|it| it.reads > 0).take(STANDBYS_MAX).map(stale).collect();
    parts.extend((!read.is_empty()).then(|| format!("stale reads: {}", read.join(", "))));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `2 checkpoints, autovacuum of pgbench_accounts and pgbench_tellers, 3 lock queues`
fn events(record: &Record) -> Option<String> {
    let events = &record.observation.as_ref()?.events;
    let of = |kind: EventKind| events.iter().filter(move |event| event.kind == kind);
    let number = |kind, one, many| {
        let number = of(kind).count() as u64;
        (number > 0).then(|| counted(number, one, many))
    };
    let mut vacuumed: Vec<String> = of(EventKind::Autovacuum).map(vacuumed_table).collect();
    vacuumed.sort_unstable();
    vacuumed.dedup();
    let parts = [
        number(EventKind::Checkpoint, "checkpoint", "checkpoints"),
        (!vacuumed.is_empty()).then(|| format!("autovacuum of {}", enumerate(&vacuumed))),
        number(EventKind::LockQueue, "lock queue", "lock queues"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn vacuumed_table(event: &Event) -> String {
    warnings::event_detail(event)
}

/// `3,200 tps by WAL flushes, 78 % reached. …`
fn nearest_limit(record: &Record) -> Option<String> {
    let observation = record.observation.as_ref()?;
    let Some(ceiling) = record.nearest_limit() else {
        let is_cpu = |missing: &&results::Missing| missing.what == results::Missing::CPU_CEILING;
        let why = observation.missing.iter().find(is_cpu).filter(|_| observation.ceilings.is_empty())?;
        return Some(escaped_line(why.why.as_str()));
    };
    Some(format!(
        "{}{TIE}tps by {}, {} reached. {}",
        rate(ceiling.tps),
        wording::ceiling_name(&ceiling.basis),
        percent(ceiling.reached_share, 1.0),
        wording::ceiling(&ceiling.basis)
    ))
}

/// The latency tables and their explanations, each to stand apart from the next.
fn latency(record: &Record) -> Vec<Vec<Block>> {
    let Record { plan, summary, .. } = record;
    let paragraph = |text: &str| vec![Block::quiet(text)];
    if summary.counts.succeeded == 0 {
        return vec![paragraph(latencies::NO_LATENCY)];
    }
    let both = plan.rate_tps.is_some() || summary.response_us != summary.service_us;
    let with_stalls = latencies::response_with_stalls(record);
    let row = |label: &str, latency: Option<Latency>| Row { label: label.to_owned(), latency, script: None };
    let response = std::iter::once(row("response", summary.response_of_all_us()));
    let of_succeeded = summary.response_of_succeeded_us();
    let succeeded = of_succeeded.map(|us| row(latencies::OF_SUCCEEDED, Some(us))).into_iter();
    let mut tables = match (plan.scripts.len() > 1, both) {
        (false, false) => {
            let stalls = with_stalls.map(|with| row("with stalls", Some(with)));
            vec![table("latency", response.chain(succeeded).chain(stalls).collect())]
        }
        (false, true) => {
            let service = std::iter::once(row("service", summary.service_us));
            vec![table("latency", response.chain(succeeded).chain(service).collect())]
        }
        (true, false) => vec![by_script(Times::Response, summary, with_stalls)],
        (true, true) => {
            vec![by_script(Times::Response, summary, with_stalls), by_script(Times::Service, summary, None)]
        }
    };
    let mut blocks: Vec<Vec<Block>> = tables.drain(..).map(|table| vec![Block::Table(table)]).collect();
    blocks.extend(of_succeeded.map(|_| paragraph(latencies::ALL_AND_SUCCEEDED)));
    blocks.extend(with_stalls.map(|_| paragraph(latencies::WITH_STALLS)));
    blocks.extend(both.then(|| paragraph(latencies::RESPONSE_AND_SERVICE)));
    blocks
}

/// A line of the latency table.
struct Row {
    label: String,
    latency: Option<Latency>,
    /// Throughput and failures, where there are several scripts.
    script: Option<(f64, u64)>,
}

/// Response times, which have the throughput of scripts beside them, or service times.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Times {
    Response,
    Service,
}

fn by_script(times: Times, summary: &Summary, with_stalls: Option<Latency>) -> Table {
    let of = |response, service| if times == Times::Response { response } else { service };
    let figures = |tps: f64, failed: u64| (times == Times::Response).then_some((tps, failed));
    let all = |label: &str, latency| Row {
        label: label.to_owned(),
        latency,
        script: figures(summary.tps, summary.counts.failed),
    };
    let first = all("all scripts", of(summary.response_of_all_us(), summary.service_us));
    let succeeded = summary.response_of_succeeded_us().filter(|_| times == Times::Response);
    let succeeded = succeeded.map(|latency| all(&format!("all, {}", latencies::OF_SUCCEEDED), Some(latency)));
    let stalled = with_stalls.map(|latency| all("all, with stalls", Some(latency)));
    let each = summary.scripts.iter().map(|script| Row {
        label: escaped_line(&script.name),
        latency: of(script.response_of_all_us(), script.service_us),
        script: figures(script.tps, script.counts.failed),
    });
    let title = if times == Times::Response { "response" } else { "service" };
    table(title, std::iter::once(first).chain(succeeded).chain(stalled).chain(each).collect())
}

fn table(title: &str, rows: Vec<Row>) -> Table {
    let has_failed = rows.iter().filter_map(|row| row.script).any(|(_, failed)| failed > 0);
    let has_scripts = rows.iter().any(|row| row.script.is_some());
    let mut columns = vec![Column::text(title)];
    columns.extend(has_scripts.then(|| Column::figures("tps")));
    columns.extend(has_failed.then(|| Column::figures("failed")));
    columns.push(Column::figures("mean ± stddev"));
    columns.extend(Metric::FIRST_LATENCIES.iter().map(|metric| Column::figures(metric.row().label)));
    let cells = |row: &Row| {
        let mut cells = vec![Cell::text(&*row.label)];
        let (tps, failed) = row.script.unzip();
        cells.extend(has_scripts.then(|| Cell::figure_if(Quantity::PerSecond, tps)));
        let failed = failed.map(|failed| failed as f64);
        cells.extend(has_failed.then(|| Cell::figure_if(Quantity::Count, failed)));
        cells.push(row.latency.map_or_else(Cell::default, |us| Cell::mean_and_deviation(us.mean, us.stddev)));
        cells.extend(Metric::FIRST_LATENCIES.iter().map(|metric| {
            Cell::figure_if(Quantity::Microseconds, row.latency.as_ref().and_then(|us| metric.of_times(us)))
        }));
        cells
    };
    let typical_us = rows.iter().filter_map(|row| row.latency).map(|us| us.p50).collect();
    Table { columns, rows: rows.iter().map(cells).collect(), typical_us, ..Table::default() }
}
