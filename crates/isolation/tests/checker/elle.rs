//! The JSON for elle-cli.
//! Its form is that of the histories which elle-cli reads; elle-cli itself is not called.

use pgmeter_isolation::write_history;

use crate::notation::history;

fn written(text: &str) -> String {
    let mut out = Vec::new();
    write_history(&history(text), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn events_are_invocations_and_completions_in_their_order() {
    insta::assert_snapshot!(written("c r1[] a1:2 \n a r1[2] a3:4"), @r#"
    [
    {"index":0,"type":"invoke","f":"txn","process":0,"time":0,"value":[["r",1,null],["append",1,2]]},
    {"index":1,"type":"ok","f":"txn","process":0,"time":1,"value":[["r",1,[]],["append",1,2]]},
    {"index":2,"type":"invoke","f":"txn","process":1,"time":2,"value":[["r",1,null],["append",3,4]]},
    {"index":3,"type":"fail","f":"txn","process":1,"time":3,"value":[["r",1,null],["append",3,4]]}
    ]
    "#);
}

#[test]
fn a_client_goes_on_as_a_new_process_after_an_unknown_ending() {
    let mut unknown = history("u a1:1 \n c a1:2");
    unknown.transactions[1].client = 0;
    let mut out = Vec::new();
    write_history(&unknown, &mut out).unwrap();
    let events: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let of =
        |name: &str| events.as_array().unwrap().iter().map(|event| event[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("type"), ["invoke", "info", "invoke", "ok"]);
    assert_eq!(of("process"), [0, 0, 1, 1]);
}

#[test]
fn an_empty_history_is_an_empty_array() {
    assert_eq!(written(""), "[\n]\n");
}
