//! What `kill -9` leaves: the guard of a server cleans up at once, the next sweep does where the guard could not,
//! and neither touches what somebody still answers for.

use pgmeter_server::{named, sweep};

use crate::harness::{Owner, Place, eventually, listens, runs, small};

#[test]
fn the_guard_stops_and_removes_the_server_of_a_killed_process() {
    for wanted in ["18", "9.6"] {
        let place = Place::new();
        let mut owner = Owner::start(&place, wanted);
        owner.kill();
        eventually("the server ends", || !runs(owner.postmaster));
        eventually("its home is removed", || place.homes().is_empty());
        assert!(!listens(owner.port));
    }
}

#[test]
fn the_sweep_stops_and_removes_what_a_killed_guard_could_not() {
    for wanted in ["18", "9.6"] {
        let place = Place::new();
        let mut owner = Owner::start(&place, wanted);
        owner.kill_with_guard();
        assert!(runs(owner.postmaster));
        let swept = sweep(&place.locations);
        assert_eq!(swept.len(), 1);
        assert!(swept[0].was_running && swept[0].failure.is_none(), "{swept:?}");
        assert!(!runs(owner.postmaster) && place.homes().is_empty());
        assert!(sweep(&place.locations).is_empty());
    }
}

#[test]
fn the_sweep_leaves_servers_alone_whose_owner_lives_and_kept_ones() {
    let place = Place::new();
    let mut owner = Owner::start(&place, "18");
    let mine = place.start("18");
    let kept = place.start("18").keep().unwrap();
    assert!(sweep(&place.locations).is_empty());
    assert!(runs(owner.postmaster) && runs(mine.pid().unwrap()) && runs(kept.pid.unwrap()));
    assert_eq!(place.homes().len(), 3);
    owner.end();
    named::remove(&kept.name, &place.locations).unwrap();
}

#[test]
fn a_home_whose_maker_was_killed_at_once_is_swept() {
    let place = Place::new();
    let home = place.locations.state_dir.join("servers/temporary-1-1");
    std::fs::create_dir_all(home.join("data")).unwrap();
    let swept = sweep(&place.locations);
    assert!(swept.len() == 1 && !swept[0].was_running && swept[0].failure.is_none(), "{swept:?}");
    assert!(place.homes().is_empty());
}

#[test]
fn a_process_that_has_the_number_of_a_dead_postmaster_is_not_touched() {
    let place = Place::new();
    let data = place.locations.state_dir.join("servers/temporary-1-1/data");
    std::fs::create_dir_all(&data).unwrap();
    let mut bystander = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    std::fs::write(data.join("postmaster.pid"), format!("{}\n{}\n", bystander.id(), data.display())).unwrap();
    let swept = sweep(&place.locations);
    assert!(swept.len() == 1 && !swept[0].was_running, "{swept:?}");
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn a_server_of_another_owner_is_not_stopped_by_name() {
    let place = Place::new();
    let server = place.try_start("18", &small(&[])).unwrap();
    let error = named::stop(server.name(), &place.locations).unwrap_err().to_string();
    assert!(error.contains("in use") && runs(server.pid().unwrap()), "{error}");
}
