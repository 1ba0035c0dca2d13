//! The workload `fulltext`: messages with a tsvector, and queries drawn from them. The SQL files beside it have the
//! tables, the trigger and the index sets; docs/shelf.md describes them.
//!
//! In reading order: `corpus` has the messages, which `synthetic` makes of the words of `vocabulary`; `sample` has the words
//! that `expressions` draws queries from; `hits` computes their expected counts.

mod corpus;
mod expressions;
mod hits;
mod sample;
mod synthetic;
mod vocabulary;

use connect::quote::literal;
use stats::Scale;

use self::corpus::{Corpus, Opened};
use self::expressions::{LIMIT, Search, draw};
use self::synthetic::CONFIGURATION;
use crate::{Answer, Query, QueryChoice, WorkloadError};
use loading::contract::archives::NamedArchive;
use loading::contract::check::{Check, PROBLEM};
use loading::loader::execution::LoadTable;
use loading::loader::generated::{OwnCode, OwnQueries, OwnRows, SEED};

/// Its code.
pub(super) const CODE: OwnCode = OwnCode {
    rows: Some(OwnRows { refused, checks, ..OwnRows::new(tables) }),
    queries: Some(OwnQueries { read, answers }),
};

/// The smallest scale has 100 messages; the largest one fills the type of their numbers.
const SCALE_MIN: f64 = 0.01;
const SCALE_MAX: f64 = 200_000.0;
/// Most queries.
const QUERIES_MAX: u32 = 33_000;
/// Queries whose hits `check` counts completely, with a scan of all messages for each.
const CHECKED_QUERIES: u32 = 40;

fn refused(scale: Scale) -> Option<&'static str> {
    let is_supported = (SCALE_MIN..=SCALE_MAX).contains(&scale.units());
    (!is_supported).then_some("a unit of scale has 10,000 messages; use a number from 0.01 to 200000")
}

fn tables(scale: Scale, seed: u64) -> Vec<LoadTable> {
    vec![Corpus::new(scale, seed).table()]
}

/// The queries with their corpus.
fn searches(choice: &QueryChoice) -> Result<(std::sync::Arc<Opened>, Vec<Search>), WorkloadError> {
    let text = choice.parameters.get("queries").map_or("", String::as_str);
    let queries =
        text.parse().ok().filter(|queries| (1..=QUERIES_MAX).contains(queries)).ok_or_else(|| {
            WorkloadError::Parameter(format!(
                "the parameter queries is a number from 1 to {QUERIES_MAX}, not \"{text}\""
            ))
        })?;
    let opened = Opened::new(choice.scale, choice.data_seed.unwrap_or(SEED));
    let searches = draw(&opened.sample, choice.seed.unwrap_or(SEED), queries);
    Ok((opened, searches))
}

fn read(_: &[NamedArchive], _: &str, choice: &QueryChoice) -> Result<Vec<Query>, WorkloadError> {
    let (opened, searches) = searches(choice)?;
    Ok(searches.iter().map(|search| search.query(&opened.sample)).collect())
}

/// The numbers of rows.
fn answers(choice: &QueryChoice) -> Vec<Answer> {
    let Ok((opened, searches)) = searches(choice) else { return Vec::new() };
    let hits = hits::count(opened.corpus, &opened.sample, &searches);
    let answer = |(search, hits): (Search, u64)| Answer {
        query: search.name.into(),
        rows: hits.min(LIMIT),
        checksum: None,
    };
    searches.into_iter().zip(hits.of_queries).map(answer).collect()
}

/// The number of messages, the number of lexemes, and the complete hits of some queries.
fn checks(scale: Scale, seed: u64) -> Vec<Check> {
    let opened = Opened::new(scale, seed);
    let Opened { corpus, sample } = &*opened;
    let searches = draw(sample, SEED, CHECKED_QUERIES);
    let hits = hits::count(*corpus, sample, &searches);
    let figure = |name: &str, found: &str, expected| {
        (name.to_owned(), format!("(select pg_catalog.{found} from messages)"), expected)
    };
    let mut figures = vec![
        figure("messages", "count(*)", corpus.messages),
        figure("lexemes", "sum(pg_catalog.length(body_tsv))", hits.lexemes),
    ];
    figures.extend(searches.iter().zip(hits.of_queries).map(|(search, hits)| {
        let text = search.expression.text(sample);
        let tsquery = format!("pg_catalog.to_tsquery('{CONFIGURATION}', {})", literal(&text));
        let found = format!("(select pg_catalog.count(*) from messages where body_tsv @@ {tsquery})");
        (format!("hits of {text}"), found, hits)
    }));
    let values: Vec<String> = figures
        .iter()
        .map(|(name, found, expected)| format!("({}, {found}, {expected})", literal(name)))
        .collect();
    let sql = format!(
        "select pg_catalog.concat(name, ': ', found, ', expected ', expected) as {PROBLEM} from (values {}) \
         as figures (name, found, expected) where found is distinct from expected",
        values.join(", ")
    );
    vec![Check { name: "counts".to_owned(), sql }]
}
