//! What makes the files of a server those of a standby: the settings and the file with which it starts in recovery, and the
//! file that asks for its promotion. Before version 12 the settings are in `recovery.conf`. Used by `launch`, `standby` and
//! `handle`.

use std::fs;
use std::path::PathBuf;

use crate::account::Account;
use crate::files::create;
use crate::home::{Description, Home, Upstream, remove_file};
use crate::{ServerError, Setting, Version};

/// The version that replaced `recovery.conf` by `standby.signal` and settings.
const SIGNAL_SINCE: u32 = 12;

/// Files of the data directory.
const SIGNAL_FILE: &str = "standby.signal";
const RECOVERY_FILE: &str = "recovery.conf";
const PROMOTE_FILE: &str = "promote";

impl Upstream {
    /// The slot in its upstream server.
    pub(crate) fn slot(&self) -> String {
        slot(&self.name)
    }
}

/// The slot of a standby of this name.
pub(crate) fn slot(name: &str) -> String {
    format!("pgmeter_{name}")
}

/// Whether the version of a server is older than this one.
pub(crate) fn is_before(about: &Description, major: u32) -> bool {
    Version::parse(&about.version).is_some_and(|version| version.major().is_before(major))
}

/// The lines of a standby's configuration file; before version 12 they are in `recovery.conf`, which the server renames
/// when it is promoted.
pub(crate) fn configuration(about: &Description) -> Vec<Setting> {
    match &about.upstream {
        Some(upstream) if !is_before(about, SIGNAL_SINCE) => recovery_settings(upstream),
        _ => Vec::new(),
    }
}

fn recovery_settings(upstream: &Upstream) -> Vec<Setting> {
    let rows = [
        ("primary_conninfo", upstream.conninfo.clone()),
        ("primary_slot_name", upstream.slot()),
        ("recovery_target_timeline", "latest".to_owned()),
    ];
    rows.map(|(name, value)| Setting { name: name.to_owned(), value }).into()
}

/// Writes the file that makes a server a standby at its next start.
pub(crate) fn write_role(home: &Home, about: &Description, account: &Account) -> Result<(), ServerError> {
    let Some(upstream) = &about.upstream else { return Ok(()) };
    if is_before(about, SIGNAL_SINCE) {
        let mut text = "standby_mode = 'on'\n".to_owned();
        for Setting { name, value } in recovery_settings(upstream) {
            text += &format!("{name} = '{}'\n", value.replace('\'', "''"));
        }
        write(home, RECOVERY_FILE, &text, account)
    } else {
        write(home, SIGNAL_FILE, "", account)
    }
}

/// Writes a file of the data directory, for the server's user only.
pub(crate) fn write(home: &Home, name: &str, text: &str, account: &Account) -> Result<(), ServerError> {
    let path = home.data().join(name);
    remove_file(&path)?;
    let file = create(&path, 0o600, text)?;
    account.give(&file, &path)
}

/// Whether the files say that the server is a standby; the server removes them when it is promoted.
pub(crate) fn is_standby(home: &Home) -> bool {
    [SIGNAL_FILE, RECOVERY_FILE].iter().any(|name| fs::symlink_metadata(home.data().join(name)).is_ok())
}

/// Asks for a promotion with a file, as `pg_ctl promote` does. The server looks for it when its postmaster gets
/// SIGUSR1. This works in all versions and needs no connection, of which there may be none left.
pub(crate) fn request_promotion(home: &Home, account: &Account) -> Result<PathBuf, ServerError> {
    write(home, PROMOTE_FILE, "", account)?;
    Ok(home.data().join(PROMOTE_FILE))
}
