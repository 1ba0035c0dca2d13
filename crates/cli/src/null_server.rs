//! `pgmeter null-server`: the null server as a process of its own, for whoever measures a load generator.
//! Prints how to connect, and ends with its standard input or at a signal.

use std::time::Duration;

use null::session::Rows;
use null::{ListenAddress, NullOptions, NullServer, Stalls};

use crate::arguments::NullServerArguments;
use crate::failure::Failure;
use crate::serving::{self, TypedPlace};
use crate::signals::Signals;
use crate::terminal::Terminal;

pub(crate) fn run(
    arguments: &NullServerArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let cannot = |what: String| move |error| Failure::System { what, error };
    let listen = &arguments.listen;
    let place = TypedPlace::find(listen)
        .map_err(cannot(format!("find out what {listen} is, to listen there")))
        .map(|place| match place {
            TypedPlace::Path(directory) => ListenAddress::Unix(directory),
            TypedPlace::Tcp(address) => ListenAddress::Tcp(address),
        })?;
    let stalls = arguments
        .stall_for
        .map(|length| Stalls { every: seconds(arguments.stall_every), length: seconds(Some(length)) });
    let rows = Rows { count: arguments.rows, ..Rows::default() };
    run::raise_descriptors_to_maximum();
    let server = NullServer::listen(&place, NullOptions { rows, stalls, ..NullOptions::default() })
        .map_err(cannot(format!("listen at {listen}")))?;
    terminal.print(&format!("{}\n", server.conninfo()));
    let goes_on = || {
        let is_running = server.is_running();
        server.take_error().into_iter().for_each(|error| terminal.warn(error));
        is_running
    };
    serving::wait_for_end(signals, goes_on, || {}).map_err(cannot("read standard input".to_owned()))?;
    if server.is_running() {
        Ok(())
    } else {
        Err(Failure::Usage("the null server has ended by itself; nothing is answered any more".to_owned()))
    }
}

fn seconds(number: Option<f64>) -> Duration {
    Duration::from_secs_f64(number.unwrap_or_default())
}
