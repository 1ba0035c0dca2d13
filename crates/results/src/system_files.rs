//! Small files of the operating system, in `/proc`, `/sys` and `/etc`: their text, the values of their lines, and the
//! memory of the host.

use std::path::Path;

/// The text of a small system file; empty if it cannot be read.
pub(crate) fn read(path: impl AsRef<Path>) -> String {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The value of the first line `key<separator>value`.
pub(crate) fn value<'a>(text: &'a str, key: &str, separator: char) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(separator));
    pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

/// The memory of the host, from `/proc/meminfo`.
pub(crate) fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kibibytes: u64 = value(meminfo, "MemTotal", ':')?.strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_in_bytes() {
        assert_eq!(memory_bytes("MemFree: 1 kB\nMemTotal:       24576 kB\n"), Some(24_576 * 1024));
        assert_eq!(memory_bytes("MemTotal: many\n"), None);
    }
}
