//! The connection between a trial's clients and its server: socket, TCP or TLS, and a relay that simulates a network.
//! A relay runs in a separate process, so that its CPU time is not the load generator's. It always ends with this
//! process.

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use connect::{Address, Environment, Host, HostName, Overrides, Session, Target, TlsMode};
use experiment::{Network, NetworkKind};
use relay::{Order, Traffic};
use results::{Lateness, Record, Warning};
use run::RunError;
use server::Server;

use crate::event::Listener;

/// Number of relays started by this process. It gives each relay its own address, because several experiments may run
/// in one process, for example the sides of a comparison.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// The relays of an experiment: one per server and network, started when first needed.
#[derive(Default)]
pub(super) struct Networks {
    relays: Vec<KnownRelay>,
    /// Seed of the jitter.
    seed: u64,
}

struct KnownRelay {
    /// Index of the server in the plan, and 0 for the primary or the number of the standby.
    server: (usize, usize),
    network: Network,
    relay: Rc<RunningRelay>,
}

impl Networks {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// The target of the clients: direct, or through a relay.
    pub(super) fn target(
        &mut self,
        number: (usize, usize),
        server: Option<&Server>,
        target: &Target,
        network: &Network,
        listener: Listener<'_>,
    ) -> Result<(Target, Option<Rc<RunningRelay>>), RunError> {
        let direct = direct(server, target, network.kind)?;
        if !network.needs_relay() {
            return Ok((direct, None));
        }
        let is_it =
            |known_relay: &KnownRelay| known_relay.server == number && known_relay.network == *network;
        let known = self.relays.iter().position(is_it);
        // A relay that has ended is started again.
        if let Some(at) = known.filter(|at| !self.relays[*at].relay.is_running()) {
            self.relays.remove(at);
        }
        let relay = match self.relays.iter().find(|known_relay| is_it(known_relay)) {
            Some(known_relay) => Rc::clone(&known_relay.relay),
            None => {
                let relay_number = STARTED.fetch_add(1, Ordering::Relaxed) + 1;
                let to = Session::connect(&direct)?.address().clone();
                let listen = listen_address(&to, server.is_some(), relay_number);
                let relay = Rc::new(RunningRelay::start(&listen, &to, network, self.seed)?);
                listener.say(format_args!("started a relay: {network}"));
                let known_relay =
                    KnownRelay { server: number, network: network.clone(), relay: Rc::clone(&relay) };
                self.relays.push(known_relay);
                relay
            }
        };
        Ok((relay.through(&direct), Some(relay)))
    }

    /// Starts a relay in front of a pooler, if the network needs one, and changes the clients' target to it. A pooler lasts
    /// one trial, and so does its relay.
    pub(super) fn before_pooler(
        &self,
        clients: &mut Target,
        network: &Network,
    ) -> Result<Option<Rc<RunningRelay>>, RunError> {
        if network.kind == NetworkKind::Tcp {
            clients.tls.mode = TlsMode::Disable;
        }
        if !network.needs_relay() {
            return Ok(None);
        }
        let relay_number = STARTED.fetch_add(1, Ordering::Relaxed) + 1;
        let to = Session::connect(clients)?.address().clone();
        let listen = listen_address(&to, true, relay_number);
        let relay = RunningRelay::start(&listen, &to, network, self.seed)?;
        *clients = relay.through(clients);
        Ok(Some(Rc::new(relay)))
    }

    /// Removes the relays of a server that was removed or moved.
    pub(super) fn forget(&mut self, server: usize) {
        self.relays.retain(|known_relay| known_relay.server.0 != server);
    }
}

/// The target without a relay.
fn direct(server: Option<&Server>, target: &Target, kind: NetworkKind) -> Result<Target, RunError> {
    let mut direct = match (kind, server) {
        (NetworkKind::Socket, _) | (_, None) => target.clone(),
        (NetworkKind::Tcp, Some(server)) => resolve(&offered(server.conninfo_tcp_guarded(), "TCP")?)?,
        (NetworkKind::Tls, Some(server)) => resolve(&offered(server.conninfo_tls(), "TLS")?)?,
    };
    let over_tcp = direct.hosts.iter().all(|host| matches!(host.name, HostName::Network(_)));
    match kind {
        NetworkKind::Socket => {}
        NetworkKind::Tcp | NetworkKind::Tls if !over_tcp => {
            return Err(RunError::Usage(
                "the server's dsn contains no host, which means a Unix socket: add host, or remove network"
                    .to_owned(),
            ));
        }
        // With "tcp" the server must not negotiate TLS, which would be a different trial.
        NetworkKind::Tcp => direct.tls.mode = TlsMode::Disable,
        NetworkKind::Tls => {
            if matches!(direct.tls.mode, TlsMode::Disable | TlsMode::Allow | TlsMode::Prefer) {
                direct.tls.mode = TlsMode::Require;
            }
        }
    }
    Ok(direct)
}

