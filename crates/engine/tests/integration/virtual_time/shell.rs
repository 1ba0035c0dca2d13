//! Shell commands: they run on the client's machine, take time, and return values or abort a client. The real shell
//! is tested next to the driver's code.

use pgmeter_engine::{Limit, Plan, ShellAnswer};
use testkit::fake::{FakeServer, Received};

use super::support::{ms, plan, run};

fn answering(shell: fn(&[u8]) -> std::io::Result<ShellAnswer>) -> FakeServer {
    FakeServer { shell, shell_time: ms(3), ..FakeServer::default() }
}

#[test]
fn the_first_line_of_a_command_becomes_a_variable() {
    let limit = Limit::TransactionsPerClient(2);
    let plan = Plan { limit, ..plan("\\setshell a expr 40 + 2\nSELECT :a;\n") };
    let ran = run(
        &plan,
        answering(|command| {
            assert_eq!(command, b"expr 40 + 2");
            Ok(ShellAnswer { status: Some(0), output: b"42\n".to_vec() })
        }),
    );
    assert_eq!(ran.log.messages(0)[1], Received::Query("SELECT 42;".to_owned()));
    let service = &ran.summary().total.service;
    assert!(
        service.min_ns() > Some(3_500_000),
        "the command's time is the transaction's: {:?}",
        service.min_ns()
    );
}

#[test]
fn a_script_of_shell_commands_alone_runs_and_ends() {
    let limit = Limit::Duration(ms(1000));
    let ran = run(
        &Plan { limit, clients: 2, ..plan("\\shell true\n") },
        answering(|_| Ok(ShellAnswer { status: Some(0), output: Vec::new() })),
    );
    // They run one after the other and delay each other, as in pgbench.
    assert!((330..=335).contains(&ran.counts().succeeded), "{}", ran.counts().succeeded);
    assert_eq!(ran.summary().total.service.min_ns().map(|ns| ns / 1_000_000), Some(3));
}

#[test]
fn a_command_that_fails_ends_its_client() {
    for shell in [
        (|_| Ok(ShellAnswer { status: Some(3), output: Vec::new() }))
            as fn(&[u8]) -> std::io::Result<ShellAnswer>,
        |_| Ok(ShellAnswer { status: None, output: Vec::new() }),
        |_| Err(std::io::ErrorKind::NotFound.into()),
    ] {
        let ran = run(&plan("\\shell false\n"), answering(shell));
        assert_eq!(ran.aborted().len(), 1);
        assert!(ran.aborted()[0].1.contains("shell"), "{:?}", ran.aborted());
    }
}
