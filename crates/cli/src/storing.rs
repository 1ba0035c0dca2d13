//! The options that say where runs are kept, for all commands that keep or read some. What becomes of a run there is
//! decided in `run`.

use std::path::PathBuf;

use clap::Args;
use run::StorePlaces;

/// Where runs are kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreArguments {
    /// Database of all runs, or the directory it is in [default: results.sqlite among the records]
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
    /// Directory of the records, one JSON file for each run [default: that of the database, else pgmeter-results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

impl StoreArguments {
    pub(crate) fn places(&self) -> StorePlaces {
        StorePlaces { store: self.store.clone(), records: self.results.clone() }
    }

    /// The database.
    pub(crate) fn store(&self) -> PathBuf {
        self.places().store()
    }
}
