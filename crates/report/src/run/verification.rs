//! The verification of a run in its report: what became of the commits, when acknowledged ones were lost, and examples.
//! Called by the document of a run and by `pgmeter verify`.

use results::{Record, TokenPlace, Verification, VerificationExamples};

use crate::document::{Audience, Banner, Block, Cell, Column, Document, Section, Table, Tone};
use crate::figures::{TIE, count, counted, fixed};
use crate::metrics::Quantity;
use crate::prose::escaped_line;

/// Examples that a report shows of each kind; the record has more.
const EXAMPLES_SHOWN: usize = 10;

/// The report of `pgmeter verify`.
pub fn verification(found: &Verification) -> Document {
    let section = |id, title: &str, blocks| Section::new(id, title, "", Audience::All, blocks);
    let examples = examples(found);
    let mut sections = vec![section("verification", "", brief(found))];
    sections.extend((!examples.is_empty()).then(|| section("examples", "Examples", examples)));
    Document {
        banners: vec![banner(found)],
        title: format!("Verification of {}", escaped_line(found.table.as_str())),
        subtitle: String::new(),
        sections,
    }
}

/// The answer in one sentence.
fn banner(found: &Verification) -> Banner {
    let commits = |number| counted(number, "commit", "commits");
    let Verification { acknowledged, lost, phantom, .. } = *found;
    match (lost, phantom) {
        (1.., _) => {
            Banner::new(Tone::Bad, format!("lost {} of {} acknowledged", commits(lost), count(acknowledged)))
        }
        (0, 1..) => {
            let text = format!(
                "{} there although refused or never sent; no acknowledged commit lost",
                commits(phantom)
            );
            Banner::new(Tone::Caution, text)
        }
        (0, 0) => Banner::new(Tone::Good, format!("all {} acknowledged are there", commits(acknowledged))),
    }
}

/// For the terminal; nothing of a run that was not verified.
pub(super) fn brief_of_run(record: &Record) -> Vec<Block> {
    record.verification.as_ref().map_or_else(Vec::new, brief)
}

/// For the page.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let Some(found) = &record.verification else { return Vec::new() };
    let Banner { tone, text, .. } = banner(found);
    let mut blocks = vec![Block::Paragraph(tone, format!("{text}."))];
    blocks.extend(brief(found));
    blocks.extend(examples(found));
    blocks
}

fn brief(found: &Verification) -> Vec<Block> {
    let mut blocks = vec![Block::Table(counts(found))];
    blocks.extend(window(found).map(|text| Block::Paragraph(Tone::Bad, text)));
    blocks.push(Block::quiet(notes(found)));
    blocks
}

/// A row for each outcome that occurred, and for those that matter most in any case.
fn counts(found: &Verification) -> Table {
    let Verification { sent, acknowledged, lost, reserved, reserved_absent, refused, .. } = *found;
    let Verification { phantom, unknown_applied, unknown_absent, doubled, order_gaps, .. } = *found;
    let rows: [(&str, u64, bool, &str); 11] = [
        ("sent", sent, true, "commits of transactions that wrote, each try"),
        ("acknowledged", acknowledged, true, "confirmed by the server"),
        ("lost", lost, true, "acknowledged and not there"),
        ("lost before a kept one", order_gaps, false, "a later commit of the same client is there"),
        ("reserved", reserved, false, "confirmed with the warning that they may not have been replicated"),
        ("reserved, absent", reserved_absent, false, "of these, not there"),
        ("refused", refused, false, "the server reported an error"),
        ("phantom", phantom, false, "refused or never sent, and there"),
        ("unknown, applied", unknown_applied, true, "no outcome arrived, and they are there"),
        ("unknown, absent", unknown_absent, true, "no outcome arrived, and they are not there"),
        (
            "doubled",
            doubled,
            false,
            "transactions of which several tries are there, because the client repeated them",
        ),
    ];
    let row = |(name, number, _, meaning): (&str, u64, bool, &str)| {
        let is_bad = matches!(name, "lost" | "phantom") && number > 0;
        let tone = if is_bad { Tone::Bad } else { Tone::Plain };
        let figure = Cell::figure(Quantity::Count, number as f64).with_tone(tone);
        vec![Cell::text(name), figure, Cell::text(meaning)]
    };
    let shown = rows.into_iter().filter(|(_, number, is_always, _)| *is_always || *number > 0);
    let columns = vec![Column::text("commits"), Column::figures("number"), Column::text("meaning")];
    Table { columns, rows: shown.map(row).collect(), ..Table::default() }
}

/// When acknowledged commits were lost.
fn window(found: &Verification) -> Option<String> {
    let window = found.lost_window?;
    let from = match window.kept_until_s {
        Some(kept) => format!("the last commit before them that was kept, at {}{TIE}s,", fixed(kept, 3)),
        None => format!("the first lost one, at {}{TIE}s,", fixed(window.first_lost_s, 3)),
    };
    Some(format!(
        "The loss covers {}{TIE}ms and {}: from {from} to the last lost one, at {}{TIE}s after the start.",
        fixed(window.length_ms, 1),
        counted(window.transactions, "acknowledged commit", "acknowledged commits"),
        fixed(window.last_lost_s, 3)
    ))
}

