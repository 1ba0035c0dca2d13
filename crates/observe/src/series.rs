//! The run over time: growth of counters and activity of backends between readings. Pure; `watch` reads the server.
//! `account` also uses it for the growth over the whole run.

use std::collections::BTreeMap;

use results::ServerSample;

use crate::catalogue::{self, Question};
use crate::difference::{Reading, growths};
use crate::scripts::Matcher;
use crate::strata::Strata;
use crate::waits::{Seen, Tally};

/// All values read at one moment, by view.
pub(crate) type Snapshot = BTreeMap<&'static str, Reading>;

/// Source of a figure: views, parts of row keys, and columns, which are summed.
type Source = &'static [(&'static str, &'static str, &'static str)];

/// Figures of a sample and of the cost of a transaction. If a name has several sources, the first that the server
/// supports is used.
const SOURCES: &[(&str, Source)] = &[
    ("wal_bytes", &[(catalogue::LOG_POSITION, "", "bytes")]),
    ("wal_records", &[(catalogue::WAL, "", "wal_records")]),
    ("wal_full_page_images", &[(catalogue::WAL, "", "wal_fpi")]),
    ("wal_full_page_image_bytes", &[(catalogue::WAL, "", "wal_fpi_bytes")]),
    ("blocks_hit", &[(catalogue::DATABASE, "", "blks_hit")]),
    ("blocks_read", &[(catalogue::DATABASE, "", "blks_read")]),
    ("block_read_time_ms", &[(catalogue::DATABASE, "", "blk_read_time_ms")]),
    ("block_write_time_ms", &[(catalogue::DATABASE, "", "blk_write_time_ms")]),
    (
        "blocks_written",
        &[
            (catalogue::BGWRITER, "", "buffers_checkpoint"),
            (catalogue::BGWRITER, "", "buffers_clean"),
            (catalogue::BGWRITER, "", "buffers_backend"),
        ],
    ),
    ("blocks_written", &[(catalogue::IO, "/relation/", "writes")]),
    ("temp_bytes", &[(catalogue::DATABASE, "", "temp_bytes")]),
    ("commits", &[(catalogue::DATABASE, "", "xact_commit")]),
    ("rollbacks", &[(catalogue::DATABASE, "", "xact_rollback")]),
];

/// Figures that grew between two snapshots; unsupported ones are omitted.
pub(crate) fn figures(before: &Snapshot, after: &Snapshot, questions: &[Question]) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    for (name, columns) in SOURCES {
        if figures.contains_key(*name) {
            continue;
        }
        let parts =
            columns.iter().map(|(view, key, column)| grown(before, after, questions, view, key, column));
        if let Some(sum) = parts.sum::<Option<f64>>() {
            figures.insert((*name).to_owned(), sum);
        }
    }
    figures
}

/// Growth of a column over the rows whose keys contain `key`. `None` if there is no such column or value, or if it was
/// reset in between, since its growth is then incomplete.
pub(crate) fn grown(
    before: &Snapshot,
    after: &Snapshot,
    questions: &[Question],
    view: &str,
    key: &str,
    column: &str,
) -> Option<f64> {
    let question = catalogue::find(questions, view)?;
    let column = question.column(column)?;
    let (before, after) = (before.get(view)?, after.get(view)?);
    let rows = growths(before, after, &question.columns);
    let of_key = || rows.iter().filter(|(known, _)| known.contains(key)).map(|(_, row)| row);
    if of_key().any(|row| row.was_reset) {
        return None;
    }
    let mut values = of_key().filter_map(|row| row.values[column]);
    let first = values.next()?;
    Some(values.fold(first, |sum, value| sum + value))
}

/// Consecutive stretches of time.
#[derive(Debug, Default)]
pub(crate) struct Series {
    samples: Vec<ServerSample>,
    /// Activity of backends in the measured time.
    pub(crate) measured: Tally,
    /// The same in short batches, for the standard error.
    batches: Vec<Tally>,
    current: Tally,
    /// The current stretch, in batches.
    current_batches: Vec<Tally>,
    since_s: f64,
}

