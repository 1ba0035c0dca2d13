//! Trials of timed steps: each step is taken as often as the experiment asks, on a connection of its own, and what it
//! took is kept with the trial. What a step is, `lab` knows; where it runs, `stage`.

mod init;
mod limit;
mod meter;
mod statements;

use std::collections::BTreeMap;

use ::lab::{Cell, Configuration, Step, StepSql, StepWork};
use connect::{Session, Target};
use results::{
    PgmeterBuild, ProcessorTimes, SafeText, Status, StepResult, StepTime, StepsRecord, Store, UtcTime,
};

use super::campaign::text_of;
use super::trial::Finished;
use crate::describing;
use crate::failure::Failure;
use crate::signals::{OUT_OF_TIME, Signals};
use crate::storing::StoreArguments;
use crate::surveying;
use crate::terminal::{Terminal, Unit};
use meter::Meter;

/// Why a trial was left.
const INTERRUPTED: Failure = Failure::Interrupted("interrupted; the trial was broken off");

/// What all steps of a trial share.
struct Trial<'a> {
    configuration: &'a Configuration,
    target: &'a Target,
    terminal: &'a Terminal,
    signals: &'a Signals,
    /// What could not be seen.
    notes: Vec<SafeText>,
}

/// Whether the SQL of all steps can be understood, with the variables of these cells.
pub(super) fn check(cells: &[Cell]) -> Result<(), Failure> {
    let Some(cell) = cells.first() else { return Ok(()) };
    // The steps of all cells are the same, and what variables hold changes nothing of what is a statement.
    for step in &cell.configuration.steps {
        if let StepWork::Sql(sql) = &step.work {
            statements_of(&step.name, sql, &BTreeMap::new())?;
        }
        if let Some(sql) = &step.before {
            statements_of(&step.name, sql, &BTreeMap::new())?;
        }
    }
    Ok(())
}

