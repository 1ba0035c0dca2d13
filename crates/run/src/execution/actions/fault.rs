//! Execution of a fault at its time: begins it, waits until it is to end, and ends it, at the latest with the run.
//! Called by `thread`; the site does what is asked.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use connect::Session;
use observe::Observer;
use results::{ActionOutcome, ActionResult, Fault, FaultCourse, Missing, SafeText, TablesAt};

use super::{LEAD, Work, tables_at};
use crate::spec::site::FaultSite;

/// Interval at which a fault is examined that another action may end.
const LOOK: Duration = Duration::from_millis(10);

/// Why the state before a fault is not known.
const DISTURBED: &str = "another action was in effect";
const TOO_LATE: &str = "they could not be read before the action began";

impl Work {
    /// Performs a fault; `result` is that of an action that was not started.
    pub(super) fn perform_fault(
        &self,
        site: &dyn FaultSite,
        fault: &Fault,
        origin: Instant,
        result: ActionResult,
    ) -> ActionResult {
        let now_s = || Observer::now().saturating_duration_since(origin).as_secs_f64();
        let at = origin + self.spec.at;
        if !self.wait_until(origin + self.spec.at.saturating_sub(LEAD)) {
            return result;
        }
        let before = self.tables_before(site, at, now_s());
        if !self.wait_until(at) || self.is_run_over() {
            return result;
        }
        let begin_s = now_s();
        let outcome = self.inject(site, fault);
        let end_s = now_s();
        if self.is_run_over() {
            // The runner does it again, and reports a failure.
            let _ = site.restore();
        }
        // The runner may have stopped waiting.
        let _ = self.done.send(());
        let mut session = self.settled(None);
        let after = tables_at(now_s(), "", &self.tables, &mut session);
        ActionResult {
            begin_s: Some(begin_s),
            end_s: Some(end_s),
            outcome,
            before: Some(before),
            after: Some(after),
            ..result
        }
    }

    /// The state of the tables, if it can be read before the action is to begin. A server that does not answer must
    /// not delay the action.
    fn tables_before(&self, site: &dyn FaultSite, until: Instant, at_s: f64) -> TablesAt {
        let missing = |why: &str| TablesAt {
            at_s,
            tables: Vec::new(),
            missing: vec![Missing::new(TablesAt::ALL, why.to_owned())],
        };
        if site.is_disturbed() {
            return missing(DISTURBED);
        }
        let (done, state) = channel();
        let (target, tables) = (self.target.clone(), self.tables.clone());
        let reading = thread::Builder::new().name("tables before".to_owned()).spawn(move || {
            // The receiver may have stopped waiting.
            let _ = done.send(tables_at(at_s, "", &tables, &mut Session::connect(&target)));
        });
        match reading {
            Err(error) => missing(&error.to_string()),
            Ok(_) => {
                let left = until.saturating_duration_since(Observer::now());
                state.recv_timeout(left).unwrap_or_else(|_| missing(TOO_LATE))
            }
        }
    }

    fn inject(&self, site: &dyn FaultSite, fault: &Fault) -> ActionOutcome {
        let failed = |error: String| ActionOutcome::Failed { sqlstate: None, error: SafeText::from(error) };
        let id = match site.begin(&fault.kind, &|| self.is_run_over()) {
            Ok(id) => id,
            Err(_) if self.is_run_over() => return ActionOutcome::CutOff,
            Err(error) => return failed(error.to_string()),
        };
        if fault.kind.course() == FaultCourse::Done {
            return ActionOutcome::Succeeded;
        }
        let until = fault.lasts.map(|lasts| Observer::now() + lasts);
        let is_cut_off = !self.wait_while_in_effect(|| site.is_in_effect(id), until);
        match site.end(id) {
            Err(error) => failed(error.to_string()),
            Ok(()) if is_cut_off && until.is_some() => ActionOutcome::CutOff,
            Ok(()) => ActionOutcome::Succeeded,
        }
    }

    /// Waits until this time, or until another action ends the fault; false if the run has ended before.
    fn wait_while_in_effect(&self, is_in_effect: impl Fn() -> bool, until: Option<Instant>) -> bool {
        while is_in_effect() {
            let left = until.map(|until| until.saturating_duration_since(Observer::now()));
            if left == Some(Duration::ZERO) {
                return true;
            }
            let wait = left.map_or(LOOK, |left| left.min(LOOK));
            if self.origin.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                return false;
            }
        }
        true
    }
}
