//! The client's side of SCRAM-SHA-256: its messages and the verification of the server's proof. `startup` sends the
//! messages and selects the mechanism.
//!
//! RFC 5802 and RFC 7677. The user name is empty: PostgreSQL takes it from the StartupMessage.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::password::{Password, SaltedPassword};

/// The mechanism without and with channel binding.
pub(super) const SCRAM_SHA_256: &str = "SCRAM-SHA-256";
pub(super) const SCRAM_SHA_256_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// Random bytes in a nonce; libpq's number.
const NONCE_BYTES: usize = 18;
/// Maximum number of rounds, so that a server cannot keep the client busy for hours. PostgreSQL's default is 4096, and
/// a million takes about a second.
const ROUNDS_MAX: u32 = 1_000_000;

/// Channel binding in the first client message.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Binding {
    /// Not supported by the client.
    Unsupported,
    /// Supported by the client, but not offered by the server.
    NotOffered,
    /// Bound to the server's certificate (`tls-server-end-point`).
    EndPoint(Vec<u8>),
}

/// State after the first client message.
pub(super) struct Begun {
    binding: Binding,
    /// The first client message without its channel binding part.
    first_bare: String,
    nonce: String,
}

/// State after the client's proof.
pub(super) struct Proved {
    server_key: [u8; 32],
    /// AuthMessage: the messages of both sides.
    said: String,
}

impl Binding {
    fn header(&self) -> &'static str {
        match self {
            Binding::Unsupported => "n,,",
            Binding::NotOffered => "y,,",
            Binding::EndPoint(_) => "p=tls-server-end-point,,",
        }
    }

    fn data(&self) -> &[u8] {
        match self {
            Binding::EndPoint(hash) => hash,
            _ => &[],
        }
    }
}

impl Begun {
    /// Generates a nonce.
    pub(super) fn new(binding: Binding) -> Result<Begun, String> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce)
            .map_err(|error| format!("the system provides no random bytes: {error}"))?;
        Ok(Begun::with_nonce(binding, "", &STANDARD.encode(nonce)))
    }

    fn with_nonce(binding: Binding, user: &str, nonce: &str) -> Begun {
        Begun { binding, first_bare: format!("n={user},r={nonce}"), nonce: nonce.to_owned() }
    }

    /// The first client message.
    pub(super) fn words(&self) -> String {
        format!("{}{}", self.binding.header(), self.first_bare)
    }

    /// Processes the first server message; returns the final client message with the proof.
    pub(super) fn prove(self, server_first: &[u8], password: &Password) -> Result<(Proved, String), String> {
        let server_first = text(server_first)?;
        let Challenge { nonce, salt, rounds } = Challenge::read(server_first)?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("the server's nonce does not begin with the client's".to_owned());
        }
        let salted = password.salted(&salt, rounds, derive);
        let binding = [self.binding.header().as_bytes(), self.binding.data()].concat();
        let without_proof = format!("c={},r={nonce}", STANDARD.encode(binding));
        let said = format!("{},{server_first},{without_proof}", self.first_bare);

        let client_key = signature(&salted, b"Client Key");
        let client_signature = signature(&Sha256::digest(client_key), said.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(client_signature).map(|(key, byte)| key ^ byte).collect();
        let words = format!("{without_proof},p={}", STANDARD.encode(proof));
        Ok((Proved { server_key: signature(&salted, b"Server Key"), said }, words))
    }
}

impl Proved {
    /// Processes the final server message, which must contain the server's proof.
    pub(super) fn check(&self, server_final: &[u8]) -> Result<(), String> {
        let server_final = text(server_final)?;
        if let Some(error) = server_final.strip_prefix("e=") {
            return Err(format!("the server reported \"{error}\""));
        }
        let proof = server_final.strip_prefix("v=").and_then(|rest| rest.split(',').next());
        let proof = proof.and_then(|proof| STANDARD.decode(proof).ok());
        let proof = proof.ok_or("the server's final message is not valid SCRAM")?;
        keyed(&self.server_key, self.said.as_bytes())
            .verify_slice(&proof)
            .map_err(|_| "the server could not prove that it knows the password".to_owned())
    }
}

