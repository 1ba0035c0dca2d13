//! Calibrations on their way to the disk and back, and which of them says something of a run.
//! What a verdict makes of them is tested beside `verdict`.

use std::fs;
use std::path::Path;

use pgmeter_results::{Calibration, EventLoopName, Host, Level, UtcTime};

fn host() -> Host {
    Host {
        cpu_model: Some("AMD EPYC 9654".to_owned()),
        cpu_count: Some(192),
        cpu_available: Some(4),
        ..testkit::records::host()
    }
}

fn level(clients: u32, round_trips_per_s: f64) -> Level {
    let (cpu_us_per_round_trip, round_trip_us_p50) = (2.3, 21.5);
    Level {
        clients,
        round_trips_per_s,
        cpu_us_per_round_trip,
        round_trip_us_p50,
        run_queue_share: Some(0.01),
    }
}

fn calibration() -> Calibration {
    let levels = vec![level(1, 40_000.0), level(16, 200_000.0), level(64, 240_000.0)];
    let measured_at = UtcTime::from_unix_millis(1_795_262_581_250);
    Calibration::new(measured_at, host(), EventLoopName::IoUring, levels, &stats::Distribution::new())
}

fn kept(dir: &Path, host: &Host) -> Option<Calibration> {
    Calibration::kept(dir, host, EventLoopName::IoUring)
}

#[test]
fn what_was_kept_is_found_again_and_replaced_by_what_is_newer() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let below = dir.path().join("calibrations");
    assert_eq!(kept(&below, &host()), None);
    let path = calibration().keep(&below).expect("it can be written");
    assert_eq!(path, below.join("bench1-io_uring.json"));
    assert_eq!(kept(&below, &host()), Some(calibration()));
    let newer = Calibration { measured_at: UtcTime::from_unix_millis(1_795_262_599_000), ..calibration() };
    newer.keep(&below).expect("it can be written");
    assert_eq!(kept(&below, &host()), Some(newer));
    assert_eq!(fs::read_dir(&below).expect("it is there").count(), 1);
}

#[test]
fn one_of_another_machine_kernel_version_or_loop_is_none() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    calibration().keep(dir.path()).expect("it can be written");
    let hosts = [
        Host { kernel: "Linux 6.13.0 x86_64".to_owned(), ..host() },
        Host { cpu_model: None, ..host() },
        Host { cpu_available: Some(2), ..host() },
        Host { hostname: "bench2".to_owned(), ..host() },
    ];
    assert!(hosts.iter().all(|host| kept(dir.path(), host).is_none()));
    assert_eq!(Calibration::kept(dir.path(), &host(), EventLoopName::Epoll), None);
    let other_version = Calibration { pgmeter_version: "0.0.1".to_owned(), ..calibration() };
    other_version.keep(dir.path()).expect("it can be written");
    assert_eq!(kept(dir.path(), &host()), None);
}

#[test]
fn what_cannot_be_read_or_calculated_with_is_none() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = calibration().keep(dir.path()).expect("it can be written");
    let levels = [vec![], vec![level(0, 1.0)], vec![level(1, 0.0)], vec![level(2, 1.0), level(2, 2.0)]];
    for levels in levels {
        Calibration { levels, ..calibration() }.keep(dir.path()).expect("it can be written");
        assert_eq!(kept(dir.path(), &host()), None);
    }
    for json in ["", "[", "{}", "7"] {
        fs::write(&path, json).expect("it can be written");
        assert_eq!(kept(dir.path(), &host()), None);
    }
    fs::remove_file(&path).expect("it is there");
    fs::create_dir(&path).expect("its name is free");
    assert_eq!(kept(dir.path(), &host()), None);
}

#[test]
fn between_levels_there_is_a_straight_line_and_beyond_them_nothing_new() {
    let at = |clients: f64| calibration().round_trips_per_s(clients).expect("there are levels");
    for (clients, expected) in
        [(0.5, 40_000.0), (1.0, 40_000.0), (8.5, 120_000.0), (16.0, 200_000.0), (9_000.0, 240_000.0)]
    {
        assert!((at(clients) - expected).abs() < 1.0, "{clients}: {}", at(clients));
    }
}

#[test]
fn a_place_that_cannot_be_written_says_what_to_do() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("file");
    fs::write(&file, "in the way").expect("it can be written");
    let sentence = calibration().keep(&file.join("below")).expect_err("it is a file").to_string();
    let sentence = sentence.replace(&dir.path().display().to_string(), "DIR");
    insta::assert_snapshot!(sentence, @"cannot keep the calibration in DIR/file/below: something that is not a directory is in the way; choose another directory");
}

#[test]
fn a_link_in_the_place_of_the_draft_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let precious = dir.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    let path = calibration().keep(dir.path()).unwrap();
    let draft = path.with_extension(format!("{}.part", std::process::id()));
    std::os::unix::fs::symlink(&precious, &draft).unwrap();
    calibration().keep(dir.path()).unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    calibration().keep(dir.path()).unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
}
