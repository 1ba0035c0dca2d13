//! Trials of timed steps: each step is executed as often as the experiment defines, on its own connection, and its
//! figures are stored with the trial. `lab` defines the steps; `provisioner` supplies the server.

mod init;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use connect::{ConnectError, Session, Target};
use experiment::{Cell, Configuration, Step, StepSql, StepWork};
use queries::{Meter, micros, timed, with_cancel};
use results::{
    Annotation, PgmeterBuild, ProcessorTimes, SafeText, Status, StepResult, StepTime, StepsRecord, UtcTime,
};
use run::{Control, OUT_OF_TIME, RunError, StorePlaces, recorded_variables, without_secret_values};

use crate::event::{Listener, TrialRecord};
use crate::files::text_of;
use crate::repeating_failure::{Repeats, would_repeat};
use crate::trial::Finished;

/// Why a trial was abandoned.
const INTERRUPTED: RunError =
    RunError::Interrupted(Cow::Borrowed("interrupted; the trial was not completed"));

/// State shared by all steps of a trial.
struct Trial<'a> {
    configuration: &'a Configuration,
    target: &'a Target,
    listener: Listener<'a>,
    control: &'a Control,
    /// Figures that are not available.
    notes: Vec<SafeText>,
    /// Whether it failed as each trial would.
    would_repeat: bool,
}

