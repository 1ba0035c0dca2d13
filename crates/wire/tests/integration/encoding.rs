//! Encoding and decoding is the identity, checked with an independent decoder of client messages. It follows the
//! layouts in the protocol manual.

use pgmeter_wire::frontend::{self, MessageError};
use proptest::prelude::*;

/// A decoded client message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Query(Vec<u8>),
    Parse { name: Vec<u8>, sql: Vec<u8> },
    Bind { portal: Vec<u8>, statement: Vec<u8>, parameters: Vec<Option<Vec<u8>>> },
    Describe(u8, Vec<u8>),
    Close(u8, Vec<u8>),
    Execute(Vec<u8>),
    Sync,
    Flush,
    Terminate,
    Password(Vec<u8>),
    CopyData(Vec<u8>),
    CopyDone,
    CopyFail(Vec<u8>),
}

impl Said {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Said::Query(sql) => frontend::query(out, sql).unwrap(),
            Said::Parse { name, sql } => frontend::parse(out, name, sql).unwrap(),
            Said::Bind { portal, statement, parameters } => {
                let mut bind = frontend::bind(out, portal, statement);
                for parameter in parameters {
                    bind.parameter(parameter.as_deref());
                }
                bind.finish().unwrap();
            }
            Said::Describe(b'P', name) => frontend::describe_portal(out, name),
            Said::Describe(_, name) => frontend::describe_statement(out, name),
            Said::Close(b'P', name) => frontend::close_portal(out, name),
            Said::Close(_, name) => frontend::close_statement(out, name),
            Said::Execute(portal) => frontend::execute(out, portal),
            Said::Sync => frontend::sync(out),
            Said::Flush => frontend::flush(out),
            Said::Terminate => frontend::terminate(out),
            Said::Password(secret) => frontend::password(out, secret),
            Said::CopyData(data) => frontend::copy_data(out, data),
            Said::CopyDone => frontend::copy_done(out),
            Said::CopyFail(reason) => frontend::copy_fail(out, reason),
        }
    }
}

/// Reads parts from the front; panics if the message is shorter than announced.
struct Parts<'a>(&'a [u8]);

impl Parts<'_> {
    fn take(&mut self, length: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken.to_vec()
    }

    fn byte(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn text(&mut self) -> Vec<u8> {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap();
        let text = self.take(length);
        self.byte();
        text
    }

    fn message(&mut self) -> Said {
        let tag = self.byte();
        let length = self.u32() as usize;
        let body = self.take(length - 4);
        let mut body = Parts(&body);
        let said = match tag {
            b'Q' => Said::Query(body.text()),
            b'P' => {
                let said = Said::Parse { name: body.text(), sql: body.text() };
                assert_eq!(body.u16(), 0, "types are left to the server");
                said
            }
            b'B' => body.bind(),
            b'D' => Said::Describe(body.byte(), body.text()),
            b'C' => Said::Close(body.byte(), body.text()),
            b'E' => {
                let portal = body.text();
                assert_eq!(body.u32(), 0, "no limit of rows");
                Said::Execute(portal)
            }
            b'S' => Said::Sync,
            b'H' => Said::Flush,
            b'X' => Said::Terminate,
            b'p' => Said::Password(body.text()),
            b'd' => Said::CopyData(body.take(body.0.len())),
            b'c' => Said::CopyDone,
            b'f' => Said::CopyFail(body.text()),
            _ => panic!("no message of a client begins with {tag}"),
        };
        assert!(body.0.is_empty(), "{said:?} has bytes left over");
        said
    }

    fn bind(&mut self) -> Said {
        let (portal, statement) = (self.text(), self.text());
        assert_eq!(self.u16(), 0, "parameters in text form");
        let parameters = (0..self.u16())
            .map(|_| match self.u32() {
                u32::MAX => None,
                length => Some(self.take(length as usize)),
            })
            .collect();
        assert_eq!(self.u16(), 0, "results in text form");
        Said::Bind { portal, statement, parameters }
    }
}

/// Text in the protocol: any bytes except zero.
fn text() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(1..=u8::MAX, 0..30)
}

