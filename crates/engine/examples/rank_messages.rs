//! The work of rank 0 per second and other rank: reads one rank's message about a second of 50,000 transactions and
//! merges it. Prints the size of the message and the CPU time; under callgrind, the instructions of `receive`.
//!
//! ```sh
//! cargo run --release -p pgmeter-engine --example rank_messages [rate] [MESSAGES]
//! ```

use std::time::Duration;

use pgmeter_engine::RankMessage;
use sockets::thread_cpu_time;
use stats::{EncodedInterval, Ending, Interval, Recorder, Sample, SplitMix64, Timestamp, Traffic};

const TRANSACTIONS: u32 = 50_000;
const SECOND: Duration = Duration::from_secs(1);

/// A second of one script: response times of 1 ms, with a log-normal spread of e^0.5; with a rate, each second
/// transaction starts late.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive latency")]
fn second(rate: bool) -> Interval {
    let (mut random, start) = (SplitMix64::new(42), Timestamp::ZERO + SECOND);
    let mut recorder = Recorder::new(1, None).starting_at(start);
    for number in 0..TRANSACTIONS {
        let finished = start + SECOND.mul_f64(f64::from(number) / f64::from(TRANSACTIONS));
        let response = Duration::from_nanos((1e6 * (0.5 * random.normal()).exp()) as u64);
        let scheduled = Timestamp::from_nanos(finished.as_nanos() - response.as_nanos() as u64);
        let late = if rate && number % 2 == 0 { response.mul_f64(0.1) } else { Duration::ZERO };
        recorder.record(&Sample {
            script: 0,
            scheduled,
            started: scheduled + late,
            finished,
            tries: 1,
            business: 1,
            ending: Ending::Succeeded,
            traffic: Traffic { round_trips: 1, sent_bytes: 60, received_bytes: 90 },
        });
    }
    recorder.hand_over(start, start + SECOND, Interval::new(1))
}

/// What the engine of rank 0 does with a message: reads it into an empty interval and merges that into the second.
#[inline(never)]
fn receive(text: &str, spare: &mut Interval, merged: &mut Interval) {
    let message: RankMessage = serde_json::from_str(text).expect("a message");
    let RankMessage::Interval(encoded) = message else { unreachable!("it is an interval") };
    encoded.decode_into(spare, Timestamp::ZERO).expect("a whole interval");
    merged.merge(spare);
    spare.clear();
}

#[expect(clippy::print_stdout, reason = "an example")]
fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let rate = arguments.next_if(|argument| argument == "rate").is_some();
    let messages: u32 = arguments.next().and_then(|number| number.parse().ok()).unwrap_or(100);
    let interval = second(rate);
    let encoded = RankMessage::Interval(EncodedInterval::new(&interval, Timestamp::ZERO));
    let text = serde_json::to_string(&encoded).expect("text");
    let (mut spare, mut merged) = (Interval::new(1), Interval::new(1));
    let begun = thread_cpu_time();
    for _ in 0..messages {
        receive(&text, &mut spare, &mut merged);
    }
    let each = (thread_cpu_time() - begun) / messages;
    assert_eq!(merged.counts().succeeded, u64::from(messages) * u64::from(TRANSACTIONS));
    println!("a message of {TRANSACTIONS} transactions: {} bytes, {each:?} of CPU time", text.len());
}
