//! Queries of catalogs that a session repeats: planned once, and answered right whatever SQL of users does with the prepared
//! statements. On a real server, since fake ones plan nothing.

use pgmeter_connect::Session;
use testkit::cluster::Cluster;
use testkit::pooler::PgBouncer;

const PREPARED: &str = "SELECT name, generic_plans FROM pg_catalog.pg_prepared_statements";

/// Long enough that preparing it is worth its while.
fn query(number: usize) -> String {
    format!("SELECT '{number}' WHERE '{}' <> ''", "x".repeat(600))
}

fn ask(session: &mut Session, number: usize) {
    let rows = session.query_catalogs_again(&query(number)).expect("an answer");
    assert_eq!(rows[0].get(0), Some(number.to_string().as_str()));
}

/// The names of the statements prepared in the session, and how often each was executed with a plan for all values.
fn prepared(session: &mut Session) -> Vec<(String, u32)> {
    let rows = session.query(PREPARED).expect("an answer");
    let value = |row: &pgmeter_connect::Row, column| row.get(column).unwrap_or_default().to_owned();
    rows.iter().map(|row| (value(row, 0), value(row, 1).parse().expect("a number"))).collect()
}

#[test]
fn the_server_plans_a_query_once_that_comes_again() {
    let mut session = Cluster::session(&Cluster::shared("18").database("repeated"));
    ask(&mut session, 1);
    assert!(prepared(&mut session).is_empty(), "the next statement could reach another connection");
    session.execute("BEGIN").expect("a transaction");
    session.query_catalogs_again("SELECT 2").expect("an answer");
    session.query_catalogs_again("SELECT 2").expect("an answer");
    assert!(prepared(&mut session).is_empty(), "it is planned at once");
    (0..5).for_each(|_| ask(&mut session, 1));
    assert_eq!(prepared(&mut session).iter().map(|(_, plans)| *plans).collect::<Vec<_>>(), [5]);
    // Catalogs grow.
    (0..15).for_each(|_| ask(&mut session, 1));
    assert!(prepared(&mut session).is_empty(), "it will be planned anew");
    ask(&mut session, 1);
    assert_eq!(prepared(&mut session).iter().map(|(_, plans)| *plans).collect::<Vec<_>>(), [1]);
    // Only the latest are kept.
    (2..30).for_each(|number| ask(&mut session, number));
    assert_eq!(prepared(&mut session).len(), 16);
}

#[test]
fn statements_that_users_remove_or_replace_are_prepared_again() {
    let mut session = Cluster::session(&Cluster::shared("18").database("replaced"));
    session.execute("BEGIN").expect("a transaction");
    ask(&mut session, 1);
    session.execute("DEALLOCATE ALL").expect("it is executed");
    ask(&mut session, 1);
    session.execute("DO $$BEGIN EXECUTE 'DEALLOCATE ALL'; END$$").expect("it is executed");
    ask(&mut session, 1);
    let name = prepared(&mut session)[0].0.clone();
    session
        .execute(&format!("DEALLOCATE {name}; PREPARE {name} AS SELECT 'a false answer'"))
        .expect("it is executed");
    ask(&mut session, 1);
    session.execute("ROLLBACK; BEGIN").expect("nothing has failed");
    ask(&mut session, 1);
    session.execute("CREATE SCHEMA s; CREATE FUNCTION s.ne(text, text) RETURNS bool LANGUAGE sql AS 'SELECT false'; \
                     CREATE OPERATOR s.<> (procedure = s.ne, leftarg = text, rightarg = text); SET search_path = s, pg_catalog")
        .expect("objects of a user");
    (0..2).for_each(|_| ask(&mut session, 1));
    (0..2).for_each(|_| ask(&mut session, 2));
}

#[test]
#[allow(clippy::print_stderr)] // that it was skipped
fn nothing_is_prepared_through_a_pooler() {
    let cluster = Cluster::start("18");
    let Some(mut pooler) = PgBouncer::start(&cluster) else {
        eprintln!("SKIPPED: there is no pgbouncer");
        return;
    };
    let mut session = pooler.session();
    session.execute("BEGIN").expect("a transaction");
    (0..3).for_each(|_| ask(&mut session, 1));
    assert!(prepared(&mut session).is_empty());
}
