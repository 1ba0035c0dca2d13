//! Encodes a client's messages: SQL commands in the three protocols, pipelines, and statements that are parsed before
//! one (reference, section 12). Replies are handled elsewhere.

use script::{CommandKind, Sql};
use wire::{ServerError, frontend};

use super::tokens::{TokenPosition, write_token};
use super::{Client, Phase, Step, Turn, sql_at};
use crate::abort::AbortCause;
use stats::{Protocol, ResultFormat};

use crate::plan::Compatibility;
use crate::tracer::{ClientEvent, ClientStep};

impl Client {
    /// Sends a command and waits for its reply.
    pub(super) fn send(&mut self, sql: &Sql, turn: &mut Turn<'_>) -> Result<(), AbortCause> {
        let length_max = turn.load.plan.message_length_max;
        let link = &mut self.links[self.link];
        link.reply.completed = 0;
        let token = self.token_position(sql, turn);
        let link = &mut self.links[self.link];
        if sql.is_attended() {
            match sql.copy_source() {
                Some(_) => link.expect_copy(),
                None => link.capture(),
            }
        }
        if turn.load.plan.protocol == Protocol::Simple {
            link.query();
            if turn.steps_wanted {
                let mut text = Vec::new();
                sql.write_simple_up_to(&self.variables, &mut text, length_max);
                turn.show(self.number, ClientStep::Sends { statement: &text });
            }
            if let Some(position) = token {
                return self.send_simple_with_token(sql, position, turn);
            }
            let write = |out: &mut Vec<u8>| sql.write_simple_up_to(&self.variables, out, length_max);
            return Ok(frontend::query_with(turn.out, length_max, write)?);
        }
        if token == Some(TokenPosition::BeforeStatement) {
            self.send_token(turn)?;
        }
        self.send_extended(sql, turn)?;
        if token == Some(TokenPosition::AfterStatement) {
            self.send_token(turn)?;
        }
        if sql.copy_source().is_some() {
            // A Sync now would end the series if the COPY failed early, and be ignored otherwise. So it follows the rows,
            // or the error.
            frontend::flush(turn.out);
        } else {
            self.links[self.link].sync(turn.out);
        }
        Ok(())
    }

    /// A token and the statement in one simple query, which is one transaction.
    fn send_simple_with_token(
        &mut self,
        sql: &Sql,
        position: TokenPosition,
        turn: &mut Turn<'_>,
    ) -> Result<(), AbortCause> {
        let token = self.next_token(turn);
        if position == TokenPosition::BeforeStatement {
            self.move_text();
        }
        let length_max = turn.load.plan.message_length_max;
        let insert = turn.load.plan.tokens.as_ref().map_or("", |tokens| tokens.insert.as_str());
        let write = |out: &mut Vec<u8>| match position {
            TokenPosition::BeforeStatement => {
                write_token(insert, token, out);
                out.push(b';');
                sql.write_simple_up_to(&self.variables, out, length_max);
            }
            TokenPosition::AfterStatement => {
                sql.write_simple_up_to(&self.variables, out, length_max);
                // The statement may end with a comment.
                out.extend_from_slice(b"\n;");
                write_token(insert, token, out);
            }
        };
        Ok(frontend::query_with(turn.out, length_max, write)?)
    }

    /// Parse unless already done, Bind, Describe, Execute.
    fn send_extended(&mut self, sql: &Sql, turn: &mut Turn<'_>) -> Result<(), AbortCause> {
        let link = &mut self.links[self.link];
        link.begin_series();
        let mut name: &[u8] = b"";
        let mut parsed = false;
        if turn.load.plan.protocol == Protocol::Prepared {
            let statement = turn.load.statements.number(self.script, self.command);
            name = turn.load.statements.name(statement).as_bytes();
            parsed = link.is_prepared(statement);
            if !parsed {
                link.expect_parse(statement);
                turn.show(self.number, ClientStep::Prepares { name: turn.load.statements.name(statement) });
            }
        }
        if turn.steps_wanted {
            let statement = if name.is_empty() { sql.numbered_text() } else { name };
            turn.show(self.number, ClientStep::Sends { statement });
        }
        let out = &mut *turn.out;
        if !parsed {
            frontend::parse(out, name, sql.numbered_text())?;
        }
        let is_binary = turn.load.plan.result_format == ResultFormat::Binary && sql.capture().is_none();
        let bind = frontend::bind(out, b"", name).binary_results(is_binary);
        let mut bind = bind.length_max(turn.load.plan.message_length_max);
        for slot in sql.parameters() {
            bind.parameter_with(|out| self.variables.write_parameter(*slot, out));
        }
        bind.finish()?;
        frontend::describe_and_execute(out);
        Ok(())
    }

