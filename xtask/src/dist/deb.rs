//! A Debian package as bytes: an ar archive of a version, a control archive and a data archive (deb(5), ar(5)). The same
//! files give the same bytes.

use std::io::{self, Write as _};
use std::path::Path;

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

/// A file of the package or of its control archive.
pub struct Entry {
    /// Path below the root, without a leading slash.
    pub path: String,
    pub content: Content,
}

/// The content of an entry.
pub enum Content {
    /// A file that everybody can read.
    File(Vec<u8>),
    /// A file that everybody can run.
    Program(Vec<u8>),
    /// A symbolic link to this path.
    Link(String),
}

impl Entry {
    /// A file that everybody can read.
    pub fn file(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Entry {
        Entry { path: path.into(), content: Content::File(bytes.into()) }
    }
}

/// What the package says of itself.
pub struct Package<'a> {
    pub name: &'a str,
    pub version: &'a str,
    /// Debian's name of the processor, such as amd64.
    pub architecture: &'a str,
    /// Fields of the control file after the name, the version, the architecture and the size.
    pub fields: &'a str,
    /// Scripts of the maintainer and triggers.
    pub control: Vec<Entry>,
    pub files: Vec<Entry>,
    /// The time of all files, in seconds since 1970.
    pub time_s: u64,
}

impl Package<'_> {
    /// Name of the package's file.
    pub fn file_name(&self) -> String {
        format!("{}_{}_{}.deb", self.name, self.version, self.architecture)
    }

    /// The package.
    ///
    /// # Errors
    /// A path is too long for the archive.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut deb = b"!<arch>\n".to_vec();
        append(&mut deb, "debian-binary", b"2.0\n", self.time_s);
        let mut control = vec![Entry::file("control", self.control_file())];
        control.push(Entry::file("md5sums", self.sums()));
        let control = archive(control.iter().chain(&self.control), self.time_s)?;
        append(&mut deb, "control.tar.gz", &control, self.time_s);
        append(&mut deb, "data.tar.gz", &archive(self.files.iter(), self.time_s)?, self.time_s);
        Ok(deb)
    }

    fn control_file(&self) -> String {
        let Self { name, version, architecture, fields, .. } = self;
        // In KiB, each file rounded up.
        let size: usize = self.contents().map(|(_, bytes)| bytes.len().div_ceil(1024)).sum();
        format!(
            "Package: {name}\nVersion: {version}\nArchitecture: {architecture}\nInstalled-Size: {size}\n{fields}"
        )
    }

    /// The regular files with their bytes.
    fn contents(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().filter_map(|Entry { path, content }| match content {
            Content::File(bytes) | Content::Program(bytes) => Some((path.as_str(), bytes.as_slice())),
            Content::Link(_) => None,
        })
    }

    fn sums(&self) -> String {
        self.contents().map(|(path, bytes)| format!("{}  {path}\n", super::hex(&md5(bytes)))).collect()
    }
}

fn md5(bytes: &[u8]) -> Vec<u8> {
    use md5::{Digest as _, Md5};
    Md5::digest(bytes).to_vec()
}

/// Appends a member to an ar archive.
fn append(ar: &mut Vec<u8>, name: &str, bytes: &[u8], time_s: u64) {
    let (owner, mode, size) = (0, "100644", bytes.len());
    ar.extend_from_slice(
        format!("{name:<16}{time_s:<12}{owner:<6}{owner:<6}{mode:<8}{size:<10}`\n").as_bytes(),
    );
    ar.extend_from_slice(bytes);
    if size % 2 == 1 {
        ar.push(b'\n');
    }
}

/// A compressed archive of the entries and of their directories, which dpkg wants before them.
fn archive<'a>(entries: impl Iterator<Item = &'a Entry>, time_s: u64) -> io::Result<Vec<u8>> {
    let mut sorted: Vec<&Entry> = entries.collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    let mut tar = tar::Builder::new(GzBuilder::new().write(Vec::new(), Compression::best()));
    let mut made: Vec<&Path> = Vec::new();
    for Entry { path, content } in sorted {
        let mut parents: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
        parents.reverse();
        for parent in parents {
            if !made.contains(&parent) {
                made.push(parent);
                let name = format!("./{}", parent.join("").display());
                tar.append_data(&mut header(EntryType::Directory, 0o755, 0, time_s), name, io::empty())?;
            }
        }
        let name = format!("./{path}");
        let (bytes, mode) = match content {
            Content::File(bytes) => (bytes, 0o644),
            Content::Program(bytes) => (bytes, 0o755),
            Content::Link(target) => {
                tar.append_link(&mut header(EntryType::Symlink, 0o777, 0, time_s), name, target)?;
                continue;
            }
        };
        let size = bytes.len() as u64;
        tar.append_data(&mut header(EntryType::Regular, mode, size, time_s), name, bytes.as_slice())?;
    }
    let mut gzip = tar.into_inner()?;
    gzip.flush()?;
    gzip.finish()
}

fn header(entry_type: EntryType, mode: u32, size: u64, time_s: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(entry_type);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(time_s);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Bytes of a file, compressed as Debian's rules ask for manual pages.
pub fn gzipped(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    gzip.write_all(bytes)?;
    gzip.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_an_archive_of_three_members_of_even_length() {
        let package = Package {
            name: "pgmeter",
            version: "1.0",
            architecture: "amd64",
            fields: "Maintainer: nobody\n",
            control: Vec::new(),
            files: vec![Entry::file("usr/share/doc/pgmeter/copyright", "MIT\n")],
            time_s: 1_700_000_000,
        };
        let bytes = package.bytes().unwrap();
        assert_eq!(package.file_name(), "pgmeter_1.0_amd64.deb");
        assert_eq!(bytes, package.bytes().unwrap(), "the same files give the same bytes");
        let mut rest = bytes.strip_prefix(b"!<arch>\n").unwrap();
        let mut names = Vec::new();
        while !rest.is_empty() {
            let (header, after) = rest.split_at(60);
            assert_eq!(&header[58..], b"`\n");
            let field = |from: usize, to: usize| std::str::from_utf8(&header[from..to]).unwrap().trim();
            names.push(field(0, 16).to_owned());
            let size: usize = field(48, 58).parse().unwrap();
            rest = &after[size.next_multiple_of(2)..];
        }
        assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
        assert!(package.control_file().contains("Installed-Size: 1\n"));
        assert_eq!(package.sums().len(), 32 + 2 + "usr/share/doc/pgmeter/copyright\n".len());
    }
}
