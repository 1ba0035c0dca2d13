//! A scan of TLS as a document: versions, cipher suites, certificates, and what is weak; and its rows. `tls_scan`
//! judges, the sentences are here. Used by `cli` for `pgmeter tls`.

mod weaknesses;

use std::cmp::Reverse;

use results::UtcTime;
use tls_scan::{
    Accepted, CertificateContents, Chain, KeyExchange, Level, Outcome, Scan, Version, Way, WayScan, Weakness,
    WeaknessKind,
};

use crate::chart::{Axis, Bar, BarGroup, Chart, Colour, Plot};
use crate::document::{
    Audience, Banner, Block, Cell, Column, Document, Fact, KeyFigure, Section, Table, Tone, with_contents,
};
use crate::figures::{TIE, count, counted};
use crate::metrics::Quantity;
use crate::prose::{capitalised, cut, enumerate, escaped_line, moment};
use crate::values::ValueTable;
use weaknesses::weaknesses;

pub(crate) use weaknesses::{sentence, weakness_name};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// The document of a scan.
pub fn tls(scan: &Scan) -> Document {
    let part = |id, title: &str, link, blocks| Section::new(id, title, link, Audience::All, blocks);
    let (tone, sentence) = answer(scan);
    let open = open(scan);
    let text = std::iter::once(sentence.clone()).chain(open.clone()).collect::<Vec<_>>().join(" ");
    let mut first = vec![Block::Answer(tone, sentence)];
    first.extend(picture(scan).map(Block::chart));
    first.push(figures(scan));
    first.extend(open.map(|open| Block::Banner(Tone::Caution, String::new(), open)));
    Document {
        banners: vec![Banner::new(tone, text).for_terminal()],
        title: format!("TLS of {}", escaped_line(&scan.server)),
        subtitle: format!("at {}", moment(scan.measured_at)),
        sections: with_contents([
            Section::new("answer", "", "", Audience::Documents, first),
            part("versions", "", "Versions", vec![Block::Table(versions(scan))]),
            part("suites", "Cipher suites", "Suites", suites(scan)),
            part("certificates", "Certificates", "Certificates", certificates(scan)),
            part("weaknesses", "Weaknesses", "Weaknesses", weaknesses(scan)),
        ]),
    }
}

/// A row for each question.
pub(crate) fn tls_rows(scan: &Scan) -> ValueTable<'_> {
    let row = |way: &WayScan, question, outcome: &Outcome| {
        let accepted = outcome.accepted();
        let version = accepted.map_or("", |accepted| accepted.version.name());
        let exchange = accepted.map(exchange).unwrap_or_default();
        let cells = [way_name(way.way), question, &in_words(outcome), version, &exchange];
        cells.map(|cell| cell.to_owned().into()).into()
    };
    let rows = scan.ways.iter().flat_map(|way| {
        let versions = way.versions.iter().map(|finding| (finding.version.name(), &finding.outcome));
        let suites = way.suites.iter().map(|finding| (finding.name.as_str(), &finding.outcome));
        versions.chain(suites).map(|(question, outcome)| row(way, question, outcome))
    });
    ValueTable::new("way,question,outcome,version,key_exchange", rows.collect())
}

/// Questions that the server left open, by the ways that accept TLS: what it would accept is not known.
pub(crate) fn unanswered(scan: &Scan) -> u64 {
    let ways = scan.ways.iter().filter(|way| way.accepted_versions().next().is_some());
    let outcomes = ways.flat_map(|way| {
        let suites = way.suites.iter().map(|finding| &finding.outcome);
        way.versions.iter().map(|finding| &finding.outcome).chain(suites)
    });
    let is_open = |outcome: &&Outcome| {
        matches!(
            outcome,
            Outcome::NoAnswer
                | Outcome::NotTried
                | Outcome::NotConnected { .. }
                | Outcome::ServerError { .. }
        )
    };
    outcomes.filter(is_open).count() as u64
}

