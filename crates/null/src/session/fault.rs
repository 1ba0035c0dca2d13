//! Faults of a session, as data: connection, trigger and effect.
//! The session applies them; its owner defines them.

use stats::Timestamp;

/// A fault of one connection or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Number of the connection in the order of connecting, from 0; `None`: all connections.
    pub connection: Option<usize>,
    /// When it is injected.
    pub trigger: FaultTrigger,
    /// Its effect.
    pub effect: FaultEffect,
}

/// When a fault is injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultTrigger {
    /// Instead of the start-up messages.
    StartUp,
    /// When the n-th Parse message is read, from 0.
    Parse(u64),
    /// When the n-th statement (Query or Execute) is run, from 0.
    Statement(u64),
    /// When the n-th CopyData message of the session is read, from 0.
    CopyData(u64),
    /// Independent of the client, at this virtual time.
    Time(Timestamp),
}

/// Effect of a fault on a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// An error of the statement.
    Error {
        /// Its SQLSTATE.
        sqlstate: String,
        /// Its message.
        message: String,
    },
    /// An error of the session, which ends it.
    Fatal {
        /// Its SQLSTATE.
        sqlstate: String,
        /// Its message.
        message: String,
    },
    /// The server closes the connection without a message.
    Close,
    /// The connection is reset.
    Reset,
    /// The server closes the connection after this many bytes of the answer.
    Truncate(usize),
    /// The complete answer is followed by an error that ends the session.
    LastAnswer {
        /// The error's SQLSTATE.
        sqlstate: String,
        /// Its message.
        message: String,
    },
    /// These messages precede the answer.
    Say(Vec<u8>),
    /// These bytes replace the answer; nothing follows.
    Rubbish(Vec<u8>),
    /// The server waits for COPY data instead of answering.
    CopyIn,
    /// The server requests this authentication method (the code in the protocol's manual).
    AskFor(u32),
    /// The server sends nothing any more.
    Silence,
}

impl Fault {
    /// The faults of one connection.
    pub fn of(faults: &[Fault], connection: usize) -> Vec<(FaultTrigger, FaultEffect)> {
        let concerned = |fault: &&Fault| fault.connection.is_none_or(|number| number == connection);
        faults.iter().filter(concerned).map(|fault| (fault.trigger.clone(), fault.effect.clone())).collect()
    }
}

impl FaultEffect {
    /// An error of the statement.
    pub fn error(sqlstate: &str, message: &str) -> FaultEffect {
        FaultEffect::Error { sqlstate: sqlstate.to_owned(), message: message.to_owned() }
    }

    /// An error of the session.
    pub fn fatal(sqlstate: &str, message: &str) -> FaultEffect {
        FaultEffect::Fatal { sqlstate: sqlstate.to_owned(), message: message.to_owned() }
    }
}
