//! Serves a [`FileSystem`] to the kernel by FUSE. The kernel keeps nothing for itself: names and attributes are valid for
//! no time, and files are opened for direct input and output. So a power loss needs no new mount.
//!
//! Not forwarded by the kernel, and therefore without effect: `sync(2)`, `syncfs(2)` and `sync_file_range(2)`. Symbolic
//! links and devices are refused.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, SessionACL,
    TimeOrNow, WriteFlags, spawn_mount,
};
use rustix::fs::OFlags;

use crate::file_system::{Access, Attributes, FileSystem, Inode, Kind, Refusal, Replace};

/// How long the kernel may keep names and attributes.
const VALID: Duration = Duration::ZERO;
const BLOCK_BYTES: u32 = 4096;
const NAME_BYTES_LIMIT: u32 = 255;
/// The part of a mode that is not the kind of the file.
const PERMISSIONS: u32 = 0o7777;
/// The part of a mode that is the kind of the file, and its values (inode(7)).
const KIND_MASK: u32 = 0o170_000;
const KIND_SOCKET: u32 = 0o140_000;
const KIND_FILE: u32 = 0o100_000;

/// A file system and whether its power is on.
#[derive(Debug)]
pub struct PoweredDisk {
    file_system: FileSystem,
    /// Without power, all operations fail with EIO.
    has_power: bool,
}

impl PoweredDisk {
    /// With power.
    pub fn new(file_system: FileSystem) -> PoweredDisk {
        PoweredDisk { file_system, has_power: true }
    }

    /// The file system, whether the power is on or not.
    pub fn file_system(&mut self) -> &mut FileSystem {
        &mut self.file_system
    }

    /// Turns the power on or off.
    pub fn set_power(&mut self, has_power: bool) {
        self.has_power = has_power;
    }
}

/// Mounts the disk at a directory, for all users.
///
/// # Errors
/// This process may not mount.
pub fn mount(disk: &Arc<Mutex<PoweredDisk>>, directory: &Path) -> io::Result<BackgroundSession> {
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName("pgmeter-power-loss".to_owned()), MountOption::DefaultPermissions];
    config.acl = SessionACL::All;
    let served =
        Served { disk: Arc::clone(disk), listings: Mutex::default(), last_listing: AtomicU64::new(0) };
    spawn_mount(served, directory, &config)
}

/// Entries of an open directory, as they were when it was opened: its positions stay valid while files are removed.
type Listing = Vec<(OsString, Inode, Kind)>;

