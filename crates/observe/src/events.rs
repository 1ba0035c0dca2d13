//! Events detected in readings a second apart: checkpoints, autovacuum of the tables in use, queues for locks. Pure;
//! `watch` reads the server.

use std::collections::BTreeMap;

use results::{Event, EventKind};

use crate::catalogue::{BGWRITER, CHECKPOINTER, CONTROL_FILE, Question, TABLES, find};
use crate::series::Snapshot;
use crate::waits::Seen;

/// Minimum number of backends in a queue for locks; they must also be a minimum share of the active ones.
const QUEUE_MIN: u64 = 3;
const QUEUE_SHARE_MIN: f64 = 0.25;
/// A queue ends after this time without samples of it.
const QUEUE_GAP_S: f64 = 1.0;
/// Maximum number of events; the views still count later ones.
const EVENTS_MAX: usize = 500;

/// An active autovacuum worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Vacuuming {
    pub(crate) pid: u32,
    pub(crate) table: String,
    /// `vacuum` or `analyze`.
    pub(crate) what: String,
}

/// Events up to now.
#[derive(Debug, Default)]
pub(crate) struct Events {
    over: Vec<Event>,
    checkpoint: Option<Checkpoint>,
    vacuums: BTreeMap<Vacuuming, f64>,
    queue: Option<Queue>,
}

#[derive(Debug)]
struct Checkpoint {
    start_s: f64,
    why: &'static str,
    written_before: Option<f64>,
}

#[derive(Debug, Default)]
struct Queue {
    start_s: f64,
    last_s: f64,
    waiting_max: u64,
    working_max: u64,
    /// Rows that backends queued for, with the number of samples.
    rows: BTreeMap<String, u64>,
}

/// Checkpoint counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counted {
    timed: f64,
    requested: f64,
    written: Option<f64>,
    /// WAL position of the last complete checkpoint.
    complete: Option<f64>,
    begun_s_ago: Option<f64>,
}

impl Counted {
    fn of(snapshot: &Snapshot, questions: &[Question]) -> Option<Counted> {
        let value = |view, column| value(snapshot, questions, view, column);
        let either = |(view, column), (old_view, old_column)| {
            value(view, column).or_else(|| value(old_view, old_column))
        };
        Some(Counted {
            timed: either((CHECKPOINTER, "num_timed"), (BGWRITER, "checkpoints_timed"))?,
            requested: either((CHECKPOINTER, "num_requested"), (BGWRITER, "checkpoints_req"))?,
            written: either((CHECKPOINTER, "buffers_written"), (BGWRITER, "buffers_checkpoint")),
            complete: value(CONTROL_FILE, "bytes_up_to_checkpoint"),
            begun_s_ago: value(CONTROL_FILE, "begun_s_ago"),
        })
    }
}

/// A column of a view with one row.
fn value(snapshot: &Snapshot, questions: &[Question], view: &str, column: &str) -> Option<f64> {
    let column = find(questions, view)?.column(column)?;
    snapshot.get(view)?.values().next()?.values.get(column).copied()?
}

impl Events {
    /// Compares two readings; the later one was made at `at_s`.
    pub(crate) fn read(&mut self, before: &Snapshot, after: &Snapshot, questions: &[Question], at_s: f64) {
        if let Some((before, after)) = Counted::of(before, questions).zip(Counted::of(after, questions)) {
            self.checkpoints(before, after, at_s);
        }
    }

    fn checkpoints(&mut self, before: Counted, after: Counted, at_s: f64) {
        let is_requested = after.requested > before.requested;
        if self.checkpoint.is_none() && (is_requested || after.timed > before.timed) {
            let why = if is_requested { "requested" } else { "timed" };
            self.checkpoint = Some(Checkpoint { start_s: at_s, why, written_before: before.written });
        }
        if after.complete.is_none() || after.complete == before.complete || before.complete.is_none() {
            return;
        }
        // The control file has the start with a resolution of a second; an observed start is an upper bound.
        let told_s = after.begun_s_ago.map_or(at_s, |ago| at_s - ago);
        let (start_s, detail) = match self.checkpoint.take() {
            Some(Checkpoint { start_s, why, written_before }) => {
                let written = after.written.zip(written_before).map(|(after, before)| after - before);
                let written = written.filter(|written| *written >= 0.0);
                let detail =
                    written.map_or(why.to_owned(), |written| format!("{why}, {written:.0} buffers written"));
                (start_s.min(told_s.max(start_s - 1.0)), detail)
            }
            None => (told_s, "begun before it was looked for".to_owned()),
        };
        self.add(EventKind::Checkpoint, start_s, Some(at_s), detail);
    }

    /// Adds the active autovacuum workers on the tables in use.
    pub(crate) fn vacuums(&mut self, at_work: Vec<Vacuuming>, at_s: f64) {
        let ended: Vec<_> = self.vacuums.keys().filter(|known| !at_work.contains(known)).cloned().collect();
        for vacuuming in ended {
            let start_s = self.vacuums.remove(&vacuuming).unwrap_or(at_s);
            self.add(EventKind::Autovacuum, start_s, Some(at_s), vacuum_detail(&vacuuming));
        }
        for vacuuming in at_work {
            self.vacuums.entry(vacuuming).or_insert(at_s);
        }
    }

