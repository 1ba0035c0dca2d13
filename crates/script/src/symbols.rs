//! Names of variables and their slots. All scripts of a run share one table, so that a client's variables are an array
//! and the workload needs no search by name. Filled by the parser and by callers that set variables (`-D`, `scale`, …).

use std::borrow::Cow;
use std::collections::HashMap;

/// The variable that functions of time read. No script can assign it, because its name is invalid.
pub(crate) const TRANSACTION_TIME: &str = "time since measuring began";

/// Index of a variable in every client's [`Variables`](crate::Variables).
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// Index into an array with one entry per symbol.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Interner of variable names.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    names: Vec<Box<[u8]>>,
    slots: HashMap<Box<[u8]>, Slot>,
}

impl Symbols {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The slot of `name`, created if it is new. The name is not validated; see [`Symbols::is_valid_name`].
    pub fn intern(&mut self, name: impl AsRef<[u8]>) -> Slot {
        let name = name.as_ref();
        if let Some(&slot) = self.slots.get(name) {
            return slot;
        }
        let slot =
            Slot(u32::try_from(self.names.len()).expect("fewer than four milliards of variable names"));
        self.names.push(name.into());
        self.slots.insert(name.into(), slot);
        slot
    }

    /// The slot of `name`, if a script or definition uses it.
    pub fn lookup(&self, name: impl AsRef<[u8]>) -> Option<Slot> {
        self.slots.get(name.as_ref()).copied()
    }

    /// The variable with the time of a transaction, in nanoseconds since measuring began and negative before, if a script
    /// reads it (`random_hot`). The caller sets it at the start of each transaction.
    pub fn transaction_time(&self) -> Option<Slot> {
        self.lookup(TRANSACTION_TIME)
    }

    /// The name of a slot of this table, for messages.
    pub fn name(&self, slot: Slot) -> Cow<'_, str> {
        encoding::decode(&self.names[slot.index()])
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no name was interned.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether a variable may have this name: a letter, an underscore or any byte from 0x80 first, then also digits.
    pub fn is_valid_name(name: impl AsRef<[u8]>) -> bool {
        let name = name.as_ref();
        name.first().is_some_and(|&byte| is_name_start(byte)) && name.iter().all(|&byte| is_name_byte(byte))
    }
}

/// Whether a variable's name may start with this byte.
pub(crate) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// Whether a variable's name may contain this byte.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_slot() {
        let mut symbols = Symbols::new();
        let aid = symbols.intern("aid");
        let bid = symbols.intern("bid");
        assert_ne!(aid, bid);
        assert_eq!(symbols.intern("aid"), aid);
        assert_eq!(symbols.lookup("bid"), Some(bid));
        assert_eq!(symbols.lookup("BID"), None);
        assert_eq!(symbols.name(aid), "aid");
        assert_eq!(symbols.len(), 2);
    }

    #[test]
    fn names_begin_with_a_letter_an_underscore_or_a_high_byte() {
        for name in ["a", "_", "é", "a1", "été_2"] {
            assert!(Symbols::is_valid_name(name), "{name}");
        }
        assert!(Symbols::is_valid_name(b"\xff\x80"));
        for name in ["", "1a", "a-b", "a b", "$1"] {
            assert!(!Symbols::is_valid_name(name), "{name}");
        }
    }
}
