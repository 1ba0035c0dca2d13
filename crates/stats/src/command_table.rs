//! Times of the single commands of each script over a whole run, apart from the intervals. Commands that wait for the
//! server have histograms, up to a limit, so that a script of a hundred thousand commands stays small; the others
//! have counts and exact moments only. Filled by the engine's clients, merged over the workers at the end.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::distribution::{bucket_of, used};
use crate::encoded::{self, COUNT_MAX, EncodedDistribution};
use crate::histogram::Histogram;
use crate::{DecodeError, Distribution, Moments};

/// Maximum number of commands of a plan with a histogram. A histogram is 300 kB of zeros, of which the system
/// allocates only the written pages: most commands take about the same time each time.
pub const TIMED_COMMANDS_MAX: usize = 256;

/// Data that COPY transferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Copied {
    /// Rows that the server stored or sent.
    pub rows: u64,
    /// Bytes of these rows in the format of the COPY, without the protocol's headers.
    pub bytes: u64,
}

impl Copied {
    /// Adds `more`.
    pub fn add(&mut self, more: Copied) {
        let Copied { rows, bytes } = more;
        self.rows = self.rows.saturating_add(rows);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Statistics of one command of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandStats {
    /// Times of the completed executions.
    pub completed: Moments,
    /// Executions after which the transaction failed.
    pub failures: u64,
    /// Executions after which the transaction was retried.
    pub retries: u64,
    /// Rows and bytes of the completed COPYs.
    pub copied: Copied,
    /// Index of its histogram, if it has one.
    histogram: Option<Histogram>,
}

/// The commands of each script of a plan, in the plan's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandTable {
    scripts: Vec<Box<[CommandStats]>>,
}

impl CommandTable {
    /// An empty table for scripts with these numbers of commands, without histograms. Nothing is allocated later.
    pub fn new(commands: impl IntoIterator<Item = usize>) -> CommandTable {
        let row = |count| vec![CommandStats::default(); count].into_boxed_slice();
        CommandTable { scripts: commands.into_iter().map(row).collect() }
    }

    /// An empty table for scripts of these commands; true for those with a histogram, which the first
    /// [`TIMED_COMMANDS_MAX`] get.
    pub fn timing<C: IntoIterator<Item = bool>>(scripts: impl IntoIterator<Item = C>) -> CommandTable {
        let mut left = TIMED_COMMANDS_MAX;
        let mut command = |timed: bool| {
            let timed = timed && left > 0;
            left -= usize::from(timed);
            CommandStats { histogram: timed.then(Histogram::new), ..CommandStats::default() }
        };
        let row = |commands: C| commands.into_iter().map(&mut command).collect();
        CommandTable { scripts: scripts.into_iter().map(row).collect() }
    }

    /// A command was completed.
    ///
    /// # Panics
    /// As the other methods here, if the plan has no such command.
    #[inline]
    pub fn complete(&mut self, script: usize, command: usize, took_ns: u64) {
        let stats = &mut self.scripts[script][command];
        stats.completed.record(took_ns);
        if let Some(histogram) = &mut stats.histogram {
            histogram.record(bucket_of(took_ns));
        }
    }

    /// The commands of one script from `first` on; empty if there are none.
    #[inline]
    pub fn rest_of_script(&mut self, script: usize, command: usize) -> &mut [CommandStats] {
        let commands = self.scripts.get_mut(script).map_or(&mut [][..], |commands| commands);
        commands.get_mut(command..).unwrap_or_default()
    }

    /// All commands of a script were completed this many times, each in no time.
    pub fn complete_script_at_once(&mut self, script: usize, times: u64) {
        if times > 0 {
            self.rest_of_script(script, 0).iter_mut().for_each(|command| command.complete_at_once(times));
        }
    }

    /// A command's error failed the transaction.
    pub fn fail(&mut self, script: usize, command: usize) {
        self.scripts[script][command].failures += 1;
    }

    /// A command's error restarted the transaction.
    pub fn retry(&mut self, script: usize, command: usize) {
        self.scripts[script][command].retries += 1;
    }

    /// A command's COPY was completed.
    pub fn copy(&mut self, script: usize, command: usize, copied: Copied) {
        self.scripts[script][command].copied.add(copied);
    }

    /// The statistics of one script's commands, in order; empty if there is no such script.
    pub fn of_script(&self, script: usize) -> &[CommandStats] {
        self.scripts.get(script).map_or(&[], |commands| commands)
    }

    /// Whether `other` is of the same scripts, so that the two can be merged.
    pub fn can_merge(&self, other: &CommandTable) -> bool {
        let same = |(ours, theirs): (&CommandStats, &CommandStats)| {
            ours.histogram.is_some() == theirs.histogram.is_some()
        };
        self.scripts.len() == other.scripts.len()
            && self
                .scripts
                .iter()
                .zip(&other.scripts)
                .all(|(ours, theirs)| ours.len() == theirs.len() && ours.iter().zip(theirs).all(same))
    }

    /// Adds `other`.
    ///
    /// # Panics
    /// If the two are not of the same scripts.
    pub fn merge(&mut self, other: &CommandTable) {
        let CommandTable { scripts } = other;
        assert_eq!(self.scripts.len(), scripts.len(), "only tables of the same scripts can be merged");
        for (ours, theirs) in self.scripts.iter_mut().zip(scripts) {
            assert_eq!(ours.len(), theirs.len(), "only tables of the same commands can be merged");
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| ours.merge(theirs));
        }
    }
}

