//! Stops and removes what killed processes left behind, where their guards could not; called before a server is
//! started. A temporary home whose lock nobody holds has lost its owner.

use crate::home::{AllHomes, Home, LockedHome};
use crate::process::{IMMEDIATE_SHUTDOWN, Postmaster};
use crate::{Locations, ServerError, guard, removal};

/// One server that had lost its owner.
#[derive(Clone, Debug)]
pub struct Swept {
    /// Its name.
    pub name: String,
    /// Whether it was still running.
    pub was_running: bool,
    /// Why it could not be stopped or removed, where that is so.
    pub failure: Option<String>,
}

/// Stops and removes the servers whose owner is gone. Those whose owner lives, and kept ones, are left alone, and so
/// are descriptions that this version cannot read: those may be a newer one's.
pub fn sweep(locations: &Locations) -> Vec<Swept> {
    orphans(locations).unwrap_or_default().iter().filter_map(swept).collect()
}

/// While it holds all homes, a home is either claimed or has lost its owner; the claims taken here hold on.
fn orphans(locations: &Locations) -> Result<Vec<LockedHome>, ServerError> {
    if Home::all(locations)?.is_empty() {
        return Ok(Vec::new());
    }
    let _all = AllHomes::lock(locations)?;
    let homes = Home::all(locations)?.into_iter();
    Ok(homes.filter(lost_unless_claimed).filter_map(|home| home.claim().ok()).collect())
}

fn lost_unless_claimed(home: &Home) -> bool {
    match home.read() {
        Ok(Some(about)) => !about.kept,
        // Its maker was killed in its first moments.
        Ok(None) => true,
        Err(_) => false,
    }
}

/// `None` if its guard has done it meanwhile.
fn swept(claim: &LockedHome) -> Option<Swept> {
    let home = &claim.home;
    guard::await_end(&home.directory);
    if !home.exists() {
        return None;
    }
    let postmaster = Postmaster::of(&home.data());
    let ended = postmaster.as_ref().is_none_or(|postmaster| postmaster.end(&IMMEDIATE_SHUTDOWN));
    let outcome = match &postmaster {
        Some(postmaster) if !ended => Err(postmaster.will_not_end(home)),
        _ => removal::remove(claim),
    };
    Some(Swept {
        name: home.name.clone(),
        was_running: postmaster.is_some(),
        failure: outcome.err().map(|error| error.to_string()),
    })
}
