//! `pgmeter null-server`: the null server as a separate process, for measuring a load generator. Prints how to
//! connect, and ends when its standard input is closed or on a signal.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use null::session::Rows;
use null::{ListenAddress, NullOptions, NullServer, ServiceTime, Stalls};
use run::options::seconds;
use stats::TimeLaw;

use crate::arguments::positive_seconds;
use crate::failure::Failure;
use crate::signals::Signals;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct NullServerArguments {
    /// Directory of the Unix socket (with a slash), or HOST:PORT; port 0 selects a free port
    #[arg(long, value_name = "DIR|HOST:PORT")]
    listen: String,
    /// Number of rows that each SELECT returns
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    rows: u32,
    /// Interval between stalls in seconds
    #[arg(long, value_name = "SECONDS", requires = "stall_for", value_parser = seconds)]
    stall_every: Option<f64>,
    /// Length of each stall in seconds
    #[arg(long, value_name = "SECONDS", requires = "stall_every", value_parser = positive_seconds)]
    stall_for: Option<f64>,
    /// Time of each statement, as of a server of known capacity: 2ms, exp(2ms) (random with this mean) or uniform(1ms, 3ms)
    #[arg(long, value_name = "LAW")]
    service_time: Option<TimeLaw>,
    /// Number of statements that are served at the same time; others wait
    #[arg(long, value_name = "N", requires = "service_time", default_value = "1")]
    processors: NonZeroU32,
}

pub(crate) fn run(
    arguments: &NullServerArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let cannot = |what: String| move |error| Failure::System { what, error };
    let listen = &arguments.listen;
    let place = ListenAddress::find(listen).map_err(cannot(format!("resolve the address {listen}")))?;
    let stalls = arguments.stall_for.zip(arguments.stall_every).map(|(length, every)| Stalls {
        every: Duration::from_secs_f64(every),
        length: Duration::from_secs_f64(length),
    });
    let service_time = arguments.service_time.map(|time| ServiceTime {
        time,
        processors: arguments.processors,
        seed: std::process::id().into(),
    });
    let rows = Rows { count: arguments.rows, ..Rows::default() };
    run::raise_descriptors_to_maximum();
    let server =
        NullServer::listen(&place, NullOptions { rows, stalls, service_time, ..NullOptions::default() })
            .map_err(cannot(format!("listen at {listen}")))?;
    terminal.print(&format!("{}\n", server.conninfo()));
    let goes_on = || {
        let is_running = server.is_running();
        server.take_error().into_iter().for_each(|error| terminal.warn(error));
        is_running
    };
    run::wait_for_end(signals.stop(), goes_on, |_| {}).map_err(cannot("read standard input".to_owned()))?;
    if server.is_running() {
        Ok(())
    } else {
        Err(Failure::Usage("the null server ended unexpectedly; it answers no more queries".to_owned()))
    }
}
