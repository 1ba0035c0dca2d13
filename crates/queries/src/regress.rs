//! Two query sets in turns: the same queries on two servers or databases, A and B, in sequences A B B A or B A A B. Each side
//! has a record of its own; together they show which queries are slower on B (`results::Regressions`).

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use connect::{Password, Session, Stopwatch, Target};
use results::{
    Environment, ProcessorTimes, RegressionPlan, RegressionSide, Regressions, SafeText, StepsRecord,
    StreamResult, UtcTime,
};
use run::{Control, ExitStatus, RunError};
use stats::comparison::{Side, order};
use stats::{RegressionVerdict, Scale, sequences_needed, sequences_usual};
use workload::Workload;

use crate::event::{QueryEvent, QueryPhase};
use crate::meter::micros;
use crate::query_set::{Measured, QuerySet};
use crate::spec::{QuerySetSpec, usage};
use crate::stream::{self, MeteredSession, Metering, Stream, Turn};

/// Maximum number of sequences; the statistics take time and memory that grow with the square.
pub const SEQUENCES_MAX: usize = 500;
/// Largest limit, as a share.
const LIMIT_MAX: f64 = 100.0;

/// Which regressions are looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct RegressionSpec {
    /// A query is slower if B ÷ A is above 1 + this share.
    pub limit: f64,
    /// Executions of each query on each side, the first of which does not count; `None`: as many as are useful.
    pub repeats: Option<u32>,
    /// Connection string of side B; the PG* variables hold for it too.
    pub b: String,
}

/// Two query sets that are ready to run in turns.
#[derive(Debug)]
pub struct SideBySide {
    sets: [QuerySet; 2],
    limit: f64,
    sequences: usize,
    seed: u64,
}

/// What `pgmeter queries` is asked for.
#[derive(Debug)]
pub struct QueriesRequest {
    /// The query set, or that of each side.
    pub spec: QuerySetSpec,
    /// The scale, if the tables do not say it.
    pub scale: Option<Scale>,
    /// Which regressions are looked for.
    pub regression: Option<RegressionSpec>,
}

/// One or two query sets that were measured.
#[derive(Debug)]
pub struct MeasuredSets {
    /// Of the set, or of A and B.
    pub records: Vec<StepsRecord>,
    /// How it ended: a slower query counts as a missed goal.
    pub status: ExitStatus,
    /// Sentences about failed queries, other answers, slower queries and undecided ones.
    pub problems: Vec<String>,
}

/// One side while it runs.
struct SideWork<'a> {
    side: RegressionSide,
    stream: Stream<'a>,
    metered: MeteredSession,
    record: StepsRecord,
    processors: Option<ProcessorTimes>,
}

/// The limit of `--regress`: a percentage, as a share.
///
/// # Errors
/// It is not one.
pub fn regression_limit(text: &str) -> Result<f64, String> {
    let percent = text.trim().strip_suffix('%').and_then(|digits| digits.trim().parse::<f64>().ok());
    let share = percent.map(|percent| percent / 100.0).filter(|share| (0.0..=LIMIT_MAX).contains(share));
    share.ok_or_else(|| "expected a percentage from 0% to 10000%, such as 3%".to_owned())
}

impl RegressionSpec {
    fn target(&self) -> Result<Target, RunError> {
        let environment = connect::Environment::of_process();
        Ok(connect::resolve(Some(&self.b), &connect::Overrides::default(), &environment)?)
    }

    /// Changes the specification of a query set to that of one side.
    ///
    /// # Errors
    /// An option does not fit, or there are too few executions for a verdict on this number of queries.
    fn side(&self, spec: &QuerySetSpec, queries: usize) -> Result<(QuerySetSpec, usize), RunError> {
        let misfits = [
            (spec.streams > 1, "--streams"),
            (spec.refresh, "--refresh"),
            (spec.results.is_some(), "--results"),
        ];
        if let Some((_, option)) = misfits.iter().find(|(is_given, _)| *is_given) {
            return Err(usage(format!(
                "--regress executes the queries of two servers in turns: leave out {option}"
            )));
        }
        let of = |sequences: usize| 2 * sequences + 1;
        let sequences = match self.repeats {
            None => sequences_usual(queries),
            Some(repeats) => (repeats.saturating_sub(1) / 2) as usize,
        };
        let needed = sequences_needed(queries);
        if !(needed..=SEQUENCES_MAX).contains(&sequences) {
            return Err(usage(format!(
                "--repeat: expected a number from {} to {} for a verdict on each of {queries} queries, not {}",
                of(needed),
                of(SEQUENCES_MAX),
                self.repeats.unwrap_or(0)
            )));
        }
        let repeats = u32::try_from(of(sequences)).unwrap_or(u32::MAX);
        Ok((QuerySetSpec { repeats, ..spec.clone() }, sequences))
    }
}

