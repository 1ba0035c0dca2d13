//! Expected answers of the queries with the validation parameters, for the scales of answers.txt. The chore
//! `cargo xtask tpch-answers` makes and tests them.

use loading::contract::query_set::{Answer, QueryChoice};

use crate::shelf::answers::of_scale;

/// Lines of scale, query, number of rows, checksum.
const ANSWERS: &str = include_str!("answers.txt");

/// The answers that are known for these queries. Both versions of the texts have the same answers.
pub(super) fn expected(choice: &QueryChoice) -> Vec<Answer> {
    if choice.seed.is_some() {
        return Vec::new();
    }
    of_scale(ANSWERS, choice.scale)
}

#[cfg(test)]
mod tests {
    use super::super::queries;
    use super::*;

    fn answers(scale: &str, seed: Option<u64>) -> Vec<Answer> {
        let scale = scale.parse().expect("a scale");
        expected(&QueryChoice { seed, ..QueryChoice::new(scale) })
    }

    #[test]
    fn every_query_has_an_answer_at_two_scales() {
        for scale in ["0.01", "1"] {
            let names: Vec<String> =
                answers(scale, None).iter().map(|answer| answer.query.to_string()).collect();
            assert_eq!(names, (1..=22).map(queries::name).collect::<Vec<_>>(), "scale {scale}");
        }
    }

    #[test]
    fn drawn_parameters_and_other_scales_have_no_known_answers() {
        assert_eq!(answers("0.01", Some(1)), []);
        assert_eq!(answers("0.1", None), []);
    }

    #[test]
    fn every_line_can_be_read() {
        let known: Vec<Answer> = ["0.01", "1"].iter().flat_map(|scale| answers(scale, None)).collect();
        assert!(known.iter().all(|answer| answer.checksum.as_ref().is_some_and(|sum| sum.len() == 32)));
        assert_eq!((known.len(), ANSWERS.lines().filter(|line| !line.starts_with('#')).count()), (44, 44));
    }
}
