//! Servers that send without end: a session limits the
//! memory of answers, parameters and notices.

use super::fake::{Fake, columns, complete, message, notice, ready, row};
use super::*;
use testkit::extent::is_all;

/// Creates a message that is sent repeatedly.
type Flood = fn() -> Vec<u8>;

/// A server that repeats a message until the session closes; returns the session's result and its maximum memory.
fn flooded(keeps_rows: bool, flood: Flood, bytes: usize) -> (Result<(), ConnectError>, u64) {
    let fake = Fake::unix(move |mut peer| {
        peer.welcome();
        peer.hear();
        peer.try_to_say(&columns("one"));
        let flood = flood();
        let mut left = bytes;
        while left > 0 && peer.try_to_say(&flood) {
            left = left.saturating_sub(flood.len());
        }
        peer.try_to_say(&[complete("SELECT 1"), ready()].concat());
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let mut result = Ok(());
    let memory = allocation_counter::measure(|| {
        result = match keeps_rows {
            true => session.query("select 1").map(drop),
            false => session.execute("select 1").map(drop),
        };
    });
    (result, memory.bytes_max)
}

/// More than an answer may have.
const FLOOD: usize = ANSWER_LENGTH_MAX + (ANSWER_LENGTH_MAX >> 2);
/// More short messages than the rows that an answer may have.
const FLOOD_OF_SHORT: usize = 16 << 20;
/// More than may be kept of rows that are not requested.
const UNKEPT_FLOOD: usize = 12 << 20;
/// The most that is kept of them.
const UNKEPT_MAX: u64 = 8 << 20;
/// The limit of an answer, with room for growing vectors.
const MEMORY_MAX: u64 = 3 * ANSWER_LENGTH_MAX as u64;

#[test]
fn an_answer_without_end_is_given_up_before_it_fills_memory() {
    let floods: [(&str, Flood, usize); 4] = [
        ("long rows", || row(Some(&"x".repeat(1_000_000))), FLOOD),
        ("short rows", || row(Some("")).repeat(4000), FLOOD_OF_SHORT),
        ("results", || complete("SELECT 0").repeat(4000), FLOOD_OF_SHORT),
        ("descriptions", || [columns(&"c".repeat(500_000)), complete("SELECT 0")].concat(), FLOOD),
    ];
    for (name, flood, bytes) in floods {
        let (result, memory) = flooded(true, flood, bytes);
        let sentence = result.expect_err(name).to_string();
        assert!(
            sentence.contains("the result of a query exceeds the limit of 1000000 rows or 64 MiB"),
            "{name}: {sentence}"
        );
        assert!(memory <= MEMORY_MAX, "{name}: {memory} bytes");
        // Rows that are not requested are not stored. Short messages take long to read.
        if !is_all() && bytes == FLOOD_OF_SHORT {
            continue;
        }
        let (result, memory) = flooded(false, flood, UNKEPT_FLOOD);
        assert!(result.is_ok() && memory < UNKEPT_MAX, "{name}: {memory} bytes, {result:?}");
    }
    // A row that is announced larger than any answer ends the session at once.
    let (result, memory) = flooded(true, || message(b'D', &[0; ANSWER_LENGTH_MAX + 1]), FLOOD);
    assert!(result.is_err_and(|error| error.to_string().contains("64 MiB")) && memory < 8 << 20, "{memory}");
}

#[test]
fn a_flood_of_settings_and_notices_is_not_kept() {
    let setting = |name: &str, value: &str| message(b'S', format!("{name}\0{value}\0").as_bytes());
    let fake = Fake::unix(move |mut peer| {
        peer.welcome();
        peer.hear();
        let (long, mut said) = ("x".repeat(1_000_000), Vec::new());
        for number in 0..300 {
            if number % 4 == 1 {
                said.extend(setting(&format!("setting_{number}"), &long));
                said.extend(notice(&long));
            }
            said.extend(setting(&format!("short_{number}"), "on"));
        }
        said.extend(setting("TimeZone", &long));
        peer.try_to_say(&[said, complete("SELECT 1"), ready()].concat());
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let memory =
        allocation_counter::measure(|| assert_eq!(session.execute("select 1").unwrap(), 1)).bytes_max;
    // All settings or all notices would take 75 MB.
    assert!(memory < 64 << 20, "{memory} bytes");
    assert_eq!(session.parameter("short_100"), Some("on"));
    assert_eq!(session.parameter("setting_1"), None);
    assert_eq!(session.parameter("TimeZone"), None, "what it was is no longer true");
    assert_eq!(session.take_notices().len(), 16);
    fake.finish();
}
