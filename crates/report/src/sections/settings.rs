//! The server's settings, of one run or of several side by side.
//! Used by the page and by Markdown.

use crate::prose::harmless;
use crate::run::Run;

/// A setting that at least one run had not at its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    /// In each run; `None` at the default.
    pub(crate) values: Vec<Option<String>>,
    /// Whether the runs do not agree.
    pub(crate) differs: bool,
}

/// All of them, those that differ first, else by name.
pub(crate) fn settings(runs: &[Run<'_>]) -> Vec<Setting> {
    // Of one run what its administrator chose; of several also what matters most, which may differ by version.
    let of_run = |run: &Run<'_>| {
        run.record
            .environment
            .server
            .as_ref()
            .map(|server| server.non_default_settings.clone())
            .unwrap_or_default()
    };
    let each: Vec<_> = runs.iter().map(of_run).collect();
    let mut names: Vec<&str> =
        each.iter().flat_map(|settings| settings.iter().map(|(name, _)| name)).collect();
    names.sort_unstable();
    names.dedup();
    let setting = |name: &str| {
        let values: Vec<Option<String>> =
            each.iter().map(|settings| settings.get(name).map(harmless)).collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        Setting { name: harmless(name), values, differs }
    };
    let mut settings: Vec<Setting> = names.into_iter().map(setting).collect();
    settings.sort_by_key(|setting| !setting.differs);
    settings
}
