//! The environment of a run: the host and its disk, the connection to the server, and the server's version and
//! settings. It is examined before the run, so that the run is not disturbed. `results` and `server` do the work.

use std::path::Path;

use connect::Address;
use results::{
    Conditions, ConnectionInUse, Disk, Environment, Host, ProcessorTimes, TlsInUse, TransportInUse,
};
use server::Facts;

use crate::record::generator::is_ours;

/// The protocol version that pgmeter uses.
const PROTOCOL_VERSION: &str = "3.0";

/// The environment before the run. `address` is the server's; `records` is the directory for records.
pub fn survey(facts: Option<&Facts>, address: Option<&Address>, records: &Path) -> Environment {
    let connection = address.map(|address| connection(address, facts));
    let same_host = connection.as_ref().is_some_and(|connection| connection.same_host);
    let directory = facts.and_then(|facts| facts.data_directory.as_deref());
    let data_directory = match directory {
        _ if !same_host => Err("the server is on another host"),
        None => Err("this user may not know where the server's files are (pg_read_all_settings may)"),
        Some(directory) => Ok(Path::new(directory)),
    };
    // Read before the disk is measured, because the flushes are load too.
    let conditions = Conditions::detect();
    Environment { disk: Some(Disk::measure(data_directory, records)), connection, conditions, ..bare(facts) }
}

/// The parts that need no examination.
pub(crate) fn bare(facts: Option<&Facts>) -> Environment {
    Environment {
        host: Host::detect(),
        conditions: Conditions::default(),
        disk: None,
        connection: None,
        server: facts.map(server_facts),
    }
}

/// CPU time of the host during the run, which started when `before` was read.
pub fn look_back(environment: &mut Environment, before: Option<ProcessorTimes>) {
    let both = before.zip(ProcessorTimes::now());
    environment.conditions.processors = both.and_then(|(before, after)| before.until(&after));
}

fn connection(address: &Address, facts: Option<&Facts>) -> ConnectionInUse {
    let transport = match address {
        Address::Unix(_) => TransportInUse::UnixSocket,
        Address::Tcp { address, .. } if is_ours(address.ip()) => TransportInUse::Loopback,
        Address::Tcp { .. } => TransportInUse::Network,
    };
    let tls = facts.and_then(|facts| facts.tls.clone());
    ConnectionInUse {
        transport,
        same_host: transport != TransportInUse::Network,
        tls: tls.map(|(version, cipher)| TlsInUse { version, cipher }),
        protocol_version: PROTOCOL_VERSION.to_owned(),
    }
}

/// The server's version and settings.
fn server_facts(facts: &Facts) -> results::ServerFacts {
    let build = facts.build.as_ref();
    results::ServerFacts {
        version: facts.version.clone(),
        server_version_num: facts.version_num,
        non_default_settings: settings(&facts.settings),
        main_settings: settings(&facts.main_settings),
        extensions: facts.extensions.iter().cloned().collect(),
        debug_assertions: Some(facts.debug_assertions),
        build: results::BuildFingerprint {
            configure: build.map(|build| build.configure.clone()),
            cflags: build.map(|build| build.cflags.clone()),
            version: facts.version_text.clone(),
        },
    }
}

fn settings(settings: &[server::Setting]) -> results::Settings {
    settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect()
}