impl QueriesRequest {
    /// Connects, and runs the set, or both sides in turns.
    ///
    /// # Errors
    /// Nothing was measured.
    pub fn run(
        &self,
        workload: Arc<dyn Workload>,
        target: &mut Target,
        ask: fn() -> std::io::Result<Password>,
        control: &Control,
        records: &Path,
        listener: &mut dyn FnMut(QueryEvent),
    ) -> Result<MeasuredSets, RunError> {
        let b = self.regression.as_ref().map(RegressionSpec::target).transpose()?;
        let mut session = run::connect(target, Some(ask), control)?;
        let Some((regression, mut b)) = self.regression.as_ref().zip(b) else {
            let set = QuerySet::for_tables(workload, self.spec.clone(), self.scale, &mut session)?;
            drop(session);
            let Measured { record, status, problems } = set.run(target, control, records, listener)?;
            return Ok(MeasuredSets { records: vec![record], status, problems });
        };
        let mut session_of_b = run::connect(&mut b, Some(ask), control)?;
        let sessions = [&mut session, &mut session_of_b];
        let sides = SideBySide::for_tables(&workload, &self.spec, regression, self.scale, sessions)?;
        drop((session, session_of_b));
        sides.run([target, &b], control, records, listener)
    }
}

impl SideBySide {
    /// For the tables of both databases.
    ///
    /// # Errors
    /// The specification does not fit the workload or the tables, or these have different scales.
    pub fn for_tables(
        workload: &Arc<dyn Workload>,
        spec: &QuerySetSpec,
        regression: &RegressionSpec,
        scale: Option<Scale>,
        sessions: [&mut Session; 2],
    ) -> Result<SideBySide, RunError> {
        let (spec, sequences) = regression.side(spec, spec.count(&**workload)?)?;
        let [a, b] = sessions;
        let set = |session| QuerySet::for_tables(workload.clone(), spec.clone(), scale, session);
        let sets = [set(a)?, set(b)?];
        let [first, second] = [&sets[0], &sets[1]].map(QuerySet::scale);
        if first != second {
            return Err(usage(format!(
                "the tables of A have the scale {first}, those of B {second}: load both with the same scale"
            )));
        }
        let seed = spec.seed.unwrap_or(0);
        Ok(SideBySide { sets, limit: regression.limit, sequences, seed })
    }

    /// Runs both sides in turns.
    ///
    /// # Errors
    /// Nothing was measured: a server cannot be reached.
    pub fn run(
        &self,
        targets: [&Target; 2],
        control: &Control,
        records: &Path,
        listener: &mut dyn FnMut(QueryEvent),
    ) -> Result<MeasuredSets, RunError> {
        let started_at = UtcTime::now();
        // The events of `Stream::run` are not used.
        let (sender, _) = mpsc::channel();
        let begin = |side, at: usize| self.begin(side, targets[at], control, records, started_at, &sender);
        let mut sides = [begin(RegressionSide::A, 0)?, begin(RegressionSide::B, 1)?];
        for side in &mut sides {
            let plan = RegressionPlan { side: side.side, limit: self.limit, order_seed: Some(self.seed) };
            if let Some(set) = &mut side.record.query_set {
                set.regression = Some(plan);
            }
        }
        let clock = Stopwatch::start();
        let mut failure = self.run_all(&mut sides, control, listener).err();
        let duration_us = micros(clock.passed());
        let mut measured = sides.map(|side| side.end(duration_us));
        if failure.is_none() && self.sets[0].spec().plans {
            for ((set, record), target) in self.sets.iter().zip(&mut measured).zip(targets) {
                failure = failure.or(set.add_plans(record, target, control, listener).err());
            }
        }
        let [a, b] = measured;
        let [a, b] = [(&self.sets[0], a), (&self.sets[1], b)]
            .map(|(set, record)| set.judge(record, failure.as_ref(), control));
        let mut problems = Vec::new();
        for (name, side) in [("A", &a), ("B", &b)] {
            problems.extend(side.problems.iter().map(|problem| format!("{name}: {problem}")));
        }
        let (verdict, sentences) = verdict(&a.record, &b.record);
        problems.extend(sentences);
        let status = a.status.max(b.status).max(verdict);
        Ok(MeasuredSets { records: vec![a.record, b.record], status, problems })
    }

