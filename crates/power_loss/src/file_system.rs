//! Files and directories with two states: the one that processes see, and the durable one that a power loss leaves.
//! Pure: `mount` serves it to the kernel, the tests use it alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};

use crate::draws::Draws;
use crate::pages::{PageLoss, Pages};

/// Number of a file or directory; never used twice.
pub type Inode = u64;

/// The directory that contains all others.
pub const ROOT: Inode = 1;

/// Why an operation is refused; each has its code in `errno.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// ENOENT: no such name, or a power loss removed the file.
    NotFound,
    /// EEXIST.
    Exists,
    /// ENOTDIR.
    NotDirectory,
    /// EISDIR.
    IsDirectory,
    /// ENOTEMPTY.
    NotEmpty,
    /// ENOSPC.
    Full,
    /// EINVAL: the file has no content.
    NoContent,
}

/// What makes the name of a new file durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewNames {
    /// Flushing the file or its directory.
    #[default]
    WithFile,
    /// Flushing its directory only: the least that POSIX promises.
    WithDirectory,
}

/// Kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A Unix socket, which has only a name.
    Socket,
}

/// Owner and permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Permission bits (07777).
    pub mode: u16,
    /// User ID of the owner.
    pub uid: u32,
    /// Group ID of the owner.
    pub gid: u32,
}

/// Attributes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Its kind.
    pub kind: Kind,
    /// Its owner and permissions.
    pub access: Access,
    /// Its size in bytes; 0 if it has no content.
    pub size: u64,
    /// Number of its names; 2 for a directory.
    pub links: u32,
}

/// What survives a power loss beyond the durable state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    Nothing,
    /// Half of the unflushed pages, and the first of the unflushed changes of names, by this seed.
    Some(u64),
}

/// What a power loss removed and spared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Unflushed pages of files.
    pub pages: PageLoss,
    /// Changes of names that are undone.
    pub changes_forgotten: u64,
    /// Unflushed changes of names that remain.
    pub changes_survived: u64,
    /// Files and directories that have no name any more.
    pub files_gone: u64,
}

type Names = BTreeMap<OsString, Inode>;

#[derive(Clone, Debug)]
enum Content {
    File(Pages),
    Directory { names: Names, durable: Names },
    Socket,
}

#[derive(Clone, Debug)]
struct Node {
    access: Access,
    /// Number of names.
    links: u32,
    content: Content,
}

/// A change that is not durable yet: directory, name, and the file that has the name from then on. A rename has two.
type Change = Vec<(Inode, OsString, Option<Inode>)>;

/// The file system.
///
/// - Content and size of a file are durable after it was flushed (`fsync`, `fdatasync`).
/// - A name (create, link, unlink, rename, mkdir, rmdir) is durable after its directory was flushed. A rename is never
///   half done: it becomes durable in both directories at once. With [`NewNames::WithFile`], flushing a file or directory
///   makes its own names durable too, as ext4, XFS and Btrfs do.
/// - Owner and permissions are durable at once. Times are not kept.
#[derive(Clone, Debug)]
pub struct FileSystem {
    nodes: BTreeMap<Inode, Node>,
    /// Oldest first.
    unflushed: Vec<Change>,
    last_inode: Inode,
    new_names: NewNames,
    capacity_bytes: u64,
    /// Sum of the sizes of all files; unlinked ones count until the next power loss.
    used_bytes: u64,
}

impl FileSystem {
    /// An empty file system. Its root directory belongs to root.
    pub fn new(new_names: NewNames, capacity_bytes: u64) -> FileSystem {
        let access = Access { mode: 0o755, uid: 0, gid: 0 };
        let root = Node { access, links: 1, content: Content::new(Kind::Directory) };
        let nodes = BTreeMap::from([(ROOT, root)]);
        FileSystem {
            nodes,
            unflushed: Vec::new(),
            last_inode: ROOT,
            new_names,
            capacity_bytes,
            used_bytes: 0,
        }
    }

    /// Total and used bytes.
    pub fn usage(&self) -> (u64, u64) {
        (self.capacity_bytes, self.used_bytes)
    }

