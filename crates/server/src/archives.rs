//! Archives that workloads need, such as published texts of queries: found in a directory or downloaded, verified by
//! their SHA-256 checksum, and unpacked into the cache. Nothing of an archive is read before its checksum is verified.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;

use crate::cache::Cache;
use crate::digests::sum_of;
use crate::fetch::fetch_file;
use crate::files::read_limited;
use crate::unpack::{UNPACKED_LIMIT_BYTES, XZ_MEMORY_LIMIT_KIB};
use crate::{Checksum, Environment, FetchProgress, Locations, ServerError};

/// Limit of the packed size. The archive is in memory.
const ARCHIVE_LIMIT_BYTES: u64 = 1 << 30;

/// An archive that a workload needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Name of the file: `words.tar.gz`.
    pub file: String,
    /// Where it can be downloaded; it begins with `https://`.
    pub url: Option<String>,
    /// Checksum of the file.
    pub checksum: Checksum,
    /// Beginnings of the paths that are unpacked; empty: all.
    pub only: Vec<String>,
}

impl Archive {
    /// The directory of its files, if it was unpacked before.
    ///
    /// # Errors
    /// There is no directory for the cache, or, as root, another user could change it.
    pub fn unpacked(&self) -> Result<Option<PathBuf>, ServerError> {
        let tree = cache()?.directory().join(self.tree_name());
        Ok(tree.is_dir().then_some(tree))
    }

