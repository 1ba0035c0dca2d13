//! Handling of server errors: the client is aborted, or its transaction is rolled back and retried or given up
//! (reference, section 15).

use script::SentAs;
use stats::{Ending, Failure};
use wire::{ServerError, SqlState, TransactionStatus, frontend};

use super::{Client, Phase, Step, Turn, error_offset, sql_at};
use crate::abort::AbortCause;
use stats::Protocol;

use crate::plan::{Compatibility, Plan};
use crate::tracer::ClientEvent;

impl Client {
    /// The current command failed, in a pipeline or not; all replies have arrived.
    pub(super) fn judge(&mut self, error: Box<ServerError>, pipeline: bool, turn: &mut Turn<'_>) -> Step {
        let unparsed = self.links[self.link].take_unparsed().pop();
        if !pipeline
            && let Some((statement, error)) = unparsed
            && let Some(step) = self.execute_unprepared(statement, &error, turn)
        {
            return step;
        }
        let in_doubt = self.is_in_doubt(&error, pipeline, turn);
        if turn.load.plan.reconnecting.is_some() && (error.is_read_only() || in_doubt) {
            return self.leave_session(&error, in_doubt, turn);
        }
        self.error_kind = self.kind_of(&error, pipeline, turn);
        let statement = if pipeline { self.statement_piped(turn) } else { self.statement_sent(turn) };
        let Some(failure) = failure(&error, turn.load.plan) else {
            turn.errors.count(self.error_kind).aborted += 1;
            let statement = statement.map(Into::into);
            return self.abort(AbortCause::Sql { error, statement }, turn.load);
        };
        turn.tracer.on_event(&ClientEvent::Failed {
            client: self.number,
            script: self.script,
            command: self.command,
            error: &error,
            statement: statement.as_deref(),
        });
        self.in_doubt = in_doubt;
        if self.status() == TransactionStatus::Idle {
            return self.decide(failure, turn);
        }
        self.links[self.link].query();
        if let Err(error) = frontend::query(turn.out, b"ROLLBACK") {
            return self.abort(error.into(), turn.load);
        }
        self.await_reply(Phase::RollingBack(failure), turn)
    }

    /// The kind of an error of the current command, or of a command of the pipeline.
    fn kind_of(&self, error: &ServerError, pipeline: bool, turn: &mut Turn<'_>) -> usize {
        let completed = self.links[self.link].reply.completed_before_error as usize;
        let piped = self.piped.get(completed).filter(|_| pipeline);
        let command = (self.script, piped.copied().unwrap_or(self.command));
        let sent = match turn.load.plan.protocol {
            Protocol::Simple => SentAs::Values(&self.variables),
            Protocol::Extended | Protocol::Prepared => SentAs::Numbered,
        };
        let load = turn.load;
        turn.errors.kind(command, error.sqlstate, || {
            (Box::new(error.clone()), error_offset(load, command, error, sent))
        })
    }

    /// The text of the failed command of a pipeline, unless it was prepared and only executed.
    fn statement_piped(&self, turn: &Turn<'_>) -> Option<Vec<u8>> {
        let index = self.links[self.link].reply.completed_before_error as usize;
        let sql = sql_at(self.script, *self.piped.get(index)?, turn.load)?;
        Some(sql.numbered_text().to_vec())
    }

    /// The sent text of the current command, for the error's position. The execution of a prepared statement sends
    /// none.
    fn statement_sent(&self, turn: &Turn<'_>) -> Option<Vec<u8>> {
        let sql = sql_at(self.script, self.command, turn.load)?;
        let is_prepared = match turn.load.plan.protocol {
            Protocol::Simple => {
                let mut text = Vec::new();
                sql.write_simple(&self.variables, &mut text);
                return Some(text);
            }
            Protocol::Extended => false,
            Protocol::Prepared => {
                let statement = turn.load.statements.number(self.script, self.command);
                self.links[self.link].is_prepared(statement)
            }
        };
        (!is_prepared).then(|| sql.numbered_text().to_vec())
    }

    /// The failed transaction was rolled back: retries it or gives it up.
    pub(super) fn decide(&mut self, failure: Failure, turn: &mut Turn<'_>) -> Step {
        let Self { number: client, script, command, tries, .. } = *self;
        let plan = turn.load.plan;
        let over = turn.end.is_some_and(|end| turn.now >= end);
        if over && plan.compatibility == Compatibility::Pgbench {
            return self.free(Ending::Unfinished);
        }
        if failure == Failure::Other && self.in_doubt {
            turn.commands.fail(script, command);
            return self.free(Ending::Unknown);
        }
        let elapsed = turn.now.since(self.scheduled);
        let left = plan.max_tries.is_none_or(|max| tries < max.get());
        let in_time = plan.latency_limit.is_none_or(|limit| elapsed <= limit);
        if over || !left || !in_time || failure == Failure::Other {
            turn.commands.fail(script, command);
            turn.errors.count(self.error_kind).failed += u64::from(!turn.warmup);
            turn.tracer.on_event(&ClientEvent::GaveUp { client, tries, elapsed });
            return self.free(Ending::Failed(failure));
        }
        turn.commands.retry(script, command);
        turn.errors.count(self.error_kind).retried += u64::from(!turn.warmup);
        turn.tracer.on_event(&ClientEvent::Retried { client, tries, elapsed });
        self.tries = tries.saturating_add(1);
        self.random = self.random_at_start.clone();
        self.start_over(turn)
    }
}

/// Errors that fail the transaction and do not abort the client.
fn failure(error: &ServerError, plan: &Plan) -> Option<Failure> {
    match error.sqlstate {
        SqlState::SERIALIZATION_FAILURE => Some(Failure::Serialization),
        SqlState::DEADLOCK_DETECTED => Some(Failure::Deadlock),
        _ if plan.continue_on_error => Some(Failure::Other),
        _ => None,
    }
}
