//! The description of a workload, from the first keys of its workload.toml or from code. Lists, records and reports
//! show it.

use std::borrow::Cow;

/// What a workload says about itself; the text of each part is for readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its name in records and messages.
    pub name: Cow<'static, str>,
    /// A short title.
    pub title: Cow<'static, str>,
    /// Its source.
    pub source: Option<Cow<'static, str>>,
    /// Its licence.
    pub licence: Option<Cow<'static, str>>,
    /// The least disk, memory and time that it needs.
    pub needs: Option<Cow<'static, str>>,
    /// A sentence that accompanies its results in every report.
    pub notice: Option<Cow<'static, str>>,
}
