//! Processor time that the host of a virtual machine gave to others while this machine wanted it. Where it is more
//! than a percent, the slowest hundredth of anything is the host's.

use std::fs;

/// What proc(5)'s `stat` has counted, in ticks of all processors together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    stolen: u64,
    all: u64,
}

impl Ticks {
    /// Until now; nothing where there is no such file.
    pub(super) fn now() -> Self {
        of_stat(&fs::read_to_string("/proc/stat").unwrap_or_default()).unwrap_or_default()
    }

    /// The share stolen from then to now, in percent.
    pub(super) fn stolen_percent(self) -> f64 {
        self.until(Self::now())
    }

    #[allow(clippy::cast_precision_loss, reason = "ticks of minutes")]
    fn until(self, now: Self) -> f64 {
        let stolen = now.stolen.saturating_sub(self.stolen) as f64;
        stolen / now.all.saturating_sub(self.all).max(1) as f64 * 100.0
    }
}

/// The first line: user, nice, system, idle, iowait, irq, softirq, steal; the guests' time that follows is in user's.
fn of_stat(stat: &str) -> Option<Ticks> {
    let counts: Option<Vec<u64>> = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .take(8)
        .map(|n| n.parse().ok())
        .collect();
    let counts = counts?;
    Some(Ticks { stolen: *counts.get(7)?, all: counts.iter().sum() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stolen_is_a_share_of_all_time() {
        let before = of_stat("cpu  100 0 50 800 0 0 0 50 7 7\ncpu0 1 1\n").expect("counts");
        let after = of_stat("cpu  130 0 60 830 0 0 0 80 7 7\n").expect("counts");
        assert_eq!(before, Ticks { stolen: 50, all: 1000 });
        assert_eq!(before.until(after), 30.0);
        assert_eq!(before.until(before), 0.0);
    }

    #[test]
    fn what_is_no_stat_counts_nothing() {
        assert_eq!(of_stat(""), None);
        assert_eq!(of_stat("cpu  1 2 3\n"), None);
    }
}