/// Whether the server's TLS is good.
fn answer(scan: &Scan) -> (Tone, String) {
    let accepts = scan.ways.iter().any(|way| way.accepted_versions().next().is_some());
    let (must, others) = (of_level(scan, Level::Must), advised_against(scan));
    let mut versions = scan.ways.iter().flat_map(|way| &way.versions);
    let is_refused = versions.any(|finding| finding.outcome == Outcome::NotOffered);
    let is_open = unanswered(scan) > 0;
    match (must, others) {
        _ if !accepts && is_refused => (
            Tone::Bad,
            "The server does not offer TLS here: PostgreSQL offers it with ssl = on, and only over TCP."
                .to_owned(),
        ),
        _ if !accepts => (Tone::Bad, "No version of TLS was accepted.".to_owned()),
        (0, 0) => {
            let tone = if is_open { Tone::Caution } else { Tone::Good };
            (tone, "The server accepts TLS; no weakness was found.".to_owned())
        }
        (must, others) => {
            let (first, by) = first_words(scan);
            let more = must + others - 1;
            let more = if more > 0 {
                format!("; {}", counted(more, "more weakness", "more weaknesses"))
            } else {
                String::new()
            };
            match must {
                0 => {
                    (Tone::Caution, format!("The server's TLS is not as recommended: {first} ({by}){more}."))
                }
                _ => (Tone::Bad, format!("The server's TLS is weak: {first}, against a MUST of {by}{more}.")),
            }
        }
    }
}

/// The first words about the gravest weakness, with what it concerns, and who says so.
fn first_words(scan: &Scan) -> (String, &'static str) {
    // They are in the order of their levels.
    let Some(Weakness { kind, subjects, source, .. }) = scan.weaknesses.first() else {
        return Default::default();
    };
    let first = subjects.first().map(|subject| cut(&escaped_line(subject), SUBJECT_LEN_MAX));
    let others = subjects.len().saturating_sub(1);
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    let of = first.map(|first| format!(" ({first}{others})")).unwrap_or_default();
    (weakness_name(*kind).to_owned() + &of, source)
}

/// The longest name of a suite or certificate in the answer.
const SUBJECT_LEN_MAX: usize = 40;

fn of_level(scan: &Scan, level: Level) -> u64 {
    scan.weaknesses.iter().filter(|weakness| weakness.level == level).count() as u64
}

/// Weaknesses that are not against a MUST.
fn advised_against(scan: &Scan) -> u64 {
    of_level(scan, Level::Should) + of_level(scan, Level::Advice)
}

/// That more may be weak than was found.
fn open(scan: &Scan) -> Option<String> {
    let open = unanswered(scan);
    let accepts = scan.ways.iter().any(|way| way.accepted_versions().next().is_some());
    let questions = counted(open, "question", "questions");
    (open > 0 && accepts).then(|| format!("It did not answer {questions}, so there may be more weaknesses."))
}

/// The suites that the server accepts in each version, by the gravest of their weaknesses. `None` if it accepts none.
fn picture(scan: &Scan) -> Option<Chart> {
    let legend = [
        ("no weakness".to_owned(), Colour::Run(0)),
        ("advised against".to_owned(), Colour::Run(1)),
        ("against a MUST".to_owned(), Colour::Bad),
    ];
    let accepted = accepted_suites(scan);
    let of_version = |(version, _, name): &(Version, u16, &'static str)| {
        let of = |wanted: &dyn Fn(Option<Level>) -> bool| {
            let suites =
                accepted.iter().filter(|(suite, it)| it == version && wanted(gravest(scan, suite, name)));
            suites.count() as f64
        };
        let numbers = [
            of(&|level| level.is_none()),
            of(&|level| matches!(level, Some(Level::Should | Level::Advice))),
            of(&|level| level == Some(Level::Must)),
        ];
        let parts = numbers.into_iter().zip(&legend).map(|(number, (_, colour))| (number, *colour)).collect();
        let named = numbers.into_iter().zip(&legend).filter(|(number, _)| *number > 0.0);
        let named: Vec<String> = named.map(|(number, (name, _))| format!("{number}{TIE}{name}")).collect();
        let shown = if named.is_empty() { "none".to_owned() } else { named.join(", ") };
        BarGroup { name: (*name).to_owned(), bars: vec![Bar { parts, shown, ..Bar::default() }] }
    };
    let groups = Version::ALL.iter().map(of_version).collect();
    let axis = Axis::new("cipher suites", Quantity::Count);
    let plot = Plot::Bars { axis, groups, legend: legend.clone().into() };
    (!accepted.is_empty()).then(|| Chart::new("Accepted cipher suites", "by version of TLS", plot))
}

