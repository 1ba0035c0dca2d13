//! The error of this crate. Every sentence names the process manager's part or the ranks, and the remedy if there is
//! one. The caller shows it.

use std::io;
use std::time::Duration;

/// Why this process is not a rank of a job, or why the exchange with the other ranks ended.
#[derive(Debug, thiserror::Error)]
pub enum RanksError {
    /// A launcher without PMI-1 started several processes.
    #[error(
        "{launcher} started {processes} processes, which cannot exchange messages: {cause}. Start pgmeter with MPICH's \
         mpiexec (Debian: package mpich) or with srun --mpi=pmi2; for independent runs, unset {variable}"
    )]
    Launcher {
        /// Its name.
        launcher: &'static str,
        /// How many it started, as far as it says.
        processes: String,
        /// Why that does not work.
        cause: &'static str,
        /// The environment variable that shows it.
        variable: &'static str,
    },
    /// A variable is missing or unusable.
    #[error(
        "environment variable {name}{}: {problem}. The process manager (mpiexec, srun) sets it; for a run of one \
         process, unset PMI_FD, PMI_RANK and PMI_SIZE",
        .value.as_ref().map(|value| format!(" is \"{value}\"")).unwrap_or_default()
    )]
    Variable {
        /// Its name.
        name: &'static str,
        /// Its value, if it has one.
        value: Option<String>,
        /// What is wrong with it.
        problem: String,
    },
    /// The process manager sent something that PMI-1 does not have.
    #[error("the process manager's reply to \"{request}\" is not PMI-1: {problem}")]
    Protocol {
        /// The request's command.
        request: &'static str,
        /// What is wrong with the reply.
        problem: String,
    },
    /// The process manager understood a request and refused it.
    #[error("the process manager refused \"{request}\": {reason}")]
    Refused {
        /// The request's command.
        request: &'static str,
        /// Its code and message.
        reason: String,
    },
    /// Other ranks did not reach the barrier in time.
    #[error("{}", silence(.ranks, *.evidence, *.waited))]
    Silent {
        /// The ranks, in ascending order.
        ranks: Vec<usize>,
        /// How sure that is.
        evidence: Evidence,
        /// How long this rank had waited.
        waited: Duration,
    },
    /// The process manager closed the descriptor.
    #[error(
        "the process manager ended the connection to this process: mpiexec or srun ended, or it is ending the job"
    )]
    Gone,
    /// Reading from the process manager or writing to it failed.
    #[error("the connection to the process manager failed: {0}")]
    Connection(#[source] io::Error),
    /// The exchange had failed before.
    #[error("the exchange with the other ranks has already ended with an error")]
    Ended,
    /// A message is longer than the process managers can take.
    #[error("a message to the other ranks has {bytes} bytes, and at most {most} are possible")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// A message of another rank does not have the expected form.
    #[error(
        "rank {rank} sent a message that cannot be read ({problem}): install the same version of pgmeter on all machines"
    )]
    Message {
        /// Its sender.
        rank: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// Readings of two clocks contradict each other.
    #[error(
        "the monotonic clocks of rank 0 and rank {rank} contradict each other, because one of them jumped: repeat the run"
    )]
    Clocks {
        /// The other rank.
        rank: usize,
    },
}

/// The evidence against ranks that do not answer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// The process manager says that these processes ended.
    Ended,
    /// The process manager answers, and these ranks have not published their message of the round.
    Absent,
    /// The process manager does not answer, or all ranks have published their messages and the barrier does not end.
    Unknown,
}

fn silence(ranks: &[usize], evidence: Evidence, waited: Duration) -> String {
    if ranks.is_empty() {
        return format!("the process manager did not answer for {:.1} s", waited.as_secs_f64());
    }
    let names: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let (noun, names) = match names.as_slice() {
        [one] => ("rank", one.clone()),
        [others @ .., last] if evidence == Evidence::Unknown => {
            ("ranks", format!("{} or {last}", others.join(", ")))
        }
        [others @ .., last] => ("ranks", format!("{} and {last}", others.join(", "))),
        [] => ("ranks", String::new()),
    };
    let seconds = waited.as_secs_f64();
    match evidence {
        Evidence::Ended => format!("{noun} {names} ended before the run was over"),
        Evidence::Absent => {
            format!("{noun} {names} did not answer for {seconds:.1} s: stopped, overloaded or disconnected")
        }
        Evidence::Unknown => format!(
            "the exchange with the other ranks stood still for {seconds:.1} s: {noun} {names}, or the connection to \
             the process manager, failed"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ranks: &[usize], evidence: Evidence, expected: &str) {
        let error =
            RanksError::Silent { ranks: ranks.to_vec(), evidence, waited: Duration::from_millis(6020) };
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn silent_ranks_are_named_with_what_is_known() {
        check(&[], Evidence::Unknown, "the process manager did not answer for 6.0 s");
        check(&[2], Evidence::Ended, "rank 2 ended before the run was over");
        check(
            &[1, 3],
            Evidence::Absent,
            "ranks 1 and 3 did not answer for 6.0 s: stopped, overloaded or disconnected",
        );
        check(
            &[0, 1, 3],
            Evidence::Unknown,
            "the exchange with the other ranks stood still for 6.0 s: ranks 0, 1 or 3, or the connection to the \
             process manager, failed",
        );
    }
}