/// Samples of a batch: a quarter of a second, so that five seconds have enough batches for an interval.
const BATCH_LOOKS: u64 = 5;

/// Precision of times in the record.
const MICROS_PER_SECOND: f64 = 1e6;
/// A tenth of the usual length: a shorter last sample would appear as an empty second.
const REST_MAX_S: f64 = 0.1;
/// Limit of stored samples; longer runs have longer samples.
const SAMPLES_MAX: usize = 1800;

impl Series {
    pub(crate) fn new(since_s: f64) -> Series {
        Series { since_s, ..Series::default() }
    }

    /// Adds one sample of backends to the current stretch.
    pub(crate) fn count(&mut self, look: &[Seen], matcher: &Matcher) {
        self.current.count(look, matcher);
        if self.current_batches.last().is_none_or(|batch| batch.looks >= BATCH_LOOKS) {
            self.current_batches.push(Tally::default());
        }
        if let Some(batch) = self.current_batches.last_mut() {
            batch.count(look, matcher);
        }
    }

    /// Replaces the counts of the current stretch by more accurate ones.
    pub(crate) fn replace_current(&mut self, with: impl FnOnce(&Tally) -> Tally) {
        self.current = with(&self.current);
        self.current_batches = vec![self.current.clone()];
    }

    /// The wait samples of the measured time in batches of about equal length, in order of time.
    pub(crate) fn batches(&self) -> &[Tally] {
        &self.batches
    }

    fn keep_batches(&mut self, mut more: Vec<Tally>) {
        more.retain(|batch| batch.looks > 0);
        let usual = self.batches.first().or(more.first()).map_or(0, |batch| batch.looks);
        for batch in more {
            // The error of a series requires equal lengths: the last batch may be shorter, and earlier ones may have
            // been merged.
            match self.batches.last_mut() {
                Some(last) if last.looks + batch.looks <= usual || 2 * batch.looks < usual => {
                    last.merge(&batch)
                }
                _ => self.batches.push(batch),
            }
        }
        if self.batches.len() > SAMPLES_MAX {
            let pairs = self.batches.chunks(2).map(|pair| {
                let mut first = pair[0].clone();
                pair[1..].iter().for_each(|second| first.merge(second));
                first
            });
            self.batches = pairs.collect();
        }
    }

    /// Ends the current stretch; `strata` are the kernel's counts for it.
    pub(crate) fn close(&mut self, at_s: f64, values: BTreeMap<String, f64>, strata: Option<&Strata>) {
        let at_s = (at_s * MICROS_PER_SECOND).round() / MICROS_PER_SECOND;
        let tally = std::mem::take(&mut self.current);
        let batches = std::mem::take(&mut self.current_batches);
        if self.since_s >= 0.0 {
            self.measured.merge(&tally);
            self.keep_batches(batches);
        }
        if at_s <= self.since_s {
            return;
        }
        let sample = sample(self.since_s, at_s, &tally, values, strata);
        self.samples.push(sample);
        self.since_s = at_s;
        if self.samples.len() > SAMPLES_MAX {
            self.samples = halve(std::mem::take(&mut self.samples));
        }
    }

    /// Ends the last stretch. A partial second has few samples, so it is merged into the previous sample.
    pub(crate) fn close_last(&mut self, at_s: f64, values: BTreeMap<String, f64>, strata: Option<&Strata>) {
        self.close(at_s, values, strata);
        let Some((last, [.., before])) = self.samples.split_last() else { return };
        if last.end_s - last.start_s < REST_MAX_S && before.start_s >= 0.0 {
            let rest = last.clone();
            self.samples.pop();
            if let Some(before) = self.samples.last_mut() {
                join(before, &rest);
            }
        }
    }