/// The name of each suite that is accepted by any way, with its version.
fn accepted_suites(scan: &Scan) -> Vec<(&str, Version)> {
    let findings = scan.ways.iter().flat_map(|way| &way.suites);
    let accepted = findings.filter_map(|it| Some((it.name.as_str(), it.outcome.accepted()?.version)));
    let mut unique: Vec<(&str, Version)> = accepted.collect();
    unique.sort_unstable_by_key(|(name, _)| *name);
    unique.dedup_by_key(|(name, _)| *name);
    unique
}

/// The gravest weakness of a suite, or of its version.
fn gravest(scan: &Scan, suite: &str, version: &str) -> Option<Level> {
    let is_of = |weakness: &&Weakness| {
        weakness.kind != WeaknessKind::NoVersion13
            && weakness.subjects.iter().any(|subject| subject == suite || subject == version)
    };
    scan.weaknesses.iter().filter(is_of).map(|weakness| weakness.level).min()
}

/// Weaknesses, accepted versions and suites, and how long the certificate is valid.
fn figures(scan: &Scan) -> Block {
    let figure = |label: &str, value: String, note: String| KeyFigure {
        label: label.to_owned(),
        value,
        note,
        is_large: false,
    };
    let (must, others) = (of_level(scan, Level::Must), advised_against(scan));
    let note = if must > 0 { format!("{must} against a MUST") } else { String::new() };
    let mut figures = vec![KeyFigure { is_large: true, ..figure("weaknesses", count(must + others), note) }];
    let is_accepted = |version: &Version| {
        scan.ways.iter().any(|way| way.accepted_versions().any(|accepted| accepted == *version))
    };
    let versions: Vec<&str> = (Version::ALL.iter().filter(|(version, ..)| is_accepted(version)))
        .map(|(.., name)| name.trim_start_matches("TLSv"))
        .collect();
    let named = if versions.is_empty() { "none".to_owned() } else { versions.join(", ") };
    figures.push(figure("versions of TLS", named, String::new()));
    let asked = scan.ways.iter().map(|way| way.suites.len()).max().unwrap_or(0) as u64;
    if asked > 0 {
        let accepted = accepted_suites(scan).len() as u64;
        figures.push(figure("cipher suites", count(accepted), format!("of {} asked for", count(asked))));
    }
    let own = scan.chains.first().and_then(|chain| chain.certificates.first()?.contents.as_ref());
    figures.extend(own.map(|own| figure("certificate", left(own.not_after, scan.measured_at), key(own))));
    Block::Figures(figures, String::new())
}

fn way_name(way: Way) -> &'static str {
    match way {
        Way::SslRequest => "after SSLRequest",
        Way::Direct => "direct",
    }
}

fn versions(scan: &Scan) -> Table {
    let titles = std::iter::once("version").chain(scan.ways.iter().map(|way| way_name(way.way)));
    let row = |(version, _, name): (Version, u16, &'static str)| {
        let cells = scan.ways.iter().map(|way| {
            let finding = way.versions.iter().find(|finding| finding.version == version);
            finding.map_or_else(Cell::default, |finding| outcome_cell(&finding.outcome))
        });
        std::iter::once(Cell::text(name)).chain(cells).collect()
    };
    let mut rows: Vec<Vec<Cell>> = Version::ALL.into_iter().map(row).collect();
    let alpn = |way: &WayScan| match &way.alpn {
        Some(name) => Cell::text(escaped_line(name)),
        None if way.alpn_is_known => Cell::text("none"),
        None => Cell::text("unknown"),
    };
    rows.push(std::iter::once(Cell::text("ALPN")).chain(scan.ways.iter().map(alpn)).collect());
    Table { columns: titles.map(Column::text).collect(), rows, ..Table::default() }
}

fn outcome_cell(outcome: &Outcome) -> Cell {
    let cell = Cell::text(in_words(outcome));
    match outcome.accepted() {
        Some(accepted) if accepted.version < Version::V12 => cell.with_tone(Tone::Bad),
        Some(_) => cell.with_tone(Tone::Good),
        None => cell,
    }
}

