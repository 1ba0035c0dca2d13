//! What is asked of a query set, and the choice of its queries. Everything that can be wrong without a server is
//! refused here, before the first connection.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use results::{Annotation, SafeText};
use run::RunError;
use stats::{Scale, SplitMix64};
use workload::{Query, QueryChoice, Workload, WorkloadName};

/// Maximum number of streams: each is a thread and a connection.
pub const STREAMS_MAX: u32 = 1_000;
/// Maximum number of executions of a query in a stream.
pub const REPEATS_MAX: u32 = 10_000;
/// Most names that a message lists.
const NAMES_MAX: usize = 100;
/// Time limit of an execution if none is given.
pub const LIMIT_DEFAULT: Duration = Duration::from_secs(300);

/// A query set as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct QuerySetSpec {
    /// The version of the texts; `None`: the first.
    pub text: Option<String>,
    /// Sessions that run the whole set at the same time, at least one.
    pub streams: u32,
    /// Executions of each query in each stream, at least one.
    pub repeats: u32,
    /// Time limit of an execution.
    pub limit: Option<Duration>,
    /// Names of queries, or beginnings of names; empty for all.
    pub select: Vec<String>,
    /// Whether each query is executed once more for its plan.
    pub plans: bool,
    /// Whether the answers are compared with the expected ones.
    pub answers: bool,
    /// Directory for the rows of the answers.
    pub results: Option<PathBuf>,
    /// Whether the refresh functions run too.
    pub refresh: bool,
    /// Seed of drawn parameters and of the order in several streams; `None`: validation parameters.
    pub seed: Option<u64>,
    /// Seed of the rows; `None`: that of the workload.
    pub data_seed: Option<u64>,
    /// Values of the workload's parameters.
    pub parameters: BTreeMap<String, String>,
    /// The user's label and note.
    pub annotation: Annotation,
    /// The command that repeats it.
    pub command_line: Option<SafeText>,
}

impl Default for QuerySetSpec {
    fn default() -> Self {
        QuerySetSpec {
            text: None,
            streams: 1,
            repeats: 1,
            limit: Some(LIMIT_DEFAULT),
            select: Vec::new(),
            plans: false,
            answers: false,
            results: None,
            refresh: false,
            seed: None,
            data_seed: None,
            parameters: BTreeMap::new(),
            annotation: Annotation::default(),
            command_line: None,
        }
    }
}

impl QuerySetSpec {
    /// Refuses what the workload cannot do, without a server.
    ///
    /// # Errors
    /// The workload has no queries, no such text, query, parameter or refresh functions; or a number is out of range.
    pub fn check(&self, workload: &dyn Workload) -> Result<(), RunError> {
        self.count(workload).map(drop)
    }

    /// Number of queries of a pass.
    ///
    /// # Errors
    /// As [`QuerySetSpec::check`].
    pub fn count(&self, workload: &dyn Workload) -> Result<usize, RunError> {
        for (what, number, most) in
            [("--streams", self.streams, STREAMS_MAX), ("--repeat", self.repeats, REPEATS_MAX)]
        {
            if !(1..=most).contains(&number) {
                return Err(usage(format!("{what}: expected a number from 1 to {most}, not {number}")));
            }
        }
        if self.limit.is_some_and(|limit| limit.is_zero()) {
            return Err(usage("--limit: expected a time above 0, such as 5min".to_owned()));
        }
        self.check_text(workload)?;
        let unknown = self.parameters.keys().find(|name| !workload.parameters().contains_key(*name));
        if let Some(name) = unknown {
            let known: Vec<&str> = workload.parameters().keys().map(String::as_str).collect();
            return Err(unknown_name(workload, "parameter", name, &known));
        }
        if self.refresh && workload.refresh(Scale::ONE, 0).is_none() {
            return Err(usage(format!(
                "the workload {} has no refresh functions: leave out --refresh",
                workload.name()
            )));
        }
        if self.refresh && self.answers {
            return Err(usage(
                "while the refresh functions run, answers differ from the expected ones: leave out --answers or \
                 --refresh"
                    .to_owned(),
            ));
        }
        Ok(self.queries(workload, Scale::ONE, 0)?.len())
    }

    fn check_text(&self, workload: &dyn Workload) -> Result<(), RunError> {
        let texts = workload.query_texts();
        match &self.text {
            Some(text) if texts.is_empty() => Err(usage(format!(
                "the workload {} has one version of its query texts: leave out the text {text}",
                workload.name()
            ))),
            Some(text) if !texts.contains(&text.as_str()) => {
                Err(unknown_name(workload, "query text", text, texts))
            }
            _ => Ok(()),
        }
    }

