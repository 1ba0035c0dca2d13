//! The sentences of the notes of a comparison: those that its record holds as kinds, and those that follow from its method.
//! Notes about a metric that lacks pairs are in `comparison`, which has their figures.

use results::{
    Checkpoints, ComparisonDecision, ComparisonLine, ComparisonMethod, ComparisonNote, ComparisonStatus,
    NoEffect,
};

use super::{counted, warnings::warning};
use crate::comparison::names;
use crate::figures::{TIE, fixed, latency};
use crate::metrics::Quantity;
use crate::prose::{capitalised, enumerate, escaped_line};
use crate::ratios;

/// So few set-ups of two servers are called few.
const SETUPS_FEW: u64 = 5;

/// In a column of a list.
pub(crate) fn decision_in_short(decision: ComparisonDecision) -> &'static str {
    match decision {
        ComparisonDecision::Better => "B better",
        ComparisonDecision::Equivalent => "equivalent",
        ComparisonDecision::NoWorse => "B no worse",
        ComparisonDecision::WorseThanTolerance => "B worse",
        ComparisonDecision::Undecided => "undecided",
    }
}

/// In a column of a list: `B better: tps +4.2 %`, `interrupted, undecided: tps +0.3 %`.
pub(crate) fn comparison_in_short(line: &ComparisonLine) -> String {
    let decision = line.decision.map_or("unknown", decision_in_short);
    let is_whole = line.status == ComparisonStatus::Complete.name();
    let status =
        if is_whole { String::new() } else { format!("{}, ", escaped_line(&line.status).replace('_', " ")) };
    let change = line.finding.as_ref().map(|finding| {
        let interval = finding.low.zip(finding.high);
        let shown = ratios::change(finding.ratio, interval);
        let shown = shown.unwrap_or_else(|| ratios::value(finding.ratio, interval));
        format!(": {} {shown}", names::short(finding.metric))
    });
    format!("{status}{decision}{}", change.unwrap_or_default())
}

/// The text of one note.
pub(crate) fn comparison_note(note: &ComparisonNote) -> String {
    match note {
        ComparisonNote::EndedEarly { reason } => format!(
            "The comparison ended early, and the result covers the pairs before that: {}.",
            escaped_line(reason.as_str()).trim_end_matches('.')
        ),
        ComparisonNote::WalOfOthers { bytes_per_s } => format!(
            "The scripts only read and changed no row, so the WAL of the server, {} per second of load, is not shown as \
             their cost. Other databases and background processes write WAL; a query itself writes some when it prunes \
             a page or sets hint bits.",
            Quantity::Bytes.shown(*bytes_per_s)
        ),
        ComparisonNote::BiasedNoiseFloor => {
            "A side differs from itself. Something favours one of two identical sides, so the answer is not reliable."
                .to_owned()
        }
        ComparisonNote::SettingWithoutEffect { setting, cause } => {
            without_effect(&escaped_line(setting.as_str()), *cause)
        }
        ComparisonNote::EmptyBlocks { of_a, of_b, favor_b } => {
            let more = if *favor_b { " B had more of them, by more than the tolerance." } else { "" };
            format!(
                "Blocks without a transaction ({of_a} of A, {of_b} of B) are in no figure, so the side that stalled is worse \
                 than it looks.{more}"
            )
        }
        ComparisonNote::MeansDiffer { metric, ratio_of_means, ratio } => format!(
            "The geometric means of all blocks differ by {} in {}, and the change shown is {}. The change is estimated from \
             the pairs by ranks, so blocks far from the others hardly affect it.",
            signed_percent(ratio_of_means - 1.0),
            names::short(*metric),
            signed_percent(ratio - 1.0)
        ),
        ComparisonNote::TooFewSetups { setups, setup_s, setups_needed, budget_needed_s } => format!(
            "Two servers side by side were set up {}, which takes {} each time. An answer needs {setups_needed} set-ups, \
             each under load for as long. Give --budget {:.0}s or more.",
            counted([*setups], "time", "times"),
            latency(setup_s * 1e6),
            budget_needed_s.ceil()
        ),
        ComparisonNote::ServersSetUp { setups } => format!(
            "Two servers side by side were set up anew {}{}. The interval comes from the variation between these set-ups, \
             and the noise floor is that of the first two servers.",
            if *setups <= SETUPS_FEW { "only " } else { "" },
            counted([*setups], "time", "times")
        ),
        ComparisonNote::SchemaChanged { switches, switch_s, tries, longest_wait_s } => {
            let waits = match *longest_wait_s {
                _ if *tries == 0 => String::new(),
                0.0 => " No statement of a change was seen to wait for a lock.".to_owned(),
                longest_s => format!(
                    " Their statements took {} to get their locks; the longest wait was {}.",
                    counted([*tries], "try", "tries"),
                    latency(longest_s * 1e6)
                ),
            };
            format!(
                "Both sides use one database, whose schema was changed {} between A and B, in {} each time.{waits}",
                counted([*switches], "time", "times"),
                latency(switch_s * 1e6)
            )
        }
        ComparisonNote::SchemaNotRestored { reason } => capitalised(&escaped_line(reason.as_str())),
        ComparisonNote::ServersNotRestarted => {
            "The two servers were already running and were not restarted. Chance differences between their starts are part \
             of the change."
                .to_owned()
        }
        ComparisonNote::Run(of_run) => warning(of_run),
    }
}