/// An outcome in words. Each kind has its own, so that silence is not taken for a refusal.
fn in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Accepted(_) => "accepted".to_owned(),
        Outcome::Alert { alert_name, .. } => format!("refused by alert {}", escaped_line(alert_name)),
        Outcome::OlderVersion { version_code } => {
            let known = Version::ALL.iter().find(|(_, code, _)| code == version_code);
            let name = known
                .map_or_else(|| format!("version 0x{version_code:04x}"), |(.., name)| (*name).to_owned());
            format!("refused: the server chose {name}")
        }
        Outcome::NotOffered => "TLS not offered".to_owned(),
        Outcome::ServerError { message } => format!("error of the server: {}", escaped_line(message)),
        Outcome::Closed => "connection closed".to_owned(),
        Outcome::NoAnswer => "no answer".to_owned(),
        Outcome::NotConnected { reason } => format!("no connection: {}", escaped_line(reason)),
        Outcome::Unreadable { reason } => format!("not understood: {}", escaped_line(reason)),
        Outcome::NotInVersions => "not in an accepted version".to_owned(),
        Outcome::NotTried => "not asked: the server had stopped answering".to_owned(),
    }
}

/// Accepted suites as a table, and the numbers of the others.
fn suites(scan: &Scan) -> Vec<Block> {
    // A way by which no version is accepted has no suites, and needs no column.
    let ways: Vec<&WayScan> = scan.ways.iter().filter(|way| !way.suites.is_empty()).collect();
    let mut names: Vec<&str> = Vec::new();
    let findings = ways.iter().flat_map(|way| &way.suites);
    for finding in findings.filter(|finding| finding.outcome.accepted().is_some()) {
        if !names.contains(&finding.name.as_str()) {
            names.push(&finding.name);
        }
    }
    let mut rows: Vec<(Version, Vec<Cell>)> =
        names.iter().filter_map(|name| suite_row(scan, &ways, name)).collect();
    rows.sort_by_key(|(version, _)| Reverse(*version));
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        let titles = ["cipher suite", "version", "key exchange"].into_iter();
        let titles = titles.chain(by_way(&ways).iter().map(|way| way_name(way.way))).chain(["weakness"]);
        let rows = rows.into_iter().map(|(_, cells)| cells).collect();
        let columns = titles.map(Column::text).collect();
        // The names of suites are long and must not be cut; the weaknesses follow in words.
        blocks.push(Block::Table(Table { columns, rows, optional_columns: 1, ..Table::default() }));
    }
    blocks.extend(scan.ways.iter().map(|way| Block::quiet(totals(way))));
    blocks
}

/// The ways that have columns of their own: all, if they differ in a suite.
fn by_way<'a, 'b>(ways: &'b [&'a WayScan]) -> &'b [&'a WayScan] {
    let accepted = |way: &WayScan| way.accepted_suites().map(|(suite, _)| suite.code).collect::<Vec<_>>();
    let differs = ways.windows(2).any(|pair| accepted(pair[0]) != accepted(pair[1]));
    if differs { ways } else { &[] }
}

fn outcome_by<'a>(way: &'a WayScan, name: &str) -> Option<&'a Outcome> {
    way.suites.iter().find(|finding| finding.name == name).map(|finding| &finding.outcome)
}

fn suite_row(scan: &Scan, ways: &[&WayScan], name: &str) -> Option<(Version, Vec<Cell>)> {
    let accepted = ways.iter().filter_map(|way| outcome_by(way, name)).find_map(Outcome::accepted)?;
    let weaknesses: Vec<&Weakness> = scan
        .weaknesses
        .iter()
        .filter(|weakness| weakness.subjects.iter().any(|subject| subject == name))
        .collect();
    let tone = match weaknesses.iter().map(|weakness| weakness.level).min() {
        Some(Level::Must) => Tone::Bad,
        Some(Level::Should) => Tone::Caution,
        Some(Level::Advice) | None => Tone::Plain,
    };
    let kinds: Vec<&str> = weaknesses.iter().map(|weakness| weakness_name(weakness.kind)).collect();
    let first = [Cell::text(name), Cell::text(accepted.version.name()), Cell::text(exchange(accepted))];
    let cells = by_way(ways).iter().map(|way| outcome_by(way, name).map_or_else(Cell::default, outcome_cell));
    let last = Cell::text(kinds.join(", ")).with_tone(tone);
    Some((accepted.version, first.into_iter().chain(cells).chain([last]).collect()))
}

