//! Runs of small scripts on a null server.
//! The other modules choose what the server does and what it notes.

use std::sync::{Arc, Mutex, PoisonError};

use connect::{Environment, Overrides, Target, resolve};
use null::session::{Fault, FaultEffect, FaultTrigger, Request};
use pgmeter_run::{
    Circumstances, Control, Finished, RunError, RunRequest, RunSpec, Runner, ScriptSource, ScriptSpec,
};
use testkit::null::{NullOptions, NullServer};

/// A script with this weight.
pub fn script(name: &str, text: &str, weight: u32) -> ScriptSpec {
    let source = ScriptSource::Text { name: name.to_owned(), text: text.to_owned() };
    ScriptSpec { weight, ..ScriptSpec::new(source) }
}

/// Runs of one script, without the observer, whose statements would be counted.
pub fn spec(text: &str) -> RunSpec {
    RunSpec {
        scripts: vec![script("one", text, 1)],
        observe: results::ObserveLevel::Off,
        seed: Some(1),
        ..RunSpec::default()
    }
}

/// A fault at the n-th statement, from 0, of this connection; `None`: of all.
pub fn fault(connection: Option<usize>, statement: u64, effect: FaultEffect) -> Fault {
    Fault { connection, trigger: FaultTrigger::Statement(statement), effect }
}

/// How to reach a null server.
pub fn target(server: &NullServer) -> Target {
    resolve(Some(&server.conninfo()), &Overrides::default(), &Environment::default()).expect("a connection")
}

/// The run's result on a null server with these options.
pub fn run_on(options: NullOptions, spec: RunSpec) -> Result<Finished, RunError> {
    let server = NullServer::on_unix_socket(options).expect("a null server");
    // The null server has no settings. Connection 0 is the run's own, and the clients' follow.
    let circumstances =
        Circumstances { asks_settings: false, calibrations: None, ..Circumstances::default() };
    Runner::new(RunRequest::on(target(&server), spec))?.under(circumstances).run(&Control::default())
}

/// The result of a run that is not refused.
pub fn run(spec: RunSpec) -> Finished {
    run_on(NullOptions::default(), spec).unwrap_or_else(|error| panic!("{error}"))
}

/// Notes the statements that the server reads, each with the number of its connection.
#[derive(Clone, Default)]
pub struct Statements(Arc<Mutex<Vec<(usize, String)>>>);

impl Statements {
    /// A server that notes them here.
    pub fn noted(&self) -> NullOptions {
        let statements = Arc::clone(&self.0);
        let note = move |connection: usize, request: &Request<'_>| {
            if let Request::Query(sql) = request {
                let text = String::from_utf8_lossy(sql).into_owned();
                statements.lock().unwrap_or_else(PoisonError::into_inner).push((connection, text));
            }
        };
        NullOptions { on_request: Some(Arc::new(note)), ..NullOptions::default() }
    }

    /// The number of statements with this text.
    pub fn count(&self, sql: &str) -> usize {
        let statements = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        statements.iter().filter(|(_, statement)| statement == sql).count()
    }
}
