//! Transactions whose acknowledgements are kept: sessions that write until the server dies, and the check of what the
//! server has of them afterwards. Each transaction changes pages all over a table, so that pages are written back while
//! others wait for their flush; some create a table, so that files appear.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;
use std::time::Duration;

use connect::{ConnectError, Environment, Overrides, Session, resolve};

/// Rows of the table of counters; larger than the server's shared buffers.
const COUNTERS: u64 = 20_000;
/// Counters that a transaction increments.
const INCREMENTS: u64 = 8;
/// One session in this many creates a table in each transaction of this many.
const TABLE_EVERY: u64 = 16;
/// One session writes a checkpoint after this many of its transactions.
const CHECKPOINT_EVERY: u64 = 24;

/// How long a server may take for one statement: a busy machine is no damage.
const STATEMENT_LIMIT: Duration = Duration::from_secs(1800);

/// A transaction: the number of its session, and its own within the session, from 1.
pub type Transaction = (u64, u64);

/// What the sessions of all rounds know.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// Acknowledged by the server.
    pub acknowledged: BTreeSet<Transaction>,
    /// Not acknowledged, and present after the recovery of an earlier round. From then on they must not be lost either.
    pub recovered: BTreeSet<Transaction>,
    /// The last number that each session has used.
    pub last_tried: BTreeMap<u64, u64>,
}

/// What is wrong with the data after a power loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Acknowledged transactions that are absent: their number, and the first of them.
    Lost(u64, Transaction),
    /// The server reports an error while it reads its data, or does not start.
    Unreadable(String),
    /// Figures of the data that do not agree.
    Inconsistent(String),
}

/// A session, independent of the process's environment.
pub fn session(conninfo: &str) -> Result<Session, ConnectError> {
    let target = resolve(Some(conninfo), &Overrides::default(), &Environment::default())?;
    let mut session = Session::connect(&target)?;
    session.set_read_timeout(Some(STATEMENT_LIMIT))?;
    Ok(session)
}

/// Creates the tables.
pub fn create(session: &mut Session) -> Result<(), ConnectError> {
    session.execute(&format!(
        "CREATE EXTENSION amcheck;
         CREATE TABLE transactions (session bigint, number bigint, PRIMARY KEY (session, number));
         CREATE TABLE counters (id bigint PRIMARY KEY, value bigint NOT NULL, filler text NOT NULL);
         INSERT INTO counters SELECT id, 0, repeat('x', 100) FROM generate_series(0, {last}) AS id;
         CHECKPOINT",
        last = COUNTERS - 1
    ))?;
    Ok(())
}

/// Executes transactions until one fails, and sends each acknowledged one. Returns the last number used and the error.
pub fn run(
    session: &mut Session,
    number: u64,
    sessions: u64,
    last_tried: u64,
    acknowledged: &Sender<Transaction>,
) -> (u64, ConnectError) {
    for sequence in last_tried + 1.. {
        let transaction = (number, sequence);
        if let Err(error) = session.execute(&statements(transaction, sessions)) {
            return (sequence, error);
        }
        // The receiver ends after the sessions.
        let _ = acknowledged.send(transaction);
        if number == 0
            && sequence.is_multiple_of(CHECKPOINT_EVERY)
            && let Err(error) = session.execute("CHECKPOINT")
        {
            return (sequence, error);
        }
    }
    unreachable!("sessions do not run for ages")
}

/// A transaction in one message. A session has counters of its own, so that sessions do not wait for each other.
fn statements((number, sequence): Transaction, sessions: u64) -> String {
    let own = COUNTERS / sessions;
    // A prime step spreads the counters over the table.
    let id = |index: u64| ((sequence * INCREMENTS + index) * 7919 % own) * sessions + number;
    let ids: Vec<String> = (0..INCREMENTS).map(|index| id(index).to_string()).collect();
    let table = if number == sessions - 1 && sequence.is_multiple_of(TABLE_EVERY) {
        format!("CREATE TABLE made_{sequence} AS SELECT {sequence} AS number; ")
    } else {
        String::new()
    };
    format!(
        "BEGIN; UPDATE counters SET value = value + 1 WHERE id IN ({}); {table}\
         INSERT INTO transactions VALUES ({number}, {sequence}); COMMIT",
        ids.join(", ")
    )
}

