//! Records the views and columns of servers: starts a server of each given major version; `NAME=CONNINFO` names a
//! running server.
//!
//! `cargo run -p pgmeter-observe --example record_catalogue -- 9.6 17 "19rc1=host=/tmp user=postgres"`
#![allow(clippy::print_stderr, reason = "a chore talks to those who run it")]

#[path = "../tests/recorded/mod.rs"]
mod recorded;

use std::fs;
use std::path::Path;

use connect::{Environment, Overrides, Session, resolve};
use testkit::cluster::Cluster;

fn main() {
    for argument in std::env::args().skip(1) {
        let started = Cluster::start;
        let (name, cluster, conninfo) = match argument.split_once('=') {
            Some((name, conninfo)) => (name.to_owned(), None, conninfo.to_owned()),
            None => {
                let cluster = started(&argument);
                let conninfo = cluster.conninfo();
                (argument, Some(cluster), conninfo)
            }
        };
        let target = resolve(Some(&conninfo), &Overrides::default(), &Environment::default()).unwrap();
        let text = recorded::catalogue(&mut Session::connect(&target).unwrap());
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/catalogues");
        fs::write(folder.join(format!("{name}.txt")), text).unwrap();
        eprintln!("{name} is recorded");
        drop(cluster);
    }
}
