//! Writes the generated tables of the manual: `cargo run -p pgmeter-experiment --example reference`. A test of the crate
//! fails when they are out of date.

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    fs::write(docs.join("experiment.schema.json"), pgmeter_experiment::schema())?;
    for (file, begin, table) in [
        ("experiments.md", "<!-- keys -->\n", pgmeter_experiment::keys_table()),
        ("options.md", "<!-- options -->\n", run::options::table()),
    ] {
        let path = docs.join(file);
        let text = fs::read_to_string(&path)?;
        let (before, rest) = text.split_once(begin).unwrap_or((&text, ""));
        let (_, after) = rest.split_once("<!-- end -->\n").unwrap_or(("", rest));
        fs::write(&path, format!("{before}{begin}{table}<!-- end -->\n{after}"))?;
    }
    Ok(())
}
