//! An experiment as Markdown: what the page says, without its charts, for notes and pull requests. Escaped as in the
//! Markdown of single runs, whose helpers these are.

use super::said::{IF_ANY, OF_EVERY_LOAD, against, limits_in_words, signs, step_grid, titled, with_interval};
use super::{Metric, Overview, top_waits};
use crate::figures::with_ordinary_spaces;
use crate::markdown::{code_block, escaped, facts, part, table};
use crate::sections::Grid;

/// The whole.
pub fn markdown(overview: &Overview) -> String {
    let mut out = format!("# {}\n\n", escaped(&overview.title));
    let source = overview.source.as_ref().map(|source| format!(" {}.", escaped(source)));
    let standing = format!("{} ({}), {}.", overview.name, overview.profile, overview.standing());
    out += &format!("{}{}\n\n", escaped(&standing), source.unwrap_or_default());
    out += &overview.description.as_ref().map_or(String::new(), |text| escaped(text) + "\n\n");
    for concern in &overview.concerns {
        out += &format!("> **Warning:** {}\n\n", escaped(concern));
    }
    let (grid, words) = results(overview);
    out += &part("Results", Some(table(&grid, &words)));
    let sentences = [
        Some(overview.ratios_in_words()).filter(|it| !it.is_empty()),
        overview.intervals_in_words(),
        overview.marks_told(),
    ];
    out += &paragraphs(sentences.into_iter().flatten().chain(overview.left_out()));
    if overview.has_steps() {
        let grid = step_grid(overview);
        out += &part("Steps", Some(table(&grid, &["step"])));
        out += &paragraphs(overview.step_ratios_in_words().into_iter().chain(limits_in_words(overview)));
    }
    for (heading, of_metric) in overview.contrasts_in_words() {
        out += &part(&titled(&heading), Some(facts(&of_metric)));
    }
    let lost: String = overview.lost().iter().map(|lost| format!("- {}\n", escaped(lost))).collect();
    out += &part("Not in the figures", Some(lost));
    out += &format!("## Again\n\nIn the folder of the file:\n\n{}\n", code_block(&overview.repeat_command()));
    with_ordinary_spaces(&out)
}

fn paragraphs(sentences: impl Iterator<Item = String>) -> String {
    sentences.map(|sentence| format!("{}\n\n", escaped(&sentence))).collect()
}

/// A row for each cell; and the columns that hold words.
fn results(overview: &Overview) -> (Grid, Vec<&str>) {
    let factors: Vec<&str> = overview.factors.iter().map(|factor| factor.name.as_str()).collect();
    let measured: &[Metric] = if overview.has_steps() { &[] } else { &OF_EVERY_LOAD };
    let usual = overview.has_batches().then_some(Metric::Tps).into_iter().chain(measured.iter().copied());
    let usual = usual.chain(IF_ANY.into_iter().filter(|metric| overview.has(*metric)));
    let shown = overview.shown(&usual.collect::<Vec<_>>());
    let has_waits = overview.cells.iter().any(|cell| !cell.waits.is_empty());
    let behind = [("waits", has_waits), ("best", overview.marks_told().is_some())];
    let behind: Vec<&str> = behind.into_iter().filter(|it| it.1).map(|(name, _)| name).collect();
    let mut columns: Vec<&str> = factors.clone();
    columns.push(overview.title_of(overview.main()));
    columns.extend(overview.has_ratios().then_some(super::said::RATIO_TO_BASE));
    columns.extend(shown.iter().map(|metric| overview.title_of(*metric)));
    columns.extend(&behind);
    let row = |cell: usize| {
        let of = &overview.cells[cell];
        let figure = |metric: Metric| with_interval(of.figure(metric), metric.quantity());
        let mut cells: Vec<String> = overview.levels(cell).map(|(_, level)| level.to_owned()).collect();
        cells.push(figure(overview.main()));
        cells.extend(overview.has_ratios().then(|| against(overview, cell)));
        cells.extend(shown.iter().map(|metric| figure(*metric)));
        cells.extend(behind.iter().map(|name| match *name {
            "waits" => top_waits(of),
            _ => signs(overview.marks(cell)),
        }));
        cells
    };
    let rows = (0..overview.cells.len()).map(row).collect();
    let columns = columns.into_iter().map(str::to_owned).collect();
    (Grid { columns, rows }, factors.into_iter().chain(behind).collect())
}