fn exchange(accepted: &Accepted) -> String {
    match &accepted.key_exchange {
        None => String::new(),
        Some(KeyExchange::Group { name, .. }) => name.clone(),
        Some(KeyExchange::FiniteField { bits }) => format!("DH, {bits} bits"),
        Some(KeyExchange::ExplicitCurve) => "a curve without a name".to_owned(),
    }
}

/// `After SSLRequest, with 350 connections: 20 accepted, 320 refused by alert handshake_failure.`
fn totals(way: &WayScan) -> String {
    let mut counts: Vec<(String, u64)> = Vec::new();
    for finding in &way.suites {
        let words = in_words(&finding.outcome);
        match counts.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => counts.push((words, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| *count);
    let counts: Vec<String> = counts.into_iter().map(|(words, count)| format!("{count} {words}")).collect();
    let connections = counted(way.connections.into(), "connection", "connections");
    match counts.as_slice() {
        [] => capitalised(&format!("{}, {connections}: no cipher suite was asked for", way_name(way.way))),
        counts => capitalised(&format!("{}, {connections}: {}", way_name(way.way), enumerate(counts))),
    }
}

fn certificates(scan: &Scan) -> Vec<Block> {
    let accepts = scan.ways.iter().any(|way| way.accepted_versions().next().is_some());
    match scan.chains.as_slice() {
        [] if accepts => vec![Block::Paragraph(Tone::Caution, "The certificate is unknown.".to_owned())],
        chains => chains.iter().flat_map(|chain| of_chain(chain, scan.measured_at)).collect(),
    }
}

fn of_chain(chain: &Chain, now: UtcTime) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, certificate) in chain.certificates.iter().enumerate() {
        blocks.push(Block::Heading(match index {
            0 => "The server's own".to_owned(),
            number => format!("Intermediate {number}"),
        }));
        let mut facts = match &certificate.contents {
            Some(contents) => contents_facts(contents, now),
            None => vec![Fact::new("contents", "cannot be read")],
        };
        facts.push(Fact::new("SHA-256", certificate.sha256.clone()));
        blocks.push(Block::Facts(facts));
    }
    blocks
}

fn contents_facts(contents: &CertificateContents, now: UtcTime) -> Vec<Fact> {
    let CertificateContents { subject, issuer, names, serial, not_before, not_after, signature, .. } =
        contents;
    let CertificateContents { self_issued, authority, .. } = contents;
    let names: Vec<String> = names.iter().map(|name| escaped_line(name)).collect();
    let issuer = escaped_line(issuer) + if *self_issued { " (itself)" } else { "" };
    let mut facts = vec![
        Fact::new("subject", escaped_line(subject)),
        Fact::new("names", if names.is_empty() { "none".to_owned() } else { names.join(", ") }),
        Fact::new("issuer", issuer),
        Fact::new("valid", validity(*not_before, *not_after, now)),
        Fact::new("key", key(contents)),
        Fact::new("signature", escaped_line(signature)),
        Fact::new("serial number", serial.clone()),
    ];
    if *authority {
        facts.push(Fact::new("authority", "may sign other certificates"));
    }
    facts
}

/// `RSA, 2048 bits`
fn key(contents: &CertificateContents) -> String {
    let algorithm = escaped_line(&contents.key.algorithm);
    contents.key.bits.map_or(algorithm.clone(), |bits| format!("{algorithm}, {bits}{TIE}bits"))
}

fn validity(from: UtcTime, until: UtcTime, now: UtcTime) -> String {
    let day = |time: UtcTime| time.to_string().chars().take(10).collect::<String>();
    format!("{} to {}, {}", day(from), day(until), left(until, now))
}

fn left(until: UtcTime, now: UtcTime) -> String {
    let days = until.unix_millis().saturating_sub(now.unix_millis()) / MILLIS_PER_DAY;
    match days {
        _ if until < now => "expired".to_owned(),
        days => format!("{} left", counted(u64::try_from(days).unwrap_or(0), "day", "days")),
    }
}

#[cfg(test)]
mod tests {
    use tls_scan::{CertificateFacts, Key, SCAN_SCHEMA_VERSION, SuiteFinding, VersionFinding};

    use super::*;
    use crate::TextStyle;

    fn junit(subject: crate::Subject<'_>) -> String {
        crate::values::junit(&crate::cases::suites(subject))
    }

