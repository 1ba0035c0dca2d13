//! A query set from its specification to its record: connects the streams, runs them at the same time, compares the
//! answers, and asks for plans. Called by `cli` and by `lab`.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use connect::{Session, Stopwatch, Target};
use results::{
    AnswerCheck, Environment, PgmeterBuild, ProcessorTimes, QuerySetPlan, STEPS_SCHEMA_VERSION, SafeText,
    Status, StepResult, StepsRecord, UtcTime,
};
use run::{Control, ExitStatus, RunError};
use stats::Scale;
use workload::{Answer, Loaded, Query, Workload};

use crate::answer_file;
use crate::event::{QueryEvent, QueryPhase};
use crate::meter::micros;
use crate::plans;
use crate::spec::QuerySetSpec;
use crate::stream::{self, Metering, Stream, StreamOutcome, Turn};

/// Names of the refresh functions in records.
const REFRESH: [&str; 2] = ["rf1", "rf2"];

/// Queries that sentences about a large set name.
const PROBLEMS_MAX: usize = 12;

/// A query set that is ready to run.
#[derive(Debug)]
pub struct QuerySet {
    workload: Arc<dyn Workload>,
    spec: QuerySetSpec,
    scale: Scale,
    indexes: Option<String>,
    /// The queries of each stream, in the order of the set.
    queries: Vec<Vec<Query>>,
    /// The expected answers.
    answers: Vec<Answer>,
    /// The pairs of refresh functions.
    refresh: Vec<[Query; 2]>,
}

/// A query set that was measured.
#[derive(Debug)]
pub struct Measured {
    /// Its record.
    pub record: StepsRecord,
    /// How it ended.
    pub status: ExitStatus,
    /// Sentences about failed queries and other answers than expected.
    pub problems: Vec<String>,
}

impl QuerySet {
    /// Makes the texts of all queries, for tables of this scale and set of indexes.
    ///
    /// # Errors
    /// The specification does not fit the workload.
    pub fn new(
        workload: Arc<dyn Workload>,
        spec: QuerySetSpec,
        scale: Scale,
        indexes: Option<String>,
    ) -> Result<QuerySet, RunError> {
        spec.check(&*workload)?;
        let streams = 0..spec.streams;
        let queries: Vec<Vec<Query>> =
            streams.map(|stream| spec.queries(&*workload, scale, stream)).collect::<Result<_, _>>()?;
        let answers = if spec.answers { workload.answers(&spec.choice(scale, 0)) } else { Vec::new() };
        let pairs = if spec.refresh { spec.streams } else { 0 };
        let refresh = (0..pairs).filter_map(|pair| workload.refresh(scale, pair)).collect();
        Ok(QuerySet { workload, spec, scale, indexes, queries, answers, refresh })
    }

    /// As [`QuerySet::new`], for the tables of this session's database. A scale is only needed if the tables have
    /// none.
    ///
    /// # Errors
    /// The tables are missing, or their scale is unknown.
    pub fn for_tables(
        workload: Arc<dyn Workload>,
        spec: QuerySetSpec,
        scale: Option<Scale>,
        session: &mut Session,
    ) -> Result<QuerySet, RunError> {
        spec.check(&*workload)?;
        let loaded = workload::loaded(session, &*workload)?;
        if loaded.as_ref().is_some_and(|loaded| !loaded.complete) {
            return Err(workload::incomplete(&*workload).into());
        }
        let mut spec = spec;
        let (found, indexes) = match loaded {
            Some(Loaded { scale, seed, indexes, parameters, .. }) => {
                spec.data_seed = seed;
                let is_known = |(name, _): &(String, String)| workload.parameters().contains_key(name);
                for (name, value) in parameters.into_iter().filter(is_known) {
                    spec.parameters.entry(name).or_insert(value);
                }
                (Some(scale), indexes)
            }
            // Tables that were made in another way.
            None => (workload.find_tables(session)?.scale, None),
        };
        if let Some((asked, found)) = scale.zip(found).filter(|(asked, found)| asked != found) {
            return Err(RunError::Usage(format!(
                "the tables of the workload {} have the scale {found}, not {asked}: leave out --scale",
                workload.name()
            )));
        }
        let scale = scale.or(found).ok_or_else(|| {
            RunError::Usage(format!(
                "the tables of the workload {} do not say their scale: give it with --scale",
                workload.name()
            ))
        })?;
        QuerySet::new(workload, spec, scale, indexes)
    }

