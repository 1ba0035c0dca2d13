//! Configuration of the relay: addresses, network parameters, limits, and their validation.
//! Units are in the types or the names; the caller parses the command line.

use std::time::Duration;

use sockets::Endpoint as Address;

use crate::error::RelayError;

/// Maximum delay: sufficient for any network, and small enough for sums of times.
const DELAY_MAX: Duration = Duration::from_secs(3600);
/// Default limit of bytes in transit, per connection and direction: the maximum send buffer of a TCP socket on Linux
/// (tcp(7), `tcp_wmem`).
const BUFFER_BYTES: usize = 4 << 20;
/// Default limit of bytes queued before the link: about 170 full packets, a usual queue length of network devices.
const QUEUE_BYTES: usize = 256 << 10;
/// Minimum queue length: one packet.
const QUEUE_BYTES_MIN: usize = 1500;

/// Distribution of the delays around their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JitterShape {
    /// Uniform within the jitter on either side.
    #[default]
    Uniform,
    /// Normal, with the jitter as standard deviation; truncated at four standard deviations and at the delay.
    Normal,
}

/// Network between clients and server. The default has no delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Mean delay one way; a round trip takes twice as long.
    pub delay: Duration,
    /// Variation of the delays: see [`JitterShape`]. At most `delay`.
    pub jitter: Duration,
    /// Distribution of the delays.
    pub jitter_shape: JitterShape,
    /// Bandwidth of the link per direction, over all connections; `None`: unlimited.
    pub bandwidth_bits_per_s: Option<u64>,
    /// Random seed of the jitter; the same seed gives each connection the same delays.
    pub seed: u64,
}

/// Configuration of a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Address for clients.
    pub listen: Address,
    /// Address of the server.
    pub to: Address,
    /// The simulated network.
    pub network: Network,
    /// Limit of bytes in transit, per connection and direction; senders wait at the limit. With a delay, it limits the
    /// throughput of a connection to this number of bytes per delay.
    pub buffer_bytes: usize,
    /// Limit of bytes queued before a link of limited bandwidth, over all connections; senders wait at the limit.
    pub queue_bytes: usize,
}

impl Config {
    /// A configuration with the default limits.
    pub fn new(listen: Address, to: Address, network: Network) -> Self {
        Self { listen, to, network, buffer_bytes: BUFFER_BYTES, queue_bytes: QUEUE_BYTES }
    }

    /// Validates the configuration.
    pub(crate) fn check(&self) -> Result<(), RelayError> {
        let Network { delay, jitter, bandwidth_bits_per_s, .. } = self.network;
        let wrong = |what: String| Err(RelayError::Config(what));
        if delay > DELAY_MAX {
            return wrong(format!("a delay of {delay:?} is too long: at most {DELAY_MAX:?}"));
        }
        if jitter > delay {
            return wrong(format!(
                "a jitter of {jitter:?} exceeds the delay of {delay:?}: it must not be larger than the delay"
            ));
        }
        if bandwidth_bits_per_s == Some(0) {
            return wrong("the bandwidth must not be 0: give bits per second, or no limit".to_owned());
        }
        if self.buffer_bytes == 0 || self.queue_bytes < QUEUE_BYTES_MIN {
            return wrong(format!(
                "buffer_bytes must be at least 1 and queue_bytes at least {QUEUE_BYTES_MIN}, one packet"
            ));
        }
        match &self.to {
            Address::Tcp(address) if address.port() == 0 => wrong("the server's port cannot be 0".to_owned()),
            to if *to == self.listen => wrong(format!("the relay would connect to itself: {to}")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::path::Path;

    use super::*;

    fn check(network: Network) -> Result<(), String> {
        let to = Address::in_directory(Path::new("/tmp"), 5432);
        let listen = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        Config::new(listen, to, network).check().map_err(|error| error.to_string())
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_reason() {
        let ms = Duration::from_millis;
        assert_eq!(check(Network::default()), Ok(()));
        assert_eq!(check(Network { delay: ms(10), jitter: ms(10), ..Network::default() }), Ok(()));
        for (network, says) in [
            (Network { delay: ms(10), jitter: ms(11), ..Network::default() }, "exceeds the delay"),
            (Network { delay: ms(3_600_001), ..Network::default() }, "too long"),
            (Network { bandwidth_bits_per_s: Some(0), ..Network::default() }, "bandwidth must not be 0"),
        ] {
            let error = check(network).expect_err(says);
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_relay_to_itself_is_refused() {
        let there = Address::in_directory(Path::new("/tmp"), 5432);
        assert!(Config::new(there.clone(), there, Network::default()).check().is_err());
    }
}
