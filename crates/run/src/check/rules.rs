//! The rules about combinations of options, as data: an option, those that it excludes or requires, and the reason. The
//! command line, experiment files and `Runner::new` all read this table; a message names the options as the user wrote
//! them.

use crate::spec::RunSpec;
use crate::spec::options::{RunOption, Value, option};
use crate::spec::surface::Surface;

use Relation::{Excludes, Requires};

/// A rule about options.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The option that the rule is about.
    pub option: Setting,
    /// Whether it excludes or requires the others.
    pub relation: Relation,
    /// The other options; if there are several, one is enough.
    pub others: &'static [Setting],
    /// Why, as a clause.
    pub reason: &'static str,
    /// Where the rule is checked.
    pub holds: RuleScope,
}

/// The relation of an option to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They must not be set.
    Excludes,
    /// One of them must be set.
    Requires,
}

/// The place where a rule is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleScope {
    /// Options that are written in one place: a command line or a table of a file. In a specification, both are one
    /// field, or the option only has no effect.
    Written,
    /// The values of a specification, wherever they were written.
    Values,
}

/// An option, with certain values or any.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name of the option in `options`.
    pub option: &'static str,
    /// The values, as on a command line; empty: any but the default.
    pub values: &'static [&'static str],
}

/// All rules.
pub const RULES: [Rule; 14] = [
    words(any("duration"), Excludes, &[any("transactions")], "both end the trial"),
    words(any("stages"), Excludes, &[any("duration")], "the stages have the duration"),
    words(any("stages"), Excludes, &[any("transactions")], "the stages have a duration"),
    words(any("vacuum_all"), Excludes, &[any("no_vacuum")], "both say which tables are vacuumed"),
    words(any("reconnect_policy"), Requires, &[any("on_disconnect")], "otherwise clients are aborted"),
    values(any("until"), Requires, &[any("duration")], "only a measurement with a duration can end early"),
    values(any("think"), Excludes, &[any("rate")], "a rate says when transactions start"),
    values(
        any("active_clients"),
        Excludes,
        &[any("rate")],
        "with a rate, the next free client takes an arrival",
    ),
    values(
        any("session_lifetime"),
        Excludes,
        &[any("reconnect")],
        "the latter ends a session after each transaction",
    ),
    values(
        any("reconnect_storm"),
        Excludes,
        &[any("reconnect")],
        "the latter ends a session after each transaction",
    ),
    values(any("stop_on_miss"), Requires, &[any("goal")], "without a goal, there is nothing to miss"),
    values(
        with("result_format", &["binary"]),
        Requires,
        &[with("protocol", &["extended", "prepared"])],
        "the simple protocol has only text results",
    ),
    values(
        with("on_disconnect", &["reconnect"]),
        Excludes,
        &[any("reconnect")],
        "the latter makes a new connection for each transaction; remove one of them",
    ),
    values(
        with("max_tries", &["0"]),
        Requires,
        &[any("duration"), any("latency_limit")],
        "without any limit, a transaction may never end",
    ),
];

/// How a run is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Situation {
    /// In short turns with other runs, as in a comparison.
    InTurns,
    /// On several machines.
    OnSeveralMachines,
}

/// The options that a situation excludes: options, the situation, and the reason.
pub const IMPOSSIBLE: [(&[&str], Situation, &str); 7] = [
    (&["stages"], Situation::InTurns, "each turn is too short for stages"),
    (&SESSIONS, Situation::InTurns, "each turn is too short for what happens to sessions"),
    (&["action"], Situation::InTurns, "each turn is too short for actions"),
    (&["verify"], Situation::InTurns, "the verification would need the server after each turn"),
    (&WATCH, Situation::InTurns, "a pause would delay the turn of one side and not of the other"),
    (&["verify"], Situation::OnSeveralMachines, "each machine would have a journal of its own"),
    (&WATCH, Situation::OnSeveralMachines, "a pause would not reach the other machines in time"),
];

const SESSIONS: [&str; 3] = ["session_lifetime", "reconnect_storm", "idle_in_transaction"];
const WATCH: [&str; 4] = ["max_lag", "max_waiting_locks", "pause_when", "stop_when"];

type Settings = &'static [Setting];

const fn with(option: &'static str, values: &'static [&'static str]) -> Setting {
    Setting { option, values }
}

const fn any(option: &'static str) -> Setting {
    with(option, &[])
}

const fn values(option: Setting, relation: Relation, others: Settings, reason: &'static str) -> Rule {
    Rule { option, relation, others, reason, holds: RuleScope::Values }
}

const fn words(option: Setting, relation: Relation, others: Settings, reason: &'static str) -> Rule {
    Rule { holds: RuleScope::Written, ..values(option, relation, others, reason) }
}

/// Options that cannot be written together with this one.
pub fn excluded(name: &str) -> impl Iterator<Item = &'static str> {
    beside(name, Excludes)
}

/// Options that must be written together with this one.
pub fn required(name: &str) -> impl Iterator<Item = &'static str> {
    beside(name, Requires)
}

