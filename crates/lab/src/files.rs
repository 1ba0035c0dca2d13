//! The texts of all files that an experiment reads: the store keeps them, and a continued experiment compares them. Called
//! by `campaign`, `compare` and those that execute statements from files.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use experiment::{StepSql, StepWork, Subject};
use run::{RunError, ScriptSource};
use stats::rate::RateCurve;

/// Maximum length of a file that an experiment reads.
const FILE_LENGTH_MAX: u64 = 16 << 20;

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
        if let Some(RateCurve::Points { file: Some(name), .. }) = &configuration.load.curve {
            add(&subject.folder.join(name))?;
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
