//! What the actions of a run can do to a managed server and to the relay before it. Used for trials, and for runs on
//! permanent servers of pgmeter; `run` decides when.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use connect::quote::literal;
use connect::{HostName, Session, Stopwatch, Target};
use observe::Observer;
use relay::{Direction, Fault, Order};
use results::{FaultKind, ShutdownMode};
use run::{FaultId, FaultSite, RunError, RunSpec};
use server::{Locations, ServerError, ServerHandle, Shutdown};

use crate::relays::{RelayPipes, resolve};

/// Time for a server to accept connections again after one of its backends was killed, and for a promotion.
const RECOVERY_LIMIT: Duration = Duration::from_secs(60);
/// Interval of attempts to connect.
const LOOK: Duration = Duration::from_millis(10);
/// Time for one attempt.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// A fault in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The server is down.
    Down,
    /// The server is paused.
    Paused,
    /// The relay's fault with this number.
    Network(u64),
}

/// The managed server of a run and the relay before it.
#[derive(Debug)]
pub(crate) struct ManagedSite {
    server: ServerHandle,
    /// Standbys of the server by name.
    standbys: Vec<(String, ServerHandle)>,
    relay: Option<RelayPipes>,
    /// The database of the load.
    database: String,
    active: Mutex<Vec<(FaultId, Effect)>>,
    begun: AtomicU64,
    /// Held while the server starts, so that it is started once.
    starting: Mutex<()>,
    /// A standby was promoted, so that the servers cannot be used again.
    is_promoted: AtomicBool,
    promotion: Mutex<Option<Promotion>>,
}

/// A promotion that succeeded.
#[derive(Debug)]
struct Promotion {
    standby: String,
    /// When the former primary was first known to run beside it.
    beside_since: Option<Instant>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn relay_failed(error: io::Error) -> RunError {
    RunError::System { what: "change the simulated network".to_owned(), error }
}

impl ManagedSite {
    pub(crate) fn new(
        server: ServerHandle,
        standbys: Vec<(String, ServerHandle)>,
        relay: Option<RelayPipes>,
        database: &str,
    ) -> Self {
        Self {
            server,
            standbys,
            relay,
            database: database.to_owned(),
            active: Mutex::default(),
            begun: AtomicU64::new(0),
            starting: Mutex::default(),
            is_promoted: AtomicBool::new(false),
            promotion: Mutex::default(),
        }
    }

    /// Whether the servers cannot be used for another trial.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_promoted.load(Ordering::SeqCst)
    }

    /// Notes a fault; returns its number.
    fn note(&self, effect: Effect) -> FaultId {
        let id = self.next();
        locked(&self.active).push((id, effect));
        id
    }