/// The other options of rules that depend on no values, for the parser of the command line.
fn beside(name: &str, relation: Relation) -> impl Iterator<Item = &'static str> {
    let is_about = move |rule: &&Rule| rule.option.option == name && rule.relation == relation;
    let is_plain = |rule: &&Rule| match rule.others {
        [other] => rule.option.values.is_empty() && other.values.is_empty(),
        _ => false,
    };
    let rules = RULES.iter().filter(is_about).filter(is_plain);
    rules.flat_map(|rule| rule.others).map(|other| other.option)
}

/// The first broken rule about values, as a sentence.
pub(super) fn broken(spec: &RunSpec, surface: Surface) -> Option<String> {
    let of_values = |rule: &&Rule| rule.holds == RuleScope::Values;
    RULES.iter().filter(of_values).find(|rule| rule.is_broken(spec)).map(|rule| rule.sentence(surface))
}

/// The first option that is impossible in this situation, as a sentence.
pub(crate) fn impossible(spec: &RunSpec, situation: Situation, surface: Surface) -> Option<String> {
    let rows = IMPOSSIBLE.iter().filter(|(_, known, _)| *known == situation);
    let mut options = rows.flat_map(|(options, _, reason)| options.iter().map(move |name| (*name, *reason)));
    let (name, reason) = options.find(|(name, _)| any(name).is_set(spec))?;
    let (words, remedy) = match situation {
        Situation::InTurns => {
            ("in turns with other runs", "pgmeter bench, or an experiment with pgmeter lab".to_owned())
        }
        Situation::OnSeveralMachines => ("on several machines", surface.setting("machines", &["1"])),
    };
    Some(format!("{} is not possible {words}, because {reason}: use {remedy}", surface.name(name)))
}

impl Rule {
    fn is_broken(&self, spec: &RunSpec) -> bool {
        let is_fulfilled = self.others.iter().any(|other| other.is_set(spec));
        self.option.is_set(spec) && is_fulfilled == (self.relation == Excludes)
    }

    /// The two options of which only one may be written in one place.
    pub fn exclusive(&self) -> Option<[&'static str; 2]> {
        let is_it = self.relation == Excludes && self.holds == RuleScope::Written;
        self.others.first().filter(|_| is_it).map(|other| [self.option.option, other.option])
    }

    /// The error message, in the words of this surface.
    pub fn sentence(&self, surface: Surface) -> String {
        let name = |setting: &Setting| surface.setting(setting.option, setting.values);
        let others = self.others.iter().map(name).collect::<Vec<_>>().join(" or ");
        let relation = match self.relation {
            Excludes => "cannot be combined with",
            Requires => "requires",
        };
        format!("{} {relation} {others}: {}", name(&self.option), self.reason)
    }
}

impl Setting {
    fn is_set(&self, spec: &RunSpec) -> bool {
        let Some(RunOption { get, .. }) = option(self.option) else { return false };
        let (value, default): (Value, Value) = (get(spec), get(&RunSpec::default()));
        match self.values {
            [] => value != default,
            values => values.contains(&value.on_command_line().as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rules_are_about_options_and_words_of_theirs() {
        let others = RULES.iter().flat_map(|rule| rule.others);
        for setting in RULES.iter().map(|rule| &rule.option).chain(others) {
            let known = option(setting.option).unwrap_or_else(|| panic!("no option {}", setting.option));
            for value in setting.values {
                let read = known.kind.word(value).unwrap_or_else(|error| panic!("{value}: {error}"));
                assert_eq!(read.on_command_line(), *value);
            }
        }
        for name in IMPOSSIBLE.iter().flat_map(|(options, ..)| *options) {
            assert!(option(name).is_some(), "no option {name}");
        }
    }

    #[test]
    fn a_sentence_has_the_names_of_the_place_where_the_user_wrote() {
        let binary = RULES.iter().find(|rule| rule.option.option == "result_format").unwrap();
        let reason = "the simple protocol has only text results";
        assert_eq!(
            binary.sentence(Surface::Flags),
            format!("--result-format binary requires -M extended or prepared: {reason}")
        );
        assert_eq!(
            binary.sentence(Surface::Keys),
            format!("result_format = \"binary\" requires protocol = \"extended\" or \"prepared\": {reason}")
        );
        assert_eq!(
            binary.sentence(Surface::Fields),
            format!("result_format: binary requires protocol: extended or prepared: {reason}")
        );
    }

    #[test]
    fn what_one_machine_does_is_impossible_on_several() {
        let said = |spec: &RunSpec, surface| impossible(spec, Situation::OnSeveralMachines, surface);
        let verify = RunSpec { verify: true, ..RunSpec::default() };
        assert_eq!(
            said(&verify, Surface::Flags).unwrap(),
            "--verify is not possible on several machines, because each machine would have a journal of its own: use --machines 1"
        );
        assert!(said(&verify, Surface::Keys).unwrap().ends_with("use machines = 1"));
        let watch = RunSpec { pause_when: Some("select true".to_owned()), ..RunSpec::default() };
        assert!(said(&watch, Surface::Flags).unwrap().starts_with("--pause-when is not possible"));
        assert_eq!(said(&RunSpec::default(), Surface::Flags), None);
    }
}
