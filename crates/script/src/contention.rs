//! `-- pgmeter: contended rows = 10 * :scale`: a comment before an SQL command which declares that the command locks
//! one of that many rows until the end of its transaction. Created by `program`; it does not change the execution.

/// Start of such a comment after `--`.
const PREFIX: &str = "pgmeter:";
const KEY: &str = "contended rows";

/// Number of rows for which all clients compete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContendedRows {
    /// The number, or the factor of the variable.
    pub factor: u32,
    /// The variable by which it is multiplied.
    pub variable: Option<Box<str>>,
}

impl ContendedRows {
    /// The last such comment between two commands. `Err` contains an invalid comment.
    pub(crate) fn find(between: &[u8]) -> Result<Option<Self>, Box<str>> {
        let Ok(text) = str::from_utf8(between) else { return Ok(None) };
        let mut found = None;
        for line in text.lines() {
            let Some(comment) = line.trim().strip_prefix("--") else { continue };
            let Some(directive) = comment.trim().strip_prefix(PREFIX) else { continue };
            found = Some(Self::parse(directive).ok_or_else(|| Box::from(line.trim()))?);
        }
        Ok(found)
    }

    /// `contended rows = 10`, `= :scale`, `= 10 * :scale`
    fn parse(directive: &str) -> Option<Self> {
        let (key, value) = directive.split_once('=')?;
        if key.trim() != KEY {
            return None;
        }
        let (factor, variable) = match value.split_once('*') {
            Some((factor, variable)) => (Some(factor), Some(variable)),
            None if value.trim().starts_with(':') => (None, Some(value)),
            None => (Some(value), None),
        };
        let factor =
            factor.map_or(Some(1), |factor| factor.trim().parse().ok()).filter(|&factor| factor > 0)?;
        let variable = match variable {
            Some(variable) => Some(variable.trim().strip_prefix(':').filter(|name| !name.is_empty())?.into()),
            None => None,
        };
        Some(Self { factor, variable })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(u32, Option<&str>)>) {
        let expected =
            expected.map(|(factor, variable)| ContendedRows { factor, variable: variable.map(Box::from) });
        assert_eq!(ContendedRows::find(text.as_bytes()), Ok(expected), "{text}");
    }

    #[test]
    fn a_comment_says_how_many_rows_are_competed_for() {
        check("-- pgmeter: contended rows = 10\n", Some((10, None)));
        check("\n  --pgmeter:contended rows=:scale", Some((1, Some("scale"))));
        check("-- pgmeter: contended rows = 10 * :scale\n-- why\n", Some((10, Some("scale"))));
        check("-- contended rows = 10\n", None);
        check("", None);
    }

    #[test]
    fn a_comment_that_cannot_be_read_is_given_back() {
        for directive in [
            "contended rows = 0",
            "contended rows = x",
            "contended rows",
            "rows = 1",
            "contended rows = 2 * 3",
        ] {
            let comment = format!("-- pgmeter: {directive}");
            assert_eq!(ContendedRows::find(comment.as_bytes()), Err(comment.as_str().into()));
        }
    }
}