    fn next(&self) -> FaultId {
        self.begun.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Forgets the faults with these effects.
    fn forget(&self, is_over: impl Fn(Effect) -> bool) {
        locked(&self.active).retain(|(_, effect)| !is_over(*effect));
    }

    fn start(&self) -> Result<(), RunError> {
        let _once = locked(&self.starting);
        self.server.start()?;
        self.forget(|effect| effect == Effect::Down);
        self.note_second_primary();
        Ok(())
    }

    /// Notes that the former primary runs beside a promoted standby, if it does.
    fn note_second_primary(&self) {
        if let Some(promotion) = locked(&self.promotion).as_mut()
            && promotion.beside_since.is_none()
            && self.server.is_running()
        {
            promotion.beside_since = Some(Observer::now());
        }
    }

    /// Shuts the server down, which is noted first: if that takes too long, it is completed after the run.
    fn shut_down(&self, mode: ShutdownMode, is_over: &dyn Fn() -> bool) -> Result<FaultId, RunError> {
        if !self.server.is_running() {
            return Err(RunError::Server(ServerError::NotRunning { name: self.server.name().to_owned() }));
        }
        let id = self.note(Effect::Down);
        let how = match mode {
            ShutdownMode::Smart => Shutdown::Smart,
            ShutdownMode::Fast => Shutdown::Fast,
            ShutdownMode::Immediate => Shutdown::Immediate,
        };
        self.server.shut_down(how, is_over)?;
        Ok(id)
    }

    fn order(&self, order: Order) -> Result<String, RunError> {
        let relay = self.relay.as_ref().ok_or_else(|| RunError::Usage(NO_RELAY.to_owned()))?;
        relay.ask(&order.line()).map_err(relay_failed)
    }

    fn begin_network_fault(&self, fault: Fault) -> Result<FaultId, RunError> {
        let answer = self.order(Order::Begin(fault))?;
        let refused = || relay_failed(io::Error::other(format!("it said \"{}\"", answer.trim())));
        Ok(self.note(Effect::Network(Order::begun(&answer).ok_or_else(refused)?)))
    }

    fn direct_target(&self) -> Result<Target, RunError> {
        let target = resolve(&self.server.conninfo())?;
        Ok(Target { database: self.database.clone(), connect_timeout: Some(CONNECT_LIMIT), ..target })
    }

    /// Kills a backend of the load, and waits until the server accepts connections again.
    fn kill_backend(&self) -> Result<(), RunError> {
        let target = self.direct_target()?;
        let mut session = Session::connect(&target)?;
        let backends = session.query(&format!(
            "SELECT pid FROM pg_catalog.pg_stat_activity WHERE datname = {} AND pid <> pg_catalog.pg_backend_pid() \
             AND application_name NOT LIKE 'pgmeter action%' ORDER BY state IS NOT DISTINCT FROM 'active' DESC, backend_start, pid",
            literal(&self.database)
        ))?;
        let mut pids = backends.iter().filter_map(|row| row.get(0)?.parse().ok());
        if !pids.any(|pid| self.server.kill_process(pid)) {
            return Err(RunError::Usage("the load has no backend that could be killed".to_owned()));
        }
        let stopwatch = Stopwatch::start();
        // The server ends all sessions first.
        while session.query("SELECT 1").is_ok() {
            if stopwatch.passed() > RECOVERY_LIMIT {
                let seconds = RECOVERY_LIMIT.as_secs();
                return Err(RunError::Usage(format!(
                    "the server did not end its sessions within {seconds} s"
                )));
            }
            thread::sleep(LOOK);
        }
        self.await_connections()
    }

    /// Waits until the server accepts connections: it may be recovering.
    fn await_connections(&self) -> Result<(), RunError> {
        let target = self.direct_target()?;
        let stopwatch = Stopwatch::start();
        loop {
            match Session::connect(&target) {
                Ok(_) => return Ok(()),
                Err(error) if stopwatch.passed() > RECOVERY_LIMIT => return Err(error.into()),
                Err(_) => thread::sleep(LOOK),
            }
        }
    }

    fn promote(&self, name: &str) -> Result<(), RunError> {
        let standby = self.standbys.iter().find(|(known, _)| known == name);
        let (_, standby) = standby.ok_or_else(|| RunError::Usage(no_standby(name, &self.standbys)))?;
        self.is_promoted.store(true, Ordering::SeqCst);
        standby.promote(RECOVERY_LIMIT)?;
        locked(&self.promotion)
            .get_or_insert_with(|| Promotion { standby: name.to_owned(), beside_since: None });
        self.note_second_primary();
        Ok(())
    }
}

const NO_RELAY: &str = "faults of the network require a relay between the clients and the server, which only experiments \
                        (pgmeter lab) have; a relay of your own takes them as lines on its standard input: pgmeter relay";

fn no_standby(name: &str, standbys: &[(String, ServerHandle)]) -> String {
    let names: Vec<&str> = standbys.iter().map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        format!("there is no standby {name}: the server of this run has no standbys")
    } else {
        format!("there is no standby {name}; the standbys of this run are {}", names.join(", "))
    }
}

impl FaultSite for ManagedSite {
    fn refusal(&self, kind: &FaultKind) -> Option<String> {
        if kind.is_of_network() {
            return self
                .relay
                .is_none()
                .then(|| format!("the action {} is impossible here: {NO_RELAY}", kind.name()));
        }
        if matches!(kind, FaultKind::Pause) && !cfg!(target_os = "linux") {
            return Some(
                "the action pause requires Linux, whose /proc shows the processes of the server".to_owned(),
            );
        }
        let standby = kind.standby()?.as_str();
        let is_known = self.standbys.iter().any(|(name, _)| name == standby);
        (!is_known).then(|| {
            format!("the action {} is impossible here: {}", kind.name(), no_standby(standby, &self.standbys))
        })
    }

