//! Measures the client's CPU cost of a transaction, without sockets and clock: the engine on a driver with prepared
//! replies. Not a test. The difference between two counts of different lengths gives instructions per transaction,
//! independent of other programs: `valgrind --tool=callgrind target/release/examples/canned select 100000`.
#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::AtomicBool;

use connect::{Address, Transport};
use pgmeter_engine::{
    Driver, DriverUsage, Event, HostPlan, IsOver, Limit, Plan, Protocol, Receive, ScriptPlan, ShellAnswer,
    TargetPlan, no_tracer, run_on,
};
use script::{Dialect, Symbols};
use stats::Timestamp;
use wire::StartupParameters;

/// Scripts by name, with the number of clients that run each.
const SCRIPTS: [(&str, usize, &str); 4] = [
    ("select", 64, "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM accounts WHERE aid = :aid;\n"),
    ("draws", 1, DRAWS),
    ("sum", 1, "\\set i 1 + 2 * :client_id\n"),
    ("sums", 1, ""),
];
/// The random numbers of a TPC-B-like transaction.
const DRAWS: &str = "\\set aid random(1, 100000 * :scale)\n\\set bid random(1, 1 * :scale)\n\
    \\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\n";
/// Lines of the script `sums`.
const SUMS: usize = 100;

/// AuthenticationOk, BackendKeyData, ReadyForQuery.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const PARSED: &[u8] = b"1\0\0\0\x04";
/// BindComplete, RowDescription of one column, a DataRow, CommandComplete, ReadyForQuery.
const ROW: &[u8] =
    b"2\0\0\0\x04T\0\0\0\x21\0\x01abalance\0\0\0\x40\0\0\x03\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
    D\0\0\0\x0b\0\x01\0\0\0\x010C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next().unwrap_or_else(|| "select".to_owned());
    let transactions: u64 = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    let Some(&(name, clients, text)) = SCRIPTS.iter().find(|(name, ..)| *name == wanted) else {
        let names: Vec<_> = SCRIPTS.iter().map(|(name, ..)| *name).collect();
        return println!("the scripts are: {}", names.join(", "));
    };
    let text = if name == "sums" { SCRIPTS[2].2.repeat(SUMS) } else { text.to_owned() };
    let plan = plan(&text, clients, transactions / clients as u64);
    let outcome = run_on(&plan, Canned::default(), &AtomicBool::new(false), &mut |_| {}, &no_tracer)
        .expect("a canned server refuses nobody");
    println!("{} transactions of {name}", outcome.summary.total.counts.succeeded);
}

fn plan(text: &str, clients: usize, transactions_each: u64) -> Plan {
    let mut symbols = Symbols::new();
    let program = script::parse("canned", text.as_bytes(), &mut symbols, Dialect::Pgbench);
    let program = program.expect("a script that can be read");
    let startup = StartupParameters { user: "nobody".to_owned(), ..StartupParameters::default() };
    let address = Address::Unix("/nowhere".into());
    let host = HostPlan { address, transport: Transport::default(), startup };
    let target = TargetPlan { name: String::new(), hosts: vec![host] };
    Plan {
        clients,
        protocol: Protocol::Prepared,
        limit: Limit::TransactionsPerClient(transactions_each),
        ..Plan::new(vec![target], vec![ScriptPlan { program, weight: 1, target: 0 }], symbols)
    }
}

/// A driver without a server: each sent message is answered at the next wait. Its clock advances by itself.
#[derive(Default)]
struct Canned {
    now_ns: u64,
    events: VecDeque<Event>,
    /// Bytes to receive, by connection.
    answers: Vec<Vec<&'static [u8]>>,
}

impl Canned {
    fn pass(&mut self, time_ns: u64) -> Timestamp {
        self.now_ns += time_ns;
        Timestamp::from_nanos(self.now_ns)
    }
}

impl Driver for Canned {
    fn now(&mut self) -> Timestamp {
        self.pass(30)
    }

    fn usage(&mut self) -> DriverUsage {
        DriverUsage::default()
    }

    fn connect(&mut self, connection: usize, _: &Address, _: &Transport) -> io::Result<()> {
        self.answers.resize(self.answers.len().max(connection + 1), Vec::new());
        self.events.push_back(Event::Connected(connection));
        Ok(())
    }

    fn send(&mut self, connection: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        match bytes[0] {
            0 => self.answers[connection].push(WELCOME),
            b'P' => self.answers[connection].extend([ROW, PARSED]),
            _ => self.answers[connection].push(ROW),
        }
        if bytes[0] != b'X' {
            self.events.push_back(Event::Readable(connection));
        }
        bytes.clear();
        Ok(())
    }

    fn receive(&mut self, connection: usize) -> Receive<'_> {
        self.answers[connection].pop().map_or(Receive::Empty, Receive::Bytes)
    }

    fn close(&mut self, _: usize) {}

    fn wait(&mut self, deadline: Timestamp) -> io::Result<Timestamp> {
        if self.events.is_empty() {
            self.now_ns = self.now_ns.max(deadline.as_nanos());
        }
        Ok(self.pass(1_000))
    }

    fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn run_shell(&mut self, _: &[u8], _: bool, _: Option<IsOver<'_>>) -> io::Result<Option<ShellAnswer>> {
        Ok(Some(ShellAnswer::default()))
    }
}
