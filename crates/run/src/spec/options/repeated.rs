//! Values of options that may be repeated: scripts, variables, targets, goals and actions, parsed from all their words together.
//! The options themselves are in `options`.

use std::collections::BTreeMap;

use stats::goals::{GOALS_MAX, GoalError};

use super::value::{self, Value, weighted};
use crate::error::RunError;
use crate::spec::action::ACTIONS_MAX;
use crate::spec::{ActionSpec, RunSpec, ScriptSource, ScriptSpec, TargetSpec};

/// Adds scripts: built-in scripts come before files, regardless of their order on the command line.
pub(super) fn add_scripts(spec: &mut RunSpec, value: Value) -> Result<(), String> {
    spec.scripts.extend(scripts_of(value)?);
    spec.scripts.sort_by_key(|script| matches!(script.source, ScriptSource::File(_)));
    Ok(())
}

pub(super) fn scripts_of(value: Value) -> Result<Vec<ScriptSpec>, String> {
    match value {
        Value::Scripts(scripts) => Ok(scripts),
        other => Err(format!("{other:?} are no scripts")),
    }
}

pub(super) fn add_builtin(spec: &mut RunSpec, name: &str) -> Result<(), String> {
    add_scripts(spec, Value::Scripts(vec![ScriptSpec::new(ScriptSource::OfWorkload(name.to_owned()))]))
}

pub(super) fn files(words: &[String]) -> Result<Value, String> {
    scripts(words, |path| ScriptSource::File(path.into()))
}

pub(super) fn builtins(words: &[String]) -> Result<Value, String> {
    scripts(words, |name| ScriptSource::OfWorkload(name.to_owned()))
}

fn scripts(words: &[String], source: fn(&str) -> ScriptSource) -> Result<Value, String> {
    let script = |word: &String| {
        let (name, weight) = weighted(word, value::weight)?;
        Ok(ScriptSpec { source: source(name), weight })
    };
    Ok(Value::Scripts(words.iter().map(script).collect::<Result<_, String>>()?))
}

/// Parses `NAME=VALUE` words.
pub(super) fn definitions(words: &[String]) -> Result<Value, String> {
    Ok(Value::Pairs(words.iter().map(|word| definition(word)).collect::<Result<_, _>>()?))
}

/// Numbers of rows by the names of tables, from `TABLE=N`.
///
/// # Errors
/// A word has another form.
pub fn table_rows(words: &[String]) -> Result<BTreeMap<String, u64>, RunError> {
    let read = |word: &String| {
        let (table, rows) = word.rsplit_once('=')?;
        Some((table.to_owned(), rows.parse().ok()?)).filter(|_| !table.is_empty())
    };
    let usage =
        |word| RunError::Usage(format!("--rows {word}: expected a table and a number, such as orders=5000"));
    words.iter().map(|word| read(word).ok_or_else(|| usage(word))).collect()
}

/// The parameters of a workload, as given to `-D`; the last value of a name counts.
///
/// # Errors
/// A word is not `NAME=VALUE`.
pub fn parameters(words: &[String]) -> Result<BTreeMap<String, String>, RunError> {
    words.iter().map(|word| definition(word)).collect::<Result<_, _>>().map_err(RunError::Usage)
}

/// Splits `NAME=VALUE`, as given to `-D`.
///
/// # Errors
/// The form or the variable name is invalid.
pub fn definition(word: &str) -> Result<(String, String), String> {
    match word.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            if script::Symbols::is_valid_name(name) {
                Ok((name.to_owned(), value.to_owned()))
            } else {
                Err(format!("option -D: invalid variable name: \"{name}\""))
            }
        }
        // The word may contain a secret.
        Some(_) => Err(
            "invalid variable definition: no name before \"=\", or no value after it; expected -D name=value"
                .to_owned(),
        ),
        None => {
            Err("invalid variable definition: there is no \"=\" in it; expected -D name=value".to_owned())
        }
    }
}

/// Parses `NAME=CONNECTION` words. Parameters missing in a connection come from `-h`, `-p` and `-U`, then from the
/// PG* variables.
pub(super) fn targets(words: &[String]) -> Result<Value, String> {
    let target = |word: &String| {
        match word.split_once('=') {
        // A URI without a name may contain a password, so messages show nothing of it.
        Some((name, connection)) if is_target_name(name) && !connection.is_empty() => {
            Ok((name.to_owned(), connection.to_owned()))
        }
        _ => Err("--target: expected NAME=CONNECTION with a name of letters, digits, \"_\", \"-\" and \".\", such as \
                  --target replica=postgresql://host/db"
            .to_owned()),
    }
    };
    Ok(Value::Pairs(words.iter().map(target).collect::<Result<_, String>>()?))
}

pub(super) fn set_targets(spec: &mut RunSpec, value: Value) -> Result<(), String> {
    let Value::Pairs(pairs) = value else { return Err(format!("{value:?} are no targets")) };
    if let Some((name, _)) = pairs.iter().find(|(name, _)| !is_target_name(name)) {
        return Err(format!(
            "the name of a target consists of letters, digits, \"_\", \"-\" and \".\"; \"{}\" does not",
            name.escape_debug()
        ));
    }
    spec.targets = pairs.into_iter().map(|(name, connection)| TargetSpec { name, connection }).collect();
    Ok(())
}

pub(super) fn goals(words: &[String]) -> Result<Value, String> {
    let goals = words.iter().map(|word| word.parse().map_err(|error: GoalError| error.to_string()));
    goals.collect::<Result<_, String>>().map(Value::Goals)
}

pub(super) fn set_goals(spec: &mut RunSpec, value: Value) -> Result<(), String> {
    let Value::Goals(goals) = value else { return Err(format!("{value:?} are no goals")) };
    if goals.len() > GOALS_MAX {
        return Err(format!("at most {GOALS_MAX} goals are allowed, and there are {}", goals.len()));
    }
    spec.goals = goals;
    Ok(())
}

/// Parses `TIME:KIND=DETAIL` words.
pub(super) fn actions(words: &[String]) -> Result<Value, String> {
    let action = |word: &String| word.parse::<ActionSpec>().map_err(|why| format!("--action: {why}"));
    words.iter().map(action).collect::<Result<_, _>>().map(Value::Actions)
}

pub(super) fn set_actions(spec: &mut RunSpec, value: Value) -> Result<(), String> {
    let Value::Actions(actions) = value else { return Err(format!("{value:?} are no actions")) };
    if actions.len() > ACTIONS_MAX {
        return Err(format!("at most {ACTIONS_MAX} actions are allowed, and there are {}", actions.len()));
    }
    spec.actions = actions;
    Ok(())
}

fn is_target_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_has_a_name_and_a_value() {
        assert_eq!(definition("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(definition("a=").is_err_and(|why| why.starts_with("invalid variable definition")));
        assert_eq!(definition("1a=2"), Err("option -D: invalid variable name: \"1a\"".to_owned()));
    }
}
