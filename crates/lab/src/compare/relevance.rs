//! Detects settings that cannot affect the measured load, such as `wal_compression` without full-page images. A
//! comparison without a difference then says so, because it could not have found one.

use std::collections::BTreeMap;

use experiment::Cell;
use results::{Checkpoints, ComparedMetric, ComparedPair, ComparisonNote, NoEffect};
use run::ScriptSource;
use workload::WorkloadName;

/// Measured quantities.
pub(super) struct Measured<'a> {
    pub(super) cells: &'a [Cell; 2],
    pub(super) pairs: &'a [ComparedPair],
    pub(super) checkpoints: Checkpoints,
    /// Whether the scripts of all blocks only read.
    pub(super) only_reads: bool,
}

/// Settings, the condition under which they cannot matter, and the reason.
struct Rule {
    settings: &'static [&'static str],
    is_idle: fn(&Measured<'_>) -> bool,
    cause: NoEffect,
}

/// The first matching rule of a setting applies.
const RULES: [Rule; 4] = [
    Rule {
        settings: &[
            "commit_delay",
            "commit_siblings",
            "fsync",
            "full_page_writes",
            "synchronous_commit",
            "synchronous_standby_names",
            "wal_buffers",
            "wal_compression",
            "wal_init_zero",
            "wal_level",
            "wal_log_hints",
            "wal_recycle",
            "wal_sync_method",
            "wal_writer_delay",
            "wal_writer_flush_after",
        ],
        is_idle: |measured| {
            measured.only_reads || measured.is_below(ComparedMetric::Wal, WAL_BYTES_OF_READING)
        },
        cause: NoEffect::LittleWal,
    },
    Rule {
        settings: &["full_page_writes", "wal_compression"],
        is_idle: |measured| measured.is_below(ComparedMetric::FullPageImages, FULL_PAGE_IMAGES_MIN),
        cause: NoEffect::NoFullPageImages,
    },
    Rule {
        settings: &[
            "checkpoint_completion_target",
            "checkpoint_flush_after",
            "checkpoint_timeout",
            "max_wal_size",
            "min_wal_size",
        ],
        is_idle: |measured| measured.checkpoints == Checkpoints::EachBlock,
        cause: NoEffect::BlocksAfterCheckpoint,
    },
    Rule {
        settings: &[
            "enable_hashjoin",
            "enable_mergejoin",
            "enable_nestloop",
            "enable_partitionwise_join",
            "from_collapse_limit",
            "geqo",
            "geqo_effort",
            "geqo_generations",
            "geqo_pool_size",
            "geqo_seed",
            "geqo_selection_bias",
            "geqo_threshold",
            "join_collapse_limit",
        ],
        is_idle: |measured| measured.is_of_builtins(),
        cause: NoEffect::NoJoins,
    },
];

/// WAL per transaction that background work can produce while clients only read.
const WAL_BYTES_OF_READING: f64 = 10.0;
/// One full-page image per two thousand transactions is negligible.
const FULL_PAGE_IMAGES_MIN: f64 = 0.000_5;

/// A note for each differing setting that cannot matter, if the sides differ only in settings.
pub(super) fn notes(measured: &Measured<'_>) -> Vec<ComparisonNote> {
    let names = differing_settings(measured.cells);
    let note = |name: &String| {
        let applies = |rule: &&Rule| {
            rule.settings.contains(&name.to_ascii_lowercase().as_str()) && (rule.is_idle)(measured)
        };
        let rule = RULES.iter().find(applies)?;
        Some(ComparisonNote::SettingWithoutEffect { setting: name.as_str().into(), cause: rule.cause })
    };
    names.iter().filter_map(note).collect()
}

