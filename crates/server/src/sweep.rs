//! Stops and removes servers that killed processes left behind and whose guards could not remove them; called before
//! a server is started. A temporary home without a held lock has no owner any more.

use crate::home::{AllHomes, Home, LockedHome};
use crate::process::{IMMEDIATE_SHUTDOWN, Postmaster};
use crate::{Locations, ServerError, guard, removal};

/// A server without an owner.
#[derive(Clone, Debug)]
pub struct Swept {
    /// Its name.
    pub name: String,
    /// Whether it was still running.
    pub was_running: bool,
    /// Why it could not be stopped or removed.
    pub failure: Option<String>,
}

/// Stops and removes servers without an owner. Servers with a living owner, kept ones, and descriptions that this
/// version cannot read, possibly from a newer version, are left unchanged.
pub fn sweep(locations: &Locations) -> Vec<Swept> {
    orphans(locations).unwrap_or_default().iter().filter_map(swept).collect()
}

/// While all homes are locked, a home is either claimed or has no owner; the claims taken here stay.
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
        // Its creator was killed immediately.
        Ok(None) => true,
        Err(_) => false,
    }
}

/// `None` if its guard has removed it meanwhile.
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
