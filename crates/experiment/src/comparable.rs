//! A comparison before anything is started: an experiment, whose combinations are the two sides. `lab` places the sides
//! on servers.

use std::path::{Path, PathBuf};

use config::{FileError, Folder};

use crate::configuration::Cell;
use crate::error::ExperimentError;
use crate::experiment::{Experiment, Profile};
use crate::hide_levels;
use crate::memory::Memory;
use crate::plan::Plan;
use crate::relative::FindHost;
use crate::subject::Subject;

/// A comparison before anything is started.
#[derive(Clone)]
pub struct Comparable {
    /// The experiment, from a file or from the command line.
    pub experiment: Experiment,
    /// Directory of its files; `None` without a file.
    pub folder: Option<PathBuf>,
    /// The experiment's file, if there is one.
    pub file: Option<PathBuf>,
    /// The profile.
    pub profile: Profile,
    /// Operating system user of embedded servers if pgmeter runs as root.
    pub server_user: Option<String>,
}

impl Comparable {
    /// The experiment with these combinations.
    pub fn subject(&self, cells: Vec<Cell>) -> Subject {
        Subject {
            experiment: self.experiment.clone(),
            plan: Plan::of_cells(&self.experiment, cells, &Memory::PLENTY),
            profile: self.profile,
            folder: self.folder.clone().unwrap_or_default(),
            file: self.file.clone().unwrap_or_default(),
        }
    }

    /// The combinations of the experiment.
    ///
    /// # Errors
    /// They are incompatible.
    fn cells(&self, find_host: FindHost<'_>) -> Result<Vec<Cell>, ExperimentError> {
        let file = self.file.as_deref().unwrap_or(Path::new("--factor")).display().to_string();
        let folder = self.folder.as_deref().map_or(Folder::Typed, Folder::Disk);
        let plan = Plan::within(&self.experiment, &file, folder, &Memory::PLENTY, Some(find_host));
        // Without a file there is no position in one.
        let plan = plan.map_err(|error| match error {
            ExperimentError::File(FileError { what, .. }) if self.file.is_none() => {
                ExperimentError::Combination(what)
            }
            other => other,
        })?;
        let mut cells = plan.cells;
        hide_levels(&self.experiment, &mut cells);
        Ok(cells)
    }

    /// The two sides; `find_host` examines the hosts of their servers.
    ///
    /// # Errors
    /// The experiment is not one factor of two levels with a load.
    pub fn sides(&self, find_host: FindHost<'_>) -> Result<[Cell; 2], ExperimentError> {
        let file = self.file.as_ref().map_or("--factor".to_owned(), |file| file.display().to_string());
        let wrong = |what: String| ExperimentError::Typed { option: file.clone(), what };
        let factors = &self.experiment.factors;
        let has = match factors.as_slice() {
            [] => "is no factor".to_owned(),
            [one] if one.levels.len() == 1 => format!("is 1 level of {}", one.name),
            [one] => format!("are {} levels of {}", one.levels.len(), one.name),
            several => format!("are {} factors", several.len()),
        };
        let not_two =
            || wrong(format!("a comparison requires one factor with two levels, A and B, but there {has}"));
        if factors.len() != 1 {
            return Err(not_two());
        }
        let cells = <[Cell; 2]>::try_from(self.cells(find_host)?).map_err(|_| not_two())?;
        if cells.iter().any(|cell| !cell.configuration.is_load()) {
            return Err(wrong(
                "its trials are timed steps, but a comparison requires a load: use pgmeter lab run"
                    .to_owned(),
            ));
        }
        if cells.iter().any(|cell| cell.configuration.pooler.mode.is_some()) {
            return Err(wrong(
                "has a [pooler], which a comparison does not start: use pgmeter lab run, or compare with hosts and a \
                 dsn"
                    .to_owned(),
            ));
        }
        Ok(cells)
    }
}