    /// Which queries a stream asks for.
    pub(crate) fn choice(&self, scale: Scale, stream: u32) -> QueryChoice {
        let QuerySetSpec { text, seed, data_seed, parameters, .. } = self;
        let (text, parameters) = (text.clone(), parameters.clone());
        QueryChoice { scale, text, seed: *seed, data_seed: *data_seed, stream, parameters }
    }

    /// The selected queries of a stream, in the order of the set.
    pub(crate) fn queries(
        &self,
        workload: &dyn Workload,
        scale: Scale,
        stream: u32,
    ) -> Result<Vec<Query>, RunError> {
        let all = workload.queries(&self.choice(scale, stream))?;
        if all.is_empty() {
            return Err(without_queries(workload));
        }
        let names: Vec<&str> = all.iter().map(|query| query.name.as_str()).collect();
        let mut selected = vec![self.select.is_empty(); all.len()];
        for word in &self.select {
            let is_exact = names.contains(&word.as_str());
            let fits = |name: &&str| {
                if is_exact { *name == word } else { !word.is_empty() && name.starts_with(&**word) }
            };
            if !names.iter().any(fits) {
                return Err(unknown_name(workload, "query", word, &names));
            }
            for (name, selected) in names.iter().zip(&mut selected) {
                *selected |= fits(name);
            }
        }
        Ok(all
            .into_iter()
            .zip(selected)
            .filter(|(_, is_selected)| *is_selected)
            .map(|(query, _)| query)
            .collect())
    }

    /// The order of a stream, as positions in the set: that of the set if there is one stream, otherwise a permutation
    /// that depends on the seed and the stream alone.
    pub(crate) fn order(&self, queries: usize, stream: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..queries).collect();
        if self.streams > 1 {
            let mut seeds = SplitMix64::new(self.seed.unwrap_or(0));
            let own = (0..=stream).fold(0, |_, _| seeds.bits());
            SplitMix64::new(own).shuffle(&mut order);
        }
        order
    }
}

pub(crate) fn usage(sentence: String) -> RunError {
    RunError::Usage(sentence)
}

/// Says how to get queries.
fn without_queries(workload: &dyn Workload) -> RunError {
    let name = workload.name();
    if !WorkloadName::shipped().any(|shipped| shipped == name) {
        return usage(format!(
            "the workload {name} has no queries: write each query to a file of its directory, such as queries/q1.sql"
        ));
    }
    let has_queries =
        |name: &&'static str| WorkloadName::Shipped(name).open().is_ok_and(|workload| workload.has_queries());
    let others: Vec<&str> = WorkloadName::shipped().filter(|name| has_queries(name)).collect();
    usage(format!(
        "the workload {name} has no queries: use {}, or a directory of your own with files such as queries/q1.sql \
         (pgmeter workload new DIR)",
        others.join(", ")
    ))
}

fn unknown_name(workload: &dyn Workload, what: &str, name: &str, known: &[&str]) -> RunError {
    let help = match config::nearest(name, known) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None if known.is_empty() => "it has none".to_owned(),
        None if known.len() > NAMES_MAX => {
            format!("it has {}, such as {}", known.len(), known[..NAMES_MAX].join(", "))
        }
        None => format!("it has {}", known.join(", ")),
    };
    usage(format!("the workload {} has no {what} \"{name}\"; {help}", workload.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_permutations_of_their_own_that_the_seed_repeats() {
        let order = |streams, seed, stream| {
            QuerySetSpec { streams, seed, ..QuerySetSpec::default() }.order(22, stream)
        };
        assert_eq!(order(1, Some(7), 0), (0..22).collect::<Vec<_>>(), "one stream keeps the set's order");
        assert_eq!(order(3, Some(7), 1), order(5, Some(7), 1), "further streams change nothing");
        assert_eq!(order(3, None, 1), order(3, Some(0), 1));
        for (one, other) in
            [(order(3, Some(7), 0), order(3, Some(7), 1)), (order(3, Some(7), 1), order(3, Some(8), 1))]
        {
            assert_ne!(one, other);
            let sorted = |mut order: Vec<usize>| {
                order.sort_unstable();
                order
            };
            assert_eq!(sorted(one), sorted(other), "the same queries");
        }
    }
}
