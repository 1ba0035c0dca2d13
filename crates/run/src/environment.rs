//! Where a run takes place, found out before it begins and so that it is not disturbed: the host and its disk, the way to
//! the server, the server's account of itself. What is found out is asked of `results` and `server`.

use std::path::Path;

use connect::Address;
use results::{
    Conditions, ConnectionInUse, Disk, Environment, Host, ProcessorTimes, TlsInUse, TransportInUse,
};
use server::Facts;

use crate::generator::is_ours;

/// The only version of PostgreSQL's protocol that we speak.
const PROTOCOL_VERSION: &str = "3.0";

/// All that is known before the run. `address` is the server's; records are to go into `records`.
pub fn survey(facts: Option<&Facts>, address: Option<&Address>, records: &Path) -> Environment {
    let connection = address.map(|address| connection(address, facts));
    let same_host = connection.as_ref().is_some_and(|connection| connection.same_host);
    let directory = facts.and_then(|facts| facts.data_directory.as_deref());
    let data_directory = match directory {
        _ if !same_host => Err("the server is on another host"),
        None => Err("this user may not know where the server's files are (pg_read_all_settings may)"),
        Some(directory) => Ok(Path::new(directory)),
    };
    // Before the flushes, which are load too.
    let conditions = Conditions::detect();
    Environment { disk: Some(Disk::measure(data_directory, records)), connection, conditions, ..bare(facts) }
}

/// What is known without looking around.
pub(crate) fn bare(facts: Option<&Facts>) -> Environment {
    Environment {
        host: Host::detect(),
        conditions: Conditions::default(),
        disk: None,
        connection: None,
        server: facts.map(server_facts),
    }
}

/// How the processors spent the run, which began when `before` was read.
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

/// The server's account of itself.
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