    /// Adds vacuums that were too short to be sampled, from the table statistics at the end; `since_s` is the time of
    /// the first sample.
    pub(crate) fn short_vacuums(
        &mut self,
        at_end: &Snapshot,
        questions: &[Question],
        since_s: f64,
        end_s: f64,
        name_of: impl Fn(&str) -> String,
    ) {
        let Some(question) = find(questions, TABLES) else { return };
        for (what, name) in [("vacuum", "autovacuum_s_ago_at_end"), ("analyze", "autoanalyze_s_ago_at_end")] {
            let Some(column) = question.column(name) else { continue };
            for (table, row) in at_end.get(TABLES).into_iter().flatten() {
                let ended_s = row.values.get(column).copied().flatten().map(|ago| end_s - ago);
                let Some(ended_s) = ended_s.filter(|ended_s| *ended_s > since_s) else { continue };
                let detail = format!("{} ({what})", name_of(table));
                let is_known =
                    |event: &Event| event.kind == EventKind::Autovacuum && event.detail.as_str() == detail;
                if !self.over.iter().any(is_known) {
                    self.add(EventKind::Autovacuum, ended_s, Some(ended_s), detail);
                }
            }
        }
    }

    /// Adds one sample of backends. True while there is a queue.
    pub(crate) fn look(&mut self, look: &[Seen], at_s: f64) -> bool {
        let waits = |seen: &&Seen| seen.doing.as_ref().is_some_and(|(event_type, _)| event_type == "Lock");
        let waiting: u64 = look.iter().filter(waits).map(|seen| seen.backends).sum();
        let working: u64 = look.iter().filter(|seen| seen.doing.is_some()).map(|seen| seen.backends).sum();
        let is_queue = waiting >= QUEUE_MIN && share(waiting, working) >= QUEUE_SHARE_MIN;
        if is_queue {
            let queue = self.queue.get_or_insert_with(|| Queue { start_s: at_s, ..Queue::default() });
            queue.last_s = at_s;
            if waiting > queue.waiting_max {
                (queue.waiting_max, queue.working_max) = (waiting, working);
            }
        } else if self.queue.as_ref().is_some_and(|queue| at_s - queue.last_s > QUEUE_GAP_S) {
            self.end_queue(false);
        }
        is_queue
    }

    /// Adds the rows that backends queue for, with their number.
    pub(crate) fn queued_for(&mut self, rows: Vec<(String, u64)>) {
        if let Some(queue) = &mut self.queue {
            for (row, waiting) in rows {
                *queue.rows.entry(row).or_default() += waiting;
            }
        }
    }

    fn end_queue(&mut self, goes_on: bool) {
        let Some(Queue { start_s, last_s, waiting_max, working_max, rows }) = self.queue.take() else {
            return;
        };
        // A queue with a single sample may have been momentary.
        if !goes_on && last_s <= start_s {
            return;
        }
        let hottest = rows.iter().max_by_key(|(_, waiting)| **waiting);
        let row = hottest.map_or_else(String::new, |(row, _)| format!("; most often for {row}"));
        let detail = format!("up to {waiting_max} of {working_max} backends at work waited for locks{row}");
        self.add(EventKind::LockQueue, start_s, (!goes_on).then_some(last_s), detail);
    }

    /// Events that ended before the start of measuring are discarded.
    fn add(&mut self, kind: EventKind, start_s: f64, end_s: Option<f64>, detail: String) {
        let is_measured = end_s.is_none_or(|end_s| end_s > 0.0);
        if is_measured && self.over.len() < EVENTS_MAX {
            let round = |at_s: f64| (at_s * 1e3).round() / 1e3;
            self.over.push(Event {
                kind,
                start_s: round(start_s),
                end_s: end_s.map(round),
                detail: detail.into(),
            });
        }
    }

    /// All events in the order of their start; ongoing ones have no end.
    pub(crate) fn into_events(mut self) -> Vec<Event> {
        self.end_queue(true);
        if let Some(Checkpoint { start_s, why, .. }) = self.checkpoint.take() {
            self.add(EventKind::Checkpoint, start_s, None, why.to_owned());
        }
        for (vacuuming, start_s) in std::mem::take(&mut self.vacuums) {
            self.add(EventKind::Autovacuum, start_s, None, vacuum_detail(&vacuuming));
        }
        self.over.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        self.over
    }
}

