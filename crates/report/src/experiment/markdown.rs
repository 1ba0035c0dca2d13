//! An experiment as Markdown: what the page says, without its charts, for notes and pull requests. Escaped as in the
//! Markdown of single runs, whose helpers these are.

use super::said::{MARKS_TOLD, against, limits_in_words, step_grid, with_interval};
use super::{Metric, Overview, marks_in_words, top_waits};
use crate::figures::untied;
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
    let sentences = overview.base_in_words().into_iter().chain(overview.intervals_in_words());
    let marks = (0..overview.cells.len()).any(|cell| overview.marks(cell).any());
    for sentence in sentences.chain(marks.then(|| MARKS_TOLD.to_owned())) {
        out += &format!("{}\n\n", escaped(&sentence));
    }
    if overview.has_steps() {
        let grid = step_grid(overview);
        out += &part("Steps", Some(table(&grid, &["step"])));
        out += &limits_in_words(overview).map_or(String::new(), |told| escaped(&told) + "\n\n");
    }
    out += &part("By subtraction", Some(facts(&overview.costs_in_words())));
    let lost: String = overview.lost().iter().map(|lost| format!("- {}\n", escaped(lost))).collect();
    out += &part("Not in the figures", Some(lost));
    out += &format!("## Again\n\n{}\n", code_block(&overview.repeat_command()));
    untied(&out)
}

/// A row for each cell; and the columns that hold words.
fn results(overview: &Overview) -> (Grid, Vec<&str>) {
    let factors: Vec<&str> = overview.factors.iter().map(|factor| factor.name.as_str()).collect();
    let optional = [Metric::Failed, Metric::Late, Metric::WalBytes, Metric::ServerCpu];
    let measured: &[Metric] =
        if overview.has_steps() { &[] } else { &[Metric::Mean, Metric::Stddev, Metric::P50, Metric::P99] };
    let shown: Vec<Metric> = [overview.main()]
        .into_iter()
        .chain(overview.has_batches().then_some(Metric::Tps))
        .chain(measured.iter().copied())
        .chain(optional.into_iter().filter(|metric| overview.has(*metric)))
        .collect();
    let mut columns: Vec<String> = factors.iter().map(|name| (*name).to_owned()).collect();
    columns.extend(shown.iter().map(|metric| overview.title_of(*metric).to_owned()));
    columns.extend(["ratio", "waits", "best"].map(str::to_owned));
    let row = |cell: usize| {
        let mut cells: Vec<String> = overview.levels(cell).map(|(_, level)| level.to_owned()).collect();
        cells.extend(
            shown.iter().map(|metric| with_interval(overview.cells[cell].figure(*metric), metric.quantity())),
        );
        cells.extend([
            against(overview, cell),
            top_waits(&overview.cells[cell]),
            marks_in_words(overview.marks(cell)),
        ]);
        cells
    };
    let rows = (0..overview.cells.len()).map(row).collect();
    (Grid { columns, rows }, factors.into_iter().chain(["waits", "best"]).collect())
}
