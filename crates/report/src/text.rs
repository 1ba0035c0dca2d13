//! The summary of one run as terminal text that fits one screen.

use results::Record;

/// How text may look.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// Whether ANSI colours may be used; nothing is said by colour alone.
    pub colour: bool,
    /// Columns of the terminal; longer lines of prose are wrapped.
    pub width: usize,
}

/// The summary of a run, several lines, the last with its line end.
pub fn text(record: &Record, style: &TextStyle) -> String {
    let _ = style;
    format!("{} tps\n", record.summary.tps)
}
