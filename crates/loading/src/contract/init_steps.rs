//! The steps of an initialization as a table: letter, words for a report, words while it goes on. Adding a step is
//! adding a row here and its SQL in the workload `tpcb`, whose tables alone have a choice of steps.

use crate::WorkloadError;

/// One step of an initialization.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// `d`: drop the four tables if they exist.
    DropTables,
    /// `t`: create the four tables.
    CreateTables,
    /// `g`: empty the tables, then fill them by COPY, in one transaction.
    GenerateClientSide,
    /// `G`: empty the tables, then let the server fill them, in one transaction.
    GenerateServerSide,
    /// `v`: vacuum and analyze.
    Vacuum,
    /// `p`: primary keys.
    PrimaryKeys,
    /// `f`: foreign keys.
    ForeignKeys,
}

/// What there is to say about a step.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct StepFacts {
    /// The step.
    pub step: Step,
    /// Its letter in `-I`.
    pub letter: char,
    /// Its name in the closing report, such as `primary keys`.
    pub name: &'static str,
    /// What is said while it goes on, such as `creating primary keys`.
    pub doing: &'static str,
}

/// Every step, in the order in which `pgbench` lists the letters.
pub const STEPS: [StepFacts; 7] = [
    StepFacts { step: Step::DropTables, letter: 'd', name: "drop tables", doing: "dropping old tables" },
    StepFacts { step: Step::CreateTables, letter: 't', name: "create tables", doing: "creating tables" },
    StepFacts {
        step: Step::GenerateClientSide,
        letter: 'g',
        name: "client-side generate",
        doing: "generating data (client-side)",
    },
    StepFacts {
        step: Step::GenerateServerSide,
        letter: 'G',
        name: "server-side generate",
        doing: "generating data (server-side)",
    },
    StepFacts { step: Step::Vacuum, letter: 'v', name: "vacuum", doing: "vacuuming" },
    StepFacts { step: Step::PrimaryKeys, letter: 'p', name: "primary keys", doing: "creating primary keys" },
    StepFacts { step: Step::ForeignKeys, letter: 'f', name: "foreign keys", doing: "creating foreign keys" },
];

impl Step {
    /// The options that choose steps, for messages.
    pub(crate) const CHOICE: &str = "a choice of steps (--init-steps, --no-vacuum, --foreign-keys)";

    /// The steps taken when none are named: `dtgvp`.
    pub const DEFAULT: [Step; 5] =
        [Step::DropTables, Step::CreateTables, Step::GenerateClientSide, Step::Vacuum, Step::PrimaryKeys];

    /// The steps that `letters` name, in the order written; repeats are kept, blanks are skipped.
    pub fn parse_list(letters: &str) -> Result<Vec<Step>, WorkloadError> {
        let steps = letters
            .chars()
            .filter(|&letter| letter != ' ')
            .map(|letter| {
                let found = STEPS.iter().find(|facts| facts.letter == letter);
                let known = || STEPS.iter().map(|facts| facts.letter).collect();
                found
                    .map(|facts| facts.step)
                    .ok_or_else(|| WorkloadError::UnknownStep { letter, known: known() })
            })
            .collect::<Result<Vec<_>, _>>()?;
        if letters.is_empty() { Err(WorkloadError::NoSteps) } else { Ok(steps) }
    }

    /// The step's row of [`STEPS`].
    pub fn facts(self) -> &'static StepFacts {
        let found = STEPS.iter().find(|facts| facts.step == self);
        found.expect("every step has its row, which a test checks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_row() {
        for step in [
            Step::DropTables,
            Step::CreateTables,
            Step::GenerateClientSide,
            Step::GenerateServerSide,
            Step::Vacuum,
            Step::PrimaryKeys,
            Step::ForeignKeys,
        ] {
            assert_eq!(step.facts().step, step);
        }
    }

    #[test]
    fn letters_name_steps_in_order_with_repeats_and_blanks() {
        assert_eq!(Step::parse_list("dtgvp").expect("the default"), Step::DEFAULT);
        assert_eq!(
            Step::parse_list("v G v").expect("blanks are skipped"),
            [Step::Vacuum, Step::GenerateServerSide, Step::Vacuum]
        );
    }

    #[test]
    fn a_letter_of_no_step_is_refused_in_the_words_of_pgbench() {
        assert_eq!(
            Step::parse_list("dtx").expect_err("no step x").to_string(),
            "unrecognized initialization step \"x\"\nAllowed step characters are: \"dtgGvpf\"."
        );
        assert_eq!(
            Step::parse_list("").expect_err("nothing named").to_string(),
            "no initialization steps specified"
        );
    }
}
