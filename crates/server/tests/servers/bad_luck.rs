//! What keeps a server from starting: each a sentence that says what to do, and nothing left behind.
//! What keeps programs from being fetched is tested beside the code, without a network.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use pgmeter_server::{Locations, ServerOptions, obtain};

use crate::harness::{Place, small};

fn refused(place: &Place, options: &ServerOptions) -> String {
    let error = place.try_start("18", options).map(drop).unwrap_err();
    assert!(place.homes().is_empty(), "{error}: {:?}", place.homes());
    error
}

#[test]
fn a_setting_the_version_does_not_know_is_named() {
    let error = refused(&Place::new(), &small(&[("no_such_setting", "1")]));
    assert!(error.contains("no such setting") && error.contains("\"no_such_setting\""), "{error}");
}

#[test]
fn a_value_that_is_not_allowed_is_named() {
    let error = refused(&Place::new(), &small(&[("max_connections", "many")]));
    assert!(error.contains("not allowed") && error.contains("many"), "{error}");
}

#[test]
fn more_memory_than_there_is_leads_to_the_setting_to_lower() {
    let error = refused(&Place::new(), &small(&[("shared_buffers", "8000GB"), ("huge_pages", "off")]));
    assert!(error.contains("lower shared_buffers"), "{error}");
}

#[test]
fn a_port_that_was_asked_for_and_is_taken_is_not_exchanged() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = refused(&Place::new(), &ServerOptions { tcp: true, ..small(&[("port", &port)]) });
    assert!(error.contains("port is already in use") && error.contains(&port), "{error}");
}

#[test]
fn a_state_directory_that_cannot_be_made_names_the_variable() {
    let mut place = Place::new();
    fs::write(place.base.path().join("file"), "").unwrap();
    place.locations.state_dir = place.base.path().join("file");
    let error = refused(&place, &small(&[]));
    assert!(error.contains("PGMETER_STATE_DIR"), "{error}");
}

#[test]
fn a_directory_closed_to_the_servers_user_is_named() {
    if !rustix::process::geteuid().is_root() {
        // The server's user is this one, to whom nothing of its own is closed.
        return;
    }
    let mut place = Place::new();
    let closed = place.base.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    place.locations.state_dir = closed.join("state");
    let error = refused(&place, &small(&[]));
    assert!(error.contains(&format!("access through {}", closed.display())), "{error}");
    assert!(error.contains("PGMETER_STATE_DIR") && error.contains("--server-user"), "{error}");
}

#[test]
fn an_unknown_user_is_refused_before_anything_is_made() {
    let place = Place::new();
    let options = ServerOptions { server_user: Some("no-such-user".to_owned()), ..small(&[]) };
    assert!(refused(&place, &options).contains("no-such-user"));
}

#[test]
fn programs_that_were_damaged_in_the_cache_are_not_taken() {
    let place = Place::new();
    let locations = Locations {
        cache_dir: place.base.path().join("cache"),
        search_path: Vec::new(),
        ..place.locations.clone()
    };
    let bin = place.programs("18").bin_dir;
    let name = bin.parent().unwrap().file_name().unwrap();
    let copy = locations.cache_dir.join("postgresql").join(name).join("bin");
    fs::create_dir_all(&copy).unwrap();
    for program in ["initdb", "postgres"] {
        fs::write(copy.join(program), "").unwrap();
    }
    let error = obtain("18", Some(&copy), &locations, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("postgres") && error.contains("--bin-dir"), "{error}");
}