    /// The file of a name.
    pub fn lookup(&self, directory: Inode, name: &OsStr) -> Result<Inode, Refusal> {
        self.names(directory)?.get(name).copied().ok_or(Refusal::NotFound)
    }

    /// Attributes of a file.
    pub fn attributes(&self, inode: Inode) -> Result<Attributes, Refusal> {
        let node = self.node(inode)?;
        let (kind, size) = match &node.content {
            Content::File(pages) => (Kind::File, pages.size()),
            Content::Directory { .. } => (Kind::Directory, 0),
            Content::Socket => (Kind::Socket, 0),
        };
        // A directory also has the name `.` in itself.
        let links = if kind == Kind::Directory { node.links + 1 } else { node.links };
        Ok(Attributes { kind, access: node.access, size, links })
    }

    /// The names in a directory, in order.
    pub fn entries(&self, directory: Inode) -> Result<Vec<(OsString, Inode)>, Refusal> {
        Ok(self.names(directory)?.iter().map(|(name, inode)| (name.clone(), *inode)).collect())
    }

    /// Changes owner and permissions, durably.
    pub fn set_access(&mut self, inode: Inode, access: Access) -> Result<(), Refusal> {
        self.node_mut(inode)?.access = access;
        Ok(())
    }

    /// Creates a file or directory.
    pub fn create(
        &mut self,
        directory: Inode,
        name: &OsStr,
        kind: Kind,
        access: Access,
    ) -> Result<Inode, Refusal> {
        if self.names(directory)?.contains_key(name) {
            return Err(Refusal::Exists);
        }
        self.last_inode += 1;
        self.nodes.insert(self.last_inode, Node { access, links: 0, content: Content::new(kind) });
        self.change(vec![(directory, name.to_owned(), Some(self.last_inode))]);
        Ok(self.last_inode)
    }

    /// Gives a file another name.
    pub fn link(&mut self, inode: Inode, directory: Inode, name: &OsStr) -> Result<(), Refusal> {
        if self.attributes(inode)?.kind == Kind::Directory {
            return Err(Refusal::IsDirectory);
        }
        if self.names(directory)?.contains_key(name) {
            return Err(Refusal::Exists);
        }
        self.change(vec![(directory, name.to_owned(), Some(inode))]);
        Ok(())
    }

    /// Removes the name of a file. Its content stays for those who have it open.
    pub fn unlink(&mut self, directory: Inode, name: &OsStr) -> Result<(), Refusal> {
        if self.attributes(self.lookup(directory, name)?)?.kind == Kind::Directory {
            return Err(Refusal::IsDirectory);
        }
        self.change(vec![(directory, name.to_owned(), None)]);
        Ok(())
    }

    /// Removes an empty directory.
    pub fn remove_directory(&mut self, directory: Inode, name: &OsStr) -> Result<(), Refusal> {
        if !self.names(self.lookup(directory, name)?)?.is_empty() {
            return Err(Refusal::NotEmpty);
        }
        self.change(vec![(directory, name.to_owned(), None)]);
        Ok(())
    }

    /// Moves a file or directory to another name, in place of what has that name. The kernel has checked that a directory
    /// is not moved into itself.
    pub fn rename(
        &mut self,
        from: (Inode, &OsStr),
        to: (Inode, &OsStr),
        replace: Replace,
    ) -> Result<(), Refusal> {
        let inode = self.lookup(from.0, from.1)?;
        if let Some(&replaced) = self.names(to.0)?.get(to.1) {
            if replace == Replace::Never {
                return Err(Refusal::Exists);
            }
            if replaced == inode {
                // POSIX: two names of one file; nothing happens.
                return Ok(());
            }
            let is_directory = |inode| Ok(self.attributes(inode)?.kind == Kind::Directory);
            match (is_directory(inode)?, is_directory(replaced)?) {
                (true, false) => return Err(Refusal::NotDirectory),
                (false, true) => return Err(Refusal::IsDirectory),
                (true, true) if !self.names(replaced)?.is_empty() => return Err(Refusal::NotEmpty),
                (true, true) | (false, false) => {}
            }
        }
        self.change(vec![(from.0, from.1.to_owned(), None), (to.0, to.1.to_owned(), Some(inode))]);
        Ok(())
    }