/// Whether the SQL of all steps can be parsed, with the variables of these cells.
pub(crate) fn check(cells: &[Cell]) -> Result<(), RunError> {
    let Some(cell) = cells.first() else { return Ok(()) };
    // All cells have the same steps, and values of variables do not change where statements end.
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

/// Runs one trial of a cell. The measurements of a failed trial are stored too.
pub(crate) fn run(
    cell: &Cell,
    target: &Target,
    trial: i64,
    places: &StorePlaces,
    listener: Listener<'_>,
    control: &Control,
) -> Result<Finished, RunError> {
    let configuration = &cell.configuration;
    let mut session = control.connect(target)?;
    let facts = server::facts(&mut session).ok();
    let connection = run::connection_to(target, session.address());
    let mut environment = run::survey(facts.as_ref(), Some(session.address()), places.records());
    drop(session);
    let processors = ProcessorTimes::now();
    let started_at = UtcTime::now();
    let mut of_trial =
        Trial { configuration, target, listener, control, notes: Vec::new(), would_repeat: false };
    let mut steps = Vec::new();
    let taken = of_trial.run_all(&mut steps);
    let is_out_of_time = control.is_out_of_time();
    if !is_out_of_time {
        control.check().map_err(|_| INTERRUPTED)?;
    }
    run::look_back(&mut environment, processors);
    let variables = &configuration.load.variables;
    let reason = taken.err().map(|failure| match failure {
        _ if is_out_of_time => OUT_OF_TIME.to_owned(),
        // The server may quote statements, which may contain values of variables.
        failure => without_secret_values(&failure.to_string(), variables),
    });
    let variables = recorded_variables(variables);
    let record = StepsRecord {
        schema_version: results::STEPS_SCHEMA_VERSION,
        pgmeter_version: env!("CARGO_PKG_VERSION").to_owned(),
        pgmeter_build: PgmeterBuild::of_this(),
        annotation: Annotation::default(),
        status: match &reason {
            None => Status::Complete,
            Some(reason) => Status::Failed { reason: reason.as_str().into() },
        },
        started_at,
        connection,
        variables: variables.into_iter().map(|(name, value)| (name, value.into())).collect(),
        environment,
        query_set: None,
        steps,
        streams: Vec::new(),
        notes: of_trial.notes,
    };
    places.open()?.end_steps(trial, &record, reason.as_deref())?;
    match reason {
        None => Ok(Finished { run: None, figures: None, record: TrialRecord::Steps(Box::new(record)) }),
        Some(reason) if of_trial.would_repeat => Err(RunError::Usage(reason)),
        Some(reason) => Err(RunError::Aborted(reason)),
    }
}

impl Trial<'_> {
    fn run_all(&mut self, results: &mut Vec<StepResult>) -> Result<(), RunError> {
        for step in &self.configuration.steps {
            match &step.work {
                StepWork::Init => init::run(self, step, results)?,
                StepWork::Sql(sql) => self.run_sql(step, sql, results)?,
            }
        }
        Ok(())
    }

    /// All executions of an SQL step.
    fn run_sql(&mut self, step: &Step, sql: &StepSql, results: &mut Vec<StepResult>) -> Result<(), RunError> {
        let variables = &self.configuration.load.variables;
        let statements = statements_of(&step.name, sql, variables)?;
        let before = step.before.as_ref().map(|sql| statements_of(&step.name, sql, variables)).transpose()?;
        let shown = statements_of(&step.name, sql, &recorded_variables(variables))?.join("\n");
        results.push(result_of(&step.name, Some(SafeText::sql(&shown)), step));
        let result = results.len() - 1;
        for number in 1..=step.times {
            let _busy = self.listener.busy(format!("{}, {number} of {} …", step.name, step.times));
            let work = |session: &mut Session| execute_all(session, &statements).map(|()| None);
            let time = self.time(step, before.as_deref().unwrap_or_default(), statements.len() == 1, work);
            let mut time = time.map_err(|failure| explain(&step.name, number, &failure))?;
            // The server may quote the statement, which may contain values of variables.
            time.error = time.error.map(|error| without_secret_values(error.as_str(), variables).into());
            let error =
                time.error.as_ref().map(|error| format!("step {}, execution {number}: {error}", step.name));
            results[result].times.push(time);
            if let Some(error) = error {
                return Err(RunError::Aborted(error));
            }
        }
        Ok(())
    }

    /// Times one execution on its own connection. The `before` statements are not timed.
    fn time<E: Repeats>(
        &mut self,
        step: &Step,
        before: &[String],
        is_one_statement: bool,
        work: impl FnOnce(&mut Session) -> Result<Option<Duration>, E>,
    ) -> Result<StepTime, RunError> {
        let control = self.control;
        let mut session = control.connect(self.target)?;
        // Steps may take hours; the control ends them if the server does not answer or another session holds a lock.
        let limit = session.patient_limit();
        session.set_statement_limit(limit);
        let time = control.guard(&mut session, |session| {
            control.check()?;
            let mut meter = Meter::new(session);
            with_cancel(session, None, control.stop(), |session| execute_all(session, before))?;
            if self.configuration.data.checkpoint {
                session.execute("CHECKPOINT")?;
            }
            let outcome = timed(session, step.limit, is_one_statement, &mut meter, control.stop(), work);
            control.check()?;
            let repeats = outcome.error().is_some_and(E::would_repeat);
            let (table_bytes, index_bytes) = meter.sizes(session);
            let time = outcome.into_time(step.at_limit.or(step.limit));
            let time = StepTime { table_bytes, index_bytes, ..time };
            Ok::<_, RunError>((time, meter, repeats))
        });
        self.would_repeat |= time.as_ref().map_or_else(would_repeat, |(_, _, repeats)| *repeats);
        let (time, meter, _) = time?;
        for note in meter.into_notes() {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        Ok(time)
    }
}

fn execute_all(session: &mut Session, statements: &[String]) -> Result<(), ConnectError> {
    statements.iter().try_for_each(|statement| session.execute(statement).map(drop))
}

/// A failure outside of the step's own SQL.
fn explain(name: &str, number: u32, failure: &RunError) -> RunError {
    RunError::Aborted(format!("step {name}, execution {number}, its before statement: {failure}"))
}

fn result_of(name: &str, sql: Option<SafeText>, step: &Step) -> StepResult {
    StepResult {
        limit_us: step.limit.map(micros),
        at_limit_us: step.limit.map(|limit| micros(step.at_limit.unwrap_or(limit))),
        ..StepResult::new(name.to_owned(), sql)
    }
}

fn statements_of(
    name: &str,
    sql: &StepSql,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<String>, RunError> {
    let statements = match sql {
        StepSql::Here(text) => script::statements(&format!("step {name}"), text, variables)?,
        StepSql::File(path) => script::statements(&path.display().to_string(), &text_of(path)?, variables)?,
    };
    Ok(statements.into_iter().map(|statement| statement.sql).collect())
}
