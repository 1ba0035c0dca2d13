//! Expressions: whatever stands behind `\set name`, arrays included, is refused or evaluated to the same value by the same
//! seed, in finite time. Most inputs are generated, since mutation alone rarely hits the grammar.

use script::{CommandKind, Dialect, Program, Random, Scope, Symbols, Value, Variables};

use super::digest::{Digest, sentence};
use super::{Attempt, KIB, SHORT, Target, allowance};
use crate::corpus::below;

pub const TARGET: Target = Target {
    name: "expressions",
    words: &[
        b"+",
        b"-",
        b"*",
        b"/",
        b"%",
        b"=",
        b"<>",
        b"!=",
        b"<",
        b"<=",
        b">",
        b">=",
        b"|",
        b"&",
        b"#",
        b"~",
        b"<<",
        b">>",
        b"and ",
        b"or ",
        b"not ",
        b"is ",
        b"isnull",
        b"notnull",
        b"is not null",
        b"is true",
        b"is false",
        b"(",
        b")",
        b",",
        b"case ",
        b"when ",
        b"then ",
        b"else ",
        b"end",
        b"true",
        b"false",
        b"null",
        b":i",
        b":m",
        b":d",
        b":n",
        b":t",
        b":s",
        b":u",
        b"abs(",
        b"debug(",
        b"double(",
        b"exp(",
        b"greatest(",
        b"hash(",
        b"hash_fnv1a(",
        b"hash_murmur2(",
        b"int(",
        b"least(",
        b"ln(",
        b"mod(",
        b"permute(",
        b"pi()",
        b"pow(",
        b"random(",
        b"random_exponential(",
        b"random_gaussian(",
        b"random_hot(",
        b"random_latest(",
        b"random_zipfian(",
        b"sqrt(",
        b"array(",
        b"\\\n",
        b" ",
        b"1",
        b"0.5",
        b"1e3",
    ],
    generate: Some(|random, out| expression(random, out, DEPTH_MAX)),
    reshape: None,
    length_max: SHORT,
    short_round_divisor: 1,
    memory,
    prepare: || Ok(Box::new(attempt) as Attempt),
};

/// Deepest nesting of what is generated.
const DEPTH_MAX: usize = 5;

/// An array of a million elements takes some tens of megabytes, which is its stated limit, and as its buffer grows
/// there are two of them.
fn memory(input: &[u8]) -> u64 {
    let arrays = if input.windows(5).any(|word| word.eq_ignore_ascii_case(b"array")) { 192 * KIB } else { 0 };
    allowance(256 + arrays, 256, input)
}

/// A name, and a value of each kind.
const VARIABLES: [(&str, Option<Value>); 6] = [
    ("i", Some(Value::Int(5))),
    ("m", Some(Value::Int(i64::MIN))),
    ("d", Some(Value::Double(-0.5))),
    ("n", Some(Value::Null)),
    ("t", Some(Value::Boolean(true))),
    ("u", None),
];

/// The time of the transaction, for functions that use it.
const ELAPSED_NS: i64 = -1_234_567_890;

fn attempt(input: &[u8]) -> Result<u64, String> {
    let mut outcome = Digest::new();
    let script = [b"\\set v ", input].concat();
    for dialect in [Dialect::Pgbench, Dialect::Extended] {
        let mut symbols = Symbols::new();
        match script::parse("an expression", &script, &mut symbols, dialect) {
            Ok(program) => {
                let first = evaluate(&program, &mut symbols);
                if evaluate(&program, &mut symbols) != first {
                    return Err("the same seed gave another value".to_owned());
                }
                outcome.debug(&first.1);
            }
            Err(error) => {
                outcome.show(&sentence(&error.kind));
                Digest::new().show(&error);
            }
        }
    }
    Ok(outcome.value())
}

