//! Lists the files of the built-in workloads: workload.toml and the SQL in the folders of src/shelf. The crate includes the
//! list, so that no code names the files.
#![allow(clippy::print_stdout, reason = "cargo reads it")]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=src/shelf");
    let shelf = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("src/shelf");
    let mut lists = String::from("match name {\n");
    for folder in sorted(&shelf)?.iter().filter(|path| path.join("workload.toml").is_file()) {
        let name = folder.file_name().unwrap_or_default();
        let mut files = Vec::new();
        add(folder, &mut files)?;
        let entry = |file: &PathBuf| {
            let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
            format!("({name:?}, include_str!({file:?}))")
        };
        let files: Vec<String> = files.iter().map(entry).collect();
        lists += &format!("    {name:?} => &[{}],\n", files.join(", "));
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("files.rs"), lists + "    _ => &[],\n}\n")
}

fn add(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for path in sorted(folder)? {
        if path.is_dir() {
            add(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "sql" || ending == "toml") {
            files.push(path);
        }
    }
    Ok(())
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