fn said() -> impl Strategy<Value = Said> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..30);
    let kind = prop_oneof![Just(b'P'), Just(b'S')];
    prop_oneof![
        text().prop_map(Said::Query),
        (text(), text()).prop_map(|(name, sql)| Said::Parse { name, sql }),
        (text(), text(), proptest::collection::vec(proptest::option::of(bytes.clone()), 0..6))
            .prop_map(|(portal, statement, parameters)| Said::Bind { portal, statement, parameters }),
        (kind.clone(), text()).prop_map(|(kind, name)| Said::Describe(kind, name)),
        (kind, text()).prop_map(|(kind, name)| Said::Close(kind, name)),
        text().prop_map(Said::Execute),
        Just(Said::Sync),
        Just(Said::Flush),
        Just(Said::Terminate),
        text().prop_map(Said::Password),
        bytes.prop_map(Said::CopyData),
        Just(Said::CopyDone),
        text().prop_map(Said::CopyFail),
    ]
}

proptest! {
    #[test]
    fn what_is_encoded_is_read_back(all in proptest::collection::vec(said(), 0..10)) {
        let mut out = Vec::new();
        all.iter().for_each(|said| said.encode(&mut out));
        let mut parts = Parts(&out);
        let read: Vec<_> = all.iter().map(|_| parts.message()).collect();
        prop_assert_eq!(read, all);
        prop_assert!(parts.0.is_empty());
    }

    #[test]
    fn data_of_a_copy_written_in_place_is_that_which_is_copied(
        before in proptest::collection::vec(any::<u8>(), 0..9),
        data in proptest::collection::vec(any::<u8>(), 0..9),
        fails in any::<bool>(),
    ) {
        let (mut copied, mut written) = (before.clone(), before);
        if !fails && !data.is_empty() {
            frontend::copy_data(&mut copied, &data);
        }
        let failure = MessageError::TooManyParameters;
        let done = frontend::copy_data_with(&mut written, usize::MAX, |out| {
            out.extend_from_slice(&data);
            if fails { Err(failure) } else { Ok(data.len()) }
        });
        prop_assert_eq!(done, if fails { Err(failure) } else { Ok(data.len()) });
        prop_assert_eq!(written, copied);
    }
}

#[test]
fn describing_and_executing_at_once_is_one_after_the_other() {
    let (mut at_once, mut one_by_one) = (Vec::new(), Vec::new());
    frontend::describe_and_execute(&mut at_once);
    frontend::describe_portal(&mut one_by_one, b"");
    frontend::execute(&mut one_by_one, b"");
    assert_eq!(at_once, one_by_one);
}

#[test]
fn parameters_written_in_place_are_those_that_are_copied() {
    let mut copied = Vec::new();
    let mut bind = frontend::bind(&mut copied, b"", b"P_0");
    bind.parameter(Some(b"42"));
    bind.parameter(None);
    bind.finish().unwrap();
    let mut written = Vec::new();
    let mut bind = frontend::bind(&mut written, b"", b"P_0");
    bind.parameter_with(|out| {
        out.extend_from_slice(b"42");
        true
    });
    bind.parameter_with(|out| {
        out.extend_from_slice(b"not sent");
        false
    });
    bind.finish().unwrap();
    assert_eq!(written, copied);
    assert_eq!(written, b"B\0\0\0\x19\0P_0\0\0\0\0\x02\0\0\0\x0242\xff\xff\xff\xff\0\0");
}

#[test]
fn messages_without_a_type_byte_are_as_in_the_manual() {
    let mut out = Vec::new();
    frontend::ssl_request(&mut out);
    assert_eq!(out, [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
    out.clear();
    frontend::cancel_request(&mut out, 7, &[1, 2, 3, 4]);
    assert_eq!(out, [0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 7, 1, 2, 3, 4]);
    out.clear();
    frontend::startup(&mut out, &[("user", "u")]);
    assert_eq!(out, b"\0\0\0\x10\0\x03\0\0user\0u\0\0");
}

#[test]
fn an_execution_allocates_nothing_once_the_buffer_has_grown() {
    let mut out = Vec::new();
    let round = |out: &mut Vec<u8>| {
        out.clear();
        let mut bind = frontend::bind(out, b"", b"P_0");
        bind.parameter(Some(b"12345"));
        bind.finish().unwrap();
        frontend::describe_portal(out, b"");
        frontend::execute(out, b"");
        frontend::sync(out);
    };
    round(&mut out);
    let allocated = allocation_counter::measure(|| (0..1000).for_each(|_| round(&mut out)));
    assert_eq!(allocated.count_total, 0);
}
