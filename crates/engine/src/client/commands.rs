//! Executes the commands of a script until one has to wait (reference, section 9). `recovery` handles errors of the
//! server; here only the client's own errors abort it.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use script::{
    Command, CommandKind, Condition, EndRepeat, EvaluationError, Repeat, Scope, SetShell, Shell, Sleep, Sql,
};
use stats::Ending;
use wire::TransactionStatus;

use super::{Client, Phase, Step, Turn};
use crate::abort::{AbortCause, PIPELINE_REPETITIONS_MAX};
use crate::driver::ShellAnswer;
use crate::load::Load;
use crate::tracer::{ClientEvent, ClientStep, Tracer};

/// Maximum number of repetitions before the other clients of the worker act, so that a loop that does not wait for the
/// server neither delays them nor prevents an interruption.
const UNINTERRUPTED_MAX: u32 = 1000;

/// What follows a command.
enum Flow {
    /// The next command.
    Next,
    /// Another command.
    GoTo(usize),
    /// The same, after the other clients have acted.
    Yield(usize),
    /// The client has to wait.
    Wait(Step),
}

impl Client {
    /// Runs the script from its first command.
    pub(super) fn start_over(&mut self, turn: &mut Turn<'_>) -> Step {
        self.command = 0;
        self.repetitions.clear();
        self.restart_tokens();
        self.business = 1;
        self.proceed(turn)
    }

    /// Runs commands until one has to wait or the script ends.
    pub(super) fn proceed(&mut self, turn: &mut Turn<'_>) -> Step {
        let load = turn.load;
        let commands = load.plan.scripts[self.script].program.commands();
        loop {
            self.command_begun = turn.now;
            if let Err(error) = self.assign(commands, turn) {
                return self.abort(AbortCause::Evaluation(error), load);
            }
            let Some(command) = commands.get(self.command) else { break };
            self.show_meta_command(command, turn);
            match self.execute(&command.kind, turn) {
                Ok(Flow::Next) => self.complete(turn),
                Ok(Flow::GoTo(index)) => {
                    self.complete(turn);
                    self.command = index;
                }
                Ok(Flow::Yield(index)) => {
                    self.complete(turn);
                    self.command = index;
                    self.phase = Phase::Looping;
                    return Step::Yield;
                }
                Ok(Flow::Wait(step)) => return step,
                Err(cause) => return self.abort(cause, load),
            }
        }
        if self.pipeline {
            self.abort(AbortCause::UnfinishedPipeline, load)
        } else if self.status() != TransactionStatus::Idle {
            self.abort(AbortCause::UnfinishedTransaction, load)
        } else {
            self.free(Ending::Succeeded)
        }
    }

    /// Runs the assignments from the current command to the next command of another kind. `now` stays the same, so
    /// they take no time of the run.
    fn assign(&mut self, commands: &[Command], turn: &mut Turn<'_>) -> Result<(), EvaluationError> {
        if turn.steps_wanted {
            return Ok(());
        }
        let first = self.command;
        let (done, result) = self.run_assignments(commands, first, turn.load, turn.tracer);
        let statistics = turn.commands.rest_of_script(self.script, first).iter_mut();
        statistics.take(done).for_each(|command| command.complete_at_once(1));
        self.command = first + done;
        result
    }

    /// Runs assignments, and sleeps of zero length, from `first` to the next command of another kind or the first
    /// error; returns the number of completed ones.
    #[inline(always)]
    fn run_assignments(
        &mut self,
        commands: &[Command],
        first: usize,
        load: &Load<'_>,
        tracer: &mut dyn Tracer,
    ) -> (usize, Result<(), EvaluationError>) {
        let Self { number: client, script, .. } = *self;
        let done = Cell::new(0);
        let mut debug = |value: script::Value| {
            let (command, value) = (first + done.get(), &value.described());
            tracer.on_event(&ClientEvent::Debugged { client, script, command, value });
        };
        let mut scope = Scope::new(&mut self.variables, &mut self.random, &load.symbols);
        scope.debug = Some(&mut debug);
        for Command { kind, .. } in commands.get(first..).unwrap_or_default() {
            match kind {
                CommandKind::Set(set) => {
                    if let Err(error) = set.execute(&mut scope) {
                        return (done.get(), Err(error));
                    }
                }
                CommandKind::Sleep(sleep) if sleep.is_none() => {}
                _ => break,
            }
            done.set(done.get() + 1);
        }
        (done.get(), Ok(()))
    }

    /// Runs a script without SQL from its first command to its last. It does the same as [`Client::begin`] for such a
    /// script, without the parts that only matter to a transaction that continues. The caller counts its commands.
    /// After an error [`Client::fail_computing`] must be called with the error and the number of completed commands.
    #[inline]
    pub(crate) fn compute(
        &mut self,
        script: usize,
        load: &Load<'_>,
        tracer: &mut dyn Tracer,
    ) -> Result<(), (usize, EvaluationError)> {
        self.script = script;
        let commands = load.plan.scripts[script].program.commands();
        let (done, result) = self.run_assignments(commands, 0, load, tracer);
        result.map_err(|error| (done, error))
    }

