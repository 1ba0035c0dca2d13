//! A password on its way to the server. It is not a string: nothing prints it, neither by Debug nor by Display.
//! `connect` finds it; `Startup` is the only reader.

use std::fmt;

/// A password. Debug shows `***`; there is no Display.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Box<[u8]>);

impl Password {
    /// From text or raw bytes: a password need not be UTF-8.
    pub fn new(secret: impl Into<Vec<u8>>) -> Password {
        Password(secret.into().into_boxed_slice())
    }

    /// The secret itself. Whoever calls this must not let it reach a log, a record or a message.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// True when there is nothing in it; such a password counts as none, as in libpq.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_never_shows_the_secret() {
        assert_eq!(format!("{:?}", Some(Password::new("hunter2"))), "Some(***)");
    }
}