    fn accepted(version: Version, suite: &str, key_exchange: Option<KeyExchange>) -> Outcome {
        let of_12 = (version < Version::V13).then_some(true);
        Outcome::Accepted(Accepted {
            version,
            suite: suite.to_owned(),
            key_exchange,
            extended_master_secret: of_12,
            secure_renegotiation: of_12,
            compression: false,
        })
    }

    fn suite(code: u16, name: &str, outcome: Outcome) -> SuiteFinding {
        SuiteFinding { code, name: name.to_owned(), outcome }
    }

    fn refused(alert: u8, name: &str) -> Outcome {
        Outcome::Alert { alert, alert_name: name.to_owned() }
    }

    fn time(day: i64) -> UtcTime {
        UtcTime::from_unix_millis(1_795_262_581_250 + day * MILLIS_PER_DAY)
    }

    fn contents() -> CertificateContents {
        CertificateContents {
            subject: "CN=db\u{1b}[1m".to_owned(),
            issuer: "CN=root".to_owned(),
            names: vec!["db".to_owned(), "10.0.0.7".to_owned()],
            serial: "0a".to_owned(),
            not_before: time(-100),
            not_after: time(21),
            key: Key { algorithm: "RSA".to_owned(), bits: Some(1024) },
            signature: "sha256WithRSAEncryption".to_owned(),
            self_issued: false,
            authority: false,
        }
    }

    fn scan() -> Scan {
        let (gcm, rsa) = ("TLS_AES_256_GCM_SHA384", "TLS_RSA_WITH_AES_128_CBC_SHA");
        let group = Some(KeyExchange::Group { name: "x25519".to_owned(), bits: 253 });
        let version = |version, outcome| VersionFinding { version, outcome };
        let by_request = WayScan {
            way: Way::SslRequest,
            connections: 9,
            alpn: None,
            alpn_is_known: true,
            versions: vec![
                version(Version::V13, accepted(Version::V13, gcm, group.clone())),
                version(Version::V12, accepted(Version::V12, rsa, None)),
                version(Version::V11, Outcome::Closed),
                version(Version::V10, refused(70, "protocol_version")),
            ],
            suites: vec![
                suite(0x2f, rsa, accepted(Version::V12, rsa, None)),
                suite(0x35, "TLS_RSA_WITH_AES_256_CBC_SHA", refused(40, "handshake_failure")),
                suite(0x1302, gcm, accepted(Version::V13, gcm, group)),
                suite(0x1303, "TLS_CHACHA20_POLY1305_SHA256", Outcome::NoAnswer),
            ],
        };
        let direct = WayScan {
            way: Way::Direct,
            connections: 1,
            alpn: None,
            alpn_is_known: false,
            versions: Version::ALL.iter().map(|(number, ..)| version(*number, Outcome::Closed)).collect(),
            suites: Vec::new(),
        };
        let weakness = |level, kind, subjects: &[&str], source| Weakness {
            level,
            kind,
            subjects: subjects.iter().map(|subject| (*subject).to_owned()).collect(),
            source,
        };
        Scan {
            schema_version: SCAN_SCHEMA_VERSION,
            measured_at: time(0),
            server: "host \"db\" (10.0.0.7), port 5432".to_owned(),
            host: Some("db".to_owned()),
            ways: vec![by_request, direct],
            chains: vec![Chain {
                certificates: vec![
                    CertificateFacts { sha256: "00ff".to_owned(), contents: Some(contents()) },
                    CertificateFacts { sha256: "11ff".to_owned(), contents: None },
                ],
                names_of_another_host: None,
            }],
            weaknesses: vec![
                weakness(Level::Must, WeaknessKind::ShortKey, &["CN=db"], "RFC 9325, section 4.5"),
                weakness(Level::Should, WeaknessKind::StaticRsa, &[rsa], "RFC 9325, section 4.1"),
                weakness(
                    Level::Advice,
                    WeaknessKind::Cbc,
                    &[rsa, "B", "C", "D", "E"],
                    "RFC 9325, section 4.2",
                ),
            ],
        }
    }

