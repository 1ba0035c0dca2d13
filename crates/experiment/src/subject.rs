//! An experiment file in one profile, with its plan. `lab` reads and executes it, and `report` describes it while it
//! runs. Plain data.

use std::path::PathBuf;

use crate::experiment::{Experiment, Profile};
use crate::plan::Plan;

/// An experiment file in one profile.
pub struct Subject {
    /// The parsed file.
    pub experiment: Experiment,
    /// Its trials.
    pub plan: Plan,
    /// The profile.
    pub profile: Profile,
    /// Directory of its files.
    pub folder: PathBuf,
    /// Path of the file.
    pub file: PathBuf,
}