    fn begin<'a>(
        &'a self,
        side: RegressionSide,
        target: &'a Target,
        control: &'a Control,
        records: &Path,
        started_at: UtcTime,
        events: &Sender<QueryEvent>,
    ) -> Result<SideWork<'a>, RunError> {
        let set = &self.sets[index(side)];
        let mut session = stream::connect(target, control)?;
        let facts = server::facts(&mut session).ok();
        let connection = run::connection_to(target, session.address());
        let environment: Environment = run::survey(facts.as_ref(), Some(session.address()), records);
        let queries = set.queries().iter().cloned().enumerate();
        let turn = |(step, query)| Turn { step, query, repeats: 1, has_answer: true, first: 1 };
        let stream = Stream {
            number: Some(0),
            turns: queries.map(turn).collect(),
            target,
            control,
            limit: set.spec().limit,
            metering: Metering::InTurns,
            results: None,
            events: events.clone(),
        };
        let metered = stream.meter(session);
        let record = set.record(started_at, connection, environment);
        Ok(SideWork { side, stream, metered, record, processors: ProcessorTimes::now() })
    }

    /// The first execution of all queries, then a sequence of each query, and so on.
    fn run_all(
        &self,
        sides: &mut [SideWork<'_>; 2],
        control: &Control,
        listener: &mut dyn FnMut(QueryEvent),
    ) -> Result<(), RunError> {
        let queries = self.sets[0].queries().len();
        let mut has_ended = vec![false; queries];
        for round in 0..=self.sequences {
            for (query, has_ended) in has_ended.iter_mut().enumerate() {
                // Pair p has the repeat p + 1; the repeat 0 does not count.
                let repeats = if round == 0 { 0..1 } else { 2 * round - 1..2 * round + 1 };
                for repeat in repeats {
                    if *has_ended {
                        break;
                    }
                    *has_ended = self.pair(sides, query, repeat, control, listener)?;
                }
            }
        }
        Ok(())
    }

    /// Executes a query once on both sides. Returns whether to leave it out from now on: it failed, or reached the limit
    /// on both sides.
    fn pair(
        &self,
        sides: &mut [SideWork<'_>; 2],
        query: usize,
        repeat: usize,
        control: &Control,
        listener: &mut dyn FnMut(QueryEvent),
    ) -> Result<bool, RunError> {
        // Each query has an order of its own.
        let seed = self.seed ^ (query as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (mut has_failed, mut limited) = (false, 0);
        for side in order(seed, repeat.saturating_sub(1), 1) {
            control.check()?;
            let work = &mut sides[if side == Side::A { 0 } else { 1 }];
            let number = u32::try_from(repeat).unwrap_or(u32::MAX);
            let (name, of) = (work.stream.turns[query].query.name.clone(), work.stream.turns.len());
            let mut tell = |phase| {
                listener(QueryEvent {
                    stream: Some(0),
                    query: name.clone(),
                    position: query + 1,
                    of,
                    repeat: number + 1,
                    side: Some(work.side),
                    phase,
                });
            };
            tell(QueryPhase::Started);
            work.stream.connect_if_lost(&mut work.metered, &mut work.record.notes)?;
            let turn = &work.stream.turns[query];
            let time = work.stream.execute(&mut work.metered, turn, number, &mut work.record.notes);
            control.check()?;
            if time.error.is_some() || time.limited {
                tell(QueryPhase::from(&time));
            }
            has_failed |= time.error.is_some();
            limited += usize::from(time.limited);
            work.record.steps[query].times.push(time);
        }
        Ok(has_failed || limited == 2)
    }
}

impl SideWork<'_> {
    fn end(mut self, duration_us: u64) -> StepsRecord {
        run::look_back(&mut self.record.environment, self.processors);
        let order = self.stream.turns.iter().map(|turn| turn.query.name.clone()).collect();
        self.record.streams.push(StreamResult { stream: Some(0), started_us: 0, duration_us, order });
        let note = "not available: WAL, blocks and temporary files: reading them would take longer than many queries that are \
                    executed in turns";
        self.record.notes.push(SafeText::from(note.to_owned()));
        self.record
    }
}

fn index(side: RegressionSide) -> usize {
    match side {
        RegressionSide::A => 0,
        RegressionSide::B => 1,
    }
}

/// How the verdicts end the command, with sentences.
fn verdict(a: &StepsRecord, b: &StepsRecord) -> (ExitStatus, Vec<String>) {
    let Some(found) = Regressions::of(a, b) else { return (ExitStatus::Success, Vec::new()) };
    let slower = found.names(RegressionVerdict::Slower);
    let undecided = found.names(RegressionVerdict::Undecided);
    let mut sentences = Vec::new();
    let mut status = ExitStatus::Success;
    if !undecided.is_empty() {
        status = ExitStatus::Undecided;
        sentences
            .push(format!("undecided: {}; a larger --repeat decides more queries", undecided.join(", ")));
    }
    if !slower.is_empty() {
        status = ExitStatus::GoalMissed;
        let limit = 100.0 * found.limit;
        sentences.push(format!("slower on B by more than {limit} %: {}", slower.join(", ")));
    }
    (status, sentences)
}
