//! `\gset` and `\aset`: the rows of one command that go into variables (reference, section 9). Of each result
//! only the latest row is kept. Fed by the link while a command that asks for it is answered.

use script::{Capture, CaptureKind, Symbols, Variables};
use wire::{Message, ProtocolError, ServerError};

use crate::abort::AbortCause;
use crate::tracer::{ClientEvent, Tracer};

/// Room that is kept between two commands; a client must not hold the largest row that it ever saw.
const RETAINED_MAX: usize = 64 * 1024;

/// Where a link's replies go apart from the link: notices to the tracer, captured values to the variables.
pub(super) struct ReplyContext<'a> {
    pub(super) client: usize,
    pub(super) tracer: &'a mut dyn Tracer,
    pub(super) variables: &'a mut Variables,
    pub(super) symbols: &'a Symbols,
    /// What the command under way wants to have captured.
    pub(super) capture: Option<&'a Capture>,
}

impl ReplyContext<'_> {
    pub(super) fn notice(&mut self, notice: &ServerError) {
        self.tracer.on_event(&ClientEvent::Notice { client: self.client, notice });
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Capturing {
    active: bool,
    /// The result under way, or the last one, has rows to give.
    described: bool,
    names: Texts,
    /// The latest row.
    values: Texts,
    /// Rows of the result.
    rows: u64,
    /// It is over: what comes next belongs to another.
    over: bool,
    /// Results that are over; where something is wrong with one, up to that.
    results: u32,
    fault: Option<AbortCause>,
}

/// Many byte strings in one.
#[derive(Debug, Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Capturing {
    /// A command begins whose results are wanted.
    pub(super) fn begin(&mut self) {
        self.active = true;
        self.fault = None;
        self.results = 0;
        self.begin_result(false);
    }

    /// The command is over. True if its results were wanted.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(&mut self.active)
    }

    /// Takes in what concerns results.
    pub(super) fn take(&mut self, message: &Message<'_>, context: &mut ReplyContext<'_>) {
        if !self.active || self.fault.is_some() {
            return;
        }
        match message {
            Message::RowDescription(description) => {
                self.begin_result(true);
                let names = description.names().try_for_each(|name| name.map(|name| self.names.push(name)));
                self.note(names);
            }
            Message::DataRow(row) => {
                self.rows += 1;
                self.values.clear();
                let values = row
                    .columns()
                    .try_for_each(|value| value.map(|value| self.values.push(value.unwrap_or_default())));
                self.note(values);
            }
            Message::CommandComplete(_) | Message::EmptyQueryResponse => {
                if self.over {
                    self.begin_result(false);
                }
                self.over = true;
                self.results += 1;
                if let Some(capture @ Capture { kind: CaptureKind::Aset, .. }) = context.capture
                    && self.rows > 0
                {
                    let assigned = self.assign(capture, context.variables, context.symbols);
                    self.fault = assigned.err();
                }
            }
            _ => {}
        }
    }

    /// Which result of the command was the last, from 0.
    pub(super) fn last_result(&self) -> u32 {
        self.results.saturating_sub(1)
    }

    /// The command has ended well: gives the variables what `\gset` captured.
    pub(super) fn finish(
        &mut self,
        capture: &Capture,
        variables: &mut Variables,
        symbols: &Symbols,
    ) -> Result<(), AbortCause> {
        let mut result = self.fault.take().map_or(Ok(()), Err);
        if result.is_ok() && capture.kind == CaptureKind::Gset {
            let rows = if self.described { self.rows } else { 0 };
            result = if rows == 1 {
                self.assign(capture, variables, symbols)
            } else {
                Err(AbortCause::RowCount { rows })
            };
        }
        self.values.shrink();
        result
    }

    fn begin_result(&mut self, described: bool) {
        self.described = described;
        self.over = false;
        self.rows = 0;
        self.names.clear();
        self.values.clear();
    }

    fn note(&mut self, read: Result<(), ProtocolError>) {
        if let Err(error) = read {
            self.fault = Some(AbortCause::Protocol(error));
        }
    }

    /// Each column's value goes to the variable of its name. SQL's NULL is an empty text, as with pgbench. A name
    /// that no script mentions can be read by nobody, so its value is not kept.
    fn assign(
        &self,
        capture: &Capture,
        variables: &mut Variables,
        symbols: &Symbols,
    ) -> Result<(), AbortCause> {
        let mut prefixed = Vec::new();
        for (name, value) in self.names.iter().zip(self.values.iter()) {
            let mut name = name;
            if !capture.prefix.is_empty() {
                prefixed.clear();
                prefixed.extend_from_slice(&capture.prefix);
                prefixed.extend_from_slice(name);
                name = &prefixed;
            }
            if let Some(slot) = symbols.lookup(name) {
                variables.set_text(slot, value);
            } else if !Symbols::is_valid_name(name) {
                let name = encoding::decode(name).into();
                return Err(AbortCause::VariableName { kind: capture.kind, name });
            }
        }
        Ok(())
    }
}

impl Texts {
    fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn shrink(&mut self) {
        if self.bytes.capacity() > RETAINED_MAX {
            *self = Self::default();
        }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}
