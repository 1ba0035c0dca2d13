//! Traffic of a relay as a line of names and numbers: the response of a relay in a separate process to the process that
//! started it.

use std::fmt;
use std::time::Duration;

use crate::statistics::Statistics;

/// Traffic since the previous request: the response of a relay to a line on its standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Accepted connections.
    pub connections: u64,
    /// Refused connections.
    pub refused: u64,
    /// Pieces of data, over both directions and all connections.
    pub pieces: u64,
    /// Lateness of the pieces: median, 99th percentile, maximum.
    pub late_us: [f64; 3],
    /// CPU time without polling.
    pub cpu_us: u64,
    /// CPU time of polling.
    pub polled_us: u64,
    /// Time waiting for a core.
    pub waited_us: u64,
}

impl Traffic {
    /// From statistics.
    pub fn of(statistics: &Statistics) -> Self {
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self {
            connections: statistics.connections,
            refused: statistics.refused,
            pieces: statistics.late.count(),
            late_us: [0.5, 0.99, 1.0].map(|share| statistics.late_us(share).unwrap_or(0.0)),
            cpu_us: us(statistics.cpu_time.saturating_sub(statistics.polled)),
            polled_us: us(statistics.polled),
            waited_us: us(statistics.waited),
        }
    }

    /// Parses the line.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let mut next = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
        Some(Self {
            connections: next("connections")?.parse().ok()?,
            refused: next("refused")?.parse().ok()?,
            pieces: next("pieces")?.parse().ok()?,
            late_us: [
                next("late_us_p50")?.parse().ok()?,
                next("late_us_p99")?.parse().ok()?,
                next("late_us_max")?.parse().ok()?,
            ],
            cpu_us: next("cpu_us")?.parse().ok()?,
            polled_us: next("polled_us")?.parse().ok()?,
            waited_us: next("waited_us")?.parse().ok()?,
        })
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connections, refused, pieces, late_us: [p50, p99, max], cpu_us, polled_us, waited_us } =
            self;
        write!(
            formatter,
            "connections={connections} refused={refused} pieces={pieces} late_us_p50={p50} late_us_p99={p99} \
             late_us_max={max} cpu_us={cpu_us} polled_us={polled_us} waited_us={waited_us}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_figures_is_read_as_it_was_written() {
        let passed = Traffic {
            connections: 3,
            pieces: 7,
            late_us: [1.5, 20.0, 3e6],
            cpu_us: 9,
            waited_us: 2,
            ..Traffic::default()
        };
        assert_eq!(Traffic::parse(&passed.to_string()), Some(passed));
        for bad in ["", "connections=3", "connections=x refused=0", "host='/tmp' port=1"] {
            assert_eq!(Traffic::parse(bad), None, "{bad}");
        }
    }
}