/// Evaluates all commands; returns a digest of the values and one of their kinds.
fn evaluate(program: &Program, symbols: &mut Symbols) -> (Digest, Digest) {
    let slots = VARIABLES.map(|(name, value)| (symbols.intern(name), value));
    let text = symbols.intern("s");
    let mut variables = Variables::new(symbols);
    if let Some(time) = symbols.transaction_time() {
        variables.set(time, Value::Int(ELAPSED_NS));
    }
    for (slot, value) in slots {
        if let Some(value) = value {
            variables.set(slot, value);
        }
    }
    variables.set_text(text, "  0x12abc ");
    let mut random = Random::from_seed(42);
    let (mut values, mut kinds) = (Digest::new(), Digest::new());
    let mut debugged = Digest::new();
    let mut sink = |value: Value| debugged.debug(&value);
    for command in program.commands() {
        let mut scope = Scope::new(&mut variables, &mut random, symbols);
        scope.debug = Some(&mut sink);
        let (slot, done) = match &command.kind {
            CommandKind::Set(set) => (set.slot, set.execute(&mut scope)),
            CommandKind::SetArray(set) => (set.slot, set.execute(&mut scope)),
            _ => continue,
        };
        let mut written = Vec::new();
        variables.write_text(slot, &mut written);
        values.add(&written);
        match done {
            Ok(()) => {
                // What kind of value: by its first byte, which for numbers is their sign.
                kinds.add(&written[..written.len().min(1)]);
                kinds.debug(&written.contains(&b'.'));
            }
            Err(error) => {
                kinds.show(&sentence(&error));
                values.show(&error);
            }
        }
    }
    values.debug(&debugged.value());
    (values, kinds)
}

/// Functions with their number of arguments.
const FUNCTIONS: [(&[u8], usize); 24] = [
    (b"abs", 1),
    (b"debug", 1),
    (b"double", 1),
    (b"exp", 1),
    (b"greatest", 3),
    (b"hash", 1),
    (b"hash", 2),
    (b"hash_fnv1a", 2),
    (b"hash_murmur2", 1),
    (b"int", 1),
    (b"least", 2),
    (b"ln", 1),
    (b"mod", 2),
    (b"permute", 2),
    (b"permute", 3),
    (b"pi", 0),
    (b"pow", 2),
    (b"random", 2),
    (b"random_exponential", 3),
    (b"random_gaussian", 3),
    (b"random_hot", 5),
    (b"random_latest", 3),
    (b"random_zipfian", 3),
    (b"sqrt", 1),
];
const OPERATORS: [&[u8]; 19] = [
    b"+", b"-", b"*", b"/", b"%", b"=", b"<>", b"!=", b"<", b"<=", b">", b">=", b"|", b"&", b"#", b"<<",
    b">>", b" and ", b" or ",
];
const ATOMS: [&[u8]; 24] = [
    b"0",
    b"1",
    b"-1",
    b"2",
    b"7",
    b"64",
    b"-64",
    b"100",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"0.0",
    b"0.5",
    b"-2.5",
    b"1e18",
    b"1e308",
    b"1.001",
    b"true",
    b"false",
    b"null",
    b":i",
    b":m",
    b":d",
    b":s",
];

/// Writes an expression that is right by the grammar; its types need not fit.
fn expression(random: &mut Random, out: &mut Vec<u8>, depth: usize) {
    let nested = |random: &mut Random, out: &mut Vec<u8>| expression(random, out, depth - 1);
    match if depth == 0 { 0 } else { random.range(7) } {
        0 | 1 => out.extend_from_slice(ATOMS[below(random, ATOMS.len())]),
        2 | 3 => {
            nested(random, out);
            out.extend_from_slice(OPERATORS[below(random, OPERATORS.len())]);
            nested(random, out);
        }
        4 => {
            out.push(b'(');
            nested(random, out);
            out.push(b')');
        }
        5 => {
            out.extend_from_slice([&b"- "[..], b"~", b"not ", b"+"][below(random, 4)]);
            nested(random, out);
        }
        6 => {
            out.extend_from_slice(b"case when ");
            nested(random, out);
            out.extend_from_slice(b" is not null then ");
            nested(random, out);
            out.extend_from_slice(b" else ");
            nested(random, out);
            out.extend_from_slice(b" end");
        }
        _ => {
            let (name, arguments) = FUNCTIONS[below(random, FUNCTIONS.len())];
            out.extend_from_slice(name);
            out.push(b'(');
            for argument in 0..arguments {
                if argument > 0 {
                    out.push(b',');
                }
                nested(random, out);
            }
            out.push(b')');
        }
    }
}