fn offered(conninfo: Option<String>, name: &str) -> Result<String, RunError> {
    conninfo.ok_or_else(|| RunError::Usage(format!("the server was started without {name}")))
}

/// The relay's address, and whether the relay creates and removes its socket's directory. For an embedded server, the
/// socket is next to the server's, in a directory that is removed with the server; ports below 1024 avoid conflicts
/// there. Otherwise the relay has its own directory.
fn listen_address(server: &Address, is_ours: bool, number: u64) -> (String, bool) {
    let socket = |directory: &Path, port| directory.join(format!(".s.PGSQL.{port}")).display().to_string();
    match server {
        Address::Tcp { address, .. } => {
            ((if address.is_ipv6() { "[::1]:0" } else { "127.0.0.1:0" }).to_owned(), false)
        }
        Address::Unix(path) if is_ours => (socket(path.parent().unwrap_or(path), number), false),
        Address::Unix(_) => {
            let name = format!("pgmeter-relay-{}-{number}", std::process::id());
            (socket(&std::env::temp_dir().join(name), 1), true)
        }
    }
}

/// A relay in a separate process. It ends when its standard input is closed, which also happens when this process
/// ends.
pub(super) struct RunningRelay {
    process: RefCell<Child>,
    pipes: RelayPipes,
    /// The relay's address.
    host: Host,
    /// Its network.
    pub(super) network: Network,
}

/// Standard input and output of a relay. Each line of input is answered by a line of output.
#[derive(Clone, Debug)]
pub(super) struct RelayPipes(Arc<Mutex<Pipes>>);

/// `None` if the relay was told to end.
type Pipes = Option<(ChildStdin, BufReader<ChildStdout>)>;

impl RelayPipes {
    fn locked(&self) -> MutexGuard<'_, Pipes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the next line of output.
    fn line(&self) -> io::Result<String> {
        next_line(&mut self.locked())
    }

    /// Writes a line, and reads the answer.
    pub(super) fn ask(&self, line: &str) -> io::Result<String> {
        let mut pipes = self.locked();
        if let Some((stdin, _)) = pipes.as_mut() {
            stdin.write_all(format!("{line}\n").as_bytes())?;
        }
        next_line(&mut pipes)
    }
}

fn next_line(pipes: &mut Pipes) -> io::Result<String> {
    let mut line = String::new();
    if let Some((_, stdout)) = pipes {
        stdout.read_line(&mut line)?;
    }
    if line.is_empty() { Err(io::Error::other("it has ended")) } else { Ok(line) }
}

impl RunningRelay {
    fn start(
        (listen, own_directory): &(String, bool),
        to: &Address,
        network: &Network,
        seed: u64,
    ) -> Result<Self, RunError> {
        let failed = |error| RunError::System { what: "start a relay".to_owned(), error };
        let to = match to {
            Address::Unix(path) => path.display().to_string(),
            Address::Tcp { address, .. } => address.to_string(),
        };
        let ns = |time: std::time::Duration| format!("{}ns", time.as_nanos());
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["relay", "--listen", listen, "--to", &to]);
        command.args(["--delay", &ns(network.delay), "--jitter", &ns(network.jitter)]);
        command.args(["--random-seed", &seed.to_string()]);
        if let Some(bits_per_s) = network.bandwidth_bits_per_s {
            command.args(["--bandwidth", &format!("{bits_per_s:.0}bit")]);
        }
        if *own_directory {
            command.arg("--own-directory");
        }
        // Ctrl-C at the terminal is handled by this process.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(failed)?;
        let pipes = process.stdin.take().zip(process.stdout.take().map(BufReader::new));
        let mut relay = Self {
            process: RefCell::new(process),
            pipes: RelayPipes(Arc::new(Mutex::new(pipes))),
            host: Host { name: HostName::Usual, hostaddr: None, port: 0, password: None },
            network: network.clone(),
        };
        // If it ended, it has printed the reason.
        let conninfo = relay.pipes.line().map_err(failed)?;
        // The user is not used, but required.
        relay.host = resolve(&format!("{} user=relay", conninfo.trim()))?.hosts.swap_remove(0);
        Ok(relay)
    }

    /// A relay between a standby and the TCP port of its upstream server.
    pub(super) fn before_port(port: u16, network: &Network, seed: u64) -> Result<Self, RunError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let to = Address::Tcp { host: address.ip().to_string(), address };
        Self::start(&listen_address(&to, true, 0), &to, network, seed)
    }

    /// The TCP address that it listens on.
    pub(super) fn tcp_address(&self) -> Option<SocketAddr> {
        let HostName::Network(name) = &self.host.name else { return None };
        Some(SocketAddr::new(name.parse().ok()?, self.host.port))
    }

    /// For orders from other threads.
    pub(super) fn pipes(&self) -> RelayPipes {
        self.pipes.clone()
    }

    fn is_running(&self) -> bool {
        matches!(self.process.borrow_mut().try_wait(), Ok(None))
    }

    /// The target through this relay. The host name is kept, because it is in the server's certificate.
    fn through(&self, direct: &Target) -> Target {
        let mut host = Host { password: direct.hosts[0].password.clone(), ..self.host.clone() };
        if let (HostName::Network(ip), HostName::Network(_)) = (&host.name, &direct.hosts[0].name) {
            host.hostaddr = ip.parse().ok();
            host.name = direct.hosts[0].name.clone();
        }
        Target { hosts: vec![host], ..direct.clone() }
    }

    /// The traffic since the last call.
    pub(super) fn traffic(&self) -> Result<Traffic, RunError> {
        let ask = || {
            let line = self.pipes.ask(&Order::Traffic.line())?;
            Traffic::parse(&line).ok_or_else(|| io::Error::other(format!("it said \"{}\"", line.trim())))
        };
        ask().map_err(|error| RunError::System { what: "ask the relay what has passed".to_owned(), error })
    }
}

