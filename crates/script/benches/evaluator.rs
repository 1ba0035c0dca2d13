//! Cost of an assignment: consecutive `\\set` commands of a client, with its variables and random numbers. A benchmark,
//! not a test: `cargo bench --package pgmeter-script`.

#[path = "../../../benchmarks/timing.rs"]
mod timing;

use pgmeter_script::{CommandKind, Dialect, Random, Scope, Symbols, Value, Variables, parse};

use timing::Timing;

/// Names of the benchmarks, and their scripts.
const SCRIPTS: [(&str, &str); 8] = [
    ("sum", "\\set i 1 + 2 * :client_id\n"),
    (
        "draws of a transaction like TPC-B's",
        "\\set aid random(1, 100000 * :scale)\n\\set bid random(1, 1 * :scale)\n\
         \\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\n",
    ),
    ("zipfian draw", "\\set aid random_zipfian(1, 100000, 1.07)\n"),
    ("latest draw", "\\set aid random_latest(1, 100000, 1.07)\n"),
    ("hot draw, no moves", "\\set aid random_hot(1, 100000, 0.9, 0.1, 0)\n"),
    ("hot draw, moves", "\\set aid random_hot(1, 100000, 0.9, 0.1, 30)\n"),
    ("case", "\\set c case when :client_id % 10 < 3 then null else :scale > 5 and :client_id <> 7 end\n"),
    ("hash and permutation", "\\set h permute(abs(hash(:client_id)) % 1000, 1000)\n"),
];

fn main() {
    let mut timing = Timing::new("evaluator");
    for (name, text) in SCRIPTS {
        let mut symbols = Symbols::new();
        let program = parse("bench", text.as_bytes(), &mut symbols, Dialect::Extended).expect("a script");
        let mut variables = Variables::new(&symbols);
        for (name, value) in [("client_id", 3), ("scale", 10), ("default_seed", 42)] {
            variables.set(symbols.intern(name), Value::Int(value));
        }
        if let Some(time) = symbols.transaction_time() {
            variables.set(time, Value::Int(123_456_789_000));
        }
        let mut random = Random::from_seed(42);
        timing.piece(name, 1, || {
            for command in program.commands() {
                if let CommandKind::Set(set) = &command.kind {
                    let mut scope = Scope::new(&mut variables, &mut random, &symbols);
                    set.execute(&mut scope).expect("a value");
                }
            }
        });
    }
}
