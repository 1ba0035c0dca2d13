//! Servers that stay: installed, started, stopped, started again with their data, listed and removed.
//! Each call stands for a command of its own: nothing is remembered but what is in the state directory.

use pgmeter_server::named;

use crate::harness::{Place, ask, eventually, listens, runs, session, small};

#[test]
fn a_named_server_lives_from_install_to_remove() {
    for wanted in ["18", "9.6"] {
        let place = Place::new();
        let locations = &place.locations;
        let installed = named::install("mine", &place.programs(wanted), &small(&[]), locations).unwrap();
        assert_eq!((installed.pid, installed.port, installed.temporary), (None, 0, false));

        let started = named::start("mine", false, locations).unwrap();
        let pid = started.pid.unwrap();
        assert!(runs(pid) && !listens(started.port));
        assert_eq!(named::start("mine", false, locations).unwrap().pid, Some(pid));
        assert_eq!(named::status("mine", locations).unwrap().pid, Some(pid));
        assert_eq!(named::list(locations).unwrap()[0].pid, Some(pid));

        session(&started.conninfo).execute("create table kept as select 42 as value").unwrap();
        assert_eq!(named::stop("mine", locations).unwrap().pid, None);
        assert_eq!(named::stop("mine", locations).unwrap().pid, None);
        eventually("the server ends", || !runs(pid));

        let again = named::start("mine", false, locations).unwrap();
        assert_eq!(again.port, started.port);
        assert_eq!(ask(&mut session(&again.conninfo), "select value from kept"), "42");
        named::remove("mine", locations).unwrap();
        eventually("the server ends", || !runs(again.pid.unwrap()));
        assert!(place.homes().is_empty() && named::list(locations).unwrap().is_empty());
    }
}

#[test]
fn a_server_whose_port_was_taken_meanwhile_gets_another() {
    let place = Place::new();
    named::install("mine", &place.programs("18"), &small(&[]), &place.locations).unwrap();
    let port = named::start("mine", false, &place.locations).unwrap().port;
    named::stop("mine", &place.locations).unwrap();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    let other = named::start("mine", false, &place.locations).unwrap();
    assert_ne!(other.port, port);
    named::remove("mine", &place.locations).unwrap();
}

#[test]
fn names_that_are_taken_unknown_or_wrong_are_errors_that_name_them() {
    let place = Place::new();
    let programs = place.programs("18");
    named::install("mine", &programs, &small(&[]), &place.locations).unwrap();
    let error = named::install("mine", &programs, &small(&[]), &place.locations).unwrap_err().to_string();
    assert!(error.contains("a server named mine already exists"), "{error}");
    for name in ["other", "../etc"] {
        let errors = [
            named::start(name, false, &place.locations).unwrap_err(),
            named::stop(name, &place.locations).unwrap_err(),
            named::status(name, &place.locations).unwrap_err(),
            named::remove(name, &place.locations).unwrap_err(),
        ];
        assert!(errors.iter().all(|error| error.to_string().contains(name)), "{errors:?}");
    }
    assert_eq!(place.homes(), ["mine"]);
}
