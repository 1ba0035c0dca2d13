//! What an initialization makes, and the refusal of what cannot work before anything is dropped.
//! Filled in by `cli`, carried out by `init`, put into SQL by `schema`.

use connect::Session;

use crate::schema::Partitioning;
use crate::{Step, WorkloadError};

/// Which tables' changes go into the write-ahead log.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Logging {
    /// Those of all.
    All,
    /// Those of none.
    None,
    /// Those of none; but with partitions those of branches, tellers and history, as `pgbench` does since 18.
    NoneAsPgbench,
}

/// What to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitOptions {
    /// Branches; each brings 10 tellers and 100,000 accounts. 1 to 2,147,483,647.
    pub scale: u32,
    /// What to do, in this order; a step may come again, and no step is nothing to do.
    pub steps: Vec<Step>,
    /// How full, in percent, the pages of branches, tellers and accounts are packed. 10 to 100.
    pub fillfactor: u8,
    /// Partitions of pgbench_accounts, if any.
    pub partitioning: Option<Partitioning>,
    /// Whether changes of the tables are logged.
    pub logging: Logging,
    /// Where the tables lie; the database's default if none is named. Any text, quoted here.
    pub tablespace: Option<String>,
    /// Where the primary keys' indexes lie; the database's default if none is named. Any text, quoted here.
    pub index_tablespace: Option<String>,
    /// Sessions that may work on partitions side by side.
    pub jobs: u32,
    /// Do only what is missing of tables that were begun with the same options.
    pub resumes: bool,
}

impl Default for InitOptions {
    /// As `pgbench -i` without options.
    fn default() -> Self {
        InitOptions {
            scale: 1,
            steps: Step::DEFAULT.to_vec(),
            fillfactor: 100,
            partitioning: None,
            logging: Logging::All,
            tablespace: None,
            index_tablespace: None,
            jobs: 2,
            resumes: false,
        }
    }
}

/// The greatest scale and number of partitions, as in `pgbench`: what its `int` holds.
const COUNT_MAX: u32 = i32::MAX.unsigned_abs();

impl InitOptions {
    /// Foreign keys as a last step, if they are none of the steps yet (`--foreign-keys`).
    pub fn add_foreign_keys(&mut self) {
        if !self.steps.contains(&Step::ForeignKeys) {
            self.steps.push(Step::ForeignKeys);
        }
    }

    /// No vacuuming, not even where a step says so (`-n`).
    pub fn leave_out_vacuum(&mut self) {
        self.steps.retain(|step| *step != Step::Vacuum);
    }

    /// Refuses what cannot work before anything is dropped.
    pub(crate) fn check(&self, session: &Session) -> Result<(), WorkloadError> {
        let out_of_range = |option, low, high| Err(WorkloadError::OutOfRange { option, low, high });
        if !(1..=COUNT_MAX).contains(&self.scale) {
            return out_of_range("-s/--scale", 1, COUNT_MAX);
        }
        if !(10..=100).contains(&self.fillfactor) {
            return out_of_range("-F/--fillfactor", 10, 100);
        }
        let Some(Partitioning { method, partitions }) = self.partitioning else { return Ok(()) };
        if !(1..=COUNT_MAX).contains(&partitions) {
            return out_of_range("--partitions", 1, COUNT_MAX);
        }
        // Only the step that creates the tables knows partitions; the others work on what is there.
        let creates = self.steps.contains(&Step::CreateTables);
        if creates && session.server_version_num() / 10_000 < method.needs_major() {
            return Err(WorkloadError::PartitioningUnsupported {
                method: method.name(),
                needed: method.needs_major(),
                server: session.parameter("server_version").unwrap_or("of an unknown version").to_owned(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(letters: &str) -> InitOptions {
        let steps = Step::parse_list(letters).expect("letters of steps");
        InitOptions { steps, ..InitOptions::default() }
    }

    #[test]
    fn foreign_keys_are_added_once() {
        let mut options = options("dt");
        options.add_foreign_keys();
        options.add_foreign_keys();
        assert_eq!(options.steps, [Step::DropTables, Step::CreateTables, Step::ForeignKeys]);
        let mut early = self::options("ft");
        early.add_foreign_keys();
        assert_eq!(early.steps, [Step::ForeignKeys, Step::CreateTables]);
    }

    #[test]
    fn without_vacuum_every_vacuum_is_gone() {
        let mut options = options("vdv");
        options.leave_out_vacuum();
        assert_eq!(options.steps, [Step::DropTables]);
    }
}
