//! A check of an isolation level as a document: the verdict, counts, anomalies, and short transactions that show them; and
//! as JSON and CSV. `isolation` judges, the sentences are here. Used by `cli` for `pgmeter verify --isolation`.

use ::isolation::{
    AnomalyRow, Dependency, Ending, Example, Finding, Interruption, IsolationReport, Operation, Place,
    ReadMethod, ShownTransaction, WitnessEdge,
};

use crate::document::{
    Audience, Banner, Block, Cell, Column, Document, Fact, Section, Table, Tone, with_contents,
};
use crate::figures::{count, counted};
use crate::metrics::Quantity;
use crate::prose::{capitalised, enumerate, escaped_line};

/// Elements of a list that are shown, the last ones.
const ELEMENTS_SHOWN: usize = 4;
/// Operations of a transaction that are shown.
const OPERATIONS_SHOWN: usize = 12;

/// The document of a check.
pub fn isolation(report: &IsolationReport) -> Document {
    let part = |id, title: &str, blocks| Section::new(id, title, id, Audience::All, blocks);
    let mut sections = vec![part("check", "", facts(report))];
    if !report.findings.anomalies.is_empty() {
        sections.push(part("anomalies", "Anomalies", vec![Block::Table(anomalies(report))]));
        let examples = report.examples.iter().flat_map(example).collect();
        sections.push(part("examples", "Examples", examples));
    }
    Document {
        banners: banners(report),
        title: format!("Isolation level {}", report.findings.level.sql()),
        subtitle: format!(
            "of PostgreSQL {} at {}",
            escaped_line(&report.run.server_version),
            escaped_line(&report.run.server)
        ),
        sections: with_contents(sections),
    }
}

/// The check as JSON.
pub fn isolation_json(report: &IsolationReport) -> String {
    let mut json = serde_json::to_string_pretty(report).expect("a report has string keys only");
    json.push('\n');
    results::escaped_json(json)
}

/// A line for each kind of anomaly.
pub fn isolation_csv(report: &IsolationReport) -> String {
    let mut out = "anomaly,code,cases,forbidden,on_replica\n".to_owned();
    for finding in &report.findings.anomalies {
        let row = finding.anomaly.row();
        let Finding { is_forbidden, needs_replica, cases, .. } = finding;
        out += &format!("{},{},{cases},{is_forbidden},{needs_replica}\n", row.name, row.code);
    }
    out
}

/// `write skew (G2)`.
pub(crate) fn anomaly_name(row: &AnomalyRow) -> String {
    match row.code {
        "" => row.name.to_owned(),
        code => format!("{} ({code})", row.name),
    }
}

fn kinds(report: &IsolationReport, are_forbidden: bool) -> Vec<String> {
    let of_kind = report.findings.anomalies.iter().filter(|finding| finding.is_forbidden == are_forbidden);
    of_kind
        .map(|finding| {
            let name = anomaly_name(finding.anomaly.row());
            let place = if finding.needs_replica { " with a replica" } else { "" };
            format!("{name}{place}, {}", counted(finding.cases, "case", "cases"))
        })
        .collect()
}

/// Why a check is incomplete, in one sentence.
pub(crate) fn incomplete(report: &IsolationReport) -> Option<String> {
    let interruption = report.interruption.as_ref().map(|interruption| match interruption {
        Interruption::Stopped => "it was stopped".to_owned(),
        Interruption::NoFinalRead(reason) => {
            format!("the lists could not be read at the end, so lost appends were not looked for: {reason}")
        }
    });
    let gave_up = report.gave_up.as_ref().map(|reason| format!("a client gave up: {reason}"));
    let reasons: Vec<String> =
        interruption.into_iter().chain(gave_up).chain(report.left_table.clone()).collect();
    (!reasons.is_empty()).then(|| escaped_line(&format!("The check is incomplete: {}.", reasons.join("; "))))
}

fn banners(report: &IsolationReport) -> Vec<Banner> {
    let level = report.findings.level.sql();
    let committed =
        counted(report.findings.endings.committed, "committed transaction", "committed transactions");
    let verdict = match (kinds(report, true), kinds(report, false)) {
        (broken, _) if !broken.is_empty() => {
            Banner::new(Tone::Bad, format!("{level} was violated: {} in {committed}.", enumerate(&broken)))
        }
        (_, permitted) if permitted.is_empty() => {
            Banner::new(Tone::Good, format!("{level} was kept: no anomaly in {committed}."))
        }
        (_, permitted) => Banner::new(
            Tone::Good,
            format!(
                "{level} was kept: in {committed} there are only anomalies that it permits: {}.",
                enumerate(&permitted)
            ),
        ),
    };
    let incomplete = incomplete(report).map(|text| Banner::new(Tone::Caution, text));
    std::iter::once(verdict).chain(incomplete).collect()
}