    /// The last closed stretch.
    pub(crate) fn newest(&self) -> Option<&ServerSample> {
        self.samples.last()
    }

    pub(crate) fn into_samples(self) -> Vec<ServerSample> {
        self.samples
    }
}

fn sample(
    start_s: f64,
    end_s: f64,
    tally: &Tally,
    values: BTreeMap<String, f64>,
    strata: Option<&Strata>,
) -> ServerSample {
    let (idle, waits) = tally.means(strata);
    let looks = u32::try_from(tally.looks).unwrap_or(u32::MAX);
    ServerSample { start_s, end_s, looks, idle, waits, values }
}

/// Merges pairs of samples, but never across the start of the measured time.
fn halve(samples: Vec<ServerSample>) -> Vec<ServerSample> {
    let mut joined: Vec<ServerSample> = Vec::with_capacity(samples.len() / 2 + 1);
    let mut is_open = false;
    for sample in samples {
        match joined.last_mut() {
            Some(last) if is_open && (last.start_s >= 0.0 || sample.start_s < 0.0) => {
                join(last, &sample);
                is_open = false;
            }
            _ => {
                joined.push(sample);
                is_open = true;
            }
        }
    }
    joined
}

fn join(first: &mut ServerSample, second: &ServerSample) {
    let (one, two) = (f64::from(first.looks), f64::from(second.looks));
    let mean = |a: f64, b: f64| if one + two > 0.0 { (a * one + b * two) / (one + two) } else { 0.0 };
    first.idle = mean(first.idle, second.idle);
    for wait in &mut first.waits {
        wait.backends = mean(wait.backends, 0.0);
    }
    for wait in &second.waits {
        let known =
            |mine: &&mut results::WaitMean| mine.event == wait.event && mine.event_type == wait.event_type;
        match first.waits.iter_mut().find(known) {
            Some(mine) => mine.backends += mean(0.0, wait.backends),
            None => {
                first.waits.push(results::WaitMean { backends: mean(0.0, wait.backends), ..wait.clone() })
            }
        }
    }
    let (first_s, second_s) = (first.end_s - first.start_s, second.end_s - second.start_s);
    for (name, value) in &second.values {
        let mine = first.values.entry(name.clone()).or_default();
        // Shares are averages over time, other values are counts.
        *mine = if name.ends_with("_share") {
            (*mine * first_s + value * second_s) / (first_s + second_s)
        } else {
            *mine + value
        };
    }
    first.end_s = second.end_s;
    first.looks = first.looks.saturating_add(second.looks);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Asked, V9_6, V17, questions};
    use crate::difference::Counters;

    fn snapshot(questions: &[Question], value: f64) -> Snapshot {
        let of = |question: &Question| {
            let values = question.columns.iter().map(|_| Some(value)).collect();
            let key = if question.view == catalogue::IO { "client backend/relation/normal" } else { "" };
            (question.view, Reading::from([(key.to_owned(), Counters { reset: None, values })]))
        };
        questions.iter().map(of).collect()
    }

    #[test]
    fn each_version_has_its_own_sources_of_the_same_figures() {
        for (version, written, has_records) in [(V9_6, 15.0, false), (V17, 5.0, true)] {
            let questions = questions(version, &Asked::default());
            let (before, after) = (snapshot(&questions, 5.0), snapshot(&questions, 10.0));
            let figures = figures(&before, &after, &questions);
            assert_eq!(figures["blocks_written"], written);
            assert_eq!(figures["wal_bytes"], 5.0);
            assert_eq!(figures.contains_key("wal_records"), has_records);
        }
    }

    #[test]
    fn what_was_reset_in_between_is_no_figure() {
        let questions = questions(V17, &Asked::default());
        let (before, after) = (snapshot(&questions, 5.0), snapshot(&questions, 4.0));
        let figures = figures(&before, &after, &questions);
        assert!(!figures.contains_key("blocks_hit") && !figures.contains_key("commits"), "{figures:?}");
    }

    fn series(seconds: u32) -> Vec<ServerSample> {
        let mut series = Series::new(-1.0);
        for second in 0..seconds {
            let values = BTreeMap::from([("commits".to_owned(), 10.0), ("host_busy_share".to_owned(), 0.5)]);
            series.close(f64::from(second), values, None);
        }
        series.into_samples()
    }

    #[test]
    fn samples_are_contiguous_and_their_counters_add_up_however_long_the_run() {
        for seconds in [3, 4000] {
            let samples = series(seconds);
            assert!(samples.len() <= SAMPLES_MAX);
            assert!(samples.windows(2).all(|pair| pair[0].end_s == pair[1].start_s));
            assert_eq!((samples[0].start_s, samples[0].end_s), (-1.0, 0.0));
            let commits: f64 = samples.iter().map(|sample| sample.values["commits"]).sum();
            assert_eq!(commits, 10.0 * f64::from(seconds));
            assert!(samples.iter().all(|sample| (sample.values["host_busy_share"] - 0.5).abs() < 1e-9));
        }
    }

    #[test]
    fn what_is_left_of_a_second_at_the_end_belongs_to_the_sample_before() {
        let commits = |count: f64| BTreeMap::from([("commits".to_owned(), count)]);
        let ending = |end_s: f64| {
            let mut series = Series::new(0.0);
            series.close(1.0, commits(10.0), None);
            series.close(2.005, commits(20.0), None);
            series.close_last(end_s, commits(3.0), None);
            let shown = |sample: ServerSample| (sample.start_s, sample.end_s, sample.values["commits"]);
            series.into_samples().into_iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(ending(2.011), [(0.0, 1.0, 10.0), (1.0, 2.011, 23.0)]);
        assert_eq!(ending(2.2), [(0.0, 1.0, 10.0), (1.0, 2.005, 20.0), (2.005, 2.2, 3.0)]);
    }

    #[test]
    fn a_rest_never_belongs_to_the_warm_up() {
        let mut series = Series::new(-1.0);
        series.close(0.0, BTreeMap::new(), None);
        series.close_last(0.05, BTreeMap::new(), None);
        assert_eq!(series.into_samples().len(), 2);
    }

    #[test]
    fn a_stretch_without_length_is_none() {
        let mut series = Series::new(0.0);
        series.close(0.0, BTreeMap::new(), None);
        assert!(series.into_samples().is_empty());
    }

    #[test]
    fn batches_are_about_equally_long_and_hold_all_looks_of_the_measured_time() {
        let matcher = Matcher::new(&[]);
        for (seconds, batches) in [(2, 8), (600, 1200)] {
            let mut series = Series::new(-1.0);
            for second in 0..=seconds {
                (0..20).for_each(|_| series.count(&[], &matcher));
                series.close(f64::from(second), BTreeMap::new(), None);
            }
            (0..2).for_each(|_| series.count(&[], &matcher));
            series.close_last(f64::from(seconds) + 0.1, BTreeMap::new(), None);
            let looks: Vec<u64> = series.batches().iter().map(|batch| batch.looks).collect();
            assert_eq!(looks.len(), batches);
            let (last, others) = looks.split_last().unwrap();
            assert!(others.iter().all(|looks| *looks == others[0]) && *last == others[0] + 2, "{looks:?}");
            assert_eq!(looks.iter().sum::<u64>(), series.measured.looks, "none of the warm-up");
        }
    }

    #[test]
    fn counts_of_somebody_else_are_one_batch() {
        let matcher = Matcher::new(&[]);
        let mut series = Series::new(0.0);
        (0..20).for_each(|_| series.count(&[], &matcher));
        series.replace_current(|own| Tally { looks: 5 * own.looks, ..Tally::default() });
        series.close(1.0, BTreeMap::new(), None);
        assert_eq!(series.batches().iter().map(|batch| batch.looks).collect::<Vec<_>>(), [100]);
    }
}
