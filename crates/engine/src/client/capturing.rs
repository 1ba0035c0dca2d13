//! `\gset` and `\aset`: stores rows of a command in variables (reference, section 9). Only the latest row of each
//! result is kept. The link passes messages while a command with capturing is answered.

use script::{Capture, CaptureKind, Symbols, Variables};
use wire::{Message, ProtocolError, ServerError};

use crate::abort::AbortCause;
use crate::tracer::{ClientEvent, Tracer};

/// Capacity kept between two commands, so that a client does not hold memory for its largest row.
const RETAINED_MAX: usize = 64 * 1024;

/// Receivers of a link's messages: the tracer gets notices, the variables get captured values.
pub(super) struct ReplyContext<'a> {
    pub(super) client: usize,
    /// Set when the server acknowledges a commit with a reservation.
    pub(super) reserved: &'a mut bool,
    pub(super) tracer: &'a mut dyn Tracer,
    pub(super) variables: &'a mut Variables,
    pub(super) symbols: &'a Symbols,
    /// What the current command captures.
    pub(super) capture: Option<&'a Capture>,
}

impl ReplyContext<'_> {
    pub(super) fn notice(&mut self, notice: &ServerError) {
        self.tracer.on_event(&ClientEvent::Notice { client: self.client, notice });
    }
}

/// State of capturing.
#[derive(Debug, Default)]
pub(super) struct Capturing {
    active: bool,
    /// The current or last result has rows.
    described: bool,
    names: Texts,
    /// The latest row; NULL is an empty text.
    values: Texts,
    /// Indexes of the row's NULLs, in order.
    nulls: Vec<usize>,
    /// Number of rows of the result.
    rows: u64,
    /// The result has ended: the next row belongs to another one.
    over: bool,
    /// Number of ended results; after an error in one, up to that.
    results: u32,
    fault: Option<AbortCause>,
}

/// Many byte strings in one allocation.
#[derive(Debug, Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Capturing {
    /// Starts capturing for a command.
    pub(super) fn begin(&mut self) {
        self.active = true;
        self.fault = None;
        self.results = 0;
        self.begin_result(false);
    }

    /// The command has ended. True if its results were captured.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(&mut self.active)
    }

    /// Processes a message that concerns results.
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
                self.nulls.clear();
                let values = row.columns().enumerate().try_for_each(|(index, value)| {
                    let value = value?;
                    if value.is_none() {
                        self.nulls.push(index);
                    }
                    self.values.push(value.unwrap_or_default());
                    Ok(())
                });
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

    /// Index of the command's last result, from 0.
    pub(super) fn last_result(&self) -> u32 {
        self.results.saturating_sub(1)
    }

    /// The command succeeded: stores the values of `\gset` in the variables.
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
        self.nulls.clear();
    }

    fn note(&mut self, read: Result<(), ProtocolError>) {
        if let Err(error) = read {
            self.fault = Some(AbortCause::Protocol(error));
        }
    }

    /// Stores each column's value in the variable of its name. NULL becomes an empty text, as in pgbench, unless the
    /// command keeps it. Columns that no script mentions are ignored.
    fn assign(
        &self,
        capture: &Capture,
        variables: &mut Variables,
        symbols: &Symbols,
    ) -> Result<(), AbortCause> {
        let mut prefixed = Vec::new();
        for (index, (name, value)) in self.names.iter().zip(self.values.iter()).enumerate() {
            let mut name = name;
            if !capture.prefix.is_empty() {
                prefixed.clear();
                prefixed.extend_from_slice(&capture.prefix);
                prefixed.extend_from_slice(name);
                name = &prefixed;
            }
            if let Some(slot) = symbols.lookup(name) {
                if capture.keeps_null && self.nulls.binary_search(&index).is_ok() {
                    variables.set_null(slot);
                } else {
                    variables.set_text(slot, value);
                }
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