    /// Bytes of a file from `offset` on, at most `length`; fewer at its end.
    pub fn read(&self, inode: Inode, offset: u64, length: usize) -> Result<Vec<u8>, Refusal> {
        match &self.node(inode)?.content {
            Content::File(pages) => Ok(pages.read(offset, length)),
            Content::Directory { .. } => Err(Refusal::IsDirectory),
            Content::Socket => Err(Refusal::NoContent),
        }
    }

    /// Writes bytes; the file grows if necessary.
    pub fn write(&mut self, inode: Inode, offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
        let end = offset.checked_add(bytes.len() as u64).ok_or(Refusal::Full)?;
        let size = end.max(self.pages(inode)?.size());
        self.reserve(inode, size)?;
        self.pages(inode)?.write(offset, bytes);
        Ok(())
    }

    /// Cuts a file off, or extends it by zeros.
    pub fn set_size(&mut self, inode: Inode, size: u64) -> Result<(), Refusal> {
        self.reserve(inode, size)?;
        self.pages(inode)?.set_size(size);
        Ok(())
    }

    /// Makes content and size of a file durable, also its names with [`NewNames::WithFile`].
    pub fn flush_file(&mut self, inode: Inode) -> Result<(), Refusal> {
        self.pages(inode)?.flush();
        if self.new_names == NewNames::WithFile {
            self.settle(|(_, _, bound)| *bound == Some(inode));
        }
        Ok(())
    }

    /// Makes the names in a directory durable.
    pub fn flush_directory(&mut self, directory: Inode) -> Result<(), Refusal> {
        self.names(directory)?;
        let own_name = (self.new_names == NewNames::WithFile).then_some(directory);
        self.settle(|(changed, _, bound)| *changed == directory || (bound.is_some() && *bound == own_name));
        Ok(())
    }

    /// Makes everything durable, as an orderly unmount does.
    pub fn flush_all(&mut self) {
        self.settle(|_| true);
        for node in self.nodes.values_mut() {
            if let Content::File(pages) = &mut node.content {
                pages.flush();
            }
        }
    }

    /// Goes back to the durable state.
    pub fn lose_power(&mut self, survival: Survival) -> Loss {
        let mut draws = match survival {
            Survival::Nothing => None,
            Survival::Some(seed) => Some(Draws::new(seed)),
        };
        let mut loss = Loss::default();
        let unflushed = std::mem::take(&mut self.unflushed);
        let surviving = draws.as_mut().map_or(0, |draws| draws.up_to(unflushed.len() as u64));
        loss.changes_survived = surviving;
        loss.changes_forgotten = unflushed.len() as u64 - surviving;
        for (change, _) in unflushed.into_iter().zip(0..surviving) {
            self.make_durable(change);
        }
        for node in self.nodes.values_mut() {
            match &mut node.content {
                Content::File(pages) => loss.pages += pages.lose(draws.as_mut()),
                Content::Directory { names, durable } => names.clone_from(durable),
                Content::Socket => {}
            }
        }
        let before = self.nodes.len();
        let links = self.reachable();
        self.nodes.retain(|inode, node| {
            node.links = links.get(inode).copied().unwrap_or_default();
            node.links > 0
        });
        loss.files_gone = (before - self.nodes.len()) as u64;
        self.used_bytes = self.nodes.values().map(Node::size).sum();
        loss
    }

    /// The files that have a name, and how many.
    fn reachable(&self) -> BTreeMap<Inode, u32> {
        let (mut links, mut next) = (BTreeMap::from([(ROOT, 1)]), vec![ROOT]);
        while let Some(inode) = next.pop() {
            let Ok(names) = self.names(inode) else { continue };
            for inode in names.values() {
                let count = links.entry(*inode).or_insert(0);
                *count += 1;
                if *count == 1 {
                    next.push(*inode);
                }
            }
        }
        links
    }