    fn begin(&self, kind: &FaultKind, is_over: &dyn Fn() -> bool) -> Result<FaultId, RunError> {
        match kind {
            FaultKind::Stop { mode } => self.shut_down(*mode, is_over),
            FaultKind::Start if self.server.is_running() => {
                Err(RunError::Usage(format!("the server {} is running already", self.server.name())))
            }
            FaultKind::Start => self.start().map(|()| self.next()),
            FaultKind::Restart { mode } => {
                if self.server.is_running() {
                    self.shut_down(*mode, is_over)?;
                }
                self.start().map(|()| self.next())
            }
            FaultKind::Kill => {
                self.server.kill()?;
                Ok(self.note(Effect::Down))
            }
            FaultKind::KillBackend => self.kill_backend().map(|()| self.next()),
            FaultKind::Pause => {
                let id = self.note(Effect::Paused);
                self.server.pause().inspect_err(|_| self.forget(|effect| effect == Effect::Paused))?;
                Ok(id)
            }
            FaultKind::Promote { standby } => self.promote(standby.as_str()).map(|()| self.next()),
            FaultKind::Switchover { standby } => {
                self.shut_down(ShutdownMode::Fast, is_over)?;
                self.promote(standby.as_str()).map(|()| self.next())
            }
            FaultKind::Cut => self.begin_network_fault(Fault::Cut),
            FaultKind::Blackhole => self.begin_network_fault(Fault::Blackhole(None)),
            FaultKind::BlackholeToServer => {
                self.begin_network_fault(Fault::Blackhole(Some(Direction::ToServer)))
            }
            FaultKind::BlackholeToClient => {
                self.begin_network_fault(Fault::Blackhole(Some(Direction::ToClient)))
            }
            FaultKind::Slow { delay, bandwidth_bits_per_s } => self.begin_network_fault(Fault::Slow {
                delay: *delay,
                bandwidth_bits_per_s: *bandwidth_bits_per_s,
            }),
            FaultKind::Heal => {
                self.order(Order::Heal)?;
                self.forget(|effect| matches!(effect, Effect::Network(_)));
                Ok(self.next())
            }
        }
    }

    fn is_in_effect(&self, fault: FaultId) -> bool {
        locked(&self.active).iter().any(|(id, _)| *id == fault)
    }

    fn end(&self, fault: FaultId) -> Result<(), RunError> {
        let effect = locked(&self.active).iter().find(|(id, _)| *id == fault).map(|(_, effect)| *effect);
        match effect {
            None => Ok(()),
            // As at the end of a run: it would go on beside the promoted standby.
            Some(Effect::Down) if self.is_spent() => {
                self.forget(|effect| effect == Effect::Down);
                Ok(())
            }
            Some(Effect::Down) => self.start(),
            Some(Effect::Paused) => {
                self.server.resume();
                self.forget(|effect| effect == Effect::Paused);
                Ok(())
            }
            Some(Effect::Network(number)) => {
                self.order(Order::End(number))?;
                self.forget(|effect| effect == Effect::Network(number));
                Ok(())
            }
        }
    }

    fn restore(&self) -> Result<(), RunError> {
        let (mut is_paused, mut is_down, mut is_faulty) = (false, false, false);
        for (_, effect) in locked(&self.active).iter() {
            is_paused |= *effect == Effect::Paused;
            is_down |= *effect == Effect::Down;
            is_faulty |= matches!(effect, Effect::Network(_));
        }
        if is_paused {
            self.server.resume();
        }
        let healed = if is_faulty { self.order(Order::Heal).map(drop) } else { Ok(()) };
        self.forget(|effect| effect != Effect::Down);
        if self.is_spent() {
            // A former primary would go on beside the promoted standby.
            return healed;
        }
        if is_down && self.server.is_running() {
            // A shutdown was begun and has not ended.
            let never = || false;
            let fast = self.server.shut_down(Shutdown::Fast, &never);
            fast.or_else(|_| match self.server.is_running() {
                true => self.server.shut_down(Shutdown::Immediate, &never),
                false => Ok(()),
            })?;
        }
        healed.and(self.start()).and_then(|()| self.await_connections())
    }

    fn second_primary(&self) -> Option<(String, Instant)> {
        let promotion = locked(&self.promotion);
        let Promotion { standby, beside_since } = promotion.as_ref()?;
        Some((standby.clone(), (*beside_since)?))
    }

    fn is_disturbed(&self) -> bool {
        !locked(&self.active).is_empty()
    }
}

/// The site of a run on a permanent server of pgmeter, if this target is the Unix socket of one that is running, and
/// the run has faults.
///
/// # Errors
/// Another process of pgmeter uses the server, or another user can change its directory.
pub fn managed_site(target: &Target, spec: &RunSpec) -> Result<Option<Arc<dyn FaultSite>>, RunError> {
    if spec.actions.iter().all(|action| action.fault().is_none()) {
        return Ok(None);
    }
    let [host] = target.hosts.as_slice() else { return Ok(None) };
    let HostName::Directory(directory) = &host.name else { return Ok(None) };
    let locations = Locations::from_environment(&server::Environment::of_process())?;
    let handle = ServerHandle::adopt(directory, host.port, &locations)?;
    let site = |handle| -> Arc<dyn FaultSite> {
        Arc::new(ManagedSite::new(handle, Vec::new(), None, &target.database))
    };
    Ok(handle.map(site))
}
