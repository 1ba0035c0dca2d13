//! `pgmeter relay`: simulates a network with delay, jitter and bandwidth between clients and a server, as a separate
//! process. Prints how to connect, ends when its standard input is closed or on a signal, and then prints traffic
//! statistics. Each line of input is an order and answered with a line, which the lab uses too.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use null::ListenAddress;
use relay::{Address, Config, JitterShape, Network, OwnDirectory, Relay, RelayError, Statistics};
use run::options::delay;

use crate::arguments::{Word, words};
use crate::failure::Failure;
use crate::signals::Signals;
use crate::terminal::Terminal;

/// PostgreSQL's default port, used in the name of a Unix socket.
const USUAL_PORT: u16 = 5432;
/// Prefix of the file name of a server's Unix socket.
const SOCKET_NAME: &str = ".s.PGSQL.";
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
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = delay)]
    delay: Duration,
    /// Variation of the delay, such as 1ms; not more than the delay
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = delay)]
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

fn bandwidth(text: &str) -> Result<u64, String> {
    run::options::bandwidth(text).map_err(|expected| format!("expected {expected}"))
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
    fn a_socket_may_be_named_by_its_directory_or_itself() {
        let unix = |text: &str| address(text).expect("a path");
        assert_eq!(unix("/tmp/"), unix("/tmp/.s.PGSQL.5432"));
        assert_eq!(unix("/tmp/.s.PGSQL.6000").conninfo(), "host='/tmp' port=6000");
    }
}