struct Served {
    disk: Arc<Mutex<PoweredDisk>>,
    listings: Mutex<BTreeMap<u64, Listing>>,
    last_listing: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic would end the mount; the data are not used after it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Served {
    /// Applies an operation while the power is on.
    fn apply<T>(&self, operation: impl FnOnce(&mut FileSystem) -> Result<T, Refusal>) -> Result<T, Errno> {
        let mut disk = lock(&self.disk);
        if !disk.has_power {
            return Err(Errno::EIO);
        }
        operation(&mut disk.file_system).map_err(errno)
    }

    fn entry(&self, reply: ReplyEntry, operation: impl FnOnce(&mut FileSystem) -> Result<Inode, Refusal>) {
        let found = self.apply(|files| {
            let inode = operation(files)?;
            Ok((inode, files.attributes(inode)?))
        });
        match found {
            Ok((inode, attributes)) => reply.entry(&VALID, &attr(inode, attributes), Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn done(&self, reply: ReplyEmpty, operation: impl FnOnce(&mut FileSystem) -> Result<(), Refusal>) {
        match self.apply(operation) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn list(&self, directory: Inode) -> Result<Listing, Errno> {
        self.apply(|files| {
            let mut listing = vec![
                (OsString::from("."), directory, Kind::Directory),
                // The kernel fills in the right number.
                (OsString::from(".."), directory, Kind::Directory),
            ];
            for (name, inode) in files.entries(directory)? {
                listing.push((name, inode, files.attributes(inode)?.kind));
            }
            Ok(listing)
        })
    }
}

fn errno(refusal: Refusal) -> Errno {
    match refusal {
        Refusal::NotFound => Errno::ENOENT,
        Refusal::Exists => Errno::EEXIST,
        Refusal::NotDirectory => Errno::ENOTDIR,
        Refusal::IsDirectory => Errno::EISDIR,
        Refusal::NotEmpty => Errno::ENOTEMPTY,
        Refusal::Full => Errno::ENOSPC,
        Refusal::NoContent => Errno::EINVAL,
    }
}

fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Directory => FileType::Directory,
        Kind::Socket => FileType::Socket,
    }
}

fn attr(inode: Inode, attributes: Attributes) -> FileAttr {
    let Attributes { kind, access: Access { mode, uid, gid }, size, links } = attributes;
    FileAttr {
        ino: INodeNo(inode),
        size,
        // By definition of stat(2), of 512 bytes.
        blocks: size.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: file_type(kind),
        perm: mode,
        nlink: links,
        uid,
        gid,
        rdev: 0,
        blksize: BLOCK_BYTES,
        flags: 0,
    }
}

/// Owner and permissions of a file that a process creates.
fn access(request: &Request, mode: u32, umask: u32) -> Access {
    Access { mode: permissions(mode & !umask), uid: request.uid(), gid: request.gid() }
}

fn permissions(mode: u32) -> u16 {
    u16::try_from(mode & PERMISSIONS).expect("twelve bits")
}

/// Whether a file was opened with these flags.
fn has_flags(flags: i32, wanted: OFlags) -> bool {
    OFlags::from_bits_retain(flags.cast_unsigned()).contains(wanted)
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.entry(reply, |files| files.lookup(parent.0, name));
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.apply(|files| files.attributes(inode.0)) {
            Ok(attributes) => reply.attr(&VALID, &attr(inode.0, attributes)),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let changed = self.apply(|files| {
            let before = files.attributes(inode.0)?.access;
            let access = Access {
                mode: mode.map_or(before.mode, permissions),
                uid: uid.unwrap_or(before.uid),
                gid: gid.unwrap_or(before.gid),
            };
            files.set_access(inode.0, access)?;
            if let Some(size) = size {
                files.set_size(inode.0, size)?;
            }
            files.attributes(inode.0)
        });
        match changed {
            Ok(attributes) => reply.attr(&VALID, &attr(inode.0, attributes)),
            Err(error) => reply.error(error),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let kind = match mode & KIND_MASK {
            KIND_FILE => Kind::File,
            KIND_SOCKET => Kind::Socket,
            _ => return reply.error(Errno::EPERM),
        };
        self.entry(reply, |files| files.create(parent.0, name, kind, access(request, mode, umask)));
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let access = access(request, mode, umask);
        self.entry(reply, |files| files.create(parent.0, name, Kind::Directory, access));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.done(reply, |files| files.unlink(parent.0, name));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.done(reply, |files| files.remove_directory(parent.0, name));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let replace = if flags.is_empty() {
            Replace::Allowed
        } else if flags == RenameFlags::RENAME_NOREPLACE {
            Replace::Never
        } else {
            return reply.error(Errno::EINVAL);
        };
        self.done(reply, |files| files.rename((parent.0, name), (new_parent.0, new_name), replace));
    }

    fn link(&self, _: &Request, inode: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.entry(reply, |files| files.link(inode.0, parent.0, name).map(|()| inode.0));
    }

    fn open(&self, _: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let opened = self.apply(|files| {
            if has_flags(flags.0, OFlags::TRUNC) {
                files.set_size(inode.0, 0)?;
            }
            files.attributes(inode.0)
        });
        match opened {
            Ok(_) => reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let created = self.apply(|files| {
            let inode = files.create(parent.0, name, Kind::File, access(request, mode, umask))?;
            Ok(attr(inode, files.attributes(inode)?))
        });
        match created {
            Ok(attr) => {
                reply.created(&VALID, &attr, Generation(0), FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.apply(|files| files.read(inode.0, offset, size as usize)) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let written = self.apply(|files| {
            files.write(inode.0, offset, bytes)?;
            // O_SYNC includes the bit of O_DSYNC.
            if has_flags(flags.0, OFlags::DSYNC) {
                files.flush_file(inode.0)?;
            }
            Ok(())
        });
        match written {
            Ok(()) => reply.written(u32::try_from(bytes.len()).expect("the kernel counts in 32 bits")),
            Err(error) => reply.error(error),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        // Without flags it is posix_fallocate(3): the file grows if necessary.
        if mode != 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        self.done(reply, |files| {
            let end = offset.checked_add(length).ok_or(Refusal::Full)?;
            if end > files.attributes(inode.0)?.size { files.set_size(inode.0, end) } else { Ok(()) }
        });
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.done(reply, |files| files.flush_file(inode.0));
    }

    fn fsyncdir(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.done(reply, |files| files.flush_directory(inode.0));
    }

    fn opendir(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.list(inode.0) {
            Ok(listing) => {
                let number = self.last_listing.fetch_add(1, Ordering::Relaxed) + 1;
                lock(&self.listings).insert(number, listing);
                reply.opened(FileHandle(number), FopenFlags::empty());
            }
            Err(error) => reply.error(error),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listings = lock(&self.listings);
        let Some(listing) = listings.get(&handle.0) else { return reply.error(Errno::EBADF) };
        let first = usize::try_from(offset).unwrap_or(usize::MAX);
        for (next, (name, inode, kind)) in (1..).zip(listing).skip(first) {
            if reply.add(INodeNo(*inode), next, file_type(*kind), name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        lock(&self.listings).remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        const INODES: u64 = 1_000_000;
        let (total, used) = lock(&self.disk).file_system.usage();
        let block = u64::from(BLOCK_BYTES);
        let (blocks, free) = (total / block, (total - used) / block);
        reply.statfs(blocks, free, free, INODES, INODES, BLOCK_BYTES, NAME_BYTES_LIMIT, BLOCK_BYTES);
    }
}