fn vacuum_detail(vacuuming: &Vacuuming) -> String {
    format!("{} ({})", vacuuming.table, vacuuming.what)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(timed: f64, requested: f64, written: f64, complete: f64, begun_s_ago: f64) -> Counted {
        let (written, complete, begun_s_ago) = (Some(written), Some(complete), Some(begun_s_ago));
        Counted { timed, requested, written, complete, begun_s_ago }
    }

    fn shown(events: Events) -> Vec<(EventKind, f64, Option<f64>, String)> {
        let show = |event: Event| (event.kind, event.start_s, event.end_s, event.detail.as_str().to_owned());
        events.into_events().into_iter().map(show).collect()
    }

    #[test]
    fn a_checkpoint_begins_when_it_is_counted_and_ends_when_the_control_file_says_so() {
        let mut events = Events::default();
        let readings = [
            counted(1.0, 0.0, 10.0, 100.0, 50.0),
            counted(2.0, 0.0, 10.0, 100.0, 51.0),
            counted(2.0, 0.0, 90.0, 100.0, 52.0),
            counted(2.0, 0.0, 110.0, 200.0, 2.5),
        ];
        for (second, pair) in readings.windows(2).enumerate() {
            events.checkpoints(pair[0], pair[1], [1.0, 2.0, 3.0][second]);
        }
        let expected = (EventKind::Checkpoint, 0.5, Some(3.0), "timed, 100 buffers written".to_owned());
        assert_eq!(shown(events), [expected]);
    }

    #[test]
    fn a_checkpoint_within_a_second_is_seen_and_one_that_goes_on_has_no_end() {
        let mut events = Events::default();
        let (before, after) = (counted(0.0, 0.0, 0.0, 1.0, 9.0), counted(0.0, 1.0, 7.0, 2.0, 0.4));
        events.checkpoints(before, after, 5.0);
        events.checkpoints(after, counted(1.0, 1.0, 7.0, 2.0, 3.0), 8.0);
        let seen = shown(events);
        assert_eq!(
            (seen[0].1, seen[0].2, seen[0].3.as_str()),
            (4.6, Some(5.0), "requested, 7 buffers written")
        );
        assert_eq!((seen[1].1, seen[1].2, seen[1].3.as_str()), (8.0, None, "timed"));
    }

    #[test]
    fn a_checkpoint_that_was_under_way_began_when_the_control_file_says() {
        let mut events = Events::default();
        events.checkpoints(counted(1.0, 0.0, 0.0, 1.0, 99.0), counted(1.0, 0.0, 7.0, 2.0, 20.0), 5.0);
        let expected = (EventKind::Checkpoint, -15.0, Some(5.0), "begun before it was looked for".to_owned());
        assert_eq!(shown(events), [expected]);
    }

    #[test]
    fn a_vacuum_lasts_as_long_as_its_worker_is_seen() {
        let vacuuming = |pid| Vacuuming { pid, table: "t".to_owned(), what: "vacuum".to_owned() };
        let mut events = Events::default();
        events.vacuums(vec![vacuuming(1)], 1.0);
        events.vacuums(vec![vacuuming(1), vacuuming(2)], 2.0);
        events.vacuums(vec![vacuuming(2)], 3.0);
        let seen = shown(events);
        assert_eq!((seen[0].1, seen[0].2, seen[0].3.as_str()), (1.0, Some(3.0), "t (vacuum)"));
        assert_eq!((seen[1].1, seen[1].2), (2.0, None));
    }

    fn look(waiting: u64, running: u64) -> Vec<Seen> {
        let seen = |kind: &str, event: &str, backends| Seen {
            doing: Some((kind.to_owned(), event.to_owned())),
            statement: None,
            is_worker: false,
            backends,
        };
        vec![seen("Lock", "transactionid", waiting), seen("CPU", "running", running)]
    }

    #[test]
    fn what_was_over_before_measuring_began_and_what_was_seen_at_one_look_only_are_no_events() {
        let mut events = Events::default();
        for at_s in [-3.0, -2.8, 2.0, 6.0, 6.2] {
            events.look(&look(5, 3), at_s);
            events.look(&look(0, 8), at_s + 1.5);
        }
        events.look(&look(5, 3), 10.0);
        events.look(&look(5, 3), 10.2);
        events.look(&look(0, 8), 12.0);
        let times: Vec<_> =
            shown(events).into_iter().map(|(_, start_s, end_s, _)| (start_s, end_s)).collect();
        assert_eq!(times, [(10.0, Some(10.2))]);
    }

    #[test]
    fn a_queue_ends_when_it_was_not_seen_for_a_while() {
        let mut events = Events::default();
        assert!(!events.look(&look(2, 0), 0.0));
        assert!(events.look(&look(5, 3), 0.2));
        events.queued_for(vec![
            ("row (0,1) of branches".to_owned(), 4),
            ("row (0,2) of tellers".to_owned(), 1),
        ]);
        events.look(&look(1, 7), 0.4);
        assert!(events.look(&look(6, 2), 0.6));
        events.look(&look(0, 8), 2.0);
        let detail =
            "up to 6 of 8 backends at work waited for locks; most often for row (0,1) of branches".to_owned();
        assert_eq!(shown(events), [(EventKind::LockQueue, 0.2, Some(0.6), detail)]);
    }
}
