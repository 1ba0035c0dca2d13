//! Ranks as processes under MPICH's Hydra: on one machine, and on two hosts that are network namespaces. Not installed
//! everywhere; `PGMETER_TEST_MPIEXEC` says that it has to be there. The program of the ranks is `examples/rank.rs`.

#![allow(clippy::print_stderr, reason = "a test that cannot run says so aloud")]

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::processes::rank_program;

/// Patience of the ranks: long enough that a busy machine makes none of them silent.
const PATIENCE_MS: &str = "4000";
/// Pause after each round between two hosts, so that a link breaks between two rounds. If it breaks within a message,
/// mpiexec waits for the rest of it and answers nobody.
const PAUSE_MS: &str = "200";
/// Exit status of a job that a rank aborts.
const ABORTED: Option<i32> = Some(7);

/// The installed mpiexec of MPICH. If it is missing, prints that the test is skipped and returns `None`.
fn mpiexec() -> Option<PathBuf> {
    // Debian's `mpiexec` may be Open MPI's; these names belong to MPICH alone.
    let names = ["mpiexec.hydra", "mpiexec.mpich"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file());
    let is_required = std::env::var_os("PGMETER_TEST_MPIEXEC").is_some();
    assert!(found.is_some() || !is_required, "mpiexec.hydra is required here and not on the PATH");
    if found.is_none() {
        eprintln!("NOT TRIED: mpiexec.hydra (Debian: package mpich) is not installed");
    }
    found
}

/// How a job ended.
struct Ending {
    status: ExitStatus,
    /// The first line of each rank's file; `None` if the rank was killed before it wrote one.
    ranks: [Option<String>; 4],
    /// The whole files, for messages.
    text: String,
    elapsed: Duration,
}

impl Ending {
    fn of(mut command: Command, folder: &Path) -> Ending {
        let begun = Instant::now();
        let output = command.output().unwrap();
        let files = [0, 1, 2, 3].map(|rank| std::fs::read_to_string(folder.join(rank.to_string())).ok());
        let text = format!("{files:#?}\n{}", String::from_utf8_lossy(&output.stderr));
        let ranks = files.map(|text| Some(text?.lines().next()?.to_owned()));
        Ending { status: output.status, ranks, text, elapsed: begun.elapsed() }
    }

    /// What ranks that wrote something saw; the one that aborts may end the job before others notice.
    fn seen(&self) -> Vec<&str> {
        let mut seen: Vec<&str> = self.ranks.iter().flatten().map(String::as_str).collect();
        seen.dedup();
        seen
    }
}

/// Runs four ranks on this machine.
fn run(options: &[&str], fault: &[&str]) -> Option<Ending> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(mpiexec()?);
    command.args(options).args(["-n", "4"]).arg(rank_program()).arg(folder.path());
    command.args(["20", "2000", PATIENCE_MS, "0"]).args(fault);
    Some(Ending::of(command, folder.path()))
}

#[test]
fn four_ranks_exchange_messages_and_compare_their_clocks() {
    let Some(ending) = run(&[], &[]) else { return };
    assert!(ending.status.success(), "{}", ending.text);
    let text = &ending.text;
    assert_eq!(text.matches("round 20 ").count(), 4, "{text}");
    for line in text.split("\\n").filter_map(|line| line.split_once("offset ")) {
        let words: Vec<i64> = line.1.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [offset, error] = words[..] else { panic!("{text}") };
        assert!(offset.abs() <= error, "{text}");
    }
}

#[test]
fn a_stopped_rank_is_named_and_the_job_ends() {
    for rank in ["2", "0"] {
        let Some(ending) = run(&[], &["stop", rank]) else { return };
        assert_eq!(ending.status.code(), ABORTED, "{}", ending.text);
        assert_eq!(ending.seen(), [format!("absent [{rank}]")], "{}", ending.text);
        assert!(ending.elapsed < Duration::from_secs(120), "{:?}", ending.elapsed);
    }
}

#[test]
fn a_killed_rank_ends_all_processes_of_its_host() {
    let Some(ending) = run(&[], &["kill", "2"]) else { return };
    assert!(!ending.status.success(), "{}", ending.text);
    // Hydra kills the others, unless one of them was quicker.
    assert!(ending.seen().iter().all(|seen| *seen == "gone" || *seen == "ended [2]"), "{}", ending.text);
}

/// Two hosts: network namespaces with a link between them; gone when dropped.
struct Hosts {
    names: [String; 2],
    link: String,
}

const ADDRESSES: [&str; 2] = ["10.99.0.1", "10.99.0.2"];

impl Hosts {
    /// `None` with a printed message if this process may not create network namespaces.
    fn make() -> Option<Hosts> {
        // Names with the process id and a number, as tests run side by side.
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let mark = format!("{}{number}", std::process::id());
        let hosts = Hosts {
            names: [format!("pgmeter-a{mark}"), format!("pgmeter-b{mark}")],
            link: format!("pg{mark}"),
        };
        if !ip(&format!("netns add {}", hosts.names[0])) {
            eprintln!("NOT TRIED: network namespaces need root and iproute2");
            return None;
        }
        let [a, b] = &hosts.names;
        let link = &hosts.link;
        let lines = [
            format!("netns add {b}"),
            format!("link add {link} netns {a} type veth peer name {link} netns {b}"),
            format!("-n {a} addr add {}/24 dev {link}", ADDRESSES[0]),
            format!("-n {b} addr add {}/24 dev {link}", ADDRESSES[1]),
            format!("-n {a} link set lo up"),
            format!("-n {b} link set lo up"),
            format!("-n {a} link set {link} up"),
            format!("-n {b} link set {link} up"),
        ];
        for line in lines {
            assert!(ip(&line), "ip {line}");
        }
        Some(hosts)
    }