    /// Runs all streams. `records` is the directory whose disk is described in the record.
    ///
    /// # Errors
    /// Nothing was measured: the server cannot be reached, or the directory of the answers cannot be used.
    pub fn run(
        &self,
        target: &Target,
        control: &Control,
        records: &Path,
        listener: &mut dyn FnMut(QueryEvent),
    ) -> Result<Measured, RunError> {
        let names: Vec<&str> = self.queries[0].iter().map(|query| query.name.as_str()).collect();
        if let Some(directory) = &self.spec.results {
            answer_file::prepare(directory, &names)?;
        }
        let streams = self.streams();
        let mut sessions: Vec<Session> =
            streams.iter().map(|_| stream::connect(target, control)).collect::<Result<_, _>>()?;
        let first = &mut sessions[0];
        let facts = server::facts(first).ok();
        let connection = run::connection_to(target, first.address());
        let mut environment = run::survey(facts.as_ref(), Some(first.address()), records);
        let processors = ProcessorTimes::now();
        let started_at = UtcTime::now();
        let outcomes = self.run_streams(streams, sessions, target, control, listener)?;
        run::look_back(&mut environment, processors);
        let mut record = self.record(started_at, connection, environment);
        let mut failure = None;
        for outcome in outcomes {
            for (step, time) in outcome.times {
                record.steps[step].times.push(time);
            }
            for note in outcome.notes {
                if !record.notes.contains(&note) {
                    record.notes.push(note);
                }
            }
            record.streams.push(outcome.result);
            failure = failure.or(outcome.failure);
        }
        if failure.is_none() && self.spec.plans {
            failure = self.add_plans(&mut record, target, control, listener).err();
        }
        Ok(self.judge(record, failure.as_ref(), control))
    }

    /// The queries of a single stream.
    pub(crate) fn queries(&self) -> &[Query] {
        &self.queries[0]
    }

