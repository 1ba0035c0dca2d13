//! Events of a run, for terminals, logs and metrics.
//! Listeners return nothing, so they cannot change the run.

use connect::{Session, Target};
use engine::{ClientEvent, Progress};
use results::WaitMean;
use stats::Scale;
use workload::WorkloadError;

/// A step of the preparation or of the run.
pub enum Event<'a> {
    /// The session that prepares the run is about to connect.
    Connecting(&'a Target),
    /// The session that prepares the run is connected.
    Connected(&'a Session, &'a Target),
    /// The given scale is ignored because the workload's table has another one.
    ScaleIgnored {
        /// The given scale.
        asked: Scale,
        /// The table's scale.
        scale: Scale,
        /// The table that determines the scale.
        table: &'a str,
    },
    /// The load needs something that others may have.
    Warning(&'a str),
    /// A step of vacuuming.
    Vacuum(VacuumEvent<'a>),
    /// The run has ended, and the workload's checks start; a message.
    Checking(&'a str),
    /// The workload's checks have passed; a message.
    Checked(&'a str),
    /// The run has ended, and the server is asked what became of the commits; a message.
    Verifying(&'a str),
    /// A second has passed.
    Second {
        /// The statistics of this second.
        progress: &'a Progress<'a>,
        /// The server's wait events in it.
        waits: &'a [WaitMean],
    },
}

/// A step of the vacuum before a run.
#[derive(Clone, Copy, Debug)]
pub enum VacuumEvent<'a> {
    /// The workload's default vacuum starts.
    SmallTables,
    /// The vacuum of the other tables starts.
    LargeTables,
    /// These tables were truncated: with their schemas, quoted.
    Truncated(&'a [String]),
    /// A statement failed; the run continues.
    Failed(&'a WorkloadError),
    /// The current step has ended.
    Done,
}

/// A message about the preparation of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreparationMessage {
    /// The user need not do anything.
    Note(String),
    /// The run is not quite the one that was asked for, or disturbs others.
    Warning(String),
}

/// The message about an event before the load; `None` if it has none.
pub fn preparation_message(event: &Event<'_>) -> Option<PreparationMessage> {
    Some(match event {
        Event::ScaleIgnored { asked, scale, table } if asked != scale => PreparationMessage::Warning(
            format!("scale option ignored, using count from {table} table ({scale})"),
        ),
        Event::Warning(text) => PreparationMessage::Warning((*text).to_owned()),
        Event::Vacuum(VacuumEvent::Truncated(tables)) => {
            PreparationMessage::Note(format!("truncated before the run: {}", tables.join(", ")))
        }
        Event::Vacuum(VacuumEvent::Failed(failure)) => {
            PreparationMessage::Warning(format!("{failure} (the run continues)"))
        }
        _ => return None,
    })
}

/// The message about an event of a client; `None` if it has none. Errors have one only if they are asked for.
pub fn client_message(event: &ClientEvent<'_>, verbose_errors: bool) -> Option<String> {
    let tries = |tries| if tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
    Some(match event {
        ClientEvent::Debugged { client, script, command, value } => {
            format!("debug: client {client}, script {script}, command {command}: {value}")
        }
        ClientEvent::Notice { notice, .. } => notice.report_notice(None),
        ClientEvent::Failed { client, script, command, error, statement } if verbose_errors => {
            let words = error.report(*statement);
            format!("client {client} got an error in command {command} of script {script}: {words}")
        }
        ClientEvent::Retried { client, tries: count, .. } if verbose_errors => {
            format!("client {client} retries the transaction after {}", tries(*count))
        }
        ClientEvent::GaveUp { client, tries: count, .. } if verbose_errors => {
            format!("client {client} gives up the transaction after {}", tries(*count))
        }
        _ => return None,
    })
}