/// Why a setting cannot have an effect.
fn without_effect(setting: &str, cause: NoEffect) -> String {
    match cause {
        NoEffect::LittleWal => {
            format!("The transactions wrote almost no WAL, so {setting} cannot have an effect.")
        }
        NoEffect::NoFullPageImages => {
            format!("No full-page images were written, so {setting} cannot have an effect.")
        }
        NoEffect::BlocksAfterCheckpoint => format!(
            "Each block is short and begins right after a checkpoint, so {setting} cannot have an effect. Use pgmeter lab, \
             which has trials that are long enough."
        ),
        NoEffect::NoJoins => {
            format!("The built-in scripts join no tables, so {setting} cannot have an effect.")
        }
    }
}

/// A change: `+1.5 %`, `−3.0 %`.
fn signed_percent(share: f64) -> String {
    let sign = if share < 0.0 { '−' } else { '+' };
    format!("{sign}{}{TIE}%", fixed(share.abs() * 100.0, 1))
}

/// What follows from the method.
pub(crate) fn notes_of_method(method: &ComparisonMethod) -> Vec<String> {
    let checkpoints = match method.checkpoints {
        Checkpoints::EachBlock => Some(
            "Each block of both sides begins right after a checkpoint, so WAL per transaction is higher than in a long run.",
        ),
        Checkpoints::NotAllowed => Some(
            "Rows changed, and the role may not make checkpoints, so blocks differ in full-page images. GRANT pg_checkpoint \
             (PostgreSQL 15 and newer) makes them alike.",
        ),
        Checkpoints::NotWanted => Some(
            "Rows changed, and no block begins with a checkpoint, so blocks differ in full-page images; both sides alike.",
        ),
        Checkpoints::NotNeeded => None,
    };
    let settings: Vec<String> = method.session_settings.iter().map(|name| escaped_line(name)).collect();
    let settings = (!settings.is_empty()).then(|| {
        format!(
            "Both sides use one server: each connection sets {} for itself, and background processes do not have it.",
            enumerate(&settings)
        )
    });
    checkpoints.map(str::to_owned).into_iter().chain(settings).collect()
}

#[cfg(test)]
mod tests {
    use results::{ComparedMetric, Warning};

    use super::*;
    use crate::figures::with_ordinary_spaces;

    fn check(note: &ComparisonNote, expected: &str) {
        let text = with_ordinary_spaces(&comparison_note(note));
        assert_eq!(text, expected);
        for sentence in text.split(". ") {
            assert!(sentence.split(' ').count() <= 32, "long: {sentence}");
        }
    }

