//! Counts of pg_stat_statements for the scripts' commands: matches its rows to scripts and commands.
//! Pure.

use results::{SafeText, StatementCounters};

use crate::catalogue::Question;
use crate::difference::{Reading, growths};
use crate::scripts::Matcher;

/// Maximum length of a text in the record; longer ones are truncated.
const SHOWN_MAX: usize = 300;

/// Growth of the scripts' statements, in the scripts' order; and whether one of them was reset in between, so that its
/// growth is incomplete.
pub(crate) fn statements(
    before: &Reading,
    after: &Reading,
    question: &Question,
    matcher: &Matcher,
) -> (Vec<StatementCounters>, bool) {
    let mut found = Vec::new();
    let mut was_reset = false;
    for (query, growth) in growths(before, after, &question.columns) {
        let places = matcher.places(&query);
        let (Some(&(script, command)), false) = (places.first(), growth.is_nothing(&question.columns)) else {
            continue;
        };
        was_reset |= growth.was_reset;
        // A statement of several commands cannot be assigned to one of them.
        let is_single = places.len() == 1;
        let index = |index: usize| u32::try_from(index).ok().filter(|_| is_single);
        let values = question.columns.iter().zip(growth.values);
        let values = values.filter_map(|(column, value)| Some((column.name.to_owned(), value?)));
        let shown: String = query.chars().take(SHOWN_MAX).collect();
        found.push(StatementCounters {
            query: SafeText::sql(&shown),
            script: index(script),
            command: index(command),
            values: values.collect(),
        });
    }
    found.sort_by_key(|statement| (statement.script.is_none(), statement.script, statement.command));
    (found, was_reset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Asked, STATEMENTS, V18, questions};
    use crate::difference::Counters;
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
        let (found, was_reset) = statements(&reading(1.0), &reading(4.0), question, &matcher);
        let places: Vec<_> =
            found.iter().map(|found| (found.query.as_str(), found.script, found.command)).collect();
        assert_eq!(places, [("select $1 from a", Some(0), Some(1)), ("BEGIN", None, None)]);
        assert_eq!((found[0].values["calls"], was_reset), (3.0, false));
        assert!(statements(&reading(4.0), &reading(1.0), question, &matcher).1);
    }
}
