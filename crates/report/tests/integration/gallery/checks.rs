//! Checks of the gallery: isolation, TLS, calibration and self-test.
//! Each is there clean and with findings.

use std::collections::BTreeMap;

use isolation::{
    Anomaly, Dependency, Ending, Endings, Example, Finding, Findings, ISOLATION_SCHEMA_VERSION,
    IsolationReport, Operation, Place, ReadMethod, ShownTransaction, Sizes, Witness, WitnessEdge,
};
use results::{
    Calibration, ClockFigures, Conditions, EventLoop, EventLoopName, Host, Level, PgmeterBuild, SelfTest,
    UtcTime,
};
use tls_scan::{
    Accepted, CertificateContents, CertificateFacts, Chain, Key, KeyExchange, Outcome, SCAN_SCHEMA_VERSION,
    Scan, SuiteFinding, Version, VersionFinding, Way, WayScan, Weakness, WeaknessKind,
};

fn now() -> UtcTime {
    UtcTime::from_unix_millis(1_795_262_581_250)
}

/// A check that found nothing.
pub fn isolation_kept() -> IsolationReport {
    IsolationReport {
        schema_version: ISOLATION_SCHEMA_VERSION,
        run: isolation::Run {
            server: "host \"db\", port 5432".to_owned(),
            server_version: "18.1".to_owned(),
            reads: ReadMethod::Select,
            clients: 8,
            replicas: 0,
            planned: 10_000,
            seed: 7,
        },
        findings: Findings {
            level: isolation::Level::Serializable,
            endings: Endings {
                total: 10_412,
                committed: 10_000,
                aborted: 412,
                unknown_applied: 0,
                unknown_unseen: 0,
            },
            sizes: Sizes { appends: 15_120, reads: 14_880, ww: 1_310, wr: 4_020, rw: 3_033 },
            anomalies: Vec::new(),
            steps: 1,
        },
        examples: Vec::new(),
        errors: BTreeMap::from([("40001".to_owned(), 412)]),
        outdated: 0,
        lost_connections: 0,
        gave_up: None,
        interruption: None,
        left_table: None,
        earlier_tables: Vec::new(),
    }
}

/// A write skew at SERIALIZABLE.
pub fn isolation_violated() -> IsolationReport {
    let shown = |number: usize, operations| ShownTransaction {
        number,
        client: u32::try_from(number).expect("it is small"),
        place: Place::Primary,
        ending: Ending::Committed,
        is_final: false,
        operations,
    };
    let read = |key, elements: &[u32]| Operation::Read { key, elements: Some(elements.to_vec()) };
    let append = |key, element| Operation::Append { key, element };
    let edge = |from, to, key| WitnessEdge { from, to, dependency: Dependency::Rw, key };
    let skew = Example {
        anomaly: Anomaly::WriteSkew,
        is_forbidden: true,
        transactions: vec![
            shown(0, vec![read(5, &[7, 9]), append(4, 9)]),
            shown(1, vec![read(4, &[1, 2]), append(5, 11)]),
        ],
        edges: vec![edge(0, 1, 5), edge(1, 0, 4)],
        key: None,
    };
    let finding = Finding {
        anomaly: Anomaly::WriteSkew,
        is_forbidden: true,
        needs_replica: false,
        cases: 31,
        witnesses: vec![Witness { transactions: Vec::new(), edges: Vec::new(), key: None }],
    };
    let mut report = isolation_kept();
    report.findings.anomalies = vec![finding];
    report.examples = vec![skew];
    report
}