    /// Sends a command without waiting for its reply.
    pub(super) fn send_in_pipeline(&mut self, sql: &Sql, turn: &mut Turn<'_>) -> Result<(), AbortCause> {
        if sql.is_attended() {
            let capture = sql.capture().map(|capture| AbortCause::CaptureInPipeline(capture.kind));
            return Err(capture.unwrap_or(AbortCause::CopyInPipeline));
        }
        if self.token_position(sql, turn).is_some() {
            self.send_token(turn)?;
        }
        if turn.load.plan.protocol == Protocol::Extended {
            self.piped.push(self.command);
        }
        self.send_extended(sql, turn)
    }

    /// `\startpipeline`. False if statements must be parsed first and their replies awaited.
    pub(super) fn enter_pipeline(&mut self, turn: &mut Turn<'_>) -> Result<bool, AbortCause> {
        if turn.load.plan.protocol == Protocol::Simple {
            return Err(AbortCause::PipelineInSimpleProtocol);
        }
        if self.pipeline {
            return Err(AbortCause::PipelineInPipeline);
        }
        if turn.load.plan.protocol == Protocol::Prepared && self.parse_ahead(turn)? {
            return Ok(false);
        }
        self.open_pipeline();
        Ok(true)
    }

    fn open_pipeline(&mut self) {
        self.pipeline = true;
        self.begin_tokens_of_pipeline();
        self.repeated_in_pipeline = 0;
        self.piped.clear();
        self.links[self.link].reply.completed = 0;
    }

    /// `\syncpipeline` or `\endpipeline`; after the latter all replies up to this Sync must be awaited.
    pub(super) fn sync_pipeline(&mut self, turn: &mut Turn<'_>) -> Result<(), AbortCause> {
        if !self.pipeline {
            return Err(AbortCause::NoPipeline);
        }
        self.links[self.link].sync(turn.out);
        Ok(())
    }

    /// Sends Parse for each statement of the pipeline that is not prepared yet, each with its own Sync, so that an
    /// invalid one does not affect the others. True if there are any.
    fn parse_ahead(&mut self, turn: &mut Turn<'_>) -> Result<bool, AbortCause> {
        let mut any = false;
        for (statement, sql) in pipeline_statements(self.script, self.command, turn) {
            let link = &mut self.links[self.link];
            if link.is_prepared(statement) {
                continue;
            }
            any = true;
            link.begin_series();
            link.expect_parse(statement);
            let name = turn.load.statements.name(statement);
            turn.show(self.number, ClientStep::Prepares { name });
            frontend::parse(turn.out, name.as_bytes(), sql.numbered_text())?;
            link.sync(turn.out);
        }
        Ok(any)
    }

    /// The replies to these Parse messages have arrived.
    pub(super) fn prepared(&mut self, error: Option<Box<ServerError>>, turn: &mut Turn<'_>) -> Step {
        let unparsed = self.links[self.link].take_unparsed();
        if let Some(error) = error {
            if turn.load.plan.compatibility == Compatibility::Pgmeter {
                self.phase = Phase::Waiting;
                return self.judge(error, true, turn);
            }
            for (refused, error) in unparsed {
                let of_pipeline = &mut pipeline_statements(self.script, self.command, turn);
                if let Some((_, sql)) = of_pipeline.find(|(statement, _)| *statement == refused) {
                    self.assume_prepared(refused, sql, &error, turn);
                }
            }
        }
        self.open_pipeline();
        self.complete(turn);
        self.proceed(turn)
    }

    /// As in pgbench (reference, section 23, quirk 10): a statement that could not be parsed counts as parsed, and
    /// its execution is tried and fails. `None` in pgmeter's own behaviour.
    pub(super) fn execute_unprepared(
        &mut self,
        refused: usize,
        error: &ServerError,
        turn: &mut Turn<'_>,
    ) -> Option<Step> {
        if turn.load.plan.compatibility != Compatibility::Pgbench {
            return None;
        }
        let sql = sql_at(self.script, self.command, turn.load)?;
        self.assume_prepared(refused, sql, error, turn);
        if let Err(cause) = self.send(sql, turn) {
            return Some(self.abort(cause, turn.load));
        }
        Some(self.await_reply(Phase::Waiting, turn))
    }

    fn assume_prepared(&mut self, refused: usize, sql: &Sql, error: &ServerError, turn: &mut Turn<'_>) {
        let (client, statement) = (self.number, sql.numbered_text());
        turn.tracer.on_event(&ClientEvent::Unprepared { client, error, statement });
        self.links[self.link].assume_prepared(refused);
    }
}

/// The statements from a `\startpipeline` to the next `\endpipeline`, with their numbers.
fn pipeline_statements<'l>(
    script: usize,
    start: usize,
    turn: &Turn<'l>,
) -> impl Iterator<Item = (usize, &'l Sql)> + use<'l> {
    let load = turn.load;
    let commands = load.plan.scripts[script].program.commands().iter().enumerate().skip(start);
    commands.take_while(|(_, command)| !matches!(command.kind, CommandKind::EndPipeline)).filter_map(
        move |(index, command)| match &command.kind {
            CommandKind::Sql(sql) => Some((load.statements.number(script, index), sql)),
            _ => None,
        },
    )
}
