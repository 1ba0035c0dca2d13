//! Ranks as processes with the testkit's process manager: what they find in their environment. Needs no MPICH;
//! `hydra.rs` tries MPICH's `mpiexec`.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::process_manager::ProcessManager;

/// The program of the ranks, which `cargo test` builds beside the tests.
pub(crate) fn rank_program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().and_then(Path::parent).unwrap().join("examples/rank");
    assert!(program.is_file(), "{} is missing: run cargo test -p pgmeter-ranks", program.display());
    program
}

#[test]
fn processes_take_the_descriptor_of_their_environment() {
    let folder = tempfile::tempdir().unwrap();
    let (manager, children) = ProcessManager::spawn(3, |_| {
        let mut command = Command::new(rank_program());
        command.arg(folder.path()).args(["8", "3000", "60000", "0"]);
        command
    });
    for (rank, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(folder.path().join(rank.to_string())).unwrap();
        assert!(text.contains("round 8 "), "{text}");
    }
    assert_eq!(manager.finalized().len(), 3);
}

/// The error of a rank with these variables and this redirection of a shell.
fn check_error(redirection: &str, variables: &[(&str, &str)], expected: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec \"$@\" {redirection}"), "sh"]).arg(rank_program());
    command.args(["/nowhere", "1", "1", "60000", "0"]).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains(expected), "{message}");
}

#[test]
fn descriptors_that_no_process_manager_handed_over_are_refused() {
    let place = |descriptor| [("PMI_FD", descriptor), ("PMI_RANK", "0"), ("PMI_SIZE", "2")];
    let refused = "this descriptor was not inherited from a process manager";
    check_error("", &place("77"), refused);
    check_error("9</dev/null", &place("9"), "it is no socket");
    check_error("", &place("1"), "it is a standard stream");
}

#[test]
fn a_process_that_open_mpi_started_says_so() {
    check_error("", &[("OMPI_COMM_WORLD_SIZE", "4")], "it speaks PMIx only, and pgmeter speaks PMI-1");
}