fn facts(report: &IsolationReport) -> Vec<Block> {
    let run = &report.run;
    let endings = &report.findings.endings;
    let sizes = &report.findings.sizes;
    let reads = match run.reads {
        ReadMethod::Select => "SELECT",
        ReadMethod::OnConflict => "INSERT … ON CONFLICT DO NOTHING",
        ReadMethod::Savepoint => "INSERT that fails, then ROLLBACK TO SAVEPOINT",
    };
    let mut transactions = vec![
        format!("{} committed", count(endings.committed)),
        format!("{} rolled back", count(endings.aborted)),
    ];
    let unknown = endings.unknown_applied + endings.unknown_unseen;
    if unknown > 0 {
        transactions.push(format!(
            "{} with an unknown ending, of which {} were applied",
            count(unknown),
            count(endings.unknown_applied)
        ));
    }
    let mut causes: Vec<String> = report
        .errors
        .iter()
        .map(|(state, number)| format!("{} by SQLSTATE {state}", count(*number)))
        .collect();
    if report.outdated > 0 {
        causes.push(format!("{} because a list had changed since it was read", count(report.outdated)));
    }
    let mut facts = vec![
        Fact::new("transactions", format!("{}: {}", count(endings.total), enumerate(&transactions))),
        Fact::new("operations", format!("{} appends, {} reads", count(sizes.appends), count(sizes.reads))),
        Fact::new(
            "dependencies",
            format!("{} ww, {} wr, {} rw", count(sizes.ww), count(sizes.wr), count(sizes.rw)),
        ),
        Fact::new("lists read by", reads),
        Fact::new("clients", clients(report)),
        Fact::new("seed", run.seed.to_string()),
    ];
    if !causes.is_empty() {
        facts.insert(1, Fact::new("rollbacks", enumerate(&causes)));
    }
    if report.lost_connections > 0 {
        facts.push(Fact::new("lost connections", count(report.lost_connections)));
    }
    vec![Block::Facts(facts)]
}

fn clients(report: &IsolationReport) -> String {
    match report.run.replicas {
        0 => count(u64::from(report.run.clients)),
        replicas => format!(
            "{} on the primary, readers on {}",
            count(u64::from(report.run.clients)),
            counted(replicas, "replica", "replicas")
        ),
    }
}

fn verdict(is_forbidden: bool) -> &'static str {
    if is_forbidden { "forbidden" } else { "permitted" }
}

fn anomalies(report: &IsolationReport) -> Table {
    let row = |finding: &Finding| {
        let row = finding.anomaly.row();
        let tone = if finding.is_forbidden { Tone::Bad } else { Tone::Plain };
        let replica = if finding.needs_replica { " with a replica" } else { "" };
        vec![
            Cell::text(format!("{}{replica}", anomaly_name(row))),
            Cell::figure(Quantity::Count, finding.cases as f64),
            Cell::text(verdict(finding.is_forbidden)).with_tone(tone),
        ]
    };
    Table {
        columns: vec![
            Column::text("anomaly"),
            Column::figures("cases"),
            Column::text(format!("at {}", report.findings.level.sql())),
        ],
        rows: report.findings.anomalies.iter().map(row).collect(),
        ..Table::default()
    }
}

fn example(example: &Example) -> Vec<Block> {
    let row = example.anomaly.row();
    let list = example.key.map_or(String::new(), |key| format!(": list {key}"));
    let width = example.transactions.len().to_string().len() + 1;
    let mut lines: Vec<String> =
        example.transactions.iter().zip(1..).map(|(one, number)| transaction(one, number, width)).collect();
    lines.extend(example.edges.iter().map(edge));
    vec![
        Block::Heading(format!("{}, {}", anomaly_name(row), verdict(example.is_forbidden))),
        Block::Paragraph(Tone::Quiet, capitalised(&format!("{}{list}.", row.meaning))),
        Block::Preformatted(lines.join("\n")),
    ]
}

/// `T1  client 3: r(17) = [4 9], append(12, 31)`.
fn transaction(shown: &ShownTransaction, number: usize, width: usize) -> String {
    let name = format!("T{number}");
    let mut who = if shown.is_final { "final read".to_owned() } else { format!("client {}", shown.client) };
    if let Place::Replica(replica) = shown.place {
        who += &format!(" on replica {replica}");
    }
    match shown.ending {
        Ending::Committed => {}
        Ending::Aborted => who += ", rolled back",
        Ending::Unknown => who += ", ending unknown",
    }
    let operations = shown.operations.iter().take(OPERATIONS_SHOWN).map(operation);
    let more = (shown.operations.len() > OPERATIONS_SHOWN).then(|| "…".to_owned());
    let operations: Vec<String> = operations.chain(more).collect();
    format!("{name:<width$}  {who}: {}", operations.join(", "))
}

fn operation(operation: &Operation) -> String {
    match operation {
        Operation::Append { key, element } => format!("append {element} to list {key}"),
        Operation::Read { key, elements: None } => format!("read list {key} without an answer"),
        Operation::Read { key, elements: Some(elements) } => {
            let hidden = elements.len().saturating_sub(ELEMENTS_SHOWN);
            let shown = elements.iter().skip(hidden).map(u32::to_string);
            let dots = (hidden > 0).then(|| "…".to_owned());
            let shown: Vec<String> = dots.into_iter().chain(shown).collect();
            format!("read list {key} = [{}]", shown.join(" "))
        }
    }
}

fn edge(edge: &WitnessEdge) -> String {
    let (from, to, key) = (edge.from + 1, edge.to + 1, edge.key);
    let meaning = match edge.dependency {
        Dependency::Ww => format!("T{to} appended to list {key} directly after T{from}"),
        Dependency::Wr => format!("T{to} read T{from}'s append to list {key}"),
        Dependency::Rw => format!("T{from} read list {key} before T{to} appended to it"),
    };
    format!("T{from} -{}-> T{to}: {meaning}", edge.dependency.name())
}
