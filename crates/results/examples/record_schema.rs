//! Prints the JSON Schema of the record, which is derived from its types:
//! `cargo run -p pgmeter-results --example record_schema > docs/record.schema.json`.

#![allow(clippy::print_stdout)] // that is what it is for

fn main() {
    print!("{}", pgmeter_results::Record::json_schema());
}