    /// A script without SQL has failed; brings the client into the state in which [`Client::begin`] would leave it.
    #[cold]
    pub(crate) fn fail_computing(
        &mut self,
        done: usize,
        error: EvaluationError,
        turn: &mut Turn<'_>,
    ) -> Step {
        self.set_out(self.script, turn.now, turn);
        (self.command, self.business) = (done, 1);
        let statistics = turn.commands.rest_of_script(self.script, 0).iter_mut();
        statistics.take(done).for_each(|command| command.complete_at_once(1));
        self.abort(AbortCause::Evaluation(error), turn.load)
    }

    fn show_meta_command(&self, command: &Command, turn: &mut Turn<'_>) {
        if turn.steps_wanted && !matches!(command.kind, CommandKind::Sql(_)) {
            turn.show(self.number, ClientStep::Executes(command));
        }
    }

    /// The current command is done; continues with the next.
    pub(super) fn complete(&mut self, turn: &mut Turn<'_>) {
        let took_ns = turn.now.as_nanos().saturating_sub(self.command_begun.as_nanos());
        turn.commands.complete(self.script, self.command, took_ns);
        self.command += 1;
    }

    fn execute(&mut self, command: &CommandKind, turn: &mut Turn<'_>) -> Result<Flow, AbortCause> {
        match command {
            CommandKind::Sql(sql) => self.sql(sql, turn),
            CommandKind::Set(set) => self.evaluate(turn, |scope| set.execute(scope)).map(|()| Flow::Next),
            CommandKind::SetArray(set) => {
                self.evaluate(turn, |scope| set.execute(scope))?;
                self.computed()
            }
            CommandKind::SetString(set) => {
                self.evaluate(turn, |scope| set.execute(scope))?;
                self.computed()
            }
            CommandKind::Sleep(sleep) => self.sleep(sleep, turn),
            CommandKind::If(condition) => self.branch(condition, turn),
            // Reached from a branch that was taken: skips the rest.
            CommandKind::Elif(Condition { end, .. }) => Ok(Flow::GoTo(end + 1)),
            CommandKind::Else(otherwise) => Ok(Flow::GoTo(otherwise.end + 1)),
            CommandKind::EndIf => Ok(Flow::Next),
            CommandKind::Repeat(repeat) => self.repeat(repeat, turn),
            CommandKind::EndRepeat(end) => self.end_repeat(end),
            CommandKind::SetShell(SetShell { shell, .. }) => self.shell(shell, true, turn),
            CommandKind::Shell(shell) => self.shell(shell, false, turn),
            CommandKind::StartPipeline => self.start_pipeline(turn),
            CommandKind::SyncPipeline => self.sync_pipeline(turn).map(|()| Flow::Next),
            CommandKind::EndPipeline => {
                self.end_tokens_of_pipeline(turn)?;
                self.sync_pipeline(turn)?;
                Ok(Flow::Wait(self.await_reply(Phase::Waiting, turn)))
            }
            CommandKind::Batch(batch) => {
                self.business = self.evaluate(turn, |scope| batch.size(scope))?;
                Ok(Flow::Next)
            }
        }
    }

    /// An assignment took so much time that the clock must be read again.
    #[expect(clippy::unnecessary_wraps, reason = "it ends the arms of `execute`")]
    fn computed(&mut self) -> Result<Flow, AbortCause> {
        self.phase = Phase::Computed;
        Ok(Flow::Wait(Step::Computed))
    }

    fn sql(&mut self, sql: &Sql, turn: &mut Turn<'_>) -> Result<Flow, AbortCause> {
        if self.pipeline {
            self.send_in_pipeline(sql, turn)?;
            return Ok(Flow::Next);
        }
        self.send(sql, turn)?;
        Ok(Flow::Wait(self.await_reply(Phase::Waiting, turn)))
    }

    /// `\startpipeline`; in the prepared protocol it first parses the statements.
    fn start_pipeline(&mut self, turn: &mut Turn<'_>) -> Result<Flow, AbortCause> {
        if self.enter_pipeline(turn)? {
            return Ok(Flow::Next);
        }
        Ok(Flow::Wait(self.await_reply(Phase::Preparing, turn)))
    }

    /// `\if` and the following branches, until a condition holds or the `\if` ends. Skipped commands are not counted.
    fn branch(&mut self, condition: &Condition, turn: &mut Turn<'_>) -> Result<Flow, AbortCause> {
        let commands = turn.load.plan.scripts[self.script].program.commands();
        let mut condition = condition;
        while !self.evaluate(turn, |scope| condition.holds(scope))? {
            match commands.get(condition.next) {
                Some(command @ Command { kind: CommandKind::Elif(next), .. }) => {
                    self.complete(turn);
                    self.command = condition.next;
                    self.show_meta_command(command, turn);
                    condition = next;
                }
                _ => return Ok(Flow::GoTo(condition.next + 1)),
            }
        }
        Ok(Flow::Next)
    }

