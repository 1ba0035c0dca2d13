//! Counts of pg_stat_statements for the scripts' commands: matches its rows to scripts and commands, and adds those of
//! pg_stat_kcache. Pure.

use std::collections::BTreeMap;

use results::{SafeText, StatementCounters};

use crate::catalogue::Question;
use crate::difference::{Counters, Growth, Reading, growth, growths};
use crate::kcache::{SYSTEM_CPU, USER_CPU};
use crate::scripts::Matcher;

/// Maximum length of a text in the record; longer ones are truncated.
const SHOWN_MAX: usize = 300;

/// The two readings of a view, with its query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted<'a> {
    pub(crate) before: &'a Reading,
    pub(crate) after: &'a Reading,
    pub(crate) question: &'a Question,
}

/// The scripts' statements.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// Their growth, in the scripts' order.
    pub(crate) counters: Vec<StatementCounters>,
    /// One of them was reset in between, so that its growth is incomplete.
    pub(crate) was_reset: bool,
    /// The same of pg_stat_kcache, whose counts of that statement are left out.
    pub(crate) kcache_was_reset: bool,
    /// CPU times of a statement are left out: its executions were too short.
    pub(crate) has_short: bool,
}

/// Counts of pg_stat_kcache, by text.
#[derive(Clone, Debug)]
struct KernelCounts<'a> {
    question: &'a Question,
    growths: BTreeMap<String, Growth>,
    /// Shorter executions have no CPU time.
    shortest_ms: f64,
}

