//! Expected answers of the queries with the validation parameters, for the scales of answers.txt. The chore
//! `cargo xtask tpch-answers` makes and tests them.

use std::borrow::Cow;

use crate::query_set::{Answer, QueryChoice};

/// Lines of scale, query, number of rows, checksum.
const ANSWERS: &str = include_str!("answers.txt");

/// The answers that are known for these queries. Both versions of the texts have the same answers.
pub(super) fn expected(choice: &QueryChoice) -> Vec<Answer> {
    if choice.seed.is_some() {
        return Vec::new();
    }
    let lines = ANSWERS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(parse).filter(|(scale, _)| choice.scale == *scale).map(|(_, answer)| answer).collect()
}

fn parse(line: &'static str) -> Option<(stats::Scale, Answer)> {
    let mut words = line.split(' ');
    let (scale, query) = (words.next()?.parse().ok()?, Cow::Borrowed(words.next()?));
    let (rows, checksum) = (words.next()?.parse().ok()?, Some(Cow::Borrowed(words.next()?)));
    Some((scale, Answer { query, rows, checksum }))
}

#[cfg(test)]
mod tests {
    use super::super::queries;
    use super::*;
    use std::collections::BTreeMap;

    fn answers(scale: &str, seed: Option<u64>) -> Vec<Answer> {
        let scale = scale.parse().expect("a scale");
        expected(&QueryChoice {
            scale,
            text: None,
            seed,
            data_seed: None,
            stream: 0,
            parameters: BTreeMap::new(),
        })
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
        let lines = ANSWERS.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.clone().all(|line| {
            parse(line).is_some_and(|(_, answer)| answer.checksum.is_some_and(|sum| sum.len() == 32))
        }));
        assert_eq!(lines.count(), 44);
    }
}
