//! TLS certificates: any bytes are judged, none is believed that the authority did not sign. An input is what a server
//! shows, one DER encoding after the other, its own certificate first. The authority's key was thrown away when the
//! seeds were made, so only they can be right.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use connect::judge_certificates;

use super::digest::Digest;
use super::{Attempt, SHORT, Target, allowance};

pub const TARGET: Target = Target {
    name: "certificates",
    words: &[
        // Heads of elements, and what makes an extension: identifiers and their values.
        b"\x30\x82\x01\x00",
        b"\x30\x03\x01\x01\xff",
        b"\x30\x00",
        b"\x06\x03\x55\x1d\x0f",
        b"\x06\x03\x55\x1d\x11",
        b"\x06\x03\x55\x1d\x13",
        b"\x06\x03\x55\x1d\x1e",
        b"\x06\x03\x55\x1d\x23",
        b"\x06\x03\x55\x1d\x25",
        b"\x06\x03\x55\x04\x03\x0c\x09localhost",
        b"\x82\x09localhost",
        b"\x82\x0b*.localhost",
        b"\x87\x04\x7f\x00\x00\x01",
        b"\x01\x01\xff",
        b"\x02\x01\x00",
        b"\xa0\x03\x02\x01\x02",
        b"\xa3\x12",
        b"\x17\x0d000101000000Z",
        b"\x18\x0f40000101000000Z",
        b"\x03\x02\x06\x40",
        b"\x03\x03\x00",
        b"\x04\x02\x30\x00",
    ],
    generate: None,
    reshape: None,
    length_max: SHORT,
    short_round_divisor: 1,
    memory: |input| allowance(1024, 64, input),
    prepare,
};

/// In the middle of the seeds' validity.
const NOW: Duration = Duration::from_secs(2_000_000_000);
const HOSTS: [Option<&str>; 3] = [None, Some("localhost"), Some("127.0.0.1")];

fn prepare() -> io::Result<Attempt> {
    let seeds = fs::read_dir(TARGET.seeds())?;
    let genuine = seeds.map(|entry| fs::read(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let root = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/certificates/root"))?;
    Ok(Box::new(move |input| attempt(&root, &genuine, input)))
}

fn attempt(root: &[u8], genuine: &[Vec<u8>], input: &[u8]) -> Result<u64, String> {
    let shown = elements(input);
    let mut outcome = Digest::new();
    for host in HOSTS {
        let judged = judge_certificates(&[root], &[], &shown, host, NOW);
        if judged.is_ok()
            && !genuine.iter().any(|seed| elements(seed).iter().any(|known| Some(known) == shown.first()))
        {
            return Err("a certificate was believed that nobody has signed".to_owned());
        }
        let sentence = judged.map_or_else(|error| error.to_string(), |()| String::new());
        // Names of the certificate are no new outcome.
        outcome.show(&sentence.split(": it is for").next().unwrap_or_default());
    }
    // As what is trusted, and as a list of what is revoked: whatever comes of it, it ends.
    for trusted in &shown {
        let judged = judge_certificates(&[trusted], &[], &shown, HOSTS[1], NOW);
        outcome.debug(&judged.is_ok());
    }
    outcome.debug(&judge_certificates(&[root], &[input], &shown, None, NOW).is_ok());
    Ok(outcome.value())
}

/// The most that are looked at: each is judged in several ways.
const ELEMENT_COUNT_MAX: usize = 8;

/// The elements of DER that lie one after the other; what is none is one.
fn elements(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while !rest.is_empty() && found.len() < ELEMENT_COUNT_MAX {
        let (element, after) = rest.split_at(length(rest).unwrap_or(rest.len()).min(rest.len()));
        found.push(element);
        rest = after;
    }
    found
}

/// Of the first element, head included, if its length has two bytes, as that of every certificate.
fn length(bytes: &[u8]) -> Option<usize> {
    let [0x30, 0x82, high, low, ..] = *bytes else { return None };
    Some(4 + usize::from(u16::from_be_bytes([high, low])))
}
