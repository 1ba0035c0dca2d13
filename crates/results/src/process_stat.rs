//! A process in `/proc/PID/stat`: identity and CPU time. Used for pgmeter's own process, and for those of a server on
//! this host.
//! Manual: proc_pid_stat(5).

use std::fs;

/// A process; times are in the kernel's ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// The program's name, cut to 15 bytes.
    pub name: String,
    /// Whether it has ended and waits for its parent to ask for its exit status (state Z or X).
    pub has_ended: bool,
    /// Process ID of the parent.
    pub parent: u32,
    /// Start time since boot; distinguishes processes with a reused process ID.
    pub started_ticks: u64,
    /// CPU time in user mode.
    pub user_ticks: u64,
    /// CPU time in kernel mode.
    pub system_ticks: u64,
    /// CPU time in user mode of its terminated children.
    pub children_user_ticks: u64,
    /// CPU time in kernel mode of its terminated children.
    pub children_system_ticks: u64,
}

impl ProcessStat {
    /// The current state; `None` if there is no such process.
    pub fn read(process_id: u32) -> Option<ProcessStat> {
        let stat = fs::read(format!("/proc/{process_id}/stat")).ok()?;
        ProcessStat::parse(&String::from_utf8_lossy(&stat))
    }

    pub(crate) fn parse(stat: &str) -> Option<ProcessStat> {
        // The name can contain any character, including parentheses.
        let (head, rest) = stat.rsplit_once(')')?;
        // The manual numbers fields from 1; the first field after the name is the third.
        let fields: Vec<_> = rest.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(ProcessStat {
            name: head.split_once('(')?.1.to_owned(),
            has_ended: matches!(*fields.first()?, "Z" | "X" | "x"),
            parent: u32::try_from(field(4)?).ok()?,
            started_ticks: field(22)?,
            user_ticks: field(14)?,
            system_ticks: field(15)?,
            children_user_ticks: field(16)?,
            children_system_ticks: field(17)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_understood_whatever_its_name_holds() {
        let stat = "42 (post) gres (x) S 7 42 42 0 -1 4194624 9 0 0 0 150 25 1000 200 20 0 1 0 8812 1 1 1";
        let expected = ProcessStat {
            name: "post) gres (x".to_owned(),
            has_ended: false,
            parent: 7,
            started_ticks: 8812,
            user_ticks: 150,
            system_ticks: 25,
            children_user_ticks: 1000,
            children_system_ticks: 200,
        };
        assert_eq!(ProcessStat::parse(stat), Some(expected));
        for state in ["Z", "X"] {
            let stat = stat.replace(" S ", &format!(" {state} "));
            assert!(ProcessStat::parse(&stat).is_some_and(|process| process.has_ended), "{stat}");
        }
    }

    #[test]
    fn a_text_that_is_cut_short_is_no_process() {
        for stat in ["", "42", "42 (x", "42 (x) S 7"] {
            assert_eq!(ProcessStat::parse(stat), None);
        }
    }
}
