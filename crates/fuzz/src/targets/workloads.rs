//! The file workload.toml: any text is a workload or an error with a place in it. The files that it names are SQL, sound
//! and not; nothing is read from the disk.

use std::io;

use script::Random;
use workload::{Folder, Workload, WorkloadError};

use super::digest::Digest;
use super::{Attempt, SHORT, Target, allowance};
use crate::tree::{Tree, Vocabulary};

pub const TARGET: Target = Target {
    name: "workloads",
    words: &[
        b"name = ",
        b"title = ",
        b"load = [",
        b"scripts = [",
        b"checks = [",
        b"tables = [",
        b"[parameters]\n",
        b"[[tables]]\n",
        b"{ file = \"a.sql\" }",
        b"\"a.sql\"",
        b"\"meta.sql\"",
        b"\"empty.sql\"",
        b"\"../a.sql\"",
        b"weight = 0",
        b"transaction = false",
        b"only_reads = true",
        b"rows_per_scale = 1",
        b"before_run = \"truncate\"",
        b"\"",
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b"=",
        b"\n",
        b"\\u0000",
        b"\\u202e",
    ],
    generate: None,
    reshape: Some(reshape),
    length_max: SHORT,
    short_round_divisor: 1,
    memory: |input| allowance(16 * 1024, 4096, input),
    prepare: || Ok::<Attempt, io::Error>(Box::new(attempt)),
};

const VOCABULARY: Vocabulary = Vocabulary {
    bare: &["true", "false", "0", "1", "-1", "1.5", "9223372036854775807"],
    texts: &[
        "a.sql",
        "meta.sql",
        "empty.sql",
        "../a.sql",
        "vacuum",
        "truncate",
        "a",
        "a.b",
        "",
        "none",
        "tpcb",
    ],
    keys: &[
        "name",
        "title",
        "source",
        "licence",
        "parameters",
        "tables",
        "load",
        "scripts",
        "checks",
        "file",
        "weight",
        "transaction",
        "only_reads",
        "rows_per_scale",
        "bytes_per_scale",
        "before_run",
        "scale",
    ],
};

fn reshape(input: &[u8], other: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut tree = Tree::from_toml(str::from_utf8(input).ok()?)?;
    let other = str::from_utf8(other).ok().and_then(Tree::from_toml);
    tree.change(other.as_ref(), &VOCABULARY, random);
    Some(tree.to_toml().into_bytes())
}

fn attempt(input: &[u8]) -> Result<u64, String> {
    let Ok(text) = str::from_utf8(input) else { return Ok(0) };
    let files = [
        ("a.sql", "SELECT :scale;"),
        ("meta.sql", "\\set a 1\nSELECT :a;"),
        ("empty.sql", "-- nothing"),
        ("workload.toml", text),
    ];
    let mut kind = Digest::new();
    match Folder::embedded(&files) {
        Ok(folder) => {
            if folder.mix().is_empty() != folder.scripts().is_empty() {
                return Err("a workload whose scripts do not run".to_owned());
            }
            let names = folder.scripts().iter().map(|script| folder.script(&script.name).map(|it| &it.name));
            if names.zip(folder.scripts()).any(|(found, script)| found.ok() != Some(&script.name)) {
                return Err("a script that its own name does not find".to_owned());
            }
            kind.debug(&(
                folder.scripts().len().min(3),
                folder.checks().len().min(3),
                folder.scale_table().is_some(),
            ));
        }
        Err(WorkloadError::File(error)) => {
            let (said, lines) = (error.to_string(), text.lines().count().max(1) + 1);
            if !(1..=lines).contains(&error.line) || error.column < 1 || error.column > text.len() + 1 {
                return Err(format!("a place that is not in the file: {said}"));
            }
            if said.contains(char::is_control) {
                return Err(format!("an error with characters that steer a terminal: {said:?}"));
            }
            kind.show(&error.what.split('"').step_by(2).collect::<String>().replace(char::is_numeric, ""));
        }
        Err(other) => return Err(format!("no place: {other}")),
    }
    Ok(kind.value())
}
