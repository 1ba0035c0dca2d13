//! `pgmeter server …`: permanent servers with names.
//! `server` does the work.

use ::lab::{Listener, obtain, sweep};
use clap::{Args, Subcommand};
use run::StorePlaces;
use server::named;
use server::{Locations, ServerOptions};

use crate::arguments::InstallationArguments;
use crate::failure::Failure;
use crate::listener::listening;
use crate::output::Output;
use crate::signals::Signals;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct ManagedServerArguments {
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
    arguments: &ManagedServerArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let ManagedServerArguments { action } = arguments;
    match action {
        // The program removes an incomplete server before it exits.
        ServerAction::Install { .. } => act(action, terminal, signals),
        // The server crate completes or undoes each action, whenever the program exits.
        _ => signals.leave_at_once(|| act(action, terminal, signals))?,
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
            let installation = signals.leave_at_once(obtain)??;
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
        ServerAction::List => terminal.print(&named::table(&named::list(&locations)?)),
        ServerAction::Status { name } => terminal.print(&named::status(name, &locations)?.details()),
    }
    Ok(())
}
