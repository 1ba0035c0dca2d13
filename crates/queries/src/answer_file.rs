//! Files with the rows of answers (`--results`): tab-separated values as in COPY's text format, below a line with the
//! names of the columns. A file gets its name when it is complete; no file is overwritten.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use connect::Column;
use run::RunError;

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct AnswerFile {
    writer: BufWriter<File>,
    draft: PathBuf,
    place: PathBuf,
    is_published: bool,
}

/// The file of a query: other characters than these become a hyphen.
fn place(directory: &Path, query: &str) -> PathBuf {
    let plain = |letter: char| if letter.is_alphanumeric() || "_-+".contains(letter) { letter } else { '-' };
    directory.join(format!("{}.tsv", query.chars().map(plain).collect::<String>()))
}

/// Creates the directory if it is missing, and refuses one that has a file of these queries already.
///
/// # Errors
/// The directory cannot be created, is a symbolic link, or has such a file.
pub(crate) fn prepare(directory: &Path, queries: &[&str]) -> Result<(), RunError> {
    let system =
        |error| RunError::System { what: format!("create the directory {}", directory.display()), error };
    match DirBuilder::new().recursive(false).mode(0o700).create(directory) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        done => done.map_err(system)?,
    }
    let found = fs::symlink_metadata(directory).map_err(system)?;
    if !found.is_dir() {
        return Err(RunError::Usage(format!(
            "{} is not a directory: name a new directory for the answers",
            directory.display()
        )));
    }
    let mut places = Vec::new();
    for query in queries {
        let place = place(directory, query);
        if fs::symlink_metadata(&place).is_ok() {
            return Err(RunError::Usage(format!(
                "{} exists and is not overwritten: name a new directory for the answers",
                place.display()
            )));
        }
        if places.contains(&place) {
            return Err(RunError::Usage(format!("two queries would write {}: rename one", place.display())));
        }
        places.push(place);
    }
    Ok(())
}

impl AnswerFile {
    /// A hidden file for the rows of a query.
    ///
    /// # Errors
    /// It cannot be created.
    pub(crate) fn create(directory: &Path, query: &str) -> io::Result<AnswerFile> {
        let place = place(directory, query);
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let draft = directory.join(format!(".{name}.{}.part", std::process::id()));
        // create_new follows no symbolic link.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        Ok(AnswerFile { writer: BufWriter::new(file), draft, place, is_published: false })
    }

    /// The columns of the following rows, which replace those before.
    pub(crate) fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        use std::io::Seek;
        self.writer.rewind()?;
        self.writer.get_ref().set_len(0)?;
        let names: Vec<Option<&[u8]>> = columns.iter().map(|column| Some(column.name.as_bytes())).collect();
        self.add(&names)
    }

    /// A row.
    pub(crate) fn add(&mut self, values: &[Option<&[u8]>]) -> io::Result<()> {
        let mut separator: &[u8] = b"";
        for value in values {
            self.writer.write_all(separator)?;
            separator = b"\t";
            match value {
                None => self.writer.write_all(b"\\N")?,
                Some(value) => write_escaped(&mut self.writer, value)?,
            }
        }
        self.writer.write_all(b"\n")
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// It cannot be written, or another file has the name.
    pub(crate) fn publish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        // A hard link fails if the name exists, also as a symbolic link.
        fs::hard_link(&self.draft, &self.place)?;
        self.is_published = true;
        fs::remove_file(&self.draft)
    }
}

impl Drop for AnswerFile {
    /// The rows of a failed execution are discarded.
    fn drop(&mut self) {
        if !self.is_published {
            let _ = fs::remove_file(&self.draft);
        }
    }
}

/// As COPY escapes values (manual, COPY, "Text Format").
fn write_escaped(out: &mut impl Write, value: &[u8]) -> io::Result<()> {
    for piece in value.split_inclusive(|byte| b"\\\t\n\r".contains(byte)) {
        let (plain, escape): (&[u8], &[u8]) = match piece.split_last() {
            Some((b'\\', rest)) => (rest, b"\\\\"),
            Some((b'\t', rest)) => (rest, b"\\t"),
            Some((b'\n', rest)) => (rest, b"\\n"),
            Some((b'\r', rest)) => (rest, b"\\r"),
            _ => (piece, b""),
        };
        out.write_all(plain)?;
        out.write_all(escape)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_last_result_set_and_is_not_overwritten() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let directory = place.path().join("answers");
        prepare(&directory, &["q1", "../q2"]).expect("a new directory");
        let columns = |name: &str| vec![Column { name: name.to_owned(), type_oid: 25 }; 2];
        let mut file = AnswerFile::create(&directory, "../q2").expect("a file");
        file.begin(&columns("before")).expect("written");
        file.add(&[None, None]).expect("written");
        file.begin(&columns("a\tb")).expect("written");
        file.add(&[Some(b"x\n\\y"), None]).expect("written");
        file.publish().expect("complete");
        drop(AnswerFile::create(&directory, "q1").expect("a file"));
        let names: Vec<_> = fs::read_dir(&directory)
            .expect("it is there")
            .map(|it| it.expect("a file").file_name())
            .collect();
        assert_eq!(names, ["---q2.tsv"], "a file of a failed execution is removed");
        let text = fs::read_to_string(directory.join("---q2.tsv")).expect("it is there");
        assert_eq!(text, "a\\tb\ta\\tb\nx\\n\\\\y\t\\N\n");
        prepare(&directory, &["q1"]).expect("no file of q1");
        let refusal = prepare(&directory, &["../q2"]).expect_err("it exists").to_string();
        assert!(refusal.contains("is not overwritten"), "{refusal}");
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&directory, &link).expect("a link");
        assert!(prepare(&link, &["q1"]).is_err(), "a link is no directory");
    }
}
