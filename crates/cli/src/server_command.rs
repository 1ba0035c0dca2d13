//! `pgmeter server …`: permanent servers with names.
//! `server` does the work.

use ::lab::{Listener, obtain, sweep};
use clap::{Args, Subcommand};
use run::StorePlaces;
use server::named::{self, Status};
use server::{Locations, ServerOptions};

use crate::arguments::InstallationArguments;
use crate::failure::Failure;
use crate::listener::listening;
use crate::output::Output;
use crate::signals::Signals;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct ServerArguments {
    #[command(subcommand)]
    action: ServerAction,
}

#[derive(Debug, Subcommand)]
enum ServerAction {
    /// Create a server: download PostgreSQL if necessary and create a data directory
    Install {
        /// Name of the server
        name: String,
        #[command(flatten)]
        installation: InstallationArguments,
    },
    /// Start a server and print how to connect
    Start {
        /// Name of the server
        name: String,
        /// Also listen on TCP (127.0.0.1, with a random password); by default only on a Unix socket in a private directory
        #[arg(long)]
        tcp: bool,
    },
    /// Stop a server and keep its data
    Stop {
        /// Name of the server
        name: String,
        /// Also remove its data
        #[arg(long)]
        remove: bool,
    },
    /// List all servers
    List,
    /// Show the details of one server
    Status {
        /// Name of the server
        name: String,
    },
}

pub(crate) fn run(
    arguments: &ServerArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let ServerArguments { action } = arguments;
    match action {
        // The program removes an incomplete server before it exits.
        ServerAction::Install { .. } => act(action, terminal, signals),
        // The server crate completes or undoes each action, whenever the program exits.
        _ => signals.leave_at_once(|| act(action, terminal, signals)),
    }
}

fn act(action: &ServerAction, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    listening(terminal, StorePlaces::default(), Output::default(), |listener| {
        obey(action, listener, terminal, signals)
    })
}

fn obey(
    action: &ServerAction,
    listener: Listener<'_>,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let locations = Locations::from_environment(&server::Environment::of_process())?;
    sweep(&locations, listener);
    match action {
        ServerAction::Install { name, installation: arguments } => {
            let options = ServerOptions {
                name: Some(name.clone()),
                keep: true,
                stop: Some(signals.shared_stop()),
                ..arguments.server_options()?
            };
            let obtain = || obtain(arguments.programs(), &locations, listener);
            let installation = signals.leave_at_once(obtain)?;
            let status = named::install(name, &installation, &options, &locations)?;
            terminal.say(format_args!("server {name} created: {}", status.data_dir.display()));
            terminal.say(format_args!("Start it: pgmeter server start {name}"));
        }
        ServerAction::Start { name, tcp } => {
            let status = named::start(name, *tcp, &locations)?;
            terminal.say(format_args!("server {name} is running. Connect:"));
            if let Some(conninfo) = &status.conninfo_tcp {
                terminal.say(format_args!("  over its Unix socket: {}", status.conninfo));
                terminal.say(format_args!("  over TCP, with the password in the file given by passfile:"));
                terminal.print(&format!("{conninfo}\n"));
            } else {
                terminal.print(&format!("{}\n", status.conninfo));
            }
        }
        ServerAction::Stop { name, remove: true } => {
            named::remove(name, &locations)?;
            terminal.say(format_args!("server {name} stopped and removed"));
        }
        ServerAction::Stop { name, remove: false } => {
            named::stop(name, &locations)?;
            terminal.say(format_args!("server {name} stopped; its data are kept"));
        }
        ServerAction::List => terminal.print(&table(&named::list(&locations)?)),
        ServerAction::Status { name } => terminal.print(&details(&named::status(name, &locations)?)),
    }
    Ok(())
}

fn state(status: &Status) -> String {
    match status.pid {
        Some(pid) => format!("running (pid {pid})"),
        None => "stopped".to_owned(),
    }
}

fn table(servers: &[Status]) -> String {
    if servers.is_empty() {
        return "no servers; create one: pgmeter server install NAME\n".to_owned();
    }
    let width = servers.iter().map(|status| status.name.len()).max().unwrap_or(0).max("name".len());
    let mut text = format!("{:width$}  {:8}  {:20}  connect\n", "name", "version", "state");
    for status in servers {
        let (name, version) = (&status.name, &status.version);
        text += &format!("{name:width$}  {version:8}  {:20}  {}\n", state(status), status.conninfo);
    }
    text
}

fn details(status: &Status) -> String {
    let rows = [
        ("name", status.name.clone()),
        ("version", status.version.clone()),
        ("state", state(status)),
        ("kept", if status.temporary { "no: temporary".to_owned() } else { "yes".to_owned() }),
        ("socket", status.conninfo.clone()),
        ("tcp", status.conninfo_tcp.clone().unwrap_or_else(|| "not listening".to_owned())),
        ("data", status.data_dir.display().to_string()),
        ("log", status.log_file.display().to_string()),
        ("programs", status.bin_dir.display().to_string()),
    ];
    rows.iter().map(|(name, value)| format!("{name:9} {value}\n")).collect()
}