const SUITES: [(u16, &str, Version); 5] = [
    (0x2f, "TLS_RSA_WITH_AES_128_CBC_SHA", Version::V12),
    (0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", Version::V12),
    (0xc030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", Version::V12),
    (0x1301, "TLS_AES_128_GCM_SHA256", Version::V13),
    (0x1302, "TLS_AES_256_GCM_SHA384", Version::V13),
];

fn accepted(version: Version, suite: &str) -> Outcome {
    let group = KeyExchange::Group { name: "x25519".to_owned(), bits: 253 };
    let is_static = suite.starts_with("TLS_RSA");
    let of_12 = (version < Version::V13).then_some(true);
    Outcome::Accepted(Accepted {
        version,
        suite: suite.to_owned(),
        key_exchange: (!is_static).then_some(group),
        extended_master_secret: of_12,
        secure_renegotiation: of_12,
        compression: false,
    })
}

/// A server that still accepts a suite without forward secrecy, with a short key.
pub fn tls() -> Scan {
    let refused = || Outcome::Alert { alert: 70, alert_name: "protocol_version".to_owned() };
    let version = |version, outcome| VersionFinding { version, outcome };
    let way = |way| WayScan {
        way,
        connections: 12,
        alpn: Some("postgresql".to_owned()),
        alpn_is_known: true,
        versions: vec![
            version(Version::V13, accepted(Version::V13, SUITES[4].1)),
            version(Version::V12, accepted(Version::V12, SUITES[1].1)),
            version(Version::V11, refused()),
            version(Version::V10, refused()),
        ],
        suites: SUITES
            .iter()
            .map(|(code, name, version)| SuiteFinding {
                code: *code,
                name: (*name).to_owned(),
                outcome: accepted(*version, name),
            })
            .collect(),
    };
    let day = |day: i64| UtcTime::from_unix_millis(1_795_262_581_250 + day * 86_400_000);
    let contents = CertificateContents {
        subject: "CN=db".to_owned(),
        issuer: "CN=root".to_owned(),
        names: vec!["db".to_owned(), "10.0.0.7".to_owned()],
        serial: "0a".to_owned(),
        not_before: day(-100),
        not_after: day(21),
        key: Key { algorithm: "RSA".to_owned(), bits: Some(1024) },
        signature: "sha256WithRSAEncryption".to_owned(),
        self_issued: false,
        authority: false,
    };
    let weakness = |level, kind, subject: &str, source| Weakness {
        level,
        kind,
        subjects: vec![subject.to_owned()],
        source,
    };
    Scan {
        schema_version: SCAN_SCHEMA_VERSION,
        measured_at: now(),
        server: "host \"db\" (10.0.0.7), port 5432".to_owned(),
        host: Some("db".to_owned()),
        ways: vec![way(Way::SslRequest), way(Way::Direct)],
        chains: vec![Chain {
            certificates: vec![CertificateFacts { sha256: "5f".repeat(32), contents: Some(contents) }],
            names_of_another_host: None,
        }],
        weaknesses: vec![
            weakness(tls_scan::Level::Must, WeaknessKind::ShortKey, "CN=db", "RFC 9325, section 4.5"),
            weakness(tls_scan::Level::Should, WeaknessKind::StaticRsa, SUITES[0].1, "RFC 9325, section 4.1"),
        ],
    }
}

pub fn calibration(event_loop: EventLoopName) -> Calibration {
    let host = Host { cpu_available: Some(16), ..testkit::records::host() };
    let level = |clients: u32| Level {
        clients,
        round_trips_per_s: 212_000.0 * f64::from(clients) / (f64::from(clients) + 5.0),
        cpu_us_per_round_trip: 4.7 + 14.0 / f64::from(clients),
        round_trip_us_p50: 17.0 + f64::from(clients) * 4.6,
        run_queue_share: Some(0.004),
    };
    let mut lateness = stats::Distribution::new();
    (1..1_000).for_each(|number| lateness.record_ns(4_000 + number * 50));
    Calibration::new(now(), host, event_loop, [1, 4, 16, 64, 256].map(level).into(), &lateness)
}

/// A debug build on a laptop.
pub fn self_test() -> SelfTest {
    SelfTest {
        build: PgmeterBuild::Debug,
        conditions: Conditions {
            governor: Some("powersave".to_owned()),
            clock_source: Some("tsc".to_owned()),
            ..Conditions::default()
        },
        at_rest: None,
        clock: ClockFigures { read_ns: 25.0, backwards: 0 },
        open_files: Some(1_024),
        event_loop: EventLoop { name: EventLoopName::IoUring, because: None },
        calibration: calibration(EventLoopName::IoUring),
    }
}
