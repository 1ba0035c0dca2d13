//! An experiment file in one profile with its plan, and the texts of all files that its trials read. `campaign` reads and
//! runs it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use run::{RunError, ScriptSource};

use crate::experiment::{Experiment, Profile};
use crate::plan::Plan;
use crate::steps::{StepSql, StepWork};

/// Maximum length of a file that an experiment reads.
const FILE_LENGTH_MAX: u64 = 16 << 20;

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
    /// How long changes of the schema of a database in place wait for locks.
    pub patience: connect::Patience,
}

/// The experiment file and all files that its trials read, by name relative to it.
pub(crate) fn files(subject: &Subject) -> Result<BTreeMap<String, String>, RunError> {
    let (mut files, mut typed) = (BTreeMap::new(), BTreeMap::new());
    let mut add = |path: &Path| -> Result<(), RunError> {
        let name = path.strip_prefix(&subject.folder).unwrap_or(path).display().to_string();
        if let Entry::Vacant(entry) = files.entry(name) {
            entry.insert(text_of(path)?);
        }
        Ok(())
    };
    if !subject.file.as_os_str().is_empty() {
        add(&subject.file)?;
    }
    for name in subject.plan.data.iter().filter_map(|(_, data)| data.workload.as_ref()) {
        name.open()?.files().iter().try_for_each(|(path, _)| add(path))?;
    }
    for cell in &subject.plan.cells {
        let configuration = &cell.configuration;
        for step in &configuration.steps {
            let timed = if let StepWork::Sql(sql) = &step.work { Some(sql) } else { None };
            for sql in [timed, step.before.as_ref()].into_iter().flatten() {
                if let StepSql::File(path) = sql {
                    add(path)?;
                }
            }
        }
        for sql in [&configuration.ddl, &configuration.ddl_undo].into_iter().flatten() {
            if let StepSql::File(path) = sql {
                add(path)?;
            }
        }
        for script in &configuration.load.scripts {
            if let ScriptSource::File(path) = &script.source {
                add(path)?;
            }
            if let ScriptSource::Text { name, text } = &script.source {
                typed.insert(name.clone(), text.clone());
            }
        }
        for setup in [&configuration.setup, &configuration.data.setup].into_iter().flatten() {
            add(setup)?;
        }
    }
    files.extend(typed);
    Ok(files)
}

/// Reads a text file of the experiment.
pub(crate) fn text_of(path: &Path) -> Result<String, RunError> {
    let unreadable = |error| RunError::System { what: format!("read {}", path.display()), error };
    config::text_of(path, FILE_LENGTH_MAX).map_err(unreadable)
}
