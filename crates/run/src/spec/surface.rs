//! Where a specification was written: on a command line, in an experiment file, or in a program. A message names the
//! options in the words of that place. Pure.

use crate::spec::options::{self, Flag, RunOption};

/// Where a specification was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surface {
    /// On a command line, as flags: `-M prepared`.
    Flags,
    /// In an experiment file, as keys: `protocol = "prepared"`.
    Keys,
    /// In a program, as fields of `RunSpec`: `protocol: prepared`.
    #[default]
    Fields,
}

/// Options whose fields have other names.
const FIELDS: [(&str, &str); 8] = [
    ("action", "actions"),
    ("duration", "limit"),
    ("goal", "goals"),
    ("no_vacuum", "vacuum"),
    ("rate", "rate_tps"),
    ("script", "scripts"),
    ("transactions", "limit"),
    ("vacuum_all", "vacuum"),
];

impl Surface {
    /// The name of an option: a flag with a value by its letter, if it has one.
    pub fn name(self, option: &str) -> String {
        match (self, options::option(option)) {
            (Self::Flags, Some(RunOption { flag: Some(Flag { short, long, value_name, .. }), .. })) => {
                match short.filter(|_| !value_name.is_empty()) {
                    Some(letter) => format!("-{letter}"),
                    None => format!("--{long}"),
                }
            }
            (Self::Fields, _) => {
                let other = FIELDS.iter().find(|(name, _)| *name == option);
                other.map_or(option, |(_, field)| field).to_owned()
            }
            (Self::Flags | Self::Keys, _) => option.to_owned(),
        }
    }

    /// The name of an option with one of these values.
    pub fn setting(self, option: &str, values: &[&str]) -> String {
        let name = self.name(option);
        let is_number = |value: &str| value.bytes().all(|byte| byte.is_ascii_digit());
        let value = |value: &&str| match self {
            Self::Keys if !is_number(value) => format!("\"{value}\""),
            Self::Flags | Self::Keys | Self::Fields => (*value).to_owned(),
        };
        let values = values.iter().map(value).collect::<Vec<_>>().join(" or ");
        match self {
            _ if values.is_empty() => name,
            Self::Flags => format!("{name} {values}"),
            Self::Keys => format!("{name} = {values}"),
            Self::Fields => format!("{name}: {values}"),
        }
    }
}