    /// Runs as many ranks on the first host, from 0, as on the second.
    fn run(
        &self,
        mpiexec: &Path,
        ranks_of_host: usize,
        options: &[&str],
        rounds: &str,
        fault: &[&str],
    ) -> Ending {
        let folder = tempfile::tempdir().unwrap();
        // In place of ssh: options, a host, a command.
        let script = folder.path().join("launcher");
        let [a, b] = &self.names;
        let text = format!(
            "#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nhost=$1; shift\n\
             case $host in {}) name={a} ;; *) name={b} ;; esac\nexec ip netns exec $name sh -c \"$*\"\n",
            ADDRESSES[0]
        );
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", a]).arg(mpiexec).args(options).args(["-localhost", ADDRESSES[0]]);
        command.args(["-launcher", "ssh", "-launcher-exec"]).arg(&script);
        command
            .args(["-hosts", &ADDRESSES.join(","), "-ppn", &ranks_of_host.to_string()])
            .args(["-n", &(2 * ranks_of_host).to_string()])
            .arg(rank_program())
            .arg(folder.path());
        command.args([rounds, "200", PATIENCE_MS, PAUSE_MS]).args(fault);
        let mut ending = Ending::of(command, folder.path());
        // Ranks behind a dead link outlive mpiexec until they are done with waiting.
        let deadline = Instant::now() + Duration::from_secs(120);
        for rank in [2, 3] {
            while ending.ranks[rank].is_none() && fault.is_empty() && Instant::now() < deadline {
                let text = std::fs::read_to_string(folder.path().join(rank.to_string())).unwrap_or_default();
                ending.ranks[rank] = text.lines().next().filter(|_| text.ends_with('\n')).map(str::to_owned);
                testkit::condition::pause();
            }
        }
        ending
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let listed = Command::new("ip").args(["netns", "pids", name]).output();
            let text =
                listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
            for pid in
                text.split_whitespace().filter_map(|pid| rustix::process::Pid::from_raw(pid.parse().ok()?))
            {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            ip(&format!("netns del {name}"));
        }
    }
}

fn ip(line: &str) -> bool {
    Command::new("ip").args(line.split(' ')).output().is_ok_and(|output| output.status.success())
}

#[test]
fn ranks_of_two_hosts_exchange_messages() {
    let Some((mpiexec, hosts)) = mpiexec().zip(Hosts::make()) else { return };
    let ending = hosts.run(&mpiexec, 2, &[], "20", &[]);
    assert!(ending.status.success(), "{}", ending.text);
    assert_eq!(ending.text.matches("round 20 ").count(), 4, "{}", ending.text);
}

#[test]
fn without_cleanup_a_rank_of_the_other_host_names_the_one_that_ended() {
    let Some((mpiexec, hosts)) = mpiexec().zip(Hosts::make()) else { return };
    // One rank on each host: Hydra kills the other ranks of the host in any case.
    let ending = hosts.run(&mpiexec, 1, &["-disable-auto-cleanup"], "6", &["kill", "1"]);
    assert_eq!(ending.status.code(), ABORTED, "{}", ending.text);
    // Hydra does not always learn of the end before the patience is over; the rank is named in both cases.
    assert!([["ended [1]"], ["absent [1]"]].iter().any(|seen| ending.seen() == *seen), "{}", ending.text);
}

#[test]
fn a_broken_link_is_noticed_on_both_sides() {
    let Some((mpiexec, hosts)) = mpiexec().zip(Hosts::make()) else { return };
    let ending = std::thread::scope(|scope| {
        // More rounds than are possible before the link breaks.
        let job = scope.spawn(|| hosts.run(&mpiexec, 2, &[], "1000000", &[]));
        // A rank of the second host is there once the launcher's shell has become a program with its own child.
        let ranks_are_there = || {
            let output = Command::new("ip").args(["netns", "pids", &hosts.names[1]]).output().unwrap();
            String::from_utf8_lossy(&output.stdout).split_whitespace().count() >= 3
        };
        while !ranks_are_there() && !job.is_finished() {
            testkit::condition::pause();
        }
        // The ranks need some rounds together: their connection setup is not what is tested.
        std::thread::sleep(Duration::from_secs(1));
        assert!(ip(&format!("-n {} link set {} down", hosts.names[0], hosts.link)));
        job.join().unwrap()
    });
    // If mpiexec passes the abort on to the other host after that connection broke, it dies of SIGPIPE (2 of 25 tries).
    let is_broken_pipe = ending.status.signal() == Some(rustix::process::Signal::PIPE.as_raw());
    assert!(is_broken_pipe || ending.status.code() == ABORTED, "{}: {}", ending.status, ending.text);
    let seen = ending.ranks.each_ref().map(|seen| seen.as_deref().unwrap_or_default());
    assert!(["absent [2, 3]", "unknown [1, 2, 3]"].contains(&seen[0]), "{}", ending.text);
    assert_eq!(seen[2..], ["unknown [0, 1, 3]", "unknown [0, 1, 2]"], "{}", ending.text);
}