    #[test]
    fn the_text_has_versions_suites_certificates_and_weaknesses() {
        let text = crate::text(&tls(&scan()), &TextStyle { colour: false, width: 120 });
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for expected in [
            "The server's TLS is weak: short key (CN=db), against a MUST of RFC 9325, section 4.5; 2 more weaknesses. \
             It did not",
            "answer 1 question, so there may be more weaknesses.",
            "version after SSLRequest direct",
            "TLSv1 refused by alert protocol_version connection closed",
            "TLSv1.1 connection closed connection closed",
            "TLSv1.2 accepted connection closed",
            "ALPN none unknown",
            "cipher suite version key exchange weakness",
            "TLS_AES_256_GCM_SHA384 TLSv1.3 x25519",
            "TLS_RSA_WITH_AES_128_CBC_SHA TLSv1.2 static RSA, CBC",
            "After SSLRequest, 9 connections: 1 refused by alert handshake_failure, 1 no answer and 2 accepted.",
            "Direct, 1 connection: no cipher suite was asked for.",
            "subject CN=db\\x1b[1m",
            "names db, 10.0.0.7",
            "valid 2026-08-13 to 2026-12-12, 21 days left",
            "key RSA, 1024 bits",
            "contents cannot be read",
            "The certificate's key has less than 2048 bits: CN=db (RFC 9325, section 4.5)",
        ] {
            assert!(lines.iter().any(|line| line == expected), "{expected}\n{text}");
        }
        assert!(lines.concat().contains("B, C, D and 1 more"), "{text}");
    }

    #[test]
    fn ways_have_columns_of_their_own_if_they_differ_in_a_suite() {
        let mut scan = scan();
        let head = |scan: &Scan| {
            let text = crate::text(&tls(scan), &TextStyle { colour: false, width: 120 });
            let line = text.lines().find(|line| line.contains("cipher suite  ")).unwrap_or_default();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        scan.ways[1].suites = scan.ways[0].suites.clone();
        assert_eq!(head(&scan), "cipher suite version key exchange weakness");
        scan.ways[1].suites[0].outcome = Outcome::Closed;
        assert_eq!(head(&scan), "cipher suite version key exchange after SSLRequest direct weakness");
    }

    #[test]
    fn csv_has_a_line_for_each_question_with_its_own_words() {
        let csv = crate::values::csv(&tls_rows(&scan()));
        assert_eq!(csv.lines().count(), 1 + 4 + 4 + 4);
        for line in [
            "way,question,outcome,version,key_exchange",
            "after SSLRequest,TLSv1,refused by alert protocol_version,,",
            "after SSLRequest,TLS_AES_256_GCM_SHA384,accepted,TLSv1.3,x25519",
            "after SSLRequest,TLS_CHACHA20_POLY1305_SHA256,no answer,,",
            "direct,TLSv1.3,connection closed,,",
        ] {
            assert!(csv.lines().any(|found| found == line), "{line}\n{csv}");
        }
    }

    #[test]
    fn json_escapes_what_would_steer_a_terminal_and_junit_fails_for_a_must() {
        let json = crate::values::json(&scan());
        assert!(json.contains("\"CN=db\\u001b[1m\"") && !json.contains('\u{1b}'), "{json}");
        for part in
            ["\"outcome\": \"closed\"", "\"outcome\": \"no_answer\"", "\"alert\": 40", "\"code\": 4866"]
        {
            assert!(json.contains(part), "{part} {json}");
        }
        let junit = junit(crate::Subject::Tls(&scan()));
        assert!(junit.contains("tests=\"3\" failures=\"1\""), "{junit}");
    }

    #[test]
    fn a_scan_with_open_questions_finds_no_good_answer() {
        let mut scan = Scan { weaknesses: Vec::new(), ..scan() };
        assert_eq!(answer(&scan).0, Tone::Caution);
        let text = open(&scan).expect("a question is open").replace('\u{a0}', " ");
        assert!(text.contains("It did not answer 1 question, so there may be"), "{text}");
        let junit = junit(crate::Subject::Tls(&scan));
        assert!(junit.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{junit}");
        scan.ways[0].suites.pop();
        assert_eq!(answer(&scan).0, Tone::Good);
    }

    #[test]
    fn a_server_without_tls_is_a_bad_answer_but_no_weakness() {
        let mut scan = scan();
        for way in &mut scan.ways {
            way.suites.clear();
            way.versions.iter_mut().for_each(|finding| finding.outcome = Outcome::NotOffered);
        }
        (scan.chains, scan.weaknesses) = (Vec::new(), Vec::new());
        let (tone, text) = answer(&scan);
        assert_eq!(tone, Tone::Bad);
        assert!(text.contains("does not offer TLS"), "{text}");
    }
}
