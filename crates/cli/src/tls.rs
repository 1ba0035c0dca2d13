//! `pgmeter tls`: what a server accepts of TLS. `tls_scan` asks the server, `report` shows the answers; here are the
//! options.

use std::time::Duration;

use clap::Args;
use report::Subject;
use tls_scan::{ScanOptions, Way};

use crate::arguments::{ConnectionArguments, Word, positive_seconds, words};
use crate::failure::Failure;
use crate::output::OutputArguments;
use crate::signals::Signals;
use crate::terminal::Terminal;

const WAYS: [Word<&[Way]>; 3] = [
    ("both", "", &[Way::SslRequest, Way::Direct]),
    ("postgres", "After SSLRequest, an exchange in PostgreSQL's protocol", &[Way::SslRequest]),
    ("direct", "At once, with ALPN; PostgreSQL 17 and later", &[Way::Direct]),
];

#[derive(Debug, Args)]
pub(crate) struct TlsArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// Ways to start TLS
    #[arg(long, value_name = "WAY", default_value = "both", value_parser = words(&WAYS))]
    negotiation: &'static [Way],
    /// Pause between two connections, in seconds or with a unit
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = run::options::seconds)]
    pause: f64,
    /// Time limit of each connection [default: connect_timeout, or 5 s]
    #[arg(long, value_name = "TIME", value_parser = positive_seconds)]
    timeout: Option<f64>,
    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &TlsArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    let output = arguments.output.output(terminal)?;
    let target = arguments.connection.target()?;
    let limit = arguments.timeout.map(Duration::from_secs_f64);
    let options = ScanOptions {
        ways: arguments.negotiation.to_vec(),
        pause: Duration::from_secs_f64(arguments.pause),
        limit: limit.or(target.connect_timeout).unwrap_or(Duration::from_secs(5)),
    };
    let bar = terminal.waiting(String::new());
    // Nothing has to be undone.
    let scan = signals.leave_at_once(|| tls_scan::scan(&target, &options, &mut |step| bar.label(step)))??;
    drop(bar);
    output.show(Subject::Tls(&scan), terminal)
}
