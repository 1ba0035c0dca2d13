//! Assigns statements to scripts: finds a statement shown by the server among the commands of the run's scripts.
//! Several scripts may have the same command (`BEGIN`); it then belongs to each with its weight.

use std::collections::BTreeMap;

use crate::normal_form::{identifiers, normal_form};

/// A script of the run, if it runs on the observed server.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Its weight among the scripts.
    pub weight: u32,
    /// Its commands in order; `None` for those that are not SQL.
    pub commands: Vec<Option<String>>,
}

/// A shorter beginning of a statement is not specific enough.
const PREFIX_MIN: usize = 20;

/// Finds scripts and commands by their statements.
#[derive(Debug)]
pub(crate) struct Matcher {
    weights: Vec<f64>,
    /// Scripts and commands by normal form.
    places: BTreeMap<String, Vec<(usize, usize)>>,
    names: Vec<String>,
}

impl Matcher {
    pub(crate) fn new(scripts: &[Script]) -> Matcher {
        let mut places: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
        let mut names = Vec::new();
        for (script, Script { commands, .. }) in scripts.iter().enumerate() {
            for (command, text) in commands.iter().enumerate() {
                if let Some(text) = text {
                    places.entry(normal_form(text)).or_default().push((script, command));
                    names.extend(identifiers(text));
                }
            }
        }
        names.sort_unstable();
        names.dedup();
        Matcher { weights: scripts.iter().map(|script| f64::from(script.weight)).collect(), places, names }
    }

    /// Number of scripts.
    pub(crate) fn scripts(&self) -> usize {
        self.weights.len()
    }

    /// Whether the statement's text is needed to find the script.
    pub(crate) fn needs_text(&self) -> bool {
        self.weights.iter().filter(|weight| **weight > 0.0).count() > 1
    }

    /// All identifiers of the scripts, including the tables' names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Scripts and commands with this statement, which may be truncated.
    pub(crate) fn places(&self, statement: &str) -> &[(usize, usize)] {
        let form = normal_form(statement);
        if let Some(found) = self.places.get(&form) {
            return found;
        }
        let cut = form.rfind(' ').map_or("", |at| &form[..at]);
        if cut.len() < PREFIX_MIN {
            return &[];
        }
        let mut beginning =
            self.places.range(cut.to_owned()..).take_while(|(whole, _)| whole.starts_with(cut));
        match (beginning.next(), beginning.next()) {
            (Some((_, found)), None) => found,
            _ => &[],
        }
    }

    /// Share of each script in a sample of the statement; the sum is 1, or 0 if no script matches.
    pub(crate) fn shares(&self, statement: Option<&str>) -> Vec<(usize, f64)> {
        if !self.needs_text() {
            let only = self.weights.iter().position(|weight| *weight > 0.0);
            return only.map(|script| (script, 1.0)).into_iter().collect();
        }
        let mut scripts: Vec<_> =
            self.places(statement.unwrap_or_default()).iter().map(|place| place.0).collect();
        scripts.dedup();
        let sum: f64 = scripts.iter().map(|&script| self.weights[script]).sum();
        scripts.iter().filter(|_| sum > 0.0).map(|&script| (script, self.weights[script] / sum)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(weight: u32, commands: &[&str]) -> Script {
        Script { weight, commands: commands.iter().map(|text| Some((*text).to_owned())).collect() }
    }

    fn matcher() -> Matcher {
        let update = "UPDATE accounts SET balance = balance + :delta WHERE aid = :aid";
        Matcher::new(&[script(3, &["BEGIN", update, "END"]), script(1, &["BEGIN", "SELECT :x FROM tellers"])])
    }

    #[test]
    fn a_statement_is_found_with_its_values_and_when_its_end_is_cut_off() {
        let matcher = matcher();
        assert_eq!(matcher.places("update accounts set balance = balance + -5 where aid = 7"), [(0, 1)]);
        assert_eq!(matcher.places("UPDATE accounts SET balance = balance + -5 WHE"), [(0, 1)]);
        assert_eq!(matcher.places("UPDATE else SET balance = 1"), []);
        assert_eq!(matcher.places(""), []);
    }

    #[test]
    fn what_several_scripts_have_belongs_to_each_with_its_weight() {
        let matcher = matcher();
        assert_eq!(matcher.shares(Some("BEGIN")), [(0, 0.75), (1, 0.25)]);
        assert_eq!(matcher.shares(Some("select 5 from tellers")), [(1, 1.0)]);
        assert_eq!(matcher.shares(Some("vacuum")), []);
    }

    #[test]
    fn where_one_script_has_all_the_weight_all_is_its() {
        let matcher = Matcher::new(&[script(0, &["BEGIN"]), script(2, &["END"])]);
        assert!(!matcher.needs_text());
        assert_eq!(matcher.shares(None), [(1, 1.0)]);
    }
}