    pub(crate) fn spec(&self) -> &QuerySetSpec {
        &self.spec
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    /// The turns of each stream, and those of the session of the refresh functions.
    fn streams(&self) -> Vec<(Option<u32>, Vec<Turn>)> {
        let mut streams: Vec<(Option<u32>, Vec<Turn>)> = Vec::new();
        for (number, queries) in (0..).zip(&self.queries) {
            let turn = |step: usize| Turn {
                step,
                query: queries[step].clone(),
                repeats: self.spec.repeats,
                has_answer: true,
                first: 1,
            };
            let order = self.spec.order(queries.len(), number);
            streams.push((Some(number), order.into_iter().map(turn).collect()));
        }
        let steps = self.queries[0].len();
        let refresh = (1..).zip(&self.refresh).flat_map(|(first, pair)| {
            (0..).zip(pair).zip(REFRESH).map(move |((function, query), name)| Turn {
                step: steps + function,
                query: Query { name: name.to_owned(), ..query.clone() },
                repeats: 1,
                has_answer: false,
                first,
            })
        });
        let mut refresh: Vec<Turn> = refresh.collect();
        match (streams.as_mut_slice(), refresh.is_empty()) {
            (_, true) => {}
            // A power run: the queries between the two functions, in one session.
            ([(_, turns)], false) => {
                let second = refresh.split_off(1);
                turns.splice(0..0, refresh);
                turns.extend(second);
            }
            (_, false) => streams.push((None, refresh)),
        }
        streams
    }

    fn run_streams(
        &self,
        streams: Vec<(Option<u32>, Vec<Turn>)>,
        sessions: Vec<Session>,
        target: &Target,
        control: &Control,
        listener: &mut dyn FnMut(QueryEvent),
    ) -> Result<Vec<StreamOutcome>, RunError> {
        let metering = if streams.len() > 1 { Metering::BesideOthers } else { Metering::Alone };
        let (sender, events) = mpsc::channel();
        let clock = Stopwatch::start();
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for ((number, turns), session) in streams.into_iter().zip(sessions) {
                let results = self.spec.results.clone().filter(|_| number == Some(0));
                let stream = Stream {
                    number,
                    turns,
                    target,
                    control,
                    limit: self.spec.limit,
                    metering,
                    results,
                    events: sender.clone(),
                };
                let name = number.map_or("refresh".to_owned(), |number| format!("stream {number}"));
                let begun =
                    thread::Builder::new().name(name).spawn_scoped(scope, move || stream.run(session, clock));
                threads.push(
                    begun.map_err(|error| RunError::System { what: "start a thread".to_owned(), error })?,
                );
            }
            drop(sender);
            events.iter().for_each(listener);
            let join = |thread: thread::ScopedJoinHandle<'_, StreamOutcome>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            Ok(threads.into_iter().map(join).collect())
        })
    }

    /// The record before its executions.
    pub(crate) fn record(
        &self,
        started_at: UtcTime,
        connection: results::Connection,
        environment: Environment,
    ) -> StepsRecord {
        let QuerySetSpec { text, streams, repeats, limit, select, plans, answers, refresh, seed, .. } =
            &self.spec;
        let texts = self.workload.query_texts();
        let plan = QuerySetPlan {
            workload: self.workload.name().to_owned(),
            notice: self.workload.notice().map(str::to_owned),
            scale: self.scale,
            indexes: self.indexes.clone(),
            text: text.clone().or_else(|| texts.first().map(|text| (*text).to_owned())),
            seed: *seed,
            streams: *streams,
            repeats: *repeats,
            limit_us: limit.map(micros),
            select: select.clone(),
            asks_plans: *plans,
            checks_answers: *answers,
            refreshes: *refresh,
            regression: None,
            command_line: self.spec.command_line.clone(),
        };
        let step = |name: &str, query: &Query| StepResult {
            limit_us: limit.map(micros),
            at_limit_us: limit.map(micros),
            ..StepResult::new(name.to_owned(), Some(SafeText::sql(&shown(query))))
        };
        let queries = self.queries[0].iter().map(|query| step(&query.name, query));
        let refresh = self.refresh.first().into_iter().flat_map(|pair| REFRESH.into_iter().zip(pair));
        StepsRecord {
            schema_version: STEPS_SCHEMA_VERSION,
            pgmeter_version: env!("CARGO_PKG_VERSION").to_owned(),
            pgmeter_build: PgmeterBuild::of_this(),
            annotation: self.spec.annotation.clone(),
            status: Status::Complete,
            started_at,
            connection,
            variables: run::recorded_variables(&self.spec.parameters)
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect(),
            environment,
            query_set: Some(plan),
            steps: queries.chain(refresh.map(|(name, query)| step(name, query))).collect(),
            streams: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds the plan of each query to the record.
    pub(crate) fn add_plans(
        &self,
        record: &mut StepsRecord,
        target: &Target,
        control: &Control,
        listener: &mut dyn FnMut(QueryEvent),
    ) -> Result<(), RunError> {
        let queries = &self.queries[0];
        let mut session = stream::connect(target, control)?;
        for (position, query) in queries.iter().enumerate() {
            if session.is_lost() {
                session = stream::connect(target, control)?;
            }
            listener(QueryEvent {
                stream: Some(0),
                query: query.name.clone(),
                position: position + 1,
                of: queries.len(),
                repeat: 1,
                side: None,
                phase: QueryPhase::Planning,
            });
            session.reset_to_value_formats();
            let (plan, note) = plans::plan(&mut session, query, self.spec.limit, control.stop());
            control.check()?;
            record.steps[position].plan = plan;
            record.notes.extend(note);
        }
        Ok(())
    }

    /// Compares the answers and sets the status.
    pub(crate) fn judge(
        &self,
        mut record: StepsRecord,
        failure: Option<&RunError>,
        control: &Control,
    ) -> Measured {
        let mut problems = Vec::new();
        let mut status = ExitStatus::Success;
        let mut different = 0;
        let queries = self.queries[0].len();
        let answers: HashMap<&str, &Answer> =
            self.answers.iter().map(|answer| (&*answer.query, answer)).collect();
        for step in &mut record.steps[..queries] {
            if self.spec.answers {
                step.answer = answer_check(step, answers.get(step.name.as_str()).copied());
            }
            if let Some(AnswerCheck::Different { expected_rows, expected_checksum }) = &step.answer {
                status = status.max(ExitStatus::Differs);
                different += 1;
                if different > PROBLEMS_MAX {
                    continue;
                }
                let rows = step.times.iter().find_map(|time| time.rows).unwrap_or(0);
                let other = if expected_checksum.is_some() { " rows with another checksum" } else { "" };
                problems.push(format!(
                    "the answer of {} differs: {rows} rows, expected {expected_rows}{other}",
                    step.name
                ));
            }
        }
        if let more @ 1.. = different.saturating_sub(PROBLEMS_MAX) {
            problems.push(format!("the answers of {more} more queries differ"));
        }
        let varying: Vec<&str> = record.steps[..queries]
            .iter()
            .filter(|step| has_several_answers(step, self.spec.seed.is_some()))
            .map(|step| step.name.as_str())
            .collect();
        if !varying.is_empty() {
            let note =
                format!("executions of {} with the same parameters had different answers", named(&varying));
            problems.push(note.clone());
            record.notes.push(note.into());
        }
        let failed: Vec<&str> = record
            .steps
            .iter()
            .filter(|step| step.times.iter().any(|time| time.error.is_some()))
            .map(|step| step.name.as_str())
            .collect();
        if control.stop().load(std::sync::atomic::Ordering::Relaxed) {
            record.status = Status::Interrupted;
            status = ExitStatus::INTERRUPTED;
        } else if let Some(error) = failure {
            record.status = Status::Failed { reason: error.to_string().into() };
            status = status.max(ExitStatus::Incomplete);
            problems.push(error.to_string());
        } else if !failed.is_empty() {
            let reason =
                format!("{} of {} queries failed: {}", failed.len(), record.steps.len(), named(&failed));
            status = status.max(ExitStatus::Incomplete);
            record.status = Status::Failed { reason: reason.as_str().into() };
            problems.push(reason);
        }
        Measured { record, status, problems }
    }
}

/// `q1, q2`, or the first ones and how many more there are.
fn named(names: &[&str]) -> String {
    match names.len().saturating_sub(PROBLEMS_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..PROBLEMS_MAX].join(", ")),
    }
}

