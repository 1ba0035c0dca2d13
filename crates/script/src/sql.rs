//! One SQL command and its variables.

use crate::symbols::Slot;
use crate::variables::Variables;

/// Most parameters of one command in the extended and prepared protocols.
pub const PARAMETERS_MAX: usize = 255;

/// An SQL command.
#[derive(Debug)]
pub struct Sql {}

impl Sql {
    /// The text as written in the script, `:name`s included.
    pub fn text_as_written(&self) -> &str {
        todo!()
    }
    /// The variable of `$1`, `$2`, … in order, one per occurrence.
    pub fn parameters(&self) -> &[Slot] {
        todo!()
    }
    /// The text with `$1`, `$2`, … for its variables.
    pub fn numbered_text(&self) -> &str {
        todo!()
    }
    /// Appends the text with the variables' values; undefined ones stay as written.
    pub fn write_simple(&self, _variables: &Variables, _out: &mut Vec<u8>) {
        todo!()
    }
}
