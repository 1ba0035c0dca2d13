//! `pgmeter relay`: simulates a network with delay, jitter and bandwidth between clients and a server, as a separate
//! process. Prints how to connect, ends when its standard input is closed or on a signal, and then prints traffic
//! statistics. Each line of input is an order and answered with a line, which the lab uses too.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use null::ListenAddress;
use relay::{Address, Config, JitterShape, Network, OwnDirectory, Relay, RelayError, Statistics};
use run::options::with_unit;

use crate::arguments::{Word, words};
use crate::failure::Failure;
use crate::signals::Signals;
use crate::terminal::Terminal;

/// PostgreSQL's default port, used in the name of a Unix socket.
const USUAL_PORT: u16 = 5432;
/// Prefix of the file name of a server's Unix socket.
const SOCKET_NAME: &str = ".s.PGSQL.";
/// Units of time in nanoseconds.
const TIME_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// Units of bandwidth in bits per second.
const BANDWIDTH_UNITS: [(&str, f64); 4] = [("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("bit", 1.0)];
/// Longer than any supported delay.
const TIME_MAX_NS: f64 = 1e14;
/// Faster than any link.
const BANDWIDTH_MAX: f64 = 1e15;

#[derive(Debug, Args)]
pub(crate) struct RelayArguments {
    /// Address for clients: directory of a Unix socket (with a slash; DIR/.s.PGSQL.6000 for a port other than 5432), or
    /// HOST:PORT; port 0 selects a free port
    #[arg(long, value_name = "DIR|HOST:PORT")]
    listen: String,
    /// Address of the server, in the same form
    #[arg(long, value_name = "DIR|HOST:PORT")]
    to: String,
    /// One-way delay, such as 10ms or 500us; a round trip takes twice as long
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = time)]
    delay: Duration,
    /// Variation of the delay, such as 1ms; not more than the delay
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = time)]
    jitter: Duration,
    /// Distribution of the variation: uniform within ± jitter, or normal with the jitter as standard deviation
    #[arg(long, value_name = "SHAPE", default_value = "uniform", value_parser = words(&JITTER_SHAPES))]
    jitter_shape: JitterShape,
    /// Bandwidth in bits per second, for each direction and all connections together, such as 100Mbit [default: no limit]
    #[arg(long, value_name = "BITS", value_parser = bandwidth)]
    bandwidth: Option<u64>,
    /// Seed of the jitter
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    random_seed: u64,
    /// Create a private directory for the Unix socket, and remove it at the end
    #[arg(long, hide = true)]
    own_directory: bool,
}

const JITTER_SHAPES: [Word<JitterShape>; 2] =
    [("uniform", "", JitterShape::Uniform), ("normal", "", JitterShape::Normal)];

pub(crate) fn run(arguments: &RelayArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    let network = Network {
        delay: arguments.delay,
        jitter: arguments.jitter,
        jitter_shape: arguments.jitter_shape,
        bandwidth_bits_per_s: arguments.bandwidth,
        seed: arguments.random_seed,
    };
    let (listen, to) = (address(&arguments.listen)?, address(&arguments.to)?);
    run::raise_descriptors_to_maximum();
    let _directory = arguments.own_directory.then(|| OwnDirectory::create(&listen)).transpose()?;
    let relay = Relay::start(Config::new(listen, to, network))?;
    terminal.print(&format!("{}\n", relay.address().conninfo()));
    let mut all = Statistics::default();
    let goes_on = || {
        relay.error_reports().for_each(|report| terminal.warn(report));
        relay.is_running()
    };
    let line = |order: &str| {
        // If the relay has ended, `goes_on` detects it immediately.
        if let Some(answer) = relay.answer(order, &mut all) {
            terminal.print(&format!("{answer}\n"));
        }
    };
    run::wait_for_end(signals.stop(), goes_on, line)
        .map_err(|error| Failure::System { what: "read standard input".to_owned(), error })?;
    relay.error_reports().for_each(|report| terminal.warn(report));
    all.add(&relay.stop()?);
    terminal.print(&all.summary());
    Ok(())
}

fn address(typed: &str) -> Result<Address, Failure> {
    let place = ListenAddress::find(typed)
        .map_err(|error| Failure::System { what: format!("resolve the address {typed}"), error })?;
    Ok(match place {
        ListenAddress::Tcp(address) => Address::Tcp(address),
        ListenAddress::Unix(path) if is_socket(&path) => Address::Unix(path),
        ListenAddress::Unix(directory) => Address::in_directory(&directory, USUAL_PORT),
    })
}

fn is_socket(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SOCKET_NAME))
}

fn time(text: &str) -> Result<Duration, String> {
    let ns = if text == "0" { Some(0.0) } else { up_to(TIME_MAX_NS, text, &TIME_UNITS) };
    let ns = ns.ok_or("expected a time with a unit, such as 10ms, 500us or 1.5s")?;
    Ok(Duration::from_secs_f64(ns / 1e9))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 1 and a limit far below 2⁶³
fn bandwidth(text: &str) -> Result<u64, String> {
    match up_to(BANDWIDTH_MAX, &text.to_ascii_lowercase(), &BANDWIDTH_UNITS) {
        Some(bits) if bits >= 1.0 => Ok(bits as u64),
        _ => Err("expected bits per second with a unit, such as 100Mbit, 1Gbit or 64kbit".to_owned()),
    }
}

fn up_to(most: f64, text: &str, units: &[(&str, f64)]) -> Option<f64> {
    with_unit(text, units, "").ok().filter(|number| *number <= most)
}

impl From<RelayError> for Failure {
    fn from(error: RelayError) -> Self {
        Self::Usage(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        for (text, us) in [("10ms", 10_000), ("500us", 500), ("1.5s", 1_500_000), ("0", 0), ("2000 ns", 2)] {
            assert_eq!(time(text), Ok(Duration::from_micros(us)), "{text}");
        }
        for bad in ["10", "-1ms", "ms", "1e300s", "NaNms", "infs", "1 m"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bandwidth_has_a_unit_and_is_not_nothing() {
        for (text, bits) in
            [("100Mbit", 100_000_000), ("1gbit", 1_000_000_000), ("64 kbit", 64_000), ("9bit", 9)]
        {
            assert_eq!(bandwidth(text), Ok(bits), "{text}");
        }
        for bad in ["100", "0Mbit", "0.5bit", "-1Mbit", "Mbit", "100MB", "1e99Gbit"] {
            assert!(bandwidth(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_socket_may_be_named_by_its_directory_or_itself() {
        let unix = |text: &str| address(text).expect("a path");
        assert_eq!(unix("/tmp/"), unix("/tmp/.s.PGSQL.5432"));
        assert_eq!(unix("/tmp/.s.PGSQL.6000").conninfo(), "host='/tmp' port=6000");
    }
}