/// The statements of a query as they are shown.
fn shown(query: &Query) -> String {
    let statements = query.before.iter().chain([&query.sql]).chain(&query.after);
    let statements: Vec<&str> = statements.map(|sql| sql::without_semicolon(sql.trim())).collect();
    match statements.as_slice() {
        [only] => (*only).to_owned(),
        several => several.join(";\n"),
    }
}

/// Compares all complete executions with the expected answer; `None` without a complete execution.
fn answer_check(step: &StepResult, expected: Option<&Answer>) -> Option<AnswerCheck> {
    let mut answers =
        step.times.iter().filter_map(|time| Some((time.rows?, time.checksum.as_deref()))).peekable();
    answers.peek()?;
    let Some(expected) = expected else { return Some(AnswerCheck::Unknown) };
    let known = expected.checksum.as_deref();
    let is_equal = |(rows, checksum)| rows == expected.rows && (known.is_none() || checksum == known);
    Some(match answers.all(is_equal) {
        true => AnswerCheck::Equal,
        false => AnswerCheck::Different {
            expected_rows: expected.rows,
            expected_checksum: known.map(str::to_owned),
        },
    })
}

/// Whether executions with the same parameters had different answers. Drawn parameters differ between streams.
fn has_several_answers(step: &StepResult, is_drawn: bool) -> bool {
    let mut parameters: BTreeSet<Option<u32>> = BTreeSet::new();
    let mut answers: BTreeSet<(Option<u32>, u64, Option<&str>)> = BTreeSet::new();
    for time in &step.times {
        if let (Some(rows), checksum) = (time.rows, time.checksum.as_deref()) {
            let stream = time.stream.filter(|_| is_drawn);
            parameters.insert(stream);
            answers.insert((stream, rows, checksum));
        }
    }
    answers.len() > parameters.len()
}