    /// Verifies and unpacks the archive, and returns the directory of its files. A file in `folder` is used before one
    /// from the network.
    ///
    /// # Errors
    /// There is no such file, its checksum is wrong, or it cannot be unpacked.
    pub fn unpack(
        &self,
        folder: &Path,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<PathBuf, ServerError> {
        self.unpack_into(&cache()?, folder, progress)
    }

    fn unpack_into(
        &self,
        cache: &Cache,
        folder: &Path,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<PathBuf, ServerError> {
        let (place, bytes) = self.bytes(folder, progress)?;
        let found = sum_of(&bytes);
        if !self.checksum.is(&found) {
            let expected = self.checksum.digits().to_owned();
            return Err(ServerError::ArchiveDiffers { place, found, expected });
        }
        progress(FetchProgress::Unpacking { what: self.file.clone() });
        let locked = cache.lock(progress)?;
        locked.publish(&self.tree_name(), |tree| {
            unpack(&bytes, &self.only, tree).map_err(|error| match error.kind() {
                io::ErrorKind::StorageFull => {
                    ServerError::io("unpack an archive into", cache.directory())(error)
                }
                _ => ServerError::ArchiveNotUnpacked { place, reason: error.to_string() },
            })
        })
    }

    /// The directory in the cache: another choice of files is another directory.
    fn tree_name(&self) -> String {
        let digits = self.checksum.digits();
        if self.only.is_empty() {
            return digits.to_owned();
        }
        format!("{digits}-{}", &sum_of(self.only.join("\n").as_bytes())[..16])
    }

    /// The file and its name in messages.
    fn bytes(
        &self,
        folder: &Path,
        progress: &mut dyn FnMut(FetchProgress),
    ) -> Result<(String, Vec<u8>), ServerError> {
        let Archive { file, url, checksum, only: _ } = self;
        let path = folder.join(file);
        match read_limited(&path, ARCHIVE_LIMIT_BYTES) {
            Ok(bytes) => return Ok((path.display().to_string(), bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(ServerError::io("read", &path)(error)),
        }
        let (folder, expected) = (folder.to_owned(), checksum.digits().to_owned());
        let Some(url) = url else {
            return Err(ServerError::NoArchive { file: file.clone(), folder, expected });
        };
        let mut report = |bytes, total| {
            progress(FetchProgress::Downloading { what: file.clone(), bytes, total });
        };
        report(0, None);
        match fetch_file(url, ARCHIVE_LIMIT_BYTES, &mut report) {
            Ok(bytes) => Ok((url.clone(), bytes)),
            Err(reason) => {
                Err(ServerError::ArchiveNotFetched { url: url.clone(), reason, place: path, expected })
            }
        }
    }
}

fn cache() -> Result<Cache, ServerError> {
    Ok(Cache::of_workloads(&Locations::from_environment(&Environment::of_process())?.cache_dir))
}

/// Writes the files of a tar archive, which may be compressed by gzip or xz, below `tree`, which is created. Of a
/// selection, each beginning of a path must have a file.
fn unpack(archive: &[u8], only: &[String], tree: &Path) -> io::Result<()> {
    let plain: Box<dyn Read + '_> = match archive {
        [0x1f, 0x8b, ..] => Box::new(GzDecoder::new(archive)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            Box::new(XzReader::new_mem_limit(archive, false, XZ_MEMORY_LIMIT_KIB))
        }
        _ => Box::new(archive),
    };
    fs::create_dir(tree)?;
    let mut tar = tar::Archive::new(plain.take(UNPACKED_LIMIT_BYTES));
    tar.set_preserve_mtime(false);
    let mut is_empty = true;
    let mut missing: Vec<&String> = only.iter().collect();
    for entry in tar.entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        let path = entry.path()?.display().to_string();
        if !only.is_empty() && !only.iter().any(|start| path.starts_with(start)) {
            continue;
        }
        // A link could lead out of the tree.
        if !kind.is_file() && !kind.is_dir() {
            return Err(io::Error::other(format!("{path} is neither a file nor a directory")));
        }
        if !entry.unpack_in(tree)? {
            return Err(io::Error::other(format!("the path {path} leads out of the archive")));
        }
        is_empty = false;
        missing.retain(|start| !path.starts_with(*start));
    }
    // The checksum of gzip or xz follows the last file.
    io::copy(&mut tar.into_inner(), &mut io::sink())?;
    match missing.first() {
        Some(start) => Err(io::Error::other(format!("it contains no file {start}"))),
        None if is_empty => Err(io::Error::other("it contains no files")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use lzma_rust2::{XzOptions, XzWriter};
    use tar::{Builder, EntryType, Header};

    use super::*;

    fn tar(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut tar = Builder::new(Vec::new());
        for (name, kind, content) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o600);
            header.set_size(content.len() as u64);
            // The safe method of the crate refuses `..`.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            if *kind == EntryType::Symlink {
                header.set_link_name("/etc").unwrap();
            }
            header.set_cksum();
            tar.append(&header, *content).unwrap();
        }
        tar.into_inner().unwrap()
    }

    fn words() -> Vec<u8> {
        tar(&[("lists/", EntryType::Directory, b""), ("lists/words.txt", EntryType::Regular, b"one\ntwo\n")])
    }

    fn archive(file: &str, bytes: &[u8]) -> Archive {
        Archive {
            file: file.to_owned(),
            url: None,
            checksum: sum_of(bytes).parse().unwrap(),
            only: Vec::new(),
        }
    }

    /// A folder and a cache.
    fn places() -> (tempfile::TempDir, PathBuf, Cache) {
        let base = tempfile::tempdir().unwrap();
        let (folder, cache) = (base.path().join("folder"), Cache::of_workloads(&base.path().join("cache")));
        fs::create_dir(&folder).unwrap();
        (base, folder, cache)
    }

    fn unpacked(file: &str, bytes: &[u8]) -> Result<String, String> {
        let (_base, folder, cache) = places();
        fs::write(folder.join(file), bytes).unwrap();
        let tree = archive(file, bytes).unpack_into(&cache, &folder, &mut |_| {});
        let left = fs::read_dir(cache.directory()).unwrap().count();
        assert_eq!(left, if tree.is_ok() { 2 } else { 1 }, "the lock, and what was unpacked");
        let text = |tree: PathBuf| fs::read_to_string(tree.join("lists/words.txt")).unwrap();
        tree.map(text).map_err(|error| error.to_string())
    }

    #[test]
    fn plain_and_compressed_archives_are_unpacked() {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(&words()).unwrap();
        let mut xz = XzWriter::new(Vec::new(), XzOptions::with_preset(0)).unwrap();
        xz.write_all(&words()).unwrap();
        for (file, bytes) in [
            ("words.tar", words()),
            ("words.tar.gz", gz.finish().unwrap()),
            ("words.tar.xz", xz.finish().unwrap()),
        ] {
            assert_eq!(unpacked(file, &bytes).as_deref(), Ok("one\ntwo\n"), "{file}");
        }
    }

    #[test]
    fn a_selection_of_files_is_unpacked_into_a_directory_of_its_own() {
        let (_base, folder, cache) = places();
        let bytes = tar(&[
            ("lists/a.txt", EntryType::Regular, b"a"),
            ("other/link", EntryType::Symlink, b""),
            ("lists/b.txt", EntryType::Regular, b"b"),
        ]);
        fs::write(folder.join("words.tar"), &bytes).unwrap();
        let unpack = |only: &[&str]| {
            let only = only.iter().map(|start| (*start).to_owned()).collect();
            let wanted = Archive { only, ..archive("words.tar", &bytes) };
            wanted.unpack_into(&cache, &folder, &mut |_| {}).map_err(|error| error.to_string())
        };
        let (one, both) = (unpack(&["lists/a"]).unwrap(), unpack(&["lists/"]).unwrap());
        assert_ne!(one, both);
        let files = |tree: &Path| fs::read_dir(tree.join("lists")).unwrap().count();
        assert_eq!((files(&one), files(&both)), (1, 2), "files that are not selected may be links");
        let error = unpack(&["lists/", "lists/c"]).unwrap_err();
        assert!(error.contains("it contains no file lists/c"), "{error}");
    }

    #[test]
    fn links_paths_to_the_outside_and_damage_are_refused() {
        let link = tar(&[("lists", EntryType::Symlink, b"")]);
        assert!(unpacked("a.tar", &link).unwrap_err().contains("lists is neither a file nor a directory"));
        let outside = tar(&[("../evil", EntryType::Regular, b"x")]);
        assert!(
            unpacked("a.tar", &outside).unwrap_err().contains("the path ../evil leads out of the archive")
        );
        assert!(unpacked("a.tar", b"").unwrap_err().contains("it contains no files"));
        let damaged = &words()[..700];
        let error = unpacked("a.tar", damaged).unwrap_err();
        assert!(error.contains("cannot unpack") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn a_wrong_checksum_and_a_missing_file_name_the_file_and_the_checksum() {
        let (_base, folder, cache) = places();
        let wanted = archive("words.tar", b"others");
        let expected = wanted.checksum.digits().to_owned();
        let refused = || wanted.unpack_into(&cache, &folder, &mut |_| {}).unwrap_err().to_string();
        let missing = refused();
        assert!(missing.starts_with("there is no archive words.tar in "), "{missing}");
        assert!(missing.contains(&expected), "{missing}");
        fs::write(folder.join("words.tar"), words()).unwrap();
        let differs = refused();
        assert!(differs.contains(&format!("{expected} was expected")), "{differs}");
        assert!(differs.contains("words.tar has the SHA-256 checksum"), "{differs}");
        assert!(!cache.directory().exists(), "nothing was unpacked");
        let unreachable = Archive { url: Some("https://127.0.0.1:1/words.tar".to_owned()), ..wanted };
        fs::remove_file(folder.join("words.tar")).unwrap();
        let error = unreachable.unpack_into(&cache, &folder, &mut |_| {}).unwrap_err().to_string();
        assert!(error.starts_with("cannot download https://127.0.0.1:1/words.tar: "), "{error}");
    }
}
