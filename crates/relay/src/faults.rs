//! Faults of the simulated network: resets, silence, and additional delay. Several may be active at the same time; each
//! ends on its own, or all of them at once. Pure: the service asks what is in effect.

use std::time::Duration;

use crate::connection::{CLIENT, SERVER};
use crate::error::RelayError;

/// Limit of active faults.
const FAULTS_MAX: usize = 64;
/// Maximum additional delay, as that of the network.
pub(crate) const SLOW_MAX: Duration = Duration::from_secs(3600);

/// A direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From clients to the server.
    ToServer,
    /// From the server to clients.
    ToClient,
}

impl Direction {
    fn index(self) -> usize {
        match self {
            Direction::ToServer => CLIENT,
            Direction::ToClient => SERVER,
        }
    }
}

/// A fault of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// All connections are reset when it begins, and new ones until it ends. Data in transit is lost.
    Cut,
    /// Nothing arrives in this direction, or in both, and no connection is reset. Data, the ends of streams and
    /// requests to connect arrive after its end, as if TCP had sent them again.
    Blackhole(Option<Direction>),
    /// Data takes longer in both directions.
    Slow {
        /// Delay in addition to that of the network.
        delay: Duration,
        /// Bandwidth of each direction over all connections, if it is smaller than that of the network.
        bandwidth_bits_per_s: Option<u64>,
    },
}

/// The active faults, each with its number.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    active: Vec<(u64, Fault)>,
    begun: u64,
}

impl Faults {
    /// Adds a fault; returns its number.
    pub(crate) fn begin(&mut self, fault: Fault) -> Result<u64, RelayError> {
        if self.active.len() == FAULTS_MAX {
            return Err(RelayError::Config(format!(
                "at most {FAULTS_MAX} faults can be active: end one first"
            )));
        }
        if let Fault::Slow { delay, bandwidth_bits_per_s } = fault {
            if delay > SLOW_MAX {
                return Err(RelayError::Config(format!(
                    "a delay of {delay:?} is too long: at most {SLOW_MAX:?}"
                )));
            }
            if bandwidth_bits_per_s == Some(0) {
                return Err(RelayError::Config(
                    "the bandwidth must not be 0: give bits per second, or use blackhole".to_owned(),
                ));
            }
        }
        self.begun += 1;
        self.active.push((self.begun, fault));
        Ok(self.begun)
    }

    /// Ends a fault; returns whether it was active.
    pub(crate) fn end(&mut self, number: u64) -> bool {
        let before = self.active.len();
        self.active.retain(|(known, _)| *known != number);
        self.active.len() < before
    }

    /// Ends all faults; returns their number.
    pub(crate) fn heal(&mut self) -> usize {
        std::mem::take(&mut self.active).len()
    }

    /// Whether new connections are reset.
    pub(crate) fn is_cut(&self) -> bool {
        self.active.iter().any(|(_, fault)| *fault == Fault::Cut)
    }

    /// Whether nothing arrives in this direction.
    pub(crate) fn is_silent(&self, direction: usize) -> bool {
        self.active.iter().any(|(_, fault)| match fault {
            Fault::Blackhole(None) => true,
            Fault::Blackhole(Some(of)) => of.index() == direction,
            Fault::Cut | Fault::Slow { .. } => false,
        })
    }

    /// Delay in addition to that of the network.
    pub(crate) fn slow(&self) -> Duration {
        let delays = self.active.iter().map(|(_, fault)| match fault {
            Fault::Slow { delay, .. } => *delay,
            Fault::Cut | Fault::Blackhole(_) => Duration::ZERO,
        });
        delays.sum()
    }

    /// The smallest bandwidth of the active faults; `None` if they do not limit it.
    pub(crate) fn bandwidth_bits_per_s(&self) -> Option<u64> {
        let bandwidths = self.active.iter().filter_map(|(_, fault)| match fault {
            Fault::Slow { bandwidth_bits_per_s, .. } => *bandwidth_bits_per_s,
            Fault::Cut | Fault::Blackhole(_) => None,
        });
        bandwidths.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_ends_on_its_own_and_healing_ends_all() {
        let mut faults = Faults::default();
        let ms = Duration::from_millis;
        let both = faults.begin(Fault::Blackhole(None)).unwrap();
        let one = faults.begin(Fault::Blackhole(Some(Direction::ToServer))).unwrap();
        let slow = |delay, bandwidth_bits_per_s| Fault::Slow { delay, bandwidth_bits_per_s };
        faults.begin(slow(ms(5), Some(9_000))).unwrap();
        let slower = faults.begin(slow(ms(7), Some(1_000))).unwrap();
        assert_eq!(faults.bandwidth_bits_per_s(), Some(1_000));
        assert_eq!((faults.is_silent(CLIENT), faults.is_silent(SERVER), faults.slow()), (true, true, ms(12)));
        assert!(faults.end(both) && faults.end(slower) && !faults.end(both));
        assert_eq!((faults.is_silent(CLIENT), faults.is_silent(SERVER), faults.slow()), (true, false, ms(5)));
        assert_eq!(faults.bandwidth_bits_per_s(), Some(9_000));
        assert!(faults.end(one) && !faults.is_silent(CLIENT) && !faults.is_cut());
        faults.begin(Fault::Cut).unwrap();
        assert!(faults.is_cut());
        assert_eq!((faults.heal(), faults.is_cut(), faults.heal()), (2, false, 0));
        assert_eq!(faults.bandwidth_bits_per_s(), None);
    }

    #[test]
    fn the_number_of_faults_and_the_delay_have_limits() {
        let mut faults = Faults::default();
        let too_long = SLOW_MAX + Duration::from_nanos(1);
        assert!(faults.begin(Fault::Slow { delay: too_long, bandwidth_bits_per_s: None }).is_err());
        let nothing = Fault::Slow { delay: Duration::ZERO, bandwidth_bits_per_s: Some(0) };
        assert!(faults.begin(nothing).unwrap_err().to_string().contains("must not be 0"));
        for number in 1..=FAULTS_MAX as u64 {
            assert_eq!(faults.begin(Fault::Cut).unwrap(), number);
        }
        assert!(faults.begin(Fault::Cut).unwrap_err().to_string().contains("at most 64 faults"));
    }
}
