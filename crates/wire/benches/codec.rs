//! Cost of the protocol per transaction: encoding the messages of a prepared statement and decoding the replies. A
//! benchmark, not a test: `cargo bench --package pgmeter-wire`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pgmeter_wire::{Decoder, frontend};

/// BindComplete, RowDescription of one column, a DataRow, CommandComplete, ReadyForQuery.
const ANSWER: &[u8] =
    b"2\0\0\0\x04T\0\0\0\x21\0\x01abalance\0\0\0\x40\0\0\x03\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
    D\0\0\0\x0b\0\x01\0\0\0\x010C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

fn codec(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("codec");
    let mut out = Vec::new();
    group.bench_function("write Bind, Describe, Execute, Sync", |bencher| {
        bencher.iter(|| {
            out.clear();
            let mut bind = frontend::bind(&mut out, b"", black_box(b"P_0"));
            bind.parameter(Some(black_box(b"12345")));
            bind.finish().expect("a short message");
            frontend::describe_and_execute(&mut out);
            frontend::sync(&mut out);
            black_box(out.len())
        });
    });
    group.throughput(Throughput::Bytes(ANSWER.len() as u64));
    let mut decoder = Decoder::new();
    let mut seen = 0_u64;
    group.bench_function("read an answer, all messages", |bencher| {
        bencher.iter(|| {
            decoder.decode(black_box(ANSWER), &mut |message| seen += u64::from(!message.name().is_empty()))
        });
    });
    group.bench_function("read an answer, its outcome", |bencher| {
        bencher.iter(|| {
            decoder.decode_outcomes(black_box(ANSWER), &mut |message| {
                seen += u64::from(!message.name().is_empty())
            })
        });
    });
    let (first, second) = ANSWER.split_at(ANSWER.len() / 2);
    group.bench_function("read an answer in two pieces", |bencher| {
        bencher.iter(|| {
            for piece in [first, second] {
                let count =
                    &mut |message: pgmeter_wire::Message<'_>| seen += u64::from(!message.name().is_empty());
                decoder.decode(black_box(piece), count).expect("an answer");
            }
        });
    });
    group.finish();
}

criterion_group!(benches, codec);
criterion_main!(benches);