fn notes(found: &Verification) -> String {
    let named = |place: TokenPlace| {
        let scripts = found.scripts.iter().filter(move |script| script.tokens == place);
        scripts.map(|script| escaped_line(script.script.as_str())).collect::<Vec<_>>().join(", ")
    };
    let texts = [
        (
            TokenPlace::WithStatement,
            "Each statement that writes was wrapped into one transaction with its token in",
        ),
        (TokenPlace::WithBoth, "Statements outside of transaction blocks were wrapped with their tokens in"),
        (TokenPlace::Nowhere, "Without tokens, because nothing is written:"),
    ];
    let mut notes = format!(
        "Tokens are in the table {}; `pgmeter verify --clean` removes it.",
        escaped_line(found.table.as_str())
    );
    for (place, text) in texts {
        let scripts = named(place);
        if !scripts.is_empty() {
            notes += &format!(" {text} {scripts}.");
        }
    }
    if found.table_missing {
        notes += " The table itself is not there any more.";
    }
    if found.torn_files > 0 {
        let files = counted(u64::from(found.torn_files), "file", "files");
        notes += &format!(" The end of {files} of the journal was torn; those commits had not been sent.");
    }
    notes
}

/// A table of some commits of each kind.
fn examples(found: &Verification) -> Vec<Block> {
    let VerificationExamples { lost, reserved, phantom, unknown_applied, unknown_absent, doubled } =
        &found.examples;
    let kinds = [
        ("lost", lost),
        ("reserved", reserved),
        ("phantom", phantom),
        ("unknown, applied", unknown_applied),
        ("unknown, absent", unknown_absent),
        ("doubled", doubled),
    ];
    let seconds = |time: Option<f64>| Cell::text(time.map_or_else(String::new, |time| fixed(time, 6)));
    let number = |value: u64| Cell::text(value.to_string());
    let chosen = kinds
        .into_iter()
        .flat_map(|(kind, examples)| examples.iter().take(EXAMPLES_SHOWN).map(move |it| (kind, it)));
    let table = Table::of(
        chosen,
        &[
            (Column::text("commit"), &|(kind, _)| Cell::text(*kind)),
            (Column::figures("client"), &|(_, it)| number(it.client.into())),
            (Column::figures("sequence"), &|(_, it)| number(it.sequence)),
            (Column::figures("part"), &|(_, it)| number(it.part.into())),
            (Column::figures("try"), &|(_, it)| number(it.tries.into())),
            (Column::figures("sent (s)"), &|(_, it)| seconds(it.sent_s)),
            (Column::figures("ended (s)"), &|(_, it)| seconds(it.ended_s)),
            (Column::text("SQLSTATE"), &|(_, it)| {
                Cell::text(it.sqlstate.as_deref().map(escaped_line).unwrap_or_default())
            }),
        ],
    );
    table.if_any().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use results::{CommitExample, LostWindow, SafeText, VerifiedScript};

    use super::*;
    use crate::TextStyle;
    use crate::document::text;

    fn shown(found: &Verification) -> String {
        text(&verification(found), &TextStyle { colour: false, width: 100 }).replace(TIE, " ")
    }

    fn sound() -> Verification {
        let script = |name: &str, tokens| VerifiedScript { script: SafeText::from(name), tokens };
        Verification {
            table: "pgmeter_verify_1".into(),
            scripts: vec![
                script("tpcb-like", TokenPlace::WithCommit),
                script("insert.sql", TokenPlace::WithStatement),
                script("read.sql", TokenPlace::Nowhere),
            ],
            sent: 1_003,
            acknowledged: 1_000,
            unknown_applied: 2,
            unknown_absent: 1,
            ..Verification::default()
        }
    }

    #[test]
    fn a_sound_server_has_the_counts_and_the_wrapped_scripts() {
        // Lines are broken where the terminal ends.
        let text = shown(&sound()).split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "all 1,000 commits acknowledged are there",
            "unknown, applied",
            "with its token in insert.sql.",
            "because nothing is written: read.sql.",
        ] {
            assert!(text.contains(words), "no \"{words}\" in:\n{text}");
        }
        assert!(!text.contains("phantom") && !text.contains("Examples"), "{text}");
    }

    #[test]
    fn a_loss_has_its_window_and_examples() {
        let example = CommitExample {
            client: 3,
            sequence: 77,
            part: 1,
            tries: 1,
            began_s: Some(1.0),
            sent_s: Some(1.25),
            ended_s: Some(1.5),
            sqlstate: None,
        };
        let lost_window = Some(LostWindow {
            kept_until_s: Some(1.4),
            first_lost_s: 1.5,
            last_lost_s: 1.5,
            length_ms: 100.0,
            transactions: 1,
        });
        let examples = VerificationExamples { lost: vec![example], ..VerificationExamples::default() };
        let text = shown(&Verification { lost: 1, order_gaps: 1, lost_window, examples, ..sound() });
        for words in [
            "lost 1 commit of 1,000 acknowledged",
            "The loss covers 100.0 ms and 1 acknowledged commit",
            "at 1.400 s,",
            "lost before a kept one",
            "1.250000",
        ] {
            assert!(text.contains(words), "no \"{words}\" in:\n{text}");
        }
    }
}
