//! Unpacks an archive of server programs: a `.jar`, which is a zip file, contains a `.txz`, which is a tar file
//! compressed by xz. Called by `cache`. Everything is streamed; only the jar is in memory.

use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::bufread::DeflateDecoder;
use lzma_rust2::XzReader;
use rawzip::{CompressionMethod, ZipArchive};

/// More than xz needs at its highest level (`xz -9`), and less than a small machine has.
pub(crate) const XZ_MEMORY_LIMIT_KIB: u32 = 128 << 10;
/// Limit of the unpacked size; unpacked programs have 60 MB.
pub(crate) const UNPACKED_LIMIT_BYTES: u64 = 2 << 30;

/// Writes the files of an archive below `tree`, which is created.
pub(crate) fn unpack(jar: &[u8], tree: &Path) -> io::Result<()> {
    let jar = ZipArchive::from_slice(jar).map_err(io::Error::other)?;
    let mut entries = jar.entries();
    while let Some(entry) = entries.next_entry().map_err(io::Error::other)? {
        if !entry.file_path().as_ref().ends_with(b".txz") {
            continue;
        }
        let method = entry.compression_method();
        let entry = jar.get_entry(entry.wayfinder()).map_err(io::Error::other)?;
        return match method {
            CompressionMethod::STORE => unpack_txz(entry.verifying_reader(entry.data()), tree),
            CompressionMethod::DEFLATE => {
                unpack_txz(entry.verifying_reader(DeflateDecoder::new(entry.data())), tree)
            }
            _ => Err(io::Error::other("its compression format is not supported")),
        };
    }
    Err(io::Error::other("it contains no .txz file"))
}

fn unpack_txz(txz: impl Read, tree: &Path) -> io::Result<()> {
    let plain = XzReader::new_mem_limit(BufReader::new(txz), false, XZ_MEMORY_LIMIT_KIB);
    let mut tar = tar::Archive::new(plain.take(UNPACKED_LIMIT_BYTES));
    tar.set_preserve_mtime(false);
    tar.unpack(tree)?;
    // The checksums of xz and zip follow the last file.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map(drop)
}
