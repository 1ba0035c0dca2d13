//! A check of an isolation level as a document: the verdict, counts, anomalies, and short transactions that show them; and
//! as JSON and CSV. `isolation` judges, the sentences are here. Used by `cli` for `pgmeter verify --isolation`.

use ::isolation::{
    ANOMALIES, AnomalyRow, Dependency, Ending, Example, Finding, Findings, Interruption, IsolationReport,
    Operation, Place, ReadMethod, ShownTransaction, WitnessEdge,
};

use crate::chart::{Axis, Bar, BarGroup, Chart, Colour, Plot};
use crate::document::{
    Audience, Banner, Block, Cell, Column, Document, Fact, KeyFigure, Section, Table, Tone, with_contents,
};
use crate::figures::{count, counted};
use crate::metrics::Quantity;
use crate::prose::{capitalised, enumerate, escaped_line};
use crate::values::ValueTable;

/// Elements of a list that are shown, the last ones.
const ELEMENTS_SHOWN: usize = 4;
/// Transactions with more operations are shown with those on the lists of the example alone.
const OPERATIONS_SHOWN: usize = 4;

/// The document of a check.
pub fn isolation(report: &IsolationReport) -> Document {
    let part = |id, title: &'static str, blocks| Section::new(id, title, title, Audience::All, blocks);
    let banners = banners(report);
    let mut sections = vec![
        Section::new("answer", "", "", Audience::Documents, first_screen(report)),
        part("check", "", facts(report)),
    ];
    if !report.findings.anomalies.is_empty() {
        sections.push(part("anomalies", "Anomalies", vec![Block::Table(anomalies(report))]));
        let examples = report.examples.iter().flat_map(example).collect();
        sections.push(part("examples", "Examples", examples));
    }
    Document {
        banners,
        title: format!("Isolation level {}", report.findings.level.sql()),
        subtitle: format!(
            "of PostgreSQL {} at {}",
            escaped_line(&report.run.server_version),
            escaped_line(&report.run.server)
        ),
        sections: with_contents(sections),
    }
}

/// A row for each kind of anomaly.
pub(crate) fn isolation_rows(report: &IsolationReport) -> ValueTable<'_> {
    let row = |finding: &Finding| {
        let row = finding.anomaly.row();
        let Finding { is_forbidden, needs_replica, cases, .. } = finding;
        vec![
            row.name.into(),
            row.code.into(),
            (*cases).into(),
            (*is_forbidden).into(),
            (*needs_replica).into(),
        ]
    };
    let rows = report.findings.anomalies.iter().map(row).collect();
    ValueTable::new("anomaly,code,cases,forbidden,on_replica", rows)
}

/// `write skew (G2)`.
pub(crate) fn anomaly_name(row: &AnomalyRow) -> String {
    match row.code {
        "" => row.name.to_owned(),
        code => format!("{} ({code})", row.name),
    }
}

/// With the place, if it takes a replica.
fn named(finding: &Finding) -> String {
    let place = if finding.needs_replica { " with a replica" } else { "" };
    anomaly_name(finding.anomaly.row()) + place
}

fn kinds(report: &IsolationReport, are_forbidden: bool) -> Vec<String> {
    let of_kind = report.findings.anomalies.iter().filter(|finding| finding.is_forbidden == are_forbidden);
    of_kind
        .map(|finding| format!("{} of {}", counted(finding.cases, "case", "cases"), named(finding)))
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
    let earlier = (!report.earlier_tables.is_empty()).then(|| {
        let tables = enumerate(&report.earlier_tables);
        let text = format!(
            "Checks that were killed have left {tables}; `pgmeter verify --clean` drops what they left."
        );
        Banner::new(Tone::Caution, escaped_line(&text))
    });
    std::iter::once(verdict.for_terminal()).chain(incomplete).chain(earlier).collect()
}

/// The verdict in a short sentence, the anomalies as a picture, and the first figures.
fn first_screen(report: &IsolationReport) -> Vec<Block> {
    let level = report.findings.level.sql();
    let committed =
        counted(report.findings.endings.committed, "committed transaction", "committed transactions");
    let (tone, text) = match (kinds(report, true).as_slice(), kinds(report, false).as_slice()) {
        ([], []) => (Tone::Good, format!("{level} was kept: no anomaly in {committed}.")),
        ([], _) => (Tone::Good, format!("{level} was kept: only permitted anomalies in {committed}.")),
        ([only], _) => (Tone::Bad, format!("{level} was violated: {only} in {committed}.")),
        (several, _) => {
            let kinds = several.len();
            (Tone::Bad, format!("{level} was violated: {kinds} kinds of forbidden anomalies in {committed}."))
        }
    };
    vec![Block::Answer(tone, text), Block::chart(picture(report)), figures(report)]
}

