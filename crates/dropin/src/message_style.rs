//! The form of messages on stderr: the program's name, the level, and colours,
//! as in all programs of PostgreSQL.

use std::collections::BTreeMap;

use crate::message::{Level, PROGRAM};

/// Names of colours in `PG_COLORS` with their defaults.
const COLOURS: [(&str, &str); 4] =
    [("error", "01;31"), ("warning", "01;35"), ("note", "01;36"), ("locus", "01")];

/// Colours by name, as SGR parameters.
type Colours = BTreeMap<&'static str, String>;

/// How messages are formatted; by default without colours.
#[derive(Clone, Debug, Default)]
pub struct MessageStyle {
    colours: Option<Colours>,
}

/// The default colours, with the changes in `PG_COLORS` (`error=01;31:note=…`).
fn colours(changes: &str) -> Colours {
    let mut colours: Colours = COLOURS.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    for (name, value) in changes.split(':').filter_map(|change| change.split_once('=')) {
        if let Some(colour) = colours.get_mut(name) {
            value.clone_into(colour);
        }
    }
    colours
}

impl MessageStyle {
    /// The default colours, with the changes in `PG_COLORS`.
    pub fn coloured(changes: &str) -> Self {
        Self { colours: Some(colours(changes)) }
    }

    /// The formatted message, without line end.
    pub fn render(&self, level: Level, text: &str) -> String {
        let (word, colour) = match level {
            Level::Error => ("error: ", "error"),
            Level::Warning => ("warning: ", "warning"),
            Level::Detail => ("detail: ", "note"),
            Level::Hint => ("hint: ", "note"),
            Level::Info => ("", ""),
            Level::Bare => return text.to_owned(),
        };
        let Some(colours) = &self.colours else { return format!("{PROGRAM}: {word}{text}") };
        let word = match word {
            "" => String::new(),
            _ => format!("\x1b[{}m{word}\x1b[0m", colours[colour]),
        };
        format!("\x1b[{}m{PROGRAM}: \x1b[0m{word}{text}", colours["locus"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_begin_with_the_program_and_their_kind() {
        let plain = MessageStyle::default();
        assert_eq!(plain.render(Level::Error, "no"), "pgbench: error: no");
        assert_eq!(plain.render(Level::Info, "so"), "pgbench: so");
        assert_eq!(plain.render(Level::Bare, "it"), "it");
    }

    #[test]
    fn colours_are_those_of_all_programs_of_postgresql() {
        let coloured = MessageStyle::coloured("");
        let expected = "\x1b[01mpgbench: \x1b[0m\x1b[01;31merror: \x1b[0mno";
        assert_eq!(coloured.render(Level::Error, "no"), expected);
        let wished = MessageStyle::coloured("note=3:error=1:locus=2:x");
        assert_eq!(wished.render(Level::Hint, "h"), "\x1b[2mpgbench: \x1b[0m\x1b[3mhint: \x1b[0mh");
    }
}
