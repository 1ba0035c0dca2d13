//! State shared by the clients of a worker and passed to each that acts: the plan, the send buffer, the tracer, and
//! the statistics of commands. It contains no sockets.

use stats::{CommandTable, Sample, Timestamp};

use crate::client::Turn;
use crate::errors::ErrorTable;
use crate::load::Load;
use crate::timeline::Timeline;
use crate::tracer::{ClientEvent, EndedTransaction, Tracer};

/// Shared state.
pub(super) struct ClientContext<'p> {
    pub(super) load: &'p Load<'p>,
    pub(super) out: Vec<u8>,
    pub(super) tracer: Box<dyn Tracer + 'p>,
    /// The bytes to send have a commit, which must wait for the tracer.
    pub(super) holds: bool,
    /// Whether the tracer wants transactions.
    watched: bool,
    /// Whether it wants each step of the clients.
    steps_wanted: bool,
    /// For each script without SQL, the number of executions in the measured window.
    computed: Box<[u64]>,
    measured: CommandTable,
    /// Statistics of warm-up transactions, which are discarded.
    warmup: CommandTable,
    errors: ErrorTable,
    end: Option<Timestamp>,
}

impl<'p> ClientContext<'p> {
    pub(super) fn new(load: &'p Load<'p>) -> Self {
        Self {
            load,
            out: Vec::new(),
            tracer: Box::new(()),
            holds: false,
            watched: false,
            steps_wanted: false,
            computed: vec![0; load.plan.scripts.len()].into_boxed_slice(),
            measured: load.command_table(),
            warmup: load.unmeasured_command_table(),
            errors: ErrorTable::default(),
            end: None,
        }
    }

    /// Starts the run.
    pub(super) fn begin(&mut self, timeline: Timeline, tracer: Box<dyn Tracer + 'p>) {
        self.watched = tracer.wants_transactions();
        self.steps_wanted = tracer.wants_steps();
        self.tracer = tracer;
        self.end = timeline.end;
    }

    /// Changes the end of the run.
    pub(super) fn end_at(&mut self, end: Timestamp) {
        self.end = Some(end);
    }

    /// The view of a client; `warmup`: its transaction is not measured.
    #[inline]
    pub(super) fn turn(&mut self, now: Timestamp, warmup: bool) -> Turn<'_> {
        let commands = if warmup { &mut self.warmup } else { &mut self.measured };
        Turn {
            load: self.load,
            out: &mut self.out,
            now,
            holds: &mut self.holds,
            tracer: &mut *self.tracer,
            steps_wanted: self.steps_wanted,
            commands,
            errors: &mut self.errors,
            warmup,
            end: self.end,
        }
    }

    /// The tracer wants neither transactions nor steps.
    pub(super) fn is_unobserved(&self) -> bool {
        !self.watched && !self.steps_wanted
    }

    /// Counts an execution of a script without SQL; its commands are counted at the end.
    #[inline]
    pub(super) fn count_computed(&mut self, script: usize) {
        self.computed[script] += 1;
    }

    /// Passes an ended transaction to the tracer.
    #[inline]
    pub(super) fn show(&mut self, client: usize, number: u64, sample: &Sample) {
        if self.watched {
            self.tracer.transaction(&EndedTransaction { client, number, sample });
        }
    }

    pub(super) fn report(&mut self, event: &ClientEvent<'_>) {
        self.tracer.on_event(event);
    }

    /// Ends the tracer and returns the statistics of commands and errors.
    pub(super) fn end(&mut self, now: Timestamp) -> (CommandTable, ErrorTable) {
        std::mem::replace(&mut self.tracer, Box::new(())).end(now);
        self.watched = false;
        self.steps_wanted = false;
        for (script, times) in self.computed.iter_mut().enumerate() {
            self.measured.complete_script_at_once(script, std::mem::take(times));
        }
        (std::mem::take(&mut self.measured), std::mem::take(&mut self.errors))
    }
}
