//! A comparison before anything is started: an experiment, whose combinations are the two sides, and its files. `layout`
//! places the sides on servers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use config::{FileError, Folder};
use run::RunError;

use crate::configuration::Cell;
use crate::error::LabError;
use crate::event::Listener;
use crate::experiment::{Experiment, Profile};
use crate::leftovers;
use crate::memory::Memory;
use crate::plan::Plan;
use crate::schema_change;
use crate::secret_levels;
use crate::server_host::find_host;
use crate::subject::{self, Subject};

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
    /// How long changes of the schema of a database in place wait for locks.
    pub patience: connect::Patience,
}

impl Comparable {
    pub(super) fn subject(&self, cells: Vec<Cell>) -> Subject {
        Subject {
            experiment: self.experiment.clone(),
            plan: Plan::of_cells(&self.experiment, cells, &Memory::PLENTY),
            profile: self.profile,
            folder: self.folder.clone().unwrap_or_default(),
            file: self.file.clone().unwrap_or_default(),
            patience: self.patience,
        }
    }

    /// The combinations of the experiment.
    ///
    /// # Errors
    /// They are incompatible.
    fn cells(&self) -> Result<Vec<Cell>, LabError> {
        let file = self.file.as_deref().unwrap_or(Path::new("--factor")).display().to_string();
        let folder = self.folder.as_deref().map_or(Folder::Typed, Folder::Disk);
        let plan = Plan::within(&self.experiment, &file, folder, &Memory::PLENTY, Some(&find_host));
        // Without a file there is no position in one.
        let plan = plan.map_err(|error| match error {
            LabError::File(FileError { what, .. }) if self.file.is_none() => RunError::Usage(what).into(),
            other => other,
        })?;
        let mut cells = plan.cells;
        secret_levels::hide_levels(&self.experiment, &mut cells);
        Ok(cells)
    }

    /// The two sides.
    ///
    /// # Errors
    /// The experiment is not one factor of two levels with a load.
    pub fn sides(&self) -> Result<[Cell; 2], LabError> {
        let file = self.file.as_ref().map_or("--factor".to_owned(), |file| file.display().to_string());
        let wrong = |what: String| LabError::Typed { option: file.clone(), what };
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
        let cells = <[Cell; 2]>::try_from(self.cells()?).map_err(|_| not_two())?;
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
        schema_change::check(cells.iter().map(|cell| &cell.configuration))?;
        Ok(cells)
    }

    /// Removes databases of killed comparisons from the running servers of these combinations.
    pub(super) fn remove_leftovers(&self, cells: &[Cell], listener: Listener<'_>) -> Result<(), RunError> {
        // A comparison in place makes no databases.
        let servers = cells.iter().map(|cell| &cell.configuration.server).filter(|server| !server.in_place);
        let servers: BTreeSet<&str> = servers.filter_map(|server| server.origin.dsn()).collect();
        servers.into_iter().try_for_each(|dsn| leftovers::remove_abandoned(dsn, listener))
    }

    /// The files on which the comparison depends.
    pub(super) fn files(&self, cells: &[Cell]) -> Result<BTreeMap<String, String>, RunError> {
        subject::files(&self.subject(cells.to_vec()))
    }
}
