//! Verification of certificates compared with libpq, in the three modes that verify. pgmeter must refuse every
//! certificate that libpq refuses; this file lists those that only pgmeter refuses. The manual has the table of
//! results.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pgmeter_connect::{Environment, Overrides, Session, resolve};
use rcgen::{CertificateParams, SerialNumber};
use testkit::extent::choose;

use crate::cases::{self, Case};
use crate::tls_server::{REACHED, TlsServer};

/// The modes that verify certificates if there is a root file.
const MODES: [&str; 3] = ["require", "verify-ca", "verify-full"];
/// The page with the table of results.
const PAGE: &str = include_str!("../../../../docs/decisions/0015-certificate-verification.md");
/// The page that lists certificates refused only by pgmeter.
const MANUAL: &str = include_str!("../../../../docs/connections.md");
/// Paths of psql.
const PSQL: [&str; 2] = ["/usr/lib/postgresql/15/bin/psql", "psql"];

/// Accepted by libpq, refused by pgmeter, and the reason.
const REFUSED_HERE: &[(&str, &str)] = &[
    ("intermediate of the root's name (rollover)", ROLLOVER),
    ("CA:TRUE, issued through an intermediate", DIRECT),
    ("version 1, issued through an intermediate", DIRECT),
    ("version 1, root with name constraints", CONSTRAINTS),
    ("common name within the constraints", CONSTRAINTS),
    ("common name outside of the constraints", CONSTRAINTS),
    ("common name excluded by the constraints", CONSTRAINTS),
    ("common name with a dot within the constraints", CONSTRAINTS),
    ("address alone within the constraints", CONSTRAINTS),
    ("subject within constraints of subjects", CONSTRAINTS),
    ("constraints of mail addresses", CONSTRAINTS),
    ("self-signed, trusted itself, list without it", LISTS),
    ("version 1, list without it", LISTS),
];
const ROLLOVER: &str = "an intermediate must not have the name of its issuer";
const DIRECT: &str = "a certificate of version 1 or with CA:TRUE must be signed by a root";
const CONSTRAINTS: &str =
    "name constraints need a host's name as alternative name, and only hosts and addresses are compared";
const LISTS: &str = "lists of revoked certificates need a chain that webpki has checked";

fn pem(label: &str, ders: &[Vec<u8>]) -> String {
    let mut text = String::new();
    for der in ders {
        let _ = writeln!(text, "-----BEGIN {label}-----");
        for line in STANDARD.encode(der).as_bytes().chunks(64) {
            let _ = writeln!(text, "{}", String::from_utf8_lossy(line));
        }
        let _ = writeln!(text, "-----END {label}-----");
    }
    text
}

/// Whether each mode accepts the certificates.
type Verdicts = [bool; 3];

fn ask_ours(conninfo: &str) -> bool {
    let target = resolve(Some(conninfo), &Overrides::default(), &Environment::default());
    let target = target.unwrap_or_else(|error| panic!("{conninfo}: {error}"));
    let sentence = Session::connect(&target).expect_err("nobody gets in").to_string();
    let is_reached = sentence.contains(REACHED);
    assert!(is_reached || sentence.contains("certificate"), "{conninfo}: {sentence}");
    is_reached
}

fn ask_psql(psql: &str, conninfo: &str, home: &std::path::Path) -> bool {
    let output = Command::new(psql)
        .args(["-X", "-c", "select 1", conninfo])
        .env_clear()
        .env("HOME", home)
        .env("LC_ALL", "C")
        .output()
        .expect("psql was there a moment ago");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_reached = said.contains(REACHED);
    assert!(is_reached || said.contains("certificate") || said.contains("SSL"), "{conninfo}: {said}");
    is_reached
}

/// The installed psql and its major version.
pub(crate) fn find_psql() -> Option<(&'static str, String)> {
    PSQL.into_iter().find_map(|path| {
        let output = Command::new(path).arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = said.split_whitespace().nth(2)?.split('.').next()?.to_owned();
        Some((path, version))
    })
}