/// The first server message: `r=NONCE,s=SALT,i=ROUNDS`, and optional extensions, which are ignored.
struct Challenge<'a> {
    nonce: &'a str,
    salt: Vec<u8>,
    rounds: u32,
}

impl<'a> Challenge<'a> {
    fn read(words: &'a str) -> Result<Self, String> {
        let not_scram = || "the server's first message is not valid SCRAM".to_owned();
        let mut attributes = words.split(',');
        let mut next =
            |name| attributes.next().and_then(|word| word.strip_prefix(name)).ok_or_else(not_scram);
        let (nonce, salt, rounds) = (next("r=")?, next("s=")?, next("i=")?);
        let salt = STANDARD.decode(salt).map_err(|_| not_scram())?;
        let rounds: u64 = rounds.parse().map_err(|_| not_scram())?;
        match u32::try_from(rounds) {
            Ok(rounds @ 1..=ROUNDS_MAX) => Ok(Challenge { nonce, salt, rounds }),
            Ok(0) => Err(not_scram()),
            _ => Err(format!("the server requests {rounds} iterations, more than the limit of {ROUNDS_MAX}")),
        }
    }
}

/// `Hi` of RFC 5802: PBKDF2 for one block. The password is normalized by RFC 4013 if possible and otherwise used
/// unchanged, as PostgreSQL does on both sides.
fn derive(secret: &[u8], salt: &[u8], rounds: u32) -> SaltedPassword {
    let prepared = std::str::from_utf8(secret).ok().and_then(|secret| stringprep::saslprep(secret).ok());
    let key = Hmac::<Sha256>::new_from_slice(prepared.as_deref().map_or(secret, str::as_bytes))
        .expect("HMAC takes keys of any length");
    let hash = |bytes: &[&[u8]]| -> SaltedPassword {
        let mut mac = key.clone();
        bytes.iter().for_each(|bytes| mac.update(bytes));
        mac.finalize().into_bytes().into()
    };
    let mut block = hash(&[salt, &[0, 0, 0, 1]]);
    let mut sum = block;
    for _ in 1..rounds {
        block = hash(&[&block]);
        sum.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}

fn keyed(key: &[u8], words: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(words);
    mac
}

fn signature(key: &[u8], words: &[u8]) -> [u8; 32] {
    keyed(key, words).finalize().into_bytes().into()
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "the server's message is not text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7677_comes_out() {
        let begun = Begun::with_nonce(Binding::Unsupported, "user", "rOprNGfwEbeRWgbNEkqO");
        assert_eq!(begun.words(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let server_first =
            b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let (proved, words) = begun.prove(server_first, &Password::new("pencil")).unwrap();
        assert_eq!(
            words,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        proved.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").unwrap();
        assert!(proved.check(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").is_err());
        assert!(proved.check(b"v=").is_err());
    }

    #[test]
    fn a_password_is_prepared_where_that_can_be_done() {
        let of = |secret: &[u8]| derive(secret, b"salt", 2);
        assert_eq!(of("I\u{ad}X".as_bytes()), of(b"IX"), "RFC 4013: a soft hyphen is nothing");
        assert_eq!(of("\u{2168}".as_bytes()), of(b"IX"), "and a Roman nine is two letters");
        assert_ne!(of(b"\xff"), of(b""), "what is not text is taken as it is");
        assert_ne!(of("a\u{7}".as_bytes()), of(b"a"), "and so is what is prohibited");
    }

    #[test]
    fn a_server_cannot_keep_us_busy_for_hours() {
        let begun = Begun::with_nonce(Binding::Unsupported, "", "x");
        let refusal = begun.prove(b"r=xy,s=AAAA,i=4000000000", &Password::new("pencil")).err().unwrap();
        assert!(refusal.contains("4000000000 iterations"), "{refusal}");
    }

    #[test]
    fn the_servers_own_reason_is_passed_on() {
        let begun = Begun::with_nonce(Binding::Unsupported, "", "x");
        let (proved, _) = begun.prove(b"r=xy,s=AAAA,i=1", &Password::new("pencil")).unwrap();
        assert_eq!(proved.check(b"e=invalid-proof").unwrap_err(), "the server reported \"invalid-proof\"");
    }
}
