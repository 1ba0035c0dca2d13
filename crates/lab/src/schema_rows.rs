//! The rows of a schema for `pgmeter data`, as a server describes its tables. The server is that of the user, or a temporary
//! one, which has no data of anyone.

use connect::{Environment, Overrides, Target};
use run::{Control, RunError};
use server::{Instrumentation, Locations, Server, ServerOptions};
use workload::{DataOptions, Generation, InitProgress, SchemaText};

use crate::event::Listener;
use crate::servers::{Programs, obtain, sweep};

/// The version of a temporary server.
const VERSION: &str = "18";

/// Compiles the generators of all tables. `on` leads to a server of the user; nothing is changed there.
///
/// # Errors
/// The schema is wrong; the server cannot be started, or refuses the schema; the user asked to stop.
pub fn rows_of_schema(
    schema: &SchemaText,
    options: &DataOptions,
    on: Option<&str>,
    listener: Listener<'_>,
    control: &Control,
) -> Result<Generation, RunError> {
    if on.is_some() {
        let target = connect::resolve(on, &Overrides::default(), &Environment::of_process())?;
        return described(schema, options, &target, listener, control);
    }
    let locations = Locations::from_environment(&server::Environment::of_process())?;
    sweep(&locations, listener);
    let programs = Programs { version: VERSION, bin_dir: None, checksum: None };
    let installation = control.leave_at_once(|| obtain(programs, &locations, listener))??;
    let server_options = ServerOptions {
        stop: Some(control.shared_stop()),
        instrumentation: Instrumentation::Off,
        // It reads definitions, no rows. The default would take a quarter of the memory.
        settings: vec![("shared_buffers".to_owned(), "32MB".to_owned())],
        ..ServerOptions::default()
    };
    let busy = listener.busy(format_args!("a temporary server reads the schema …"));
    let mut server = Server::start(&installation, &server_options, &locations)?;
    let environment = Environment::of_process().only_control_timeout();
    let target = connect::resolve(Some(&server.conninfo()), &Overrides::default(), &environment);
    let rows = target
        .map_err(RunError::from)
        .and_then(|target| described(schema, options, &target, listener, control));
    drop(busy);
    let stopped = server.stop_and_remove();
    let rows = rows?;
    stopped?;
    Ok(rows)
}

fn described(
    schema: &SchemaText,
    options: &DataOptions,
    target: &Target,
    listener: Listener<'_>,
    control: &Control,
) -> Result<Generation, RunError> {
    let mut session = control.connect(target)?;
    let told = &mut |progress: InitProgress<'_>| {
        if let InitProgress::Found(sentence) = progress {
            listener.warn(sentence);
        }
    };
    run::described_rows(schema, options, &mut session, control, told)
}
