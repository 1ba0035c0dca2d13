//! Cost of rows: the tables of a library beside `lineitem` of the crate tpchgen, and single generators. A benchmark, not
//! a test: `cargo bench --package pgmeter-datagen`. The goal is as many rows per second as tpchgen makes.

#[path = "../../../benchmarks/timing.rs"]
mod timing;

use std::fmt::Write as _;

use pgmeter_datagen::{Generation, NoFiles, Options};
use tpchgen::generators::LineItemGenerator;

use timing::Timing;

#[path = "../tests/rows/text.rs"]
mod text;

/// Rows of one iteration.
const ROWS: u64 = 10_000;

/// Macros for the generators that combine others.
const MACROS: &str = "-- df m1: word=:abc,de\n-- df m2: int size=50\n";

/// Names of generators and of draws, with the type and the directives of a column: all but `file`, which reads files, and
/// `linear`, which needs another column.
const GENERATORS: [(&str, &str, &str); 39] = [
    ("int", "int", "int"),
    ("int zipfian", "int", "int sub=zipfian parameter=1.2"),
    ("int gaussian", "int", "int sub=gaussian parameter=4"),
    ("int exponential", "int", "int sub=exponential parameter=4"),
    ("int power", "int", "int sub=power rate=0.1"),
    ("int growth", "int", "int sub=growth growth=4"),
    ("int drift", "int", "int sub=drift width=0.05"),
    ("bool", "bool", "bool"),
    ("float", "float8", "float"),
    ("float gauss", "numeric(9,2)", "float=gauss alpha=100"),
    ("date", "date", "date start=2020-01-01 end=2025-12-31"),
    ("timestamp", "timestamp", "timestamp start=2020-01-01 end=2025-12-31"),
    ("time", "time", "time"),
    ("interval", "interval", "interval unit=d"),
    ("string", "text", "string"),
    ("chars", "text", "chars='a-z' length=10"),
    ("word", "text", "word=:red,green,blue,yellow"),
    ("list", "text", "list='red,green,blue,yellow'"),
    ("text", "text", "text=words lenmin=5 lenmax=10"),
    ("const", "text", "const=x"),
    ("count", "text", "count format=08X"),
    ("cat", "text", "cat=m1,m2"),
    ("alt", "text", "alt=m1:3,m2"),
    ("repeat", "text", "repeat=m1 extent=1-3"),
    ("reduce", "float8", "reduce=m2,m2"),
    ("tuple", "text", "tuple=m1,m2"),
    ("array", "text[]", "array=m1"),
    ("value", "text", "value=m1"),
    ("pattern", "text", "pattern='[a-z]{3,8}@example[.](com|org)'"),
    ("uuid", "uuid", "uuid"),
    ("bit", "bit(16)", "bit"),
    ("blob", "bytea", "blob"),
    ("inet", "inet", "inet=10.0.0.0/8"),
    ("mac", "macaddr", "mac"),
    ("luhn", "text", "luhn"),
    ("ean", "text", "ean"),
    ("isnull", "text NULL", "isnull"),
    ("unique permutation", "text UNIQUE NOT NULL", "pattern='[A-Z]{5}-[0-9]{5}'"),
    ("unique string", "text UNIQUE NOT NULL", "string"),
];

fn generation(schema: &str, size: f64) -> Generation {
    let schema = text::schema(schema, "bench").expect("a schema");
    let options = Options { size: Some(size), ..Options::default() };
    Generation::new(&schema, &options, &NoFiles).expect("a generation")
}

fn main() {
    let mut timing = Timing::new("rows");
    let mut out = Vec::with_capacity(1 << 21);
    let library = generation(include_str!("../tests/library.sql"), 9750.0);
    for table in library.tables() {
        // A book is at least as many rows as are asked for; the others start again.
        let count = ROWS.min(table.rows());
        timing.piece(&format!("library {}", table.name()), count, || {
            out.clear();
            table.write_copy(0..count, &mut out);
            out.len()
        });
    }
    let mut text = String::with_capacity(1 << 21);
    timing.piece("tpchgen lineitem", ROWS, || {
        text.clear();
        for row in LineItemGenerator::new(1.0, 1, 1).iter().take(10_000) {
            writeln!(text, "{row}").expect("memory");
        }
        text.len()
    });
    for (name, kind, directives) in GENERATORS {
        let kind = if kind.contains("NULL") { kind.to_owned() } else { format!("{kind} NOT NULL") };
        let schema = format!("{MACROS}CREATE TABLE t(\nc {kind} -- df: {directives}\n);");
        let generation = generation(&schema, 1_000_000.0);
        let table = &generation.tables()[0];
        timing.piece(&format!("generator {name}"), ROWS, || {
            out.clear();
            table.write_copy(0..ROWS, &mut out);
            out.len()
        });
    }
}