/// The dependencies among which no anomaly was found: without them, a check would prove nothing.
fn picture_of_dependencies(report: &IsolationReport) -> Chart {
    let sizes = &report.findings.sizes;
    let kinds = [
        ("ww: appended directly after it", sizes.ww),
        ("wr: read its append", sizes.wr),
        ("rw: appended to what it had read", sizes.rw),
    ];
    let group = |(name, number): (&str, u64)| {
        let bar =
            Bar { parts: vec![(number as f64, Colour::Run(0))], shown: count(number), ..Bar::default() };
        BarGroup { name: name.to_owned(), bars: vec![bar] }
    };
    let axis = Axis::new("dependencies", Quantity::Count);
    let plot = Plot::Bars { axis, groups: kinds.into_iter().map(group).collect(), legend: Vec::new() };
    let caption =
        format!("of transactions on others; no cycle of them breaks {}", report.findings.level.sql());
    Chart::new("Dependencies that were checked", caption, plot)
}

/// A bar for each kind of anomaly that was found, and a row for the others.
fn picture(report: &IsolationReport) -> Chart {
    let Findings { level, anomalies, .. } = &report.findings;
    if anomalies.is_empty() {
        return picture_of_dependencies(report);
    }
    let found = anomalies.iter().map(|finding| {
        let colour = if finding.is_forbidden { Colour::Bad } else { Colour::Quiet };
        let cases = counted(finding.cases, "case", "cases");
        let shown = format!("{cases}, {}", verdict(finding.is_forbidden));
        (named(finding), vec![(finding.cases as f64, colour)], shown)
    });
    let is_found = |anomaly| anomalies.iter().any(|finding| finding.anomaly == anomaly);
    let others = |is_forbidden: bool| {
        let of_verdict = ANOMALIES.iter().filter(|row| row.anomaly.is_forbidden_at(*level) == is_forbidden);
        let number = of_verdict.filter(|row| !is_found(row.anomaly)).count() as u64;
        let kinds = counted(number, "other kind", "other kinds");
        (number > 0).then(|| (kinds, vec![(0.0, Colour::Quiet)], format!("none, {}", verdict(is_forbidden))))
    };
    let rows = found.chain(others(true)).chain(others(false));
    let group = |(name, parts, shown)| BarGroup { name, bars: vec![Bar { parts, shown, ..Bar::default() }] };
    let most = anomalies.iter().map(|finding| finding.cases).max().unwrap_or(1) as f64;
    let axis = Axis::new("cases", Quantity::Count).with_ends(0.0, most);
    let plot = Plot::Bars { axis, groups: rows.map(group).collect(), legend: Vec::new() };
    Chart::new("Anomalies", format!("cases of each kind, and what {} says", level.sql()), plot)
}

fn figures(report: &IsolationReport) -> Block {
    let Findings { endings, sizes, anomalies, .. } = &report.findings;
    let figure = |label: &str, number: u64| KeyFigure {
        label: label.to_owned(),
        value: count(number),
        note: String::new(),
        is_large: false,
    };
    let forbidden =
        anomalies.iter().filter(|finding| finding.is_forbidden).map(|finding| finding.cases).sum();
    let unknown = endings.unknown_applied + endings.unknown_unseen;
    let mut figures = vec![
        KeyFigure { is_large: true, ..figure("forbidden anomalies", forbidden) },
        figure("committed", endings.committed),
        figure("rolled back", endings.aborted),
    ];
    figures.extend((unknown > 0).then(|| figure("unknown ending", unknown)));
    figures.push(figure("dependencies", sizes.ww + sizes.wr + sizes.rw));
    Block::Figures(figures, String::new())
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
            "{} with an unknown ending ({} applied)",
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
    let permission = |finding: &Finding| {
        let tone = if finding.is_forbidden { Tone::Bad } else { Tone::Plain };
        Cell::text(verdict(finding.is_forbidden)).with_tone(tone)
    };
    Table::of(
        &report.findings.anomalies,
        &[
            (Column::text("anomaly"), &|it| Cell::text(named(it))),
            (Column::figures("cases"), &|it| Cell::figure(Quantity::Count, it.cases as f64)),
            (Column::text(format!("at {}", report.findings.level.sql())), &|it| permission(it)),
        ],
    )
}

