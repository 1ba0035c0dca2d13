//! The requests of a rank to the process manager as lines, and the replies that belong to them. Called by `job`;
//! `connection` sends them.

use super::pieces::PIECE_BYTES_MAX;

/// Longest line, with its end. Slurm's plugin reads a request with one `read` of this size, and MPICH's own client has
/// the same limit; so every request is also written with one `write`.
pub const LINE_BYTES_MAX: usize = 1024;

/// A request.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Request<'a> {
    /// The first request.
    Init,
    /// Asks for a name that no other job has.
    JobName,
    /// Waits until all ranks have sent it.
    Barrier,
    /// Makes a value visible to all ranks at once.
    Publish {
        /// Its name.
        name: &'a str,
        /// Printable ASCII without spaces.
        value: &'a str,
    },
    /// Withdraws a value, so that the process manager frees its memory.
    Unpublish {
        /// Its name.
        name: &'a str,
    },
    /// Asks for a value.
    Lookup {
        /// Its name.
        name: &'a str,
    },
    /// Asks which processes ended. Only Hydra knows, with -disable-auto-cleanup.
    EndedProcesses {
        /// The reply to [`Request::JobName`].
        job_name: &'a str,
    },
    /// The last request of a rank that is done.
    Finalize,
    /// Ends the whole job. Has no reply.
    Abort {
        /// The exit status of mpiexec.
        exit_status: u8,
    },
}

impl Request<'_> {
    /// Its command, for messages.
    pub fn command(&self) -> &'static str {
        match self {
            Request::Init => "init",
            Request::JobName => "get_my_kvsname",
            Request::Barrier => "barrier_in",
            Request::Publish { .. } => "publish_name",
            Request::Unpublish { .. } => "unpublish_name",
            Request::Lookup { .. } => "lookup_name",
            Request::EndedProcesses { .. } => "get",
            Request::Finalize => "finalize",
            Request::Abort { .. } => "abort",
        }
    }

    /// The command of its reply; `None` if it has none.
    pub fn reply(&self) -> Option<&'static str> {
        match self {
            Request::Init => Some("response_to_init"),
            Request::JobName => Some("my_kvsname"),
            Request::Barrier => Some("barrier_out"),
            Request::Publish { .. } => Some("publish_result"),
            Request::Unpublish { .. } => Some("unpublish_result"),
            Request::Lookup { .. } => Some("lookup_result"),
            Request::EndedProcesses { .. } => Some("get_result"),
            Request::Finalize => Some("finalize_ack"),
            Request::Abort { .. } => None,
        }
    }

    /// Its line, with the end.
    pub fn line(&self) -> String {
        let command = self.command();
        let line = match self {
            Request::Init => format!("cmd={command} pmi_version=1 pmi_subversion=1\n"),
            Request::JobName | Request::Barrier | Request::Finalize => format!("cmd={command}\n"),
            Request::Publish { name, value } => format!("cmd={command} service={name} port={value}\n"),
            Request::Unpublish { name } | Request::Lookup { name } => {
                format!("cmd={command} service={name}\n")
            }
            Request::EndedProcesses { job_name } => {
                format!("cmd={command} kvsname={job_name} key=PMI_dead_processes\n")
            }
            Request::Abort { exit_status } => format!("cmd={command} exitcode={exit_status}\n"),
        };
        debug_assert!(line.len() <= LINE_BYTES_MAX || matches!(self, Request::EndedProcesses { .. }));
        line
    }
}

/// Longest name of a piece: the job's mark, round, rank and piece as hexadecimal numbers with their separators.
const NAME_BYTES_MAX: usize = 16 + 1 + 16 + 1 + 4 + 1 + 4;
const _: () =
    assert!("cmd=publish_name service= port=\n".len() + NAME_BYTES_MAX + PIECE_BYTES_MAX <= LINE_BYTES_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_lines_of_keys_and_values() {
        let lines: Vec<String> = [
            Request::Init,
            Request::JobName,
            Request::Barrier,
            Request::Publish { name: "a.1", value: "1.eA" },
            Request::Unpublish { name: "a.1" },
            Request::Lookup { name: "a.1" },
            Request::EndedProcesses { job_name: "kvs_1" },
            Request::Finalize,
            Request::Abort { exit_status: 2 },
        ]
        .iter()
        .map(Request::line)
        .collect();
        assert_eq!(
            lines.concat(),
            "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_my_kvsname\ncmd=barrier_in\n\
             cmd=publish_name service=a.1 port=1.eA\ncmd=unpublish_name service=a.1\n\
             cmd=lookup_name service=a.1\ncmd=get kvsname=kvs_1 key=PMI_dead_processes\ncmd=finalize\n\
             cmd=abort exitcode=2\n"
        );
    }
}
