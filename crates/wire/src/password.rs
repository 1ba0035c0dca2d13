//! A password that neither Debug nor Display prints.
//! `connect` finds it; `Startup` is the only reader.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// PBKDF2 of a password; equivalent to the password, so it must not be shown.
pub(crate) type SaltedPassword = [u8; 32];

/// A password. Debug shows `***`; there is no Display.
///
/// All clones share the salted password of SCRAM: thousands of hashes that further connections to the same server need
/// not compute again.
#[derive(Clone)]
pub struct Password {
    secret: Box<[u8]>,
    salted: Arc<OnceLock<Salted>>,
}

/// The first salted password, with its salt and number of rounds.
struct Salted {
    salt: Box<[u8]>,
    rounds: u32,
    result: SaltedPassword,
}

impl Password {
    /// From text or raw bytes: a password need not be UTF-8.
    pub fn new(secret: impl Into<Vec<u8>>) -> Password {
        Password { secret: secret.into().into_boxed_slice(), salted: Arc::default() }
    }

    /// The secret. It must not become part of a log, a record or a message.
    pub fn as_bytes(&self) -> &[u8] {
        &self.secret
    }

    /// True for an empty password, which counts as none, as in libpq.
    pub fn is_empty(&self) -> bool {
        self.secret.is_empty()
    }

    /// The result of `derive` for the secret, this salt and this number of rounds. Computed once for all clones with
    /// the same salt; a server has one salt per role.
    pub(crate) fn salted(
        &self,
        salt: &[u8],
        rounds: u32,
        derive: impl Fn(&[u8], &[u8], u32) -> SaltedPassword,
    ) -> SaltedPassword {
        let derived = || derive(&self.secret, salt, rounds);
        let first = self.salted.get_or_init(|| Salted { salt: salt.into(), rounds, result: derived() });
        if *first.salt == *salt && first.rounds == rounds { first.result } else { derived() }
    }
}

/// Compares the secrets only.
impl PartialEq for Password {
    fn eq(&self, other: &Self) -> bool {
        self.secret == other.secret
    }
}

impl Eq for Password {}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_is_derived_from_it_is_derived_once_for_all_clones() {
        let calls = Cell::new(0);
        let derive = |secret: &[u8], salt: &[u8], rounds: u32| {
            calls.set(calls.get() + 1);
            [secret[0] ^ salt[0] ^ u8::try_from(rounds).unwrap(); 32]
        };
        let password = Password::new("a");
        let clone = password.clone();
        assert_eq!(password.salted(b"x", 1, derive), clone.salted(b"x", 1, derive));
        assert_eq!(calls.get(), 1);
        assert_eq!(clone.salted(b"y", 1, derive), [b'a' ^ b'y' ^ 1; 32], "another salt is another matter");
        assert_eq!(clone.salted(b"x", 2, derive), [b'a' ^ b'x' ^ 2; 32]);
        assert_eq!(password.salted(b"x", 1, derive), [b'a' ^ b'x' ^ 1; 32]);
    }

    #[test]
    fn debug_never_shows_the_secret() {
        assert_eq!(format!("{:?}", Some(Password::new("hunter2"))), "Some(***)");
    }
}