impl Drop for RunningRelay {
    fn drop(&mut self) {
        if let Some((stdin, mut stdout)) = self.pipes.locked().take() {
            drop(stdin);
            // Its final statistics are for users who start it by hand. An error means that it has ended too.
            let _ = stdout.read_to_end(&mut Vec::new());
        }
        let _ = self.process.borrow_mut().wait();
    }
}

pub(super) fn resolve(conninfo: &str) -> Result<Target, RunError> {
    let environment = Environment::of_process().only_control_timeout();
    Ok(connect::resolve(Some(conninfo), &Overrides::default(), &environment)?)
}

/// Median lateness above which a relay visibly affects the latencies of a trial.
const LATE_US: f64 = 200.0;

/// Adds the cost and lateness of the relay to the record of a trial.
pub(super) fn add_cost(record: &mut Record, network: &Network, traffic: Result<Traffic, RunError>) {
    match traffic {
        Ok(passed) => {
            let transactions = record.summary.counts.succeeded + record.summary.counts.failed;
            record.warnings.extend(warnings(&passed, transactions, network));
        }
        Err(failure) => {
            record.warnings.push(Warning::NetworkFailed { error: failure.to_string().into() });
        }
    }
}

/// Warnings about the effect of a relay on a trial.
fn warnings(passed: &Traffic, transactions: u64, network: &Network) -> Vec<Warning> {
    let Traffic { refused, pieces, late_us: [p50, p99, max], cpu_us, polled_us, waited_us, .. } = *passed;
    let s = |us: u64| us as f64 / 1e6;
    let cost = Warning::RelayCost {
        delay_us: network.delay.as_secs_f64() * 1e6,
        cpu_us_per_transaction: (cpu_us + polled_us) as f64 / transactions.max(1) as f64,
        cpu_s: s(cpu_us + polled_us),
        pieces,
        late_us: Lateness { p50, p99, max },
        cpu_wait_s: s(waited_us),
    };
    let late = (p50 > LATE_US).then_some(Warning::RelayLate { late_us_p50: p50 });
    let refused = (refused > 0).then_some(Warning::RelayRefused { connections: refused });
    [late, refused, Some(cost)].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_relay_that_was_late_or_turned_clients_away_is_warned_of_and_its_cost_is_always_told() {
        let network = Network { delay: Duration::from_millis(10), ..Network::default() };
        let punctual = Traffic {
            pieces: 40,
            late_us: [30.0, 90.0, 400.0],
            cpu_us: 900,
            polled_us: 100,
            ..Traffic::default()
        };
        let [Warning::RelayCost { delay_us, cpu_us_per_transaction, pieces: 40, .. }] =
            warnings(&punctual, 20, &network)[..]
        else {
            panic!("{:?}", warnings(&punctual, 20, &network));
        };
        assert_eq!((delay_us, cpu_us_per_transaction), (10_000.0, 50.0));
        let late = Traffic { late_us: [1500.0, 2e3, 3e3], refused: 2, ..punctual };
        let late = warnings(&late, 20, &network);
        assert_eq!(late[0], Warning::RelayLate { late_us_p50: 1500.0 });
        assert_eq!(late[1], Warning::RelayRefused { connections: 2 });
        let [Warning::RelayCost { cpu_us_per_transaction, .. }] =
            warnings(&Traffic::default(), 0, &network)[..]
        else {
            panic!("only the cost");
        };
        assert_eq!(cpu_us_per_transaction, 0.0);
    }
}
