//! The beginning of a session: whatever a server says, the start-up goes on, ends or is refused, and answers little.
//! The first byte of an input chooses what the client knows, the rest is the server's. Where the server must repeat what the
//! client made up for SCRAM, the input says `{nonce}`.

use script::Random;
use wire::{Decoder, Message, Password, Progress, Startup, StartupParameters};

use super::digest::{Digest, kind};
use super::{Attempt, SHORT, Target, allowance, frames};
use crate::corpus::below;

pub const TARGET: Target = Target {
    name: "startup",
    words: &[
        b"R\0\0\0\x08\0\0\0\0",
        b"R\0\0\0\x08\0\0\0\x03",
        b"R\0\0\0\x0c\0\0\0\x05salt",
        b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0",
        b"R\0\0\0\x0a\0\0\0\x0b",
        b"R\0\0\0\x0a\0\0\0\x0c",
        b"SCRAM-SHA-256-PLUS\0",
        b"r={nonce}abc,s=c2FsdA==,i=2",
        b"{nonce}",
        b",s=",
        b",i=",
        b",i=4096",
        b",i=4294967295",
        b"v=",
        b"e=other-error",
        b"r=",
        b"S\0\0\0\x0aa\0b\0\0\0",
        b"K\0\0\0\x0c\0\0\0\x01\0\0\0\x02",
        b"Z\0\0\0\x05I",
        b"E\0\0\0\x19SFATAL\0C28P01\0Mno\0\0",
        b"N\0\0\0\x0dSINFO\0\0",
        b"v\0\0\0\x0c\0\x03\0\0\0\0\0\0",
        b"R\0\0\0",
        b"\0\0\0\x07",
        b"\0\0\0\x09",
        b"\0",
    ],
    generate: Some(generate),
    reshape: None,
    length_max: SHORT,
    short_round_divisor: 1,
    memory: |input| allowance(128, 4, input),
    prepare: || Ok(Box::new(attempt) as Attempt),
};

/// What a client answers in a whole start-up, beyond what it repeats of the server's words.
const ANSWER_MAX: usize = 2048;

const NONCE: &[u8] = b"{nonce}";

/// Demands and their parts; the first four are those of SCRAM.
const PARTS: &[&[u8]] = &[
    b"r={nonce}abc",
    b",s=c2FsdA==",
    b",i=",
    b"2",
    b"SCRAM-SHA-256\0",
    b"SCRAM-SHA-256-PLUS\0",
    b"4096",
    b"4294967295",
    b"r=",
    b",m=ext",
    b"v=c2FsdA==",
    b"e=other-error",
    b"a\0b\0",
    b"SFATAL\0C28P01\0Mno\0",
    b"=",
    b"I",
];

/// A start-up that begins as it should and goes on anyhow.
fn generate(random: &mut Random, out: &mut Vec<u8>) {
    let mut demand = |code: u32, parts: &[&[u8]]| {
        let start = out.len();
        out.extend_from_slice(b"R\0\0\0\0");
        out.extend_from_slice(&code.to_be_bytes());
        parts.iter().for_each(|part| out.extend_from_slice(part));
        frames::end(out, start);
    };
    match random.range(3) {
        0 => demand(0, &[]),
        1 => demand([3, 5, 7, 2, 9][below(random, 5)], &[b"salt"]),
        _ => {
            demand(10, &[PARTS[4], b"\0"]);
            // The answer is right but for one part in five.
            let mut parts = [PARTS[0], PARTS[1], PARTS[2], PARTS[3]];
            if random.range(4) == 0 {
                parts[below(random, 4)] = PARTS[below(random, PARTS.len())];
            }
            demand(11, &parts);
        }
    }
    out.insert(0, if random.range(3) == 0 { 0 } else { 3 });
    frames::write(random, out, b"RRRSKZENv", PARTS);
}

fn attempt(input: &[u8]) -> Result<u64, String> {
    let (&choice, said) = input.split_first().unwrap_or((&0, &[]));
    let parameters = StartupParameters {
        user: "alice".to_owned(),
        database: (choice & 2 != 0).then(|| "bench".to_owned()),
        password: (choice & 1 != 0).then(|| Password::new("secret")),
        ..StartupParameters::default()
    };
    let mut out = Vec::new();
    let mut startup = Startup::new(&parameters, &mut out).map_err(|error| error.to_string())?;
    let mut outcome = Digest::new();
    let mut decoder = Decoder::new();
    let mut random = Random::from_seed(u64::from(choice));
    let mut rest = said;
    let mut is_over = false;
    while !rest.is_empty() && !is_over {
        let (message, after) = message(rest);
        rest = after;
        let message = with_nonce(message, &out);
        let mut answers = Vec::new();
        let mut step = |message: Message<'_>| {
            if is_over {
                return;
            }
            match startup.message(&message, &mut answers) {
                Ok(Progress::NeedMore) => {}
                Ok(Progress::Ready(key)) => {
                    is_over = true;
                    outcome.debug(&key.secret_key.len().min(8));
                }
                Err(error) => {
                    is_over = true;
                    outcome.debug(&kind(&error));
                    Digest::new().show(&error);
                }
            }
            Digest::new().debug(&startup);
        };
        let (first, second) = message.split_at(below(&mut random, message.len() + 1));
        let decoded = decoder.decode(first, &mut step).and_then(|()| decoder.decode(second, &mut step));
        out.extend_from_slice(&answers);
        outcome.debug(&answers.len().min(1));
        if let Err(error) = decoded {
            is_over = true;
            outcome.debug(&kind(&error));
        }
        if out.len() > ANSWER_MAX + 2 * input.len() {
            return Err(format!("{} bytes of answers to {} bytes", out.len(), input.len()));
        }
    }
    Ok(outcome.value())
}

/// The first message, as far as its length can be believed, and the rest.
fn message(said: &[u8]) -> (&[u8], &[u8]) {
    let length = said.get(1..5).and_then(|length| Some(u32::from_be_bytes(length.try_into().ok()?)));
    let length = length.map_or(said.len(), |length| (length as usize).saturating_add(1));
    said.split_at(length.clamp(1, said.len()))
}

/// The message with what the client made up in the place of `{nonce}`, and the length that it then has.
fn with_nonce(message: &[u8], answers: &[u8]) -> Vec<u8> {
    let place = message.windows(NONCE.len()).position(|window| window == NONCE);
    let nonce = answers.windows(2).rposition(|window| window == b"r=").map(|at| &answers[at + 2..]);
    let (Some(place), Some(nonce)) = (place, nonce) else { return message.to_vec() };
    let mut changed = [&message[..place], nonce, &message[place + NONCE.len()..]].concat();
    if let Some(length) = changed.len().checked_sub(1).and_then(|length| u32::try_from(length).ok())
        && changed.len() >= 5
    {
        changed[1..5].copy_from_slice(&length.to_be_bytes());
    }
    changed
}