fn judge(case: &Case, psql: Option<&str>) -> (Verdicts, Option<Verdicts>) {
    let folder = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("our file");
        path.to_str().expect("a plain name").to_owned()
    };
    let roots = file("roots.crt", pem("CERTIFICATE", &case.trusted));
    let lists = match case.lists.is_empty() {
        true => String::new(),
        false => format!(" sslcrl={}", file("lists.crl", pem("X509 CRL", &case.lists))),
    };
    let server = TlsServer::start(case.shown.clone(), &case.key);
    let conninfo = MODES.map(|mode| {
        format!(
            "host={} hostaddr=127.0.0.1 port={} user=u dbname=d gssencmode=disable sslmode={mode} \
             sslrootcert={roots}{lists}",
            case.host, server.port
        )
    });
    let ours = [0, 1, 2].map(|mode| ask_ours(&conninfo[mode]));
    let theirs = psql.map(|psql| [0, 1, 2].map(|mode| ask_psql(psql, &conninfo[mode], folder.path())));
    (ours, theirs)
}

/// The page's table: both result columns by name.
fn page() -> BTreeMap<String, (String, String)> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == 4);
    let cells = |row: &str| -> Vec<String> { row.split('|').map(|cell| cell.trim().to_owned()).collect() };
    rows.map(cells).map(|row| (row[1].clone(), (row[2].clone(), row[3].clone()))).collect()
}

/// With a root file, `require` and `verify-ca` are equal; `yes`, `no` or the accepting mode.
fn words([require, verify_ca, verify_full]: Verdicts) -> &'static str {
    match (require, verify_ca, verify_full) {
        (true, true, true) => "yes",
        (true, true, false) => "not verify-full",
        (false, false, false) => "no",
        _ => "another service",
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a comparison that is left out is not left out in silence")]
fn no_certificate_is_believed_that_libpq_refuses() {
    let psql = find_psql();
    if psql.is_none() {
        eprintln!("there is no psql here: certificates are judged without libpq beside");
    }
    let path = psql.as_ref().map(|(path, _)| *path);
    let judged: Vec<(&str, Verdicts, Option<Verdicts>)> = std::thread::scope(|scope| {
        let judge_all = |group: fn() -> Vec<Case>| {
            let judged = |(number, case): (usize, &Case)| {
                // The page has the verdicts of libpq on the others.
                let is_asked = number % choose(5, 1) == 0;
                let (ours, theirs) = judge(case, path.filter(|_| is_asked));
                (case.name, ours, theirs)
            };
            group().iter().enumerate().map(judged).collect::<Vec<_>>()
        };
        let threads: Vec<_> =
            cases::GROUPS.into_iter().map(|group| scope.spawn(move || judge_all(group))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a verdict")).collect()
    });
    let (mut table, mut wrong, page) = (String::new(), String::new(), page());
    for (name, ours, theirs) in &judged {
        let in_page = page.get(*name);
        let libpq = theirs.map_or_else(
            || in_page.map_or("", |(libpq, _)| libpq).to_owned(),
            |theirs| words(theirs).to_owned(),
        );
        let _ = writeln!(table, "| {name} | {libpq} | {} |", words(*ours));
        let is_wider = theirs.is_some_and(|theirs| (0..3).any(|mode| ours[mode] && !theirs[mode]));
        let listed = REFUSED_HERE.iter().find(|(listed, _)| listed == name);
        let is_narrower = theirs.is_some_and(|theirs| (0..3).any(|mode| !ours[mode] && theirs[mode]));
        if is_wider {
            let _ = writeln!(wrong, "{name}: believed here {ours:?} and not by libpq {theirs:?}");
        }
        if is_narrower && listed.is_none() {
            let _ = writeln!(
                wrong,
                "{name}: refused here {ours:?} and not by libpq {theirs:?}, without a reason"
            );
        }
        if listed.is_some_and(|(_, reason)| !MANUAL.contains(reason)) {
            let _ = writeln!(wrong, "{name}: docs/connections.md does not say that {listed:?}");
        }
        // Results may differ between OpenSSL versions; the page documents the libpq that it names.
        let is_of_page = psql.as_ref().is_none_or(|(_, version)| version == "15");
        if is_of_page && in_page != Some(&(libpq, words(*ours).to_owned())) {
            let _ = writeln!(wrong, "{name}: the manual has {in_page:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}\nThe table of docs/decisions should be:\n{table}");
    assert_eq!(judged.len(), page.len() - 1, "the manual has rows that are no longer tried");
}

#[test]
fn serial_numbers_of_any_form_are_read() {
    // Serial numbers longer than RFC 5280 allows, zero, and negative.
    for serial in [&[0][..], &[0x80], &[0x7f; 20]] {
        let change = |parameters: &mut CertificateParams| {
            parameters.serial_number = Some(SerialNumber::from_slice(serial));
        };
        let case = Case::server("serial number", &change);
        assert_eq!(judge(&case, None).0, [true; 3], "{serial:?}");
    }
}