/// Runs one trial of a cell. What was measured of one that fails is kept too.
pub(super) fn run(
    cell: &Cell,
    target: &Target,
    trial: i64,
    places: &StoreArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<Finished, Failure> {
    let configuration = &cell.configuration;
    let mut session = signals.connect(target)?;
    let facts = server::facts(&mut session).ok();
    let connection = describing::connection_to(target, session.address());
    let mut environment = surveying::survey(facts.as_ref(), Some(session.address()), &places.records());
    drop(session);
    Store::create(&places.store())?.begin_steps(trial)?;
    let processors = ProcessorTimes::now();
    let started_at = UtcTime::now();
    let mut of_trial = Trial { configuration, target, terminal, signals, notes: Vec::new() };
    let mut steps = Vec::new();
    let taken = of_trial.take_all(&mut steps);
    let is_out_of_time = signals.is_out_of_time();
    if !is_out_of_time {
        signals.check().map_err(|_| INTERRUPTED)?;
    }
    surveying::look_back(&mut environment, processors);
    let variables = &configuration.load.variables;
    let reason = taken.err().map(|failure| match failure {
        _ if is_out_of_time => OUT_OF_TIME.to_owned(),
        // The server may quote statements, in which values of variables stand.
        failure => describing::without_secret_values(&failure.to_string(), variables),
    });
    let variables = describing::variables(variables);
    let record = StepsRecord {
        schema_version: results::STEPS_SCHEMA_VERSION,
        pgmeter_version: env!("CARGO_PKG_VERSION").to_owned(),
        pgmeter_build: PgmeterBuild::of_this(),
        status: match &reason {
            None => Status::Complete,
            Some(reason) => Status::Failed { reason: reason.as_str().into() },
        },
        started_at,
        connection,
        variables: variables.into_iter().map(|(name, value)| (name, value.into())).collect(),
        environment,
        steps,
        notes: of_trial.notes,
    };
    Store::create(&places.store())?.end_steps(trial, &record, reason.as_deref())?;
    match reason {
        None => Ok(Finished { run: None, figures: None, line: report::steps_line(&record) }),
        Some(reason) => Err(Failure::Aborted(reason)),
    }
}

impl Trial<'_> {
    fn take_all(&mut self, results: &mut Vec<StepResult>) -> Result<(), Failure> {
        for step in &self.configuration.steps {
            match &step.work {
                StepWork::Init => init::take(self, step, results)?,
                StepWork::Sql(sql) => self.take_sql(step, sql, results)?,
            }
        }
        Ok(())
    }

    /// A step of SQL, all its times.
    fn take_sql(&mut self, step: &Step, sql: &StepSql, results: &mut Vec<StepResult>) -> Result<(), Failure> {
        let variables = &self.configuration.load.variables;
        let statements = statements_of(&step.name, sql, variables)?;
        let before = step.before.as_ref().map(|sql| statements_of(&step.name, sql, variables)).transpose()?;
        let shown = statements_of(&step.name, sql, &describing::variables(variables))?.join("\n");
        results.push(result_of(&step.name, Some(SafeText::sql(&shown)), step));
        let result = results.len() - 1;
        for number in 1..=step.times {
            let bar = self.terminal.bar(None, Unit::Nothing);
            bar.label(format!("{}, {number} of {} …", step.name, step.times));
            let time = self.take_once(step, &statements, before.as_deref().unwrap_or_default());
            let mut time = time.map_err(|failure| explain(&step.name, number, &failure))?;
            // The server may quote the statement, in which values of variables stand.
            time.error =
                time.error.map(|error| describing::without_secret_values(error.as_str(), variables).into());
            let error =
                time.error.as_ref().map(|error| format!("step {}, time {number}: {error}", step.name));
            results[result].times.push(time);
            if let Some(error) = error {
                return Err(Failure::Aborted(error));
            }
        }
        Ok(())
    }

    /// One time: what was done before it is not measured.
    fn take_once(
        &mut self,
        step: &Step,
        statements: &[String],
        before: &[String],
    ) -> Result<StepTime, Failure> {
        let signals = self.signals;
        let mut session = signals.connect(self.target)?;
        // Steps may take hours; a server that does not answer, or a lock that is held elsewhere, ends them.
        let limit = session.patient_limit();
        session.set_statement_limit(limit);
        let time = signals.guard(&mut session, |session| {
            signals.check()?;
            let mut meter = Meter::of(session);
            let each = |session: &mut Session| {
                before.iter().try_for_each(|statement| session.execute(statement).map(drop))
            };
            limit::watched(session, None, signals.stop(), each)?;
            if self.configuration.data.checkpoint {
                session.execute("CHECKPOINT")?;
            }
            let work = |session: &mut Session| {
                let each = |statement: &String| session.execute(statement).map(drop);
                statements.iter().try_for_each(each).map(|()| None)
            };
            let outcome =
                limit::timed(session, step.limit, statements.len() == 1, &mut meter, signals.stop(), work);
            signals.check()?;
            let time = outcome.into_time(step, session, &mut meter);
            Ok::<_, Failure>((time, meter))
        });
        let (time, meter) = time?;
        self.add_notes(meter);
        Ok(time)
    }

    /// Each once.
    fn add_notes(&mut self, meter: Meter) {
        for note in meter.into_notes() {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// A failure that is none of the step's own SQL.
fn explain(name: &str, number: u32, failure: &Failure) -> Failure {
    Failure::Aborted(format!("step {name}, time {number}, before it was timed: {failure}"))
}

fn result_of(name: &str, sql: Option<SafeText>, step: &Step) -> StepResult {
    StepResult {
        name: name.to_owned(),
        sql,
        limit_us: step.limit.map(meter::micros),
        at_limit_us: step.limit.map(|limit| meter::micros(step.at_limit.unwrap_or(limit))),
        times: Vec::new(),
    }
}

fn statements_of(
    name: &str,
    sql: &StepSql,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<String>, Failure> {
    match sql {
        StepSql::Here(text) => statements::statements(&format!("step {name}"), text, variables),
        StepSql::File(path) => {
            statements::statements(&path.display().to_string(), &text_of(path)?, variables)
        }
    }
}