/// `kcache`: the readings of pg_stat_kcache, and the duration in milliseconds from which it counts CPU time.
pub(crate) fn statements(
    counted: Counted<'_>,
    kcache: Option<(Counted<'_>, f64)>,
    matcher: &Matcher,
) -> Statements {
    let Counted { before, after, question } = counted;
    let kernel = kcache.map(|(Counted { before, after, question }, shortest_ms)| KernelCounts {
        question,
        growths: by_text(before, after, question),
        shortest_ms,
    });
    let mut all = Statements::default();
    for (query, growth) in growths(before, after, &question.columns) {
        let places = matcher.places(&query);
        let (Some(&(script, command)), false) = (places.first(), growth.is_nothing(&question.columns)) else {
            continue;
        };
        all.was_reset |= growth.was_reset;
        // A statement of several commands cannot be assigned to one of them.
        let is_single = places.len() == 1;
        let index = |index: usize| u32::try_from(index).ok().filter(|_| is_single);
        let mut values = named(question, growth);
        if let Some(kernel) = &kernel {
            kernel.add(&query, &mut values, &mut all);
        }
        let shown: String = query.chars().take(SHOWN_MAX).collect();
        all.counters.push(StatementCounters {
            query: SafeText::sql(&shown),
            script: index(script),
            command: index(command),
            values,
        });
    }
    all.counters.sort_by_key(|statement| (statement.script.is_none(), statement.script, statement.command));
    all
}

/// Growth of the counts of pg_stat_kcache by text. They are compared by the number of the statement: where only
/// pg_stat_statements was reset before the run, the statement had no text, but counts.
fn by_text(before: &Reading, after: &Reading, question: &Question) -> BTreeMap<String, Growth> {
    let divided =
        |key: &'_ str| key.split_once(' ').map(|(number, text)| (number.to_owned(), text.to_owned()));
    let before: BTreeMap<String, &Counters> =
        before.iter().filter_map(|(key, row)| Some((divided(key)?.0, row))).collect();
    let mut all: BTreeMap<String, Growth> = BTreeMap::new();
    for (key, row) in after {
        let Some((number, text)) = divided(key).filter(|(_, text)| !text.is_empty()) else { continue };
        let more = growth(before.get(&number).copied(), row, &question.columns);
        match all.get_mut(&text) {
            Some(sum) => sum.add(&more),
            None => drop(all.insert(text, more)),
        }
    }
    all
}

/// Values by column.
fn named(question: &Question, growth: Growth) -> BTreeMap<String, f64> {
    let values = question.columns.iter().zip(growth.values);
    values.filter_map(|(column, value)| Some((column.name.to_owned(), value?))).collect()
}

impl KernelCounts<'_> {
    /// Adds the counts of one statement to its values.
    fn add(&self, query: &str, values: &mut BTreeMap<String, f64>, all: &mut Statements) {
        let Some(growth) = self.growths.get(query) else { return };
        if growth.was_reset {
            all.kcache_was_reset = true;
            return;
        }
        let of = |name: &str| values.get(name).copied();
        let each_ms = of("execution_time_ms").zip(of("calls")).map(|(ms, calls)| ms / calls);
        let is_short = each_ms.is_some_and(|ms| ms < self.shortest_ms);
        let mut counts = named(self.question, growth.clone());
        if is_short {
            all.has_short |= counts.remove(USER_CPU).is_some();
            counts.remove(SYSTEM_CPU);
        }
        values.append(&mut counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Asked, Pace, STATEMENTS, V18, column, questions};
    use crate::scripts::Script;

    #[test]
    fn statements_are_matched_to_commands_and_others_left_out() {
        let questions = questions(V18, &Asked { schema: Some("public"), ..Asked::default() });
        let question = questions.iter().find(|question| question.view == STATEMENTS).unwrap();
        let script = |commands: &[&str]| Script {
            weight: 1,
            commands: commands.iter().map(|text| Some((*text).to_owned())).collect(),
        };
        let matcher = Matcher::new(&[script(&["BEGIN", "select :x from a"]), script(&["BEGIN"])]);
        let reading = |count: f64| -> Reading {
            let row = || Counters { reset: None, values: vec![Some(count); question.columns.len()] };
            ["select $1 from a", "BEGIN", "vacuum"].map(|query| (query.to_owned(), row())).into()
        };
        let (one, four) = (reading(1.0), reading(4.0));
        let grown = Counted { before: &one, after: &four, question };
        let found = statements(grown, None, &matcher);
        let places: Vec<_> =
            found.counters.iter().map(|found| (found.query.as_str(), found.script, found.command)).collect();
        assert_eq!(places, [("select $1 from a", Some(0), Some(1)), ("BEGIN", None, None)]);
        assert_eq!((found.counters[0].values["calls"], found.was_reset), (3.0, false));
        let fallen = Counted { before: &four, after: &one, question };
        assert!(statements(fallen, None, &matcher).was_reset);
    }

    /// A question with these columns, and its readings of one statement.
    fn counted(columns: &[&'static str], [before, after]: [&[f64]; 2]) -> (Question, [Reading; 2]) {
        let columns = columns.iter().map(|name| column(name)).collect();
        let question = Question {
            view: STATEMENTS,
            pace: Pace::Ends,
            is_by_relation: false,
            columns,
            sql: String::new(),
        };
        let reading = |values: &[f64]| -> Reading {
            let values = values.iter().copied().map(Some).collect();
            [("select 1".to_owned(), Counters { reset: None, values })].into()
        };
        (question, [reading(before), reading(after)])
    }

    /// The reading of one statement with another key.
    fn keyed(reading: Reading, key: &str) -> Reading {
        reading.into_values().map(|row| (key.to_owned(), row)).collect()
    }

    #[test]
    fn counts_from_before_the_run_do_not_count_if_pg_stat_statements_alone_was_reset() {
        let (question, [_, after]) = counted(&["calls"], [&[0.0], &[2.0]]);
        let (kernel, [kernel_before, kernel_after]) = counted(&[USER_CPU], [&[100.0], &[109.0]]);
        let (kernel_before, kernel_after) = (keyed(kernel_before, "7 "), keyed(kernel_after, "7 select 1"));
        let matcher = Matcher::new(&[Script { weight: 1, commands: vec![Some("select 1".to_owned())] }]);
        let of_statements = Counted { before: &Reading::new(), after: &after, question: &question };
        let of_kcache = Counted { before: &kernel_before, after: &kernel_after, question: &kernel };
        let all = statements(of_statements, Some((of_kcache, 0.0)), &matcher);
        assert_eq!((all.counters[0].values["calls"], all.counters[0].values[USER_CPU]), (2.0, 9.0));
    }

    /// Values of a statement that pg_stat_statements counted with 10 calls of 2 ms, and what else was found.
    fn with_kcache(before: &[f64], after: &[f64], shortest_ms: f64) -> (BTreeMap<String, f64>, Statements) {
        let names = ["calls", "execution_time_ms", "shared_blks_hit", "shared_blks_read"];
        let (question, readings) = counted(&names, [&[5.0, 1.0, 0.0, 0.0], &[15.0, 21.0, 30.0, 10.0]]);
        let of_kcache = [USER_CPU, SYSTEM_CPU, "disk_read_blks"];
        let (kernel, kernel_readings) = counted(&of_kcache, [before, after]);
        let kernel_readings = kernel_readings.map(|reading| keyed(reading, "7 select 1"));
        let matcher = Matcher::new(&[Script { weight: 1, commands: vec![Some("select 1".to_owned())] }]);
        let [before, after] = &readings;
        let of_statements = Counted { before, after, question: &question };
        let [before, after] = &kernel_readings;
        let of_kcache = Counted { before, after, question: &kernel };
        let all = statements(of_statements, Some((of_kcache, shortest_ms)), &matcher);
        (all.counters[0].values.clone(), all)
    }

    #[test]
    fn a_statement_has_the_counts_of_the_kernel_and_where_its_blocks_were() {
        let (values, all) = with_kcache(&[1.0, 1.0, 0.0], &[9.0, 3.0, 4.0], 0.003);
        assert_eq!((values[USER_CPU], values[SYSTEM_CPU], values["calls"]), (8.0, 2.0, 10.0));
        let found = all.counters[0].block_sources().unwrap();
        assert_eq!((found.shared_buffers, found.system_cache, found.disk), (30.0, 6.0, 4.0));
        assert!(!all.kcache_was_reset && !all.has_short && !all.was_reset);
    }

    #[test]
    fn the_elapsed_time_of_short_executions_is_no_cpu_time() {
        let (values, all) = with_kcache(&[0.0, 0.0, 0.0], &[20.0, 0.0, 4.0], 12.0);
        assert!(all.has_short && !values.contains_key(USER_CPU) && !values.contains_key(SYSTEM_CPU));
        assert_eq!(values["disk_read_blks"], 4.0);
    }

    #[test]
    fn counts_that_were_reset_alone_are_left_out() {
        let (values, all) = with_kcache(&[5.0, 0.0, 0.0], &[2.0, 0.0, 0.0], 0.0);
        assert!(all.kcache_was_reset && !all.was_reset && !values.contains_key(USER_CPU));
        assert_eq!(all.counters[0].block_sources(), None);
    }
}