    /// `\repeat`. Skipped commands are not counted.
    fn repeat(&mut self, repeat: &Repeat, turn: &mut Turn<'_>) -> Result<Flow, AbortCause> {
        let count = self.evaluate(turn, |scope| repeat.count(scope))?;
        match count.checked_sub(1) {
            None => Ok(Flow::GoTo(repeat.end + 1)),
            Some(left) => {
                self.repetitions.push(left);
                Ok(Flow::Next)
            }
        }
    }

    fn end_repeat(&mut self, end: &EndRepeat) -> Result<Flow, AbortCause> {
        if self.pipeline {
            self.repeated_in_pipeline += 1;
            if self.repeated_in_pipeline > PIPELINE_REPETITIONS_MAX {
                return Err(AbortCause::PipelineTooLong);
            }
        }
        match self.repetitions.last_mut() {
            Some(left @ 1..) => *left -= 1,
            _ => {
                self.repetitions.pop();
                return Ok(Flow::Next);
            }
        }
        self.repeated = self.repeated.wrapping_add(1);
        let first = end.start + 1;
        Ok(if self.repeated.is_multiple_of(UNINTERRUPTED_MAX) {
            Flow::Yield(first)
        } else {
            Flow::GoTo(first)
        })
    }

    fn sleep(&mut self, sleep: &Sleep, turn: &mut Turn<'_>) -> Result<Flow, AbortCause> {
        let duration = sleep.duration(&self.variables, &turn.load.symbols).map_err(AbortCause::Evaluation)?;
        // The value of a variable. A timer that is due immediately would be set again and again at the same `now`.
        if duration == Duration::ZERO {
            return Ok(Flow::Next);
        }
        self.phase = Phase::Sleeping;
        Ok(Flow::Wait(Step::Sleep(turn.now + duration)))
    }

    fn shell(&mut self, shell: &Shell, capture: bool, turn: &mut Turn<'_>) -> Result<Flow, AbortCause> {
        let line = shell.command_line(&self.variables, &turn.load.symbols);
        let command = line.map_err(AbortCause::Evaluation)?;
        self.phase = Phase::Shell;
        Ok(Flow::Wait(Step::Shell { command, capture }))
    }

    /// A shell command has ended, or could not be run.
    pub(crate) fn shell_done(&mut self, answer: io::Result<ShellAnswer>, turn: &mut Turn<'_>) -> Step {
        let commands = turn.load.plan.scripts[self.script].program.commands();
        let Command { kind, name, .. } = &commands[self.command];
        let result = match kind {
            CommandKind::SetShell(set) => self.take_output(set, answer),
            CommandKind::Shell(shell) => check(shell, answer),
            _ => unreachable!("{name} runs no shell commands"),
        };
        match result {
            Ok(()) => {
                self.complete(turn);
                self.proceed(turn)
            }
            Err(cause) => self.abort(cause, turn.load),
        }
    }

    /// As in pgbench, only the output counts and not the exit status.
    fn take_output(&mut self, set: &SetShell, answer: io::Result<ShellAnswer>) -> Result<(), AbortCause> {
        let answer = answer.map_err(|error| shell_failure(&set.shell, &error.to_string()))?;
        let value = set.read_output(&answer.output).map_err(AbortCause::Evaluation)?;
        self.variables.set(set.slot, value);
        Ok(())
    }

    /// Evaluates an expression with this client's variables and random stream; `debug()` goes to the tracer.
    pub(super) fn evaluate<T>(
        &mut self,
        turn: &mut Turn<'_>,
        evaluate: impl FnOnce(&mut Scope<'_>) -> Result<T, EvaluationError>,
    ) -> Result<T, AbortCause> {
        let Self { number: client, script, command, .. } = *self;
        let tracer = &mut *turn.tracer;
        let mut debug = |value: script::Value| {
            let value = &value.described();
            tracer.on_event(&ClientEvent::Debugged { client, script, command, value });
        };
        let mut scope = Scope::new(&mut self.variables, &mut self.random, &turn.load.symbols);
        scope.debug = Some(&mut debug);
        evaluate(&mut scope).map_err(AbortCause::Evaluation)
    }
}

fn check(shell: &Shell, answer: io::Result<ShellAnswer>) -> Result<(), AbortCause> {
    match answer.map(|answer| answer.status) {
        Ok(Some(0)) => Ok(()),
        Ok(Some(status)) => Err(shell_failure(shell, &format!("exit status {status}"))),
        Ok(None) => Err(shell_failure(shell, "ended by a signal")),
        Err(error) => Err(shell_failure(shell, &error.to_string())),
    }
}

fn shell_failure(shell: &Shell, reason: &str) -> AbortCause {
    AbortCause::Shell { command: shell.command(), reason: reason.into() }
}
