//! Removes a server whose postmaster was told to stop: remaining processes in its home, shared memory of killed
//! processes, and the home itself. Used by everything that removes a server.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::account::Account;
use crate::home::{Description, Home, LockedHome};
use crate::launch::run;
use crate::process::{end_remaining_pooler, end_remaining_processes};
use crate::{ServerError, Version};

/// Time limit for freeing memory; it usually takes 50 ms.
const FREEING_LIMIT: Duration = Duration::from_secs(10);

/// Removes everything of a server. Its lock is removed last, together with the claim.
pub(crate) fn remove(claim: &LockedHome) -> Result<(), ServerError> {
    let home = &claim.home;
    home.pooler_directories().iter().for_each(|directory| end_remaining_pooler(directory));
    end_remaining_processes(&home.data());
    // A server that stops normally removes its shared memory, then this file.
    if fs::symlink_metadata(home.data().join("postmaster.pid")).is_ok()
        && let Ok(Some(about)) = home.read()
    {
        free_shared_memory(home, &about);
    }
    claim.remove()
}

/// Shared memory of a killed server stays until the machine is restarted, or until the next start in the same data
/// directory, which frees it. So a postgres is started once more in the mode in which initdb tests settings: it sets
/// up its memory and exits. If that fails, a megabyte is lost, which is no reason to keep the home.
fn free_shared_memory(home: &Home, about: &Description) {
    let root = rustix::process::geteuid().is_root();
    let Ok(account) = Account::choose(root.then_some(about.server_user.as_str())) else { return };
    let old = Version::parse(&about.version).is_some_and(|version| version.major().is_before(15));
    let mode: &[&str] = if old { &["--boot", "-x0"] } else { &["--check"] };
    let mut command = account.command(&about.bin_dir.join("postgres"), &home.directory);
    // Old versions find the memory by the port, newer ones by the data directory.
    command
        .args(mode)
        .args(["-c", &format!("port={}", about.port), "-D"])
        .arg(home.data())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = run(&mut command, FREEING_LIMIT);
}