    #[test]
    fn a_setting_without_an_effect_is_named_with_the_cause() {
        let of =
            |setting: &str, cause| ComparisonNote::SettingWithoutEffect { setting: setting.into(), cause };
        check(
            &of("synchronous_commit", NoEffect::LittleWal),
            "The transactions wrote almost no WAL, so synchronous_commit cannot have an effect.",
        );
        check(
            &of("wal_\x1b[2J", NoEffect::NoFullPageImages),
            "No full-page images were written, so wal_\\x1b[2J cannot have an effect.",
        );
        check(
            &of("max_wal_size", NoEffect::BlocksAfterCheckpoint),
            "Each block is short and begins right after a checkpoint, so max_wal_size cannot have an effect. Use pgmeter \
             lab, which has trials that are long enough.",
        );
        check(
            &of("geqo", NoEffect::NoJoins),
            "The built-in scripts join no tables, so geqo cannot have an effect.",
        );
    }

    #[test]
    fn the_reason_of_an_early_end_and_wal_of_others_are_told() {
        check(
            &ComparisonNote::EndedEarly { reason: "cannot connect: refused".into() },
            "The comparison ended early, and the result covers the pairs before that: cannot connect: refused.",
        );
        check(
            &ComparisonNote::WalOfOthers { bytes_per_s: 20_000.0 },
            "The scripts only read and changed no row, so the WAL of the server, 20 kB per second of load, is not shown \
             as their cost. Other databases and background processes write WAL; a query itself writes some when it \
             prunes a page or sets hint bits.",
        );
    }

    #[test]
    fn blocks_that_make_the_answer_doubtful_are_told() {
        check(
            &ComparisonNote::EmptyBlocks { of_a: 0, of_b: 3, favor_b: true },
            "Blocks without a transaction (0 of A, 3 of B) are in no figure, so the side that stalled is worse than it \
             looks. B had more of them, by more than the tolerance.",
        );
        check(
            &ComparisonNote::MeansDiffer { metric: ComparedMetric::Tps, ratio_of_means: 1.25, ratio: 0.99 },
            "The geometric means of all blocks differ by +25.0 % in tps, and the change shown is −1.0 %. The change is \
             estimated from the pairs by ranks, so blocks far from the others hardly affect it.",
        );
        check(
            &ComparisonNote::BiasedNoiseFloor,
            "A side differs from itself. Something favours one of two identical sides, so the answer is not reliable.",
        );
    }

    #[test]
    fn two_servers_are_told_with_the_number_of_their_set_ups() {
        let setups_needed = 3;
        check(
            &ComparisonNote::TooFewSetups {
                setups: 1,
                setup_s: 4.2,
                setups_needed,
                budget_needed_s: 1_020.5,
            },
            "Two servers side by side were set up 1 time, which takes 4.20 s each time. An answer needs 3 set-ups, each \
             under load for as long. Give --budget 1021s or more.",
        );
        check(
            &ComparisonNote::ServersSetUp { setups: 5 },
            "Two servers side by side were set up anew only 5 times. The interval comes from the variation between these \
             set-ups, and the noise floor is that of the first two servers.",
        );
        check(
            &ComparisonNote::ServersNotRestarted,
            "The two servers were already running and were not restarted. Chance differences between their starts are part \
             of the change.",
        );
    }

    #[test]
    fn changes_of_the_schema_are_told_with_their_time() {
        check(
            &ComparisonNote::SchemaChanged { switches: 12, switch_s: 0.75, tries: 14, longest_wait_s: 1.0 },
            "Both sides use one database, whose schema was changed 12 times between A and B, in 750 ms each time. \
             Their statements took 14 tries to get their locks; the longest wait was 1.00 s.",
        );
        check(
            &ComparisonNote::SchemaChanged { switches: 1, switch_s: 0.75, tries: 1, longest_wait_s: 0.0 },
            "Both sides use one database, whose schema was changed 1 time between A and B, in 750 ms each time. No \
             statement of a change was seen to wait for a lock.",
        );
    }

    #[test]
    fn a_schema_that_is_not_as_before_is_told() {
        check(
            &ComparisonNote::SchemaNotRestored {
                reason: "the schema differs: table public.u: is new".into(),
            },
            "The schema differs: table public.u: is new.",
        );
    }

    #[test]
    fn what_runs_are_warned_of_too_has_the_same_sentence() {
        check(
            &ComparisonNote::Run(Warning::DebugBuild),
            &with_ordinary_spaces(&warning(&Warning::DebugBuild)),
        );
    }
}
