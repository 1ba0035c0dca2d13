//! `pgmeter workload new`: writes a folder that runs, as a beginning for a workload of the user's own.
//! The files beside this one are its templates.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use config::OutputFolder;

use crate::WorkloadError;
use crate::registry::RESERVED;

/// The files of a new workload, in addition to workload.toml.
const FILES: [(&str, &str); 4] = [
    ("schema.sql", include_str!("schema.sql")),
    ("scripts/order.sql", include_str!("scripts/order.sql")),
    ("queries/q1.sql", include_str!("queries/q1.sql")),
    ("checks/net.sql", include_str!("checks/net.sql")),
];

/// The name if that of the directory cannot be used.
const NAME: &str = "own";

/// Writes a workload into a directory, which is created; returns lines about it for the user. With a schema, it has nothing
/// but this schema.
///
/// # Errors
/// The directory is not empty, or cannot be written.
pub fn new_folder(folder: &Path, schema: Option<&str>) -> Result<String, WorkloadError> {
    let failed = |source| WorkloadError::NewFolder { folder: folder.display().to_string(), source };
    let output = OutputFolder::create(folder).map_err(failed)?;
    if fs::read_dir(output.path()).map_err(failed)?.next().is_some() {
        return Err(failed(io::Error::other("the directory is not empty; choose another one")));
    }
    let name = name_of(folder);
    let manifest = format!("name = \"{name}\"\ntitle = \"Tables and queries of {name}\"\n");
    let files: Vec<(&str, &str)> = match schema {
        Some(schema) => vec![("schema.sql", schema)],
        None => [("workload.toml", manifest.as_str())].into_iter().chain(FILES).collect(),
    };
    let mut written = Vec::new();
    for (file, text) in files {
        let path = Path::new(file);
        let below = output.folder(path.parent().unwrap_or(Path::new(""))).map_err(failed)?;
        let path = below.path().join(path.file_name().unwrap_or_default());
        // The directory was empty, so what is there by now is another one's.
        File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
        written.push(file.to_owned());
    }
    let place = RESERVED.argument_of(folder);
    let mut lines = vec![
        format!("wrote {} to {}", written.join(", "), folder.display()),
        "Edit the files, then:".to_owned(),
        format!("  pgmeter init --workload {place} [CONNECTION]     load the tables"),
        format!("  pgmeter check --workload {place} [CONNECTION]    check the data"),
        format!("  pgmeter bench --workload {place} -T 10 [CONNECTION]  measure the transactions"),
        format!("  pgmeter queries --workload {place} [CONNECTION]  time the queries"),
    ];
    if schema.is_some() {
        lines.truncate(3);
    }
    Ok(lines.join("\n"))
}

/// The name of the directory as far as a workload may have it.
fn name_of(folder: &Path) -> String {
    let last = folder.file_name().and_then(|name| name.to_str()).unwrap_or(NAME);
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    let name: String = last.chars().filter(is_plain).take(40).collect();
    if name.is_empty() || RESERVED.has(&name) { NAME.to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Workload, read_folder};

    #[test]
    fn a_new_workload_is_sound_and_an_old_one_stays() {
        let place = tempfile::TempDir::new().expect("a folder");
        let folder = place.path().join("my shop");
        let lines = new_folder(&folder, None).expect("it is new");
        for command in ["init", "check", "bench", "queries"] {
            assert!(lines.contains(&format!("pgmeter {command} --workload '/")), "{lines}");
        }
        let workload = read_folder(&folder).expect("it is sound");
        assert_eq!((workload.name(), workload.scripts().len(), workload.checks().len()), ("myshop", 1, 1));
        let refusal = new_folder(&folder, None).expect_err("it exists").to_string();
        assert!(refusal.contains("the directory is not empty"), "{refusal}");
    }

    #[test]
    fn names_of_built_in_workloads_are_not_taken() {
        assert_eq!(RESERVED.argument_of(Path::new("tpch")), "./tpch");
        assert_eq!(RESERVED.argument_of(Path::new("../tpch")), "../tpch");
        assert_eq!(name_of(Path::new("x/tpcb")), NAME);
        assert_eq!(name_of(Path::new("..")), NAME);
    }
}
