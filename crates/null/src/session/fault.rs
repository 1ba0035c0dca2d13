//! Faults of a session, as data: of which connection, when, with which effect. Nothing here acts; the session does,
//! and its owner says which faults there are.

use stats::Timestamp;

/// A fault of one connection or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which connection, in the order in which they connect, from 0; `None`: each of them.
    pub connection: Option<usize>,
    /// When.
    pub trigger: FaultTrigger,
    /// What.
    pub effect: FaultEffect,
}

/// When a fault is injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultTrigger {
    /// Instead of the welcome.
    StartUp,
    /// When the n-th Parse message is read, from 0.
    Parse(u64),
    /// When the n-th statement (Query or Execute) is run, from 0.
    Statement(u64),
    /// Unasked, at this moment of virtual time.
    Time(Timestamp),
}

/// What a fault does to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// An error of the statement.
    Error {
        /// Its code.
        sqlstate: String,
        /// Its message.
        message: String,
    },
    /// An error of the session, which ends it.
    Fatal {
        /// Its code.
        sqlstate: String,
        /// Its message.
        message: String,
    },
    /// The server closes the connection without a word.
    Close,
    /// The connection breaks.
    Reset,
    /// Only so many bytes of the answer come, then the server closes the connection.
    Truncate(usize),
    /// The answer comes, whole, and with it an error of the session, which ends it.
    LastAnswer {
        /// The error's code.
        sqlstate: String,
        /// Its message.
        message: String,
    },
    /// These messages come before the answer.
    Say(Vec<u8>),
    /// These bytes come instead of the answer, and nothing ever after.
    Rubbish(Vec<u8>),
    /// The server waits for COPY data instead of answering.
    CopyIn,
    /// The server asks for this method of authentication (the code in the protocol's manual).
    AskFor(u32),
    /// Nothing comes, now and ever after.
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