fn example(example: &Example) -> Vec<Block> {
    let row = example.anomaly.row();
    let list = example.key.map_or(String::new(), |key| format!(": list {key}"));
    let width = example.transactions.len().to_string().len() + 1;
    let mut lines: Vec<String> = example
        .transactions
        .iter()
        .zip(1..)
        .map(|(one, number)| transaction(example, one, number, width))
        .collect();
    lines.extend(example.edges.iter().map(edge));
    let replica = example.transactions.iter().any(|shown| shown.place != Place::Primary);
    let replica = if replica { " with a replica" } else { "" };
    vec![
        Block::Heading(format!("{}{replica}, {}", anomaly_name(row), verdict(example.is_forbidden))),
        Block::quiet(capitalised(&format!("{}{list}.", row.meaning))),
        Block::Preformatted(lines.join("\n")),
    ]
}

/// `T1  client 3: read list 17 = [4 9], append 31 to list 12`.
fn transaction(example: &Example, shown: &ShownTransaction, number: usize, width: usize) -> String {
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
    let is_short = shown.operations.len() <= OPERATIONS_SHOWN;
    let is_of_example = |operation: &&Operation| {
        let key = Some(operation.key());
        is_short || example.key == key || example.edges.iter().any(|edge| Some(edge.key) == key)
    };
    let mut operations: Vec<String> = shown.operations.iter().filter(is_of_example).map(operation).collect();
    if operations.len() < shown.operations.len() {
        operations.push("…".to_owned());
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ::isolation::{Anomaly, Endings, ISOLATION_SCHEMA_VERSION, Level, Run, Sizes, Witness};

    use super::*;
    use crate::{Format, Subject, TextStyle, formatted};

    fn shown(number: usize, place: Place, operations: Vec<Operation>) -> ShownTransaction {
        let client = u32::try_from(number).unwrap();
        ShownTransaction { number, client, place, ending: Ending::Committed, is_final: false, operations }
    }

    fn read(key: u32, elements: &[u32]) -> Operation {
        Operation::Read { key, elements: Some(elements.to_vec()) }
    }

    /// A check that found an anomaly of a read-only transaction on a replica, and lost an append.
    fn report() -> IsolationReport {
        let edge = |from, to, dependency, key| WitnessEdge { from, to, dependency, key };
        let edges =
            vec![edge(0, 1, Dependency::Rw, 5), edge(1, 2, Dependency::Wr, 5), edge(2, 0, Dependency::Rw, 4)];
        let append = |key, element| Operation::Append { key, element };
        let transactions = vec![
            shown(0, Place::Primary, vec![append(4, 9), read(5, &[])]),
            shown(1, Place::Primary, vec![append(5, 7)]),
            shown(
                2,
                Place::Replica(1),
                vec![read(5, &[7]), read(1, &[]), read(2, &[]), read(3, &[1, 2, 3, 4, 5, 6]), read(4, &[])],
            ),
        ];
        let skew =
            Example { anomaly: Anomaly::WriteSkew, is_forbidden: false, transactions, edges, key: None };
        let reader =
            ShownTransaction { is_final: true, ..shown(4, Place::Primary, vec![read(8, &[1, 2, 3, 4, 5])]) };
        let lost = Example {
            anomaly: Anomaly::LostAppend,
            is_forbidden: true,
            transactions: vec![shown(3, Place::Primary, vec![append(8, 6)]), reader],
            edges: Vec::new(),
            key: Some(8),
        };
        let finding = |anomaly, is_forbidden, needs_replica, cases| Finding {
            anomaly,
            is_forbidden,
            needs_replica,
            cases,
            witnesses: vec![Witness { transactions: Vec::new(), edges: Vec::new(), key: None }],
        };
        IsolationReport {
            schema_version: ISOLATION_SCHEMA_VERSION,
            run: Run {
                server: "host \"db\", port 5432".to_owned(),
                server_version: "18.1".to_owned(),
                reads: ReadMethod::Select,
                clients: 8,
                replicas: 1,
                planned: 1_000,
                seed: 7,
            },
            findings: Findings {
                level: Level::Serializable,
                endings: Endings {
                    total: 1_234,
                    committed: 1_200,
                    aborted: 30,
                    unknown_applied: 3,
                    unknown_unseen: 1,
                },
                sizes: Sizes { appends: 1_500, reads: 1_600, ww: 10, wr: 20, rw: 30 },
                anomalies: vec![
                    finding(Anomaly::LostAppend, true, false, 1),
                    finding(Anomaly::WriteSkew, false, true, 2),
                ],
                steps: 1,
            },
            examples: vec![lost, skew],
            errors: BTreeMap::from([("40001".to_owned(), 29), ("40P01".to_owned(), 1)]),
            outdated: 0,
            lost_connections: 4,
            gave_up: Some("connection refused".to_owned()),
            interruption: None,
            left_table: None,
            earlier_tables: vec!["public.pgmeter_isolation_12345678".to_owned()],
        }
    }

    fn text(report: &IsolationReport, format: Format) -> String {
        let style = TextStyle { colour: false, width: 100 };
        String::from_utf8(formatted(Subject::Isolation(report), format, &style).unwrap()).unwrap()
    }

    #[test]
    fn a_violated_level_is_shown_with_short_transactions() {
        insta::assert_snapshot!(text(&report(), Format::Text), @r#"
        SERIALIZABLE was violated: 1 case of lost append in 1,200 committed transactions.

        The check is incomplete: a client gave up: connection refused.

        Checks that were killed have left public.pgmeter_isolation_12345678; `pgmeter verify --clean` drops
        what they left.

        Isolation level SERIALIZABLE of PostgreSQL 18.1 at host "db", port 5432
          transactions      1,234: 1,200 committed, 30 rolled back and 4 with an unknown ending (3 applied)
          rollbacks         29 by SQLSTATE 40001 and 1 by SQLSTATE 40P01
          operations        1,500 appends, 1,600 reads
          dependencies      10 ww, 20 wr, 30 rw
          lists read by     SELECT
          clients           8 on the primary, readers on 1 replica
          seed              7
          lost connections  4

        Anomalies
          anomaly                          cases   at SERIALIZABLE
          lost append                          1   forbidden
          write skew (G2) with a replica       2   permitted

        Examples

        lost append, forbidden
          An acknowledged append is missing in the final read: list 8.
          T1  client 3: append 6 to list 8
          T2  final read: read list 8 = [… 2 3 4 5]

        write skew (G2) with a replica, permitted
          Two successive transactions of a cycle each missed an append of the next one.
          T1  client 0: append 9 to list 4, read list 5 = []
          T2  client 1: append 7 to list 5
          T3  client 2 on replica 1: read list 5 = [7], read list 4 = [], …
          T1 -rw-> T2: T1 read list 5 before T2 appended to it
          T2 -wr-> T3: T3 read T2's append to list 5
          T3 -rw-> T1: T3 read list 4 before T1 appended to it
        "#);
    }

    #[test]
    fn a_kept_level_says_what_it_permits() {
        let mut report = report();
        report.findings.anomalies.remove(0);
        report.gave_up = None;
        let first = |report: &IsolationReport| text(report, Format::Text).lines().next().unwrap().to_owned();
        assert!(
            first(&report)
                .starts_with("SERIALIZABLE was kept: in 1,200 committed transactions there are only")
        );
        report.findings.anomalies.clear();
        assert_eq!(first(&report), "SERIALIZABLE was kept: no anomaly in 1,200 committed transactions.");
    }

    #[test]
    fn the_formats_for_programs_have_each_kind() {
        assert_eq!(
            text(&report(), Format::Csv),
            "anomaly,code,cases,forbidden,on_replica\nlost append,,1,true,false\nwrite skew,G2,2,false,true\n"
        );
        let junit = text(&report(), Format::Junit);
        // An error because of the client that gave up, and a failure because of the lost append.
        assert!(junit.contains("tests=\"14\" failures=\"1\" errors=\"1\""), "{junit}");
        let json = text(&report(), Format::Json);
        assert!(
            json.contains("\"anomaly\": \"lost_append\"") && json.contains("\"level\": \"serializable\"")
        );
    }
}
