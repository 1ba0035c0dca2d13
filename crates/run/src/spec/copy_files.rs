//! The files of `\copy_file` in the scripts of a run. They are read before the run, so that reading them takes no time
//! of it; a file that several commands name is read once.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use script::{ParseError, Program};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::RunError;

/// Limit of all files of a run together, which stay in memory.
const LENGTH_MAX: u64 = 1 << 30;

/// The files that were read.
#[derive(Debug, Default)]
pub(crate) struct CopyFiles {
    contents: BTreeMap<PathBuf, Arc<[u8]>>,
    length: u64,
}

/// A file by its content, for another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest {
    path: PathBuf,
    sha256: [u8; 32],
}

impl CopyFiles {
    /// The files that were read.
    pub(crate) fn digests(&self) -> Vec<Digest> {
        let digest = |(path, content): (&PathBuf, &Arc<[u8]>)| Digest {
            path: path.clone(),
            sha256: Sha256::digest(content).into(),
        };
        self.contents.iter().map(digest).collect()
    }

    /// Refuses files that are not those of another machine.
    ///
    /// # Errors
    /// The first that has another content here.
    pub(crate) fn compare(&self, others: &[Digest]) -> Result<(), RunError> {
        let own = self.digests();
        let differs =
            |other: &&Digest| own.iter().any(|own| own.path == other.path && own.sha256 != other.sha256);
        match others.iter().find(differs) {
            None => Ok(()),
            Some(other) => Err(RunError::Usage(format!(
                "the file {} of \\copy_file differs from that of rank 0: copy it to all machines",
                other.path.display()
            ))),
        }
    }

    /// Reads the files of a script, whose names are relative to `folder`.
    ///
    /// # Errors
    /// The first file that cannot be read, with its place in the script.
    pub(crate) fn read(&mut self, program: &mut Program, folder: &Path) -> Result<(), ParseError> {
        let name = program.name().to_owned();
        let read = |file: &str| {
            let path = folder.join(file);
            self.content(&path).map_err(|error| {
                let path = std::path::absolute(&path).unwrap_or(path);
                (file.to_owned(), format!("cannot read {}: {error}", path.display()))
            })
        };
        program.read_files(read).map_err(|(line, (file, reason))| {
            let text = format!("\\copy_file {file}");
            ParseError::in_statement(&name, line, text.as_bytes(), None, reason)
        })
    }

    fn content(&mut self, path: &Path) -> io::Result<Arc<[u8]>> {
        if let Some(content) = self.contents.get(path) {
            return Ok(Arc::clone(content));
        }
        let content: Arc<[u8]> = read_limited(path, LENGTH_MAX - self.length)?.into();
        self.length += content.len() as u64;
        self.contents.insert(path.to_owned(), Arc::clone(&content));
        Ok(content)
    }
}

/// A whole regular file. Pipes and devices are refused, because they may never end.
fn read_limited(path: &Path, length_max: u64) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(length_max + 1).read_to_end(&mut content)?;
    if content.len() as u64 > length_max {
        let limit = LENGTH_MAX >> 20;
        let reason =
            format!("the files of \\copy_file exceed {limit} MiB together; split it, or use \\copy_rows");
        return Err(io::Error::other(reason));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use script::{CommandKind, CopySource, Dialect, Symbols, parse};

    use super::*;

    fn program(name: &str) -> Program {
        let text = format!("SELECT 1;\nCOPY t FROM STDIN;\n\\copy_file {name}\n");
        parse("s.sql", text.as_bytes(), &mut Symbols::new(), Dialect::Extended).expect("a script")
    }

    fn content(program: &Program) -> Arc<[u8]> {
        let CommandKind::Sql(sql) = &program.commands()[1].kind else { panic!("SQL") };
        let Some(CopySource::File(file)) = sql.copy_source() else { panic!("a file") };
        Arc::clone(&file.content)
    }

    #[test]
    fn a_file_beside_the_script_is_read_once() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("my rows.tsv"), "1\n2\n").expect("a file");
        let mut files = CopyFiles::default();
        let mut programs = ["my rows.tsv", "'my rows.tsv'"].map(program);
        for program in &mut programs {
            files.read(program, folder.path()).unwrap_or_else(|error| panic!("{error}"));
        }
        assert_eq!(&*content(&programs[0]), b"1\n2\n");
        assert!(Arc::ptr_eq(&content(&programs[0]), &content(&programs[1])));
        assert_eq!(files.length, 4);
    }

    #[test]
    fn a_file_of_another_content_than_on_rank_0_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.tsv");
        let read = |content: &str| {
            fs::write(&path, content).expect("a file");
            let mut files = CopyFiles::default();
            files.read(&mut program("rows.tsv"), folder.path()).unwrap_or_else(|error| panic!("{error}"));
            files
        };
        let of_rank_0 = read("1\n").digests();
        assert!(read("1\n").compare(&of_rank_0).is_ok());
        let refusal = read("2\n").compare(&of_rank_0).unwrap_err().to_string();
        assert!(refusal.contains("rows.tsv of \\copy_file differs from that of rank 0"), "{refusal}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_with_its_line_and_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let refusal = |name: &str| {
            let error = CopyFiles::default().read(&mut program(name), folder.path());
            error
                .expect_err("it cannot be read")
                .to_string()
                .replace(&folder.path().display().to_string(), "/data")
        };
        assert_eq!(
            refusal("none.tsv"),
            "s.sql:3: cannot read /data/none.tsv: No such file or directory (os error 2)\n\\copy_file none.tsv"
        );
        assert_eq!(refusal("."), "s.sql:3: cannot read /data: it is not a regular file\n\\copy_file .");
        assert_eq!(
            refusal("/dev/zero"),
            "s.sql:3: cannot read /dev/zero: it is not a regular file\n\\copy_file /dev/zero"
        );
    }

    #[test]
    fn the_length_of_a_file_is_limited() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.tsv");
        fs::write(&path, "12345").expect("a file");
        assert_eq!(read_limited(&path, 5).expect("as long as it may be"), b"12345");
        assert!(read_limited(&path, 4).unwrap_err().to_string().contains("exceed 1024 MiB together"));
    }
}