/// The differing settings; empty if the sides also differ in anything else.
fn differing_settings([a, b]: &[Cell; 2]) -> Vec<String> {
    let [mut rest_a, mut rest_b] = [a.configuration.clone(), b.configuration.clone()];
    for rest in [&mut rest_a, &mut rest_b] {
        rest.server.settings.clear();
        rest.session.clear();
    }
    if rest_a != rest_b {
        return Vec::new();
    }
    let [a, b] = [a, b].map(|cell| cell.configuration.settings().collect::<BTreeMap<_, _>>());
    let mut names: Vec<String> = a
        .keys()
        .chain(b.keys())
        .filter(|name| a.get(*name) != b.get(*name))
        .map(|name| (*name).clone())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl Measured<'_> {
    /// Whether all blocks have a value and none exceeds the limit.
    fn is_below(&self, metric: ComparedMetric, limit: f64) -> bool {
        let mut blocks =
            self.pairs.iter().filter(|pair| !pair.is_noise_floor).flat_map(|pair| &pair.blocks).peekable();
        // A block without a transaction has no values, and wrote no WAL for transactions.
        blocks.peek().is_some()
            && blocks
                .filter(|block| block.figure(ComparedMetric::Tps).is_some())
                .all(|block| block.figure(metric).is_some_and(|figure| figure < limit))
    }

    fn is_of_builtins(&self) -> bool {
        self.cells.iter().all(|cell| {
            let (load, data) = (&cell.configuration.load, &cell.configuration.data);
            cell.configuration.setup.is_none()
                && data.workload.as_ref().is_none_or(|name| *name == WorkloadName::default())
                && load.scripts.iter().all(|choice| matches!(choice.source, ScriptSource::OfWorkload(_)))
        })
    }
}

#[cfg(test)]
mod tests {
    use experiment::Configuration;
    use results::ComparedBlock;
    use run::ScriptSpec;
    use stats::comparison::Block;

    use super::*;

    /// The notes of a comparison of a setting, with this much WAL and this many full-page images.
    fn noted(
        setting: &str,
        wal_bytes: f64,
        images: Option<f64>,
        checkpoints: Checkpoints,
    ) -> Vec<ComparisonNote> {
        let block = Block {
            tps: Some(1_000.0),
            wal_bytes_per_transaction: Some(wal_bytes),
            full_page_images_per_transaction: images,
            ..Block::default()
        };
        let pairs = [ComparedPair {
            is_noise_floor: false,
            start_s: 0.0,
            blocks: vec![ComparedBlock::new(false, &block), ComparedBlock::new(true, &block)],
            merged: Vec::new(),
        }];
        let cells = ["1", "2"].map(|value| cell(setting, value));
        notes(&Measured { cells: &cells, pairs: &pairs, checkpoints, only_reads: false })
    }

    fn cell(setting: &str, value: &str) -> Cell {
        let mut configuration = Configuration::default();
        configuration.load.scripts = vec![ScriptSpec::new(ScriptSource::OfWorkload("tpcb-like".to_owned()))];
        configuration.server.settings.insert(setting.to_owned(), value.to_owned());
        Cell { levels: Vec::new(), configuration }
    }

    fn check(setting: &str, wal_bytes: f64, images: Option<f64>, expected: Option<NoEffect>) {
        let notes = noted(setting, wal_bytes, images, Checkpoints::EachBlock);
        let expected =
            expected.map(|cause| ComparisonNote::SettingWithoutEffect { setting: setting.into(), cause });
        assert_eq!(notes, Vec::from_iter(expected), "{setting}");
    }

    #[test]
    fn a_setting_that_cannot_matter_in_what_was_measured_is_named() {
        check("wal_compression", 600.0, Some(0.0), Some(NoEffect::NoFullPageImages));
        check("wal_compression", 9_000.0, Some(1.0), None);
        check("wal_compression", 600.0, None, None);
        check("synchronous_commit", 0.3, Some(0.0), Some(NoEffect::LittleWal));
        check("synchronous_commit", 600.0, Some(0.0), None);
        check("geqo", 600.0, Some(1.0), Some(NoEffect::NoJoins));
        check("work_mem", 0.0, Some(0.0), None);
        let of = |checkpoints| noted("max_wal_size", 600.0, Some(1.0), checkpoints).len();
        assert_eq!((of(Checkpoints::EachBlock), of(Checkpoints::NotWanted)), (1, 0));
    }

    #[test]
    fn sides_that_differ_in_something_else_too_have_no_such_note() {
        let mut cells = ["on", "off"].map(|value| cell("geqo", value));
        cells[1].configuration.load.clients += 1;
        assert_eq!(differing_settings(&cells), Vec::<String>::new());
    }
}
