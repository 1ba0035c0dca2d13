//! From where to where the relay passes bytes, and through what network: what a caller says, checked. Units are in
//! the types or the names. What the command line makes of it is the caller's business.

use std::time::Duration;

use sockets::Endpoint as Address;

use crate::error::RelayError;

/// Longer than any path to another planet's orbit and back, short enough for every sum of times.
const DELAY_MAX: Duration = Duration::from_secs(3600);
/// What a connection may have under way in one direction if nothing else is said: what Linux allows a TCP socket
/// to grow to on its sending side (tcp(7), `tcp_wmem`).
const BUFFER_BYTES: usize = 4 << 20;
/// What may wait before the link if nothing else is said: 170 full packets, a usual queue of a network device.
const QUEUE_BYTES: usize = 256 << 10;
/// Less than a packet could never be sent.
const QUEUE_BYTES_MIN: usize = 1500;

/// How single delays lie around their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JitterShape {
    /// Anywhere within the jitter on either side, all equally likely.
    #[default]
    Uniform,
    /// Normal, with the jitter as standard deviation; cut at four of them, and at the delay itself.
    Normal,
}

/// What lies between the clients and the server. The default is a network that takes no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// What a byte takes one way, in the mean; a round trip takes twice that.
    pub delay: Duration,
    /// How far single delays lie from that: see [`JitterShape`]. Not more than the delay.
    pub jitter: Duration,
    /// How they lie around it.
    pub jitter_shape: JitterShape,
    /// What the link carries in each direction, of all connections together; none: any amount at once.
    pub bandwidth_bits_per_s: Option<u64>,
    /// Where all draws of jitter come from: connection by connection, the same seed gives the same ones.
    pub seed: u64,
}

/// All that a relay must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where clients connect.
    pub listen: Address,
    /// Where the server is.
    pub to: Address,
    /// What lies between.
    pub network: Network,
    /// Most bytes of one connection that are under way in one direction; its sender then waits. With a delay, no
    /// connection is faster than this per delay.
    pub buffer_bytes: usize,
    /// Most bytes that wait before a link of limited bandwidth, of all connections together; senders then wait.
    pub queue_bytes: usize,
}

impl Config {
    /// From there to there through this network, with the usual limits.
    pub fn new(listen: Address, to: Address, network: Network) -> Self {
        Self { listen, to, network, buffer_bytes: BUFFER_BYTES, queue_bytes: QUEUE_BYTES }
    }

    /// That it makes sense.
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
