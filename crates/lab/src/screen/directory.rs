//! The directories of screenings and their experiment files, beside the store. Screenings write them; campaigns name
//! them to the user.

use std::path::{Path, PathBuf};

/// The experiment's file.
pub(crate) const FILE_NAME: &str = "experiment.toml";

/// The experiment file of a screening whose experiment has this name.
pub(crate) fn file_of(store: &Path, name: &str) -> PathBuf {
    directory_of_screenings(store).join(name).join(FILE_NAME)
}

/// The directory of all screenings, beside their store.
pub fn directory_of_screenings(store: &Path) -> PathBuf {
    store.parent().unwrap_or(Path::new(".")).join("screens")
}
