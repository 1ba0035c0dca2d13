//! Sizes as the server writes them: what `pg_size_pretty` returns, so that a size here is the one that psql shows.
//! <https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-DBSIZE>

/// A number of bytes: `8192 bytes`, `13 MB`. A unit of 1024 times the size follows where 10 of it are reached.
#[must_use]
pub fn size_pretty(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    const LIMIT: u64 = 10 * 1024;
    if bytes < LIMIT {
        return format!("{bytes} {}", if bytes == 1 { "byte" } else { "bytes" });
    }
    // In halves of the unit, which are rounded up, as the server does it.
    let mut halves = bytes >> 9;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    while halves >= 2 * LIMIT - 1
        && let Some(next) = units.next()
    {
        halves >>= 10;
        unit = next;
    }
    format!("{} {unit}", halves.div_ceil(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_pg_size_pretty() {
        for (bytes, shown) in [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (1_000_000, "977 kB"),
            (10_485_247, "10239 kB"),
            (10_485_248, "10 MB"),
            (67_199_000, "64 MB"),
            (1_000_000_000, "954 MB"),
            (10_736_893_951, "10239 MB"),
            (10_736_893_952, "10 GB"),
            (1_000_000_000_000, "931 GB"),
            (1_000_000_000_000_000, "909 TB"),
            (1_000_000_000_000_000_000, "888 PB"),
        ] {
            assert_eq!(size_pretty(bytes), shown);
        }
        // The server says "1 bytes".
        assert_eq!(size_pretty(1), "1 byte");
    }
}