/// Compares the data with the journal, and notes the transactions that are present without being acknowledged.
pub fn check(session: &mut Session, journal: &mut Journal, sessions: u64) -> Result<(), Damage> {
    let present = present(session).map_err(|error| Damage::Unreadable(error.to_string()))?;
    let mut absent = journal.acknowledged.union(&journal.recovered).filter(|known| !present.contains(known));
    if let Some(first) = absent.next() {
        return Err(Damage::Lost(1 + absent.count() as u64, *first));
    }
    let tried =
        |(session, number): &&Transaction| journal.last_tried.get(session).is_some_and(|last| number <= last);
    if let Some((session, number)) = present.iter().find(|transaction| !tried(transaction)) {
        let text = format!("transaction {number} of session {session} is present and was never executed");
        return Err(Damage::Inconsistent(text));
    }
    check_tables(session, &present, sessions)?;
    journal.recovered.extend(present.difference(&journal.acknowledged));
    Ok(())
}

fn present(session: &mut Session) -> Result<BTreeSet<Transaction>, ConnectError> {
    // From the table alone: the index is checked by itself.
    let sql = "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; \
               SELECT session, number FROM transactions";
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    let rows = session.query(sql)?;
    let read = rows.iter().map(|row| number(row.get(0)).zip(number(row.get(1))));
    let missing = ConnectError::Settings("a transaction has no number".to_owned());
    read.collect::<Option<BTreeSet<_>>>().ok_or(missing)
}

/// The other effects of the transactions that are present, and the structure of all tables and indexes.
fn check_tables(session: &mut Session, present: &BTreeSet<Transaction>, sessions: u64) -> Result<(), Damage> {
    let unreadable = |error: ConnectError| Damage::Unreadable(error.to_string());
    let sum = session.query("SELECT sum(value) FROM counters").map_err(unreadable)?;
    let sum = sum.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned();
    let expected = (present.len() as u64 * INCREMENTS).to_string();
    if sum != expected {
        return Err(Damage::Inconsistent(format!("the counters have the sum {sum} instead of {expected}")));
    }
    for (_, number) in present
        .iter()
        .filter(|(session, number)| *session == sessions - 1 && number.is_multiple_of(TABLE_EVERY))
    {
        let rows = session.query(&format!("SELECT number FROM made_{number}")).map_err(unreadable)?;
        if rows.first().and_then(|row| row.get(0)) != Some(number.to_string().as_str()) {
            return Err(Damage::Inconsistent(format!("the table made_{number} has not its row")));
        }
    }
    let indexes = "SELECT bt_index_check(c.oid, heapallindexed => true) FROM pg_class c \
                   JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'btree' AND c.relkind = 'i' \
                   AND c.relpersistence = 'p'";
    session.query(indexes).map_err(unreadable)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_share_no_counter_and_a_transaction_increments_each_of_its_counters_once() {
        let ids = |transaction| -> BTreeSet<u64> {
            let sql = statements(transaction, 4);
            let list = sql.split_once('(').unwrap().1.split_once(')').unwrap().0;
            list.split(", ").map(|id| id.parse().unwrap()).collect()
        };
        for sequence in 1..3000 {
            let all: Vec<BTreeSet<u64>> = (0..4).map(|session| ids((session, sequence))).collect();
            assert!(all.iter().all(|ids| ids.len() as u64 == INCREMENTS), "{sequence}");
            assert!(all.iter().flatten().all(|id| *id < COUNTERS), "{sequence}");
            for (session, ids) in (0..).zip(&all) {
                assert!(ids.iter().all(|id| id % 4 == session), "{sequence}");
            }
        }
    }

    #[test]
    fn some_transactions_of_the_last_session_create_a_table() {
        assert!(statements((3, 32), 4).contains("CREATE TABLE made_32 "));
        assert!(!statements((3, 33), 4).contains("CREATE"));
        assert!(!statements((2, 32), 4).contains("CREATE"));
    }
}