impl CommandStats {
    /// The latency distribution of the completed executions, if the command has a histogram.
    pub fn latencies(&self) -> Option<Distribution> {
        let histogram = self.histogram.as_ref()?;
        Some(Distribution::from_parts(histogram, self.completed))
    }

    /// The command was completed this many times, at least once, in no time: its end is its start. Only for commands
    /// without a histogram.
    #[inline]
    pub fn complete_at_once(&mut self, times: u64) {
        self.completed.count += times;
        self.completed.min_ns = 0;
    }

    fn merge(&mut self, other: &CommandStats) {
        let CommandStats { completed, failures, retries, copied, histogram } = other;
        self.completed.merge(completed);
        self.failures += failures;
        self.retries += retries;
        self.copied.add(*copied);
        match (&mut self.histogram, histogram) {
            (Some(ours), Some(theirs)) => ours.add(theirs, used(completed)),
            (ours, theirs) => {
                assert!(ours.is_none() && theirs.is_none(), "only tables of the same kind merge")
            }
        }
    }
}

/// A command's statistics as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EncodedCommand {
    #[serde(with = "encoded::moments")]
    completed: Moments,
    failures: u64,
    retries: u64,
    copied: Copied,
    /// The latencies; `None` if the command has no histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latencies: Option<EncodedDistribution>,
}

impl Serialize for CommandStats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CommandStats { completed, failures, retries, copied, histogram: _ } = *self;
        let latencies = self.latencies().as_ref().map(EncodedDistribution::new);
        EncodedCommand { completed, failures, retries, copied, latencies }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CommandStats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CommandStats, D::Error> {
        let EncodedCommand { completed, failures, retries, copied, latencies } =
            EncodedCommand::deserialize(deserializer)?;
        if failures > COUNT_MAX || retries > COUNT_MAX {
            return Err(de::Error::custom(DecodeError::Corrupt));
        }
        let latencies =
            latencies.map(|latencies| latencies.decode()).transpose().map_err(de::Error::custom)?;
        if latencies.as_ref().is_some_and(|latencies| latencies.moments() != completed) {
            return Err(de::Error::custom(DecodeError::Disagreement));
        }
        let histogram = latencies.map(Distribution::into_histogram);
        Ok(CommandStats { completed, failures, retries, copied, histogram })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_tables_are_one_in_which_everything_was_counted() {
        let (mut first, mut second) = (CommandTable::new([2, 1]), CommandTable::new([2, 1]));
        let mut together = CommandTable::new([2, 1]);
        for (table, took_ns) in [(&mut first, 500), (&mut second, 300)] {
            for table in [table, &mut together] {
                table.complete(0, 1, took_ns);
                table.fail(1, 0);
                table.retry(0, 0);
                table.copy(1, 0, Copied { rows: 3, bytes: took_ns });
            }
        }
        first.merge(&second);
        assert_eq!(first, together);
        let mut at_once = together.clone();
        at_once.rest_of_script(0, 1)[0].complete_at_once(1);
        at_once.complete_script_at_once(0, 2);
        at_once.complete_script_at_once(1, 0);
        for command in [1, 0, 1, 0, 1] {
            together.complete(0, command, 0);
        }
        assert_eq!(at_once, together, "of no time at all only the count and the smallest change");
        let moments = first.of_script(0)[1].completed;
        assert_eq!((moments.count, moments.sum_ns, moments.min_ns, moments.max_ns), (2, 800, 300, 500));
        assert_eq!((first.of_script(0)[0].retries, first.of_script(1)[0].failures), (2, 2));
        assert_eq!(first.of_script(1)[0].copied, Copied { rows: 6, bytes: 800 });
        assert_eq!(first.of_script(2), []);
    }

    #[test]
    fn only_the_first_commands_that_shall_be_timed_have_a_histogram() {
        let mut table = CommandTable::timing([vec![false, true], vec![true; TIMED_COMMANDS_MAX]]);
        table.complete(0, 1, 1_234_567);
        table.merge(&table.clone());
        let quantile = |stats: &CommandStats| Some(stats.latencies()?.quantile_ns(0.99));
        let timed: Vec<_> = table.of_script(0).iter().map(quantile).collect();
        assert_eq!(timed, [None, Some(Some(1_234_567))]);
        assert_eq!(table.of_script(0)[1].latencies().map(|latencies| latencies.count()), Some(2));
        let with = table.of_script(1).iter().filter(|stats| stats.latencies().is_some()).count();
        assert_eq!(with, TIMED_COMMANDS_MAX - 1);
    }

    #[test]
    fn a_table_is_the_same_after_it_was_written_and_read_and_one_of_other_scripts_cannot_be_merged() {
        let mut table = CommandTable::timing([vec![true, false], vec![true]]);
        for took_ns in (0..100_000).step_by(7) {
            table.complete(0, 0, took_ns);
        }
        table.complete_script_at_once(0, 0);
        table.rest_of_script(0, 1)[0].complete_at_once(3);
        table.fail(1, 0);
        let text = serde_json::to_string(&table).unwrap();
        let read: CommandTable = serde_json::from_str(&text).unwrap();
        assert_eq!(read, table);
        assert!(read.can_merge(&table));
        assert!(!read.can_merge(&CommandTable::new([2, 1])), "without histograms");
        assert!(!read.can_merge(&CommandTable::timing([vec![true, false]])));
        assert!(
            serde_json::from_str::<CommandTable>(&text.replacen("\"failures\":1", "\"failures\":-1", 1))
                .is_err()
        );
    }

    #[test]
    #[should_panic(expected = "only tables of the same commands")]
    fn tables_of_other_commands_do_not_merge() {
        CommandTable::new([2]).merge(&CommandTable::new([3]));
    }
}
