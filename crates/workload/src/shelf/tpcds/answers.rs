//! Expected answers of the queries at scale 1. The example `tpcds_answers` makes them: an answer is here if its rows are
//! those of the archive's file, apart from the rounding of numbers.

use loading::contract::query_set::{Answer, QueryChoice};

use crate::shelf::answers::of_scale;

/// Lines of scale, query, number of rows, checksum.
const ANSWERS: &str = include_str!("answers.txt");

/// The answers that are known for these queries. A seed changes the order of a stream only.
pub(super) fn expected(choice: &QueryChoice) -> Vec<Answer> {
    of_scale(ANSWERS, choice.scale)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::queries;
    use super::*;

    fn answers(scale: &str) -> Vec<Answer> {
        let scale = scale.parse().expect("a scale");
        expected(&QueryChoice::new(scale))
    }

    #[test]
    fn answers_are_known_at_scale_1_alone_and_once_for_each_query() {
        let known = answers("1");
        let names: BTreeSet<String> = known.iter().map(|answer| answer.query.to_string()).collect();
        let all: BTreeSet<String> = (1..=queries::COUNT).map(queries::name).collect();
        assert!(names.is_subset(&all) && names.len() == known.len());
        let missing: Vec<&String> = all.difference(&names).collect();
        assert_eq!(missing, ["q1", "q11", "q14", "q4", "q6", "q74", "q81", "q95"]);
        assert!(known.iter().all(|answer| answer.checksum.as_deref().is_some_and(|sum| sum.len() == 32)));
        assert_eq!(answers("0.01"), []);
    }
}
