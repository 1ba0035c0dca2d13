//! The addresses to which clients connect, at first and after a lost connection. The control session of a run has found
//! which of them are suitable. Called by `preparation`.

use std::time::Duration;

use connect::{Address, HostOrder, Session, Target, Transport};
use engine::{HostPlan, ReconnectTarget};

use crate::control::Control;
use crate::error::RunError;

/// Time limit of an attempt to connect again, without `connect_timeout`.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Addresses of the clients.
pub(crate) struct Places {
    /// Those of the first connections.
    suitable: Vec<(Address, Transport)>,
    /// All addresses in their order, with the transport of the first, for clients that connect again; empty if they do
    /// not.
    all: Vec<(Address, Transport)>,
}

impl Places {
    /// The address of the control session; with load balancing, all suitable addresses.
    pub(crate) fn of(
        session: &Session,
        target: &Target,
        reconnects: bool,
        control: &Control,
    ) -> Result<Self, RunError> {
        let suitable = match target.host_order {
            HostOrder::Given => vec![(session.address().clone(), session.transport().clone())],
            HostOrder::Random | HostOrder::Seeded(_) => {
                control.abandonable(target, Session::survey)?.map_err(|error| *error)?
            }
        };
        let all = if reconnects { Self::all(session, target)? } else { Vec::new() };
        Ok(Self { suitable, all })
    }

    /// All addresses. Those that are not suitable now may be so after a failover; they are taken to be encrypted as the
    /// session is.
    fn all(session: &Session, target: &Target) -> Result<Vec<(Address, Transport)>, RunError> {
        let given = Target { host_order: HostOrder::Given, ..target.clone() };
        let transport = |address: &Address| match address {
            Address::Unix(_) => Transport { tls: None, ..session.transport().clone() },
            Address::Tcp { .. } => session.transport().clone(),
        };
        let with_transport = |address: Address| {
            let transport = transport(&address);
            (address, transport)
        };
        Ok(given.addresses()?.into_iter().map(with_transport).collect())
    }

    /// The hosts in the engine's plan: the suitable ones first; and the order of further attempts.
    pub(crate) fn into_hosts(self, target: &Target) -> (Vec<HostPlan>, ReconnectTarget) {
        let Self { suitable, all } = self;
        let mut hosts = suitable;
        let suitable = hosts.len();
        let mut order = Vec::new();
        for (address, transport) in all {
            let known = hosts.iter().position(|(known, _)| *known == address);
            order.push(known.unwrap_or(hosts.len()));
            if known.is_none() {
                hosts.push((address, transport));
            }
        }
        let host = |(address, transport)| {
            let startup = target.startup_parameters(target.host_of(&address));
            HostPlan { address, transport, startup }
        };
        let is_random = target.host_order != HostOrder::Given;
        let reconnect = ReconnectTarget { suitable, order, is_random, session: target.session_attributes };
        (hosts.into_iter().map(host).collect(), reconnect)
    }

    /// Never empty.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.suitable.iter().map(|(address, _)| address)
    }
}
