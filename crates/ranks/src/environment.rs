//! Whether a process manager started this process as one of several: its environment variables (Flux RFC 13, section
//! "Environment"). Pure: the caller hands over the variables.

use std::os::fd::RawFd;

use crate::RanksError;

/// Most ranks of a job: a limit for tables that have an entry for each.
pub const RANKS_MAX: usize = 4096;

/// Where a rank finds the process manager, and its number.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The inherited descriptor.
    pub descriptor: RawFd,
    /// This rank's number, below `size`.
    pub rank: usize,
    /// Number of ranks.
    pub size: usize,
}

/// Launchers that start several processes and do not offer PMI-1: a variable with the number of processes (`None`: any
/// value shows it), the launcher, and why the processes cannot find each other.
const OTHER_LAUNCHERS: [(&str, &str, &str); 5] = [
    ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun", "it speaks PMIx only, and pgmeter speaks PMI-1"),
    ("PRTE_NUM_PROCS", "PRRTE's prterun", "it speaks PMIx only, and pgmeter speaks PMI-1"),
    ("PMIX_RANK", "a PMIx launcher", "it speaks PMIx only, and pgmeter speaks PMI-1"),
    (
        "PMI_PORT",
        "mpiexec with -pmi-port",
        "pgmeter needs the descriptor that mpiexec hands over without that option",
    ),
    ("SLURM_STEP_NUM_TASKS", "srun", "without --mpi=pmi2 it offers no PMI-1"),
];

/// The rank of this process and its connection to the process manager; `None` if it was started alone.
///
/// # Errors
/// The variables contradict each other, or a launcher without PMI-1 started several processes.
pub fn place(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Place>, RanksError> {
    let Some(text) = variable("PMI_FD") else {
        return match other_launcher(&variable) {
            Some(error) => Err(error),
            None => Ok(None),
        };
    };
    let descriptor = match text.parse::<RawFd>() {
        Ok(number) if number >= 0 => number,
        _ => return Err(unusable("PMI_FD", Some(text), "it is not the number of a descriptor")),
    };
    let size = number(&variable, "PMI_SIZE")?;
    if !(1..=RANKS_MAX).contains(&size) {
        let problem = format!("the number of ranks must be between 1 and {RANKS_MAX}");
        return Err(unusable("PMI_SIZE", Some(size.to_string()), &problem));
    }
    let rank = number(&variable, "PMI_RANK")?;
    if rank >= size {
        let problem = format!("with PMI_SIZE {size}, the highest rank is {}", size - 1);
        return Err(unusable("PMI_RANK", Some(rank.to_string()), &problem));
    }
    Ok(Some(Place { descriptor, rank, size }))
}

fn number(variable: &impl Fn(&str) -> Option<String>, name: &'static str) -> Result<usize, RanksError> {
    let Some(text) = variable(name) else {
        return Err(unusable(name, None, "it is not set, although PMI_FD is"));
    };
    text.parse().map_err(|_| unusable(name, Some(text), "it is not a number"))
}

fn other_launcher(variable: &impl Fn(&str) -> Option<String>) -> Option<RanksError> {
    let (name, text, launcher, cause) = OTHER_LAUNCHERS
        .into_iter()
        .find_map(|(name, launcher, cause)| Some((name, variable(name)?, launcher, cause)))?;
    let counts = matches!(name, "OMPI_COMM_WORLD_SIZE" | "PRTE_NUM_PROCS" | "SLURM_STEP_NUM_TASKS");
    if counts && text.trim() == "1" {
        return None;
    }
    let processes = if counts { text } else { "several".to_owned() };
    Some(RanksError::Launcher { launcher, processes, cause, variable: name })
}

fn unusable(name: &'static str, value: Option<String>, problem: &str) -> RanksError {
    RanksError::Variable { name, value, problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Place>, String> {
        let find =
            |name: &str| variables.iter().find(|entry| entry.0 == name).map(|entry| entry.1.to_owned());
        place(find).map_err(|error| error.to_string())
    }

    fn check_error(variables: &[(&str, &str)], expected: &str) {
        let message = read(variables).unwrap_err();
        assert!(message.starts_with(expected), "{message}");
    }

    #[test]
    fn a_process_manager_gives_descriptor_rank_and_size() {
        let place = read(&[("PMI_FD", "6"), ("PMI_RANK", "2"), ("PMI_SIZE", "4")]);
        assert_eq!(place, Ok(Some(Place { descriptor: 6, rank: 2, size: 4 })));
    }

    #[test]
    fn a_process_that_was_started_alone_is_no_rank() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")]), Ok(None));
        assert_eq!(read(&[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_NTASKS", "8")]), Ok(None));
    }

    #[test]
    fn unusable_variables_are_refused_by_name() {
        check_error(
            &[("PMI_FD", "x")],
            "environment variable PMI_FD is \"x\": it is not the number of a descriptor. ",
        );
        check_error(&[("PMI_FD", "-1")], "environment variable PMI_FD is \"-1\": it is not the number of a");
        check_error(
            &[("PMI_FD", "6")],
            "environment variable PMI_SIZE: it is not set, although PMI_FD is. The process manager (mpiexec, srun) \
             sets it; for a run of one process, unset PMI_FD",
        );
        check_error(
            &[("PMI_FD", "6"), ("PMI_SIZE", "0")],
            "environment variable PMI_SIZE is \"0\": the number of",
        );
        check_error(
            &[("PMI_FD", "6"), ("PMI_SIZE", "4"), ("PMI_RANK", "4")],
            "environment variable PMI_RANK is \"4\": with PMI_SIZE 4, the highest rank is 3",
        );
        check_error(
            &[("PMI_FD", "6"), ("PMI_SIZE", "4"), ("PMI_RANK", "99999999999999999999")],
            "environment variable PMI_RANK is \"99999999999999999999\": it is not a number",
        );
    }

    #[test]
    fn launchers_without_pmi_1_are_refused_with_the_remedy() {
        check_error(
            &[("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "0")],
            "Open MPI's mpirun started 4 processes, which cannot exchange messages: it speaks PMIx only, and pgmeter \
             speaks PMI-1. Start pgmeter with MPICH's mpiexec (Debian: package mpich) or with srun --mpi=pmi2; for \
             independent runs, unset OMPI_COMM_WORLD_SIZE",
        );
        check_error(&[("PMIX_RANK", "0")], "a PMIx launcher started several processes");
        check_error(&[("PMI_PORT", "host:1")], "mpiexec with -pmi-port started several processes");
        check_error(
            &[("SLURM_STEP_NUM_TASKS", "2")],
            "srun started 2 processes, which cannot exchange messages: without",
        );
    }
}
