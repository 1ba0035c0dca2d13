//! How punctual the relay is: many clients each send a time stamp through it, a server notes how long that took and
//! answers with its own, the client notes that; and again. Both are in this process, so that there is one clock, and
//! each way is measured alone. Prints what lies above the delay that was asked for. Arguments: clients, delay in µs,
//! seconds, bandwidth in bits per second (0: no limit), seed of a jitter of a tenth of the delay (0: none).

use std::error::Error;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mio::net::{UnixListener, UnixStream};
use mio::{Events, Interest, Poll, Token};
use pgmeter_relay::{Address, Config, Network, Relay};
use stats::Distribution;

const STAMP_BYTES: usize = 8;
const LISTENER: Token = Token(usize::MAX);
const LOOK: Duration = Duration::from_millis(50);

/// Whoever gets stamps and answers them at once with new ones.
struct Peer {
    epoch: Instant,
    poll: Poll,
    streams: Vec<UnixStream>,
    took: Distribution,
    counts: Arc<AtomicBool>,
}

impl Peer {
    fn new(epoch: Instant, counts: &Arc<AtomicBool>) -> io::Result<Self> {
        let (poll, took) = (Poll::new()?, Distribution::new());
        Ok(Self { epoch, poll, streams: Vec::new(), took, counts: Arc::clone(counts) })
    }

    fn add(&mut self, mut stream: UnixStream) -> io::Result<()> {
        self.poll.registry().register(&mut stream, Token(self.streams.len()), Interest::READABLE)?;
        self.streams.push(stream);
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn send(&self, number: usize) -> io::Result<()> {
        (&self.streams[number]).write_all(&self.now_ns().to_le_bytes())
    }

    fn answer(&mut self, number: usize) -> io::Result<()> {
        let mut stamp = [0; STAMP_BYTES];
        match (&self.streams[number]).read(&mut stamp) {
            Ok(STAMP_BYTES) => {}
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
        let took = self.now_ns().saturating_sub(u64::from_le_bytes(stamp));
        if self.counts.load(Ordering::Relaxed) {
            self.took.record_ns(took);
        }
        self.send(number)
    }
}

/// Until the relay has gone.
fn serve(mut listener: UnixListener, mut peer: Peer) -> io::Result<Distribution> {
    peer.poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut events = Events::with_capacity(1024);
    loop {
        peer.poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() != LISTENER {
                if peer.answer(event.token().0).is_err() {
                    return Ok(peer.took);
                }
                continue;
            }
            while let Ok((stream, _)) = listener.accept() {
                peer.add(stream)?;
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<Vec<u64>, _>>()?;
    let argument = |place: usize, usual: u64| given.get(place).copied().unwrap_or(usual);
    let clients = usize::try_from(argument(0, 512))?;
    let delay = Duration::from_micros(argument(1, 10_000));
    let bandwidth = Some(argument(3, 0)).filter(|bits| *bits > 0);
    let seed = argument(4, 0);
    let jitter = if seed == 0 { Duration::ZERO } else { delay / 10 };
    let network = Network { delay, jitter, bandwidth_bits_per_s: bandwidth, seed, ..Network::default() };

    let directory = tempfile::tempdir()?;
    let server = directory.path().join("server");
    let (epoch, counts) = (Instant::now(), Arc::new(AtomicBool::new(false)));
    let (listener, peer) = (UnixListener::bind(&server)?, Peer::new(epoch, &counts)?);
    let serving = thread::spawn(move || serve(listener, peer));
    let listen = Address::in_directory(directory.path(), 5432);
    let Address::Unix(path) = listen.clone() else { return Err("a Unix socket".into()) };
    let relay = Relay::start(Config::new(listen, Address::Unix(server), network))?;

    let mut peer = Peer::new(epoch, &counts)?;
    for number in 0..clients {
        peer.add(UnixStream::connect(&path)?)?;
        peer.send(number)?;
    }
    let mut events = Events::with_capacity(1024);
    let warm = Instant::now() + 10 * delay + Duration::from_millis(500);
    let end = warm + Duration::from_secs(argument(2, 5));
    while Instant::now() < end {
        counts.store(Instant::now() >= warm, Ordering::Relaxed);
        peer.poll.poll(&mut events, Some(LOOK))?;
        for event in &events {
            peer.answer(event.token().0)?;
        }
    }
    let statistics = relay.stop()?;
    let to_server = serving.join().map_err(|_| "the server's thread failed")??;
    report(delay, &to_server, &peer.took, &statistics)?;
    Ok(())
}

fn report(
    delay: Duration,
    to_server: &Distribution,
    to_client: &Distribution,
    statistics: &pgmeter_relay::Statistics,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (name, took) in [("to the server", to_server), ("to the client", to_client)] {
        let above = |share: f64| {
            let ns = took.quantile_ns(share).unwrap_or_default() as f64;
            (ns - delay.as_nanos() as f64) / 1e3
        };
        writeln!(
            out,
            "{name}: {} pieces, µs above the delay: min {:.0} p50 {:.0} p90 {:.0} p99 {:.0} p99.9 {:.0} max {:.0}",
            took.count(),
            above(0.0),
            above(0.5),
            above(0.9),
            above(0.99),
            above(0.999),
            above(1.0)
        )?;
    }
    let late = |share| statistics.late_us(share).unwrap_or_default();
    writeln!(
        out,
        "handed on late by, µs: p50 {:.0} p99 {:.0} max {:.0}; CPU {:?} per piece, {:?} in all, {:?} of it polling",
        late(0.5),
        late(0.99),
        late(1.0),
        statistics.cpu_per_piece().unwrap_or_default(),
        statistics.cpu_time,
        statistics.polled
    )
}
