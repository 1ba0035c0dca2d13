//! The prepared statements of a run: one for each SQL command of each script.
//!
//! They are named `P_0`, `P_1`, … over all scripts in order, as pgbench names them (reference, section
//! 12), so that server logs look the same.

use script::CommandKind;

use crate::plan::ScriptPlan;

/// Numbers and names of the SQL commands of a run.
#[derive(Debug)]
pub(crate) struct Statements {
    /// For each script and command, the number of its statement; unused for meta commands.
    numbers: Vec<Vec<usize>>,
    names: Vec<String>,
}

impl Statements {
    pub(crate) fn of(scripts: &[ScriptPlan]) -> Self {
        let mut names = Vec::new();
        let mut number_of = |kind: &CommandKind| {
            if matches!(kind, CommandKind::Sql(_)) {
                names.push(format!("P_{}", names.len()));
            }
            names.len().saturating_sub(1)
        };
        let numbers = scripts
            .iter()
            .map(|script| script.program.commands().iter().map(|command| number_of(&command.kind)).collect())
            .collect();
        Self { numbers, names }
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Number of an SQL command's statement, from 0.
    pub(crate) fn number(&self, script: usize, command: usize) -> usize {
        self.numbers[script][command]
    }

    pub(crate) fn name(&self, number: usize) -> &str {
        &self.names[number]
    }
}
