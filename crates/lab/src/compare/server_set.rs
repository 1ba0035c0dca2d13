//! The provisioner for `compare`: prepares the servers and data of a few combinations.
//! It makes and stores no trials.

use std::rc::Rc;

use connect::{Patience, Target};
use experiment::{Cell, Comparable};
use run::{Control, RunError, StorePlaces, fresh_seed};

use crate::event::Listener;
use crate::leftovers;
use crate::provision::{Provisioner, Ready};
use crate::relays::RunningRelay;
use crate::schema_change::SchemaCost;

/// Servers and data that exist as long as this value.
pub(super) struct ServerSet<'a> {
    provisioner: Provisioner<'a>,
    /// Relays stay when another combination is prepared.
    relays: Vec<Rc<RunningRelay>>,
}

impl<'a> ServerSet<'a> {
    /// An empty set.
    pub(super) fn new(
        what: &Comparable,
        cells: Vec<Cell>,
        patience: Patience,
        places: &StorePlaces,
        listener: Listener<'a>,
        control: &'a Control,
    ) -> Result<Self, RunError> {
        let subject = Rc::new(what.subject(cells));
        let prefix = leftovers::prefix_of_comparison(fresh_seed());
        let user = what.server_user.clone();
        let provisioner =
            Provisioner::new(subject, user, prefix, patience, places.clone(), listener, control)?;
        Ok(Self { provisioner, relays: Vec::new() })
    }

    /// Changes the schema of a database in place to that of a combination.
    pub(super) fn switch_schema(&mut self, cell: usize) -> Result<(), RunError> {
        self.provisioner.switch_schema(cell)
    }

    /// Undoes the change of the schema of a database in place.
    pub(super) fn restore_schema(&mut self) -> Result<(), RunError> {
        self.provisioner.restore_schema()
    }

    /// What these changes have cost so far.
    pub(super) fn cost_of_schema(&self) -> SchemaCost {
        self.provisioner.cost_of_schema()
    }

    /// Starts a combination's server and loads its data; returns the target of clients.
    pub(super) fn ready(&mut self, cell: usize) -> Result<Target, RunError> {
        let Ready { target, relay, .. } = self.provisioner.ready(cell)?;
        self.relays.extend(relay);
        Ok(target)
    }
}