    /// Carries out a change, to be made durable later.
    fn change(&mut self, change: Change) {
        for (directory, name, bound) in &change {
            let Some(Node { content: Content::Directory { names, .. }, .. }) = self.nodes.get_mut(directory)
            else {
                unreachable!("the caller has looked into the directory");
            };
            let before = match bound {
                Some(inode) => names.insert(name.clone(), *inode),
                None => names.remove(name),
            };
            if let Some(node) = before.and_then(|inode| self.nodes.get_mut(&inode)) {
                node.links -= 1;
            }
            if let Some(node) = bound.and_then(|inode| self.nodes.get_mut(&inode)) {
                node.links += 1;
            }
        }
        self.unflushed.push(change);
    }

    /// Makes the wanted changes durable, and the earlier ones of the same names, which they build on.
    fn settle(&mut self, is_wanted: impl Fn(&(Inode, OsString, Option<Inode>)) -> bool) {
        let mut names: BTreeSet<(Inode, OsString)> = BTreeSet::new();
        let (mut settled, mut remaining) = (Vec::new(), Vec::new());
        for change in std::mem::take(&mut self.unflushed).into_iter().rev() {
            let is_needed = |(directory, name, _): &(Inode, OsString, _)| {
                !names.is_empty() && names.contains(&(*directory, name.clone()))
            };
            if change.iter().any(|binding| is_wanted(binding) || is_needed(binding)) {
                names.extend(change.iter().map(|(directory, name, _)| (*directory, name.clone())));
                settled.push(change);
            } else {
                remaining.push(change);
            }
        }
        settled.into_iter().rev().for_each(|change| self.make_durable(change));
        remaining.reverse();
        self.unflushed = remaining;
    }

    fn make_durable(&mut self, change: Change) {
        for (directory, name, bound) in change {
            if let Some(Node { content: Content::Directory { durable, .. }, .. }) =
                self.nodes.get_mut(&directory)
            {
                match bound {
                    Some(inode) => durable.insert(name, inode),
                    None => durable.remove(&name),
                };
            }
        }
    }

    /// Accounts for the new size of a file; refuses it if the file system would be full.
    fn reserve(&mut self, inode: Inode, size: u64) -> Result<(), Refusal> {
        let others = self.used_bytes - self.pages(inode)?.size();
        let used = others.checked_add(size).filter(|used| *used <= self.capacity_bytes);
        self.used_bytes = used.ok_or(Refusal::Full)?;
        Ok(())
    }

    fn node(&self, inode: Inode) -> Result<&Node, Refusal> {
        self.nodes.get(&inode).ok_or(Refusal::NotFound)
    }

    fn node_mut(&mut self, inode: Inode) -> Result<&mut Node, Refusal> {
        self.nodes.get_mut(&inode).ok_or(Refusal::NotFound)
    }

    fn pages(&mut self, inode: Inode) -> Result<&mut Pages, Refusal> {
        match &mut self.node_mut(inode)?.content {
            Content::File(pages) => Ok(pages),
            Content::Directory { .. } => Err(Refusal::IsDirectory),
            Content::Socket => Err(Refusal::NoContent),
        }
    }

    fn names(&self, directory: Inode) -> Result<&Names, Refusal> {
        match &self.node(directory)?.content {
            Content::Directory { names, .. } => Ok(names),
            Content::File(_) | Content::Socket => Err(Refusal::NotDirectory),
        }
    }
}

/// Whether a rename may replace a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// As rename(2) does.
    Allowed,
    /// `RENAME_NOREPLACE`.
    Never,
}

impl Content {
    fn new(kind: Kind) -> Content {
        match kind {
            Kind::File => Content::File(Pages::default()),
            Kind::Directory => Content::Directory { names: Names::new(), durable: Names::new() },
            Kind::Socket => Content::Socket,
        }
    }
}

impl Node {
    fn size(&self) -> u64 {
        match &self.content {
            Content::File(pages) => pages.size(),
            Content::Directory { .. } | Content::Socket => 0,
        }
    }
}

impl std::ops::AddAssign for PageLoss {
    fn add_assign(&mut self, other: PageLoss) {
        let PageLoss { forgotten, survived } = other;
        self.forgotten += forgotten;
        self.survived += survived;
    }
}
