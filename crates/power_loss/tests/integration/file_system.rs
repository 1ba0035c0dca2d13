//! Properties of the file system that forgets, in memory alone: against a plain model of what a process sees, and of what
//! was flushed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{OsStr, OsString};

use pgmeter_power_loss::file_system::{
    Access, FileSystem, Inode, Kind, Loss, NewNames, ROOT, Refusal, Replace, Survival,
};
use pgmeter_power_loss::pages::PAGE_BYTES;
use proptest::collection::vec;
use proptest::prelude::*;

const ACCESS: Access = Access { mode: 0o600, uid: 1, gid: 2 };
const CAPACITY: u64 = 1 << 30;
/// Names and directories that the operations use: few, so that they meet.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const DIRECTORIES: usize = 3;
/// Sizes reach over several pages.
const SIZE_MAX: usize = 3 * PAGE_BYTES + 100;

fn name(text: &str) -> &OsStr {
    OsStr::new(text)
}

fn new_file(files: &mut FileSystem, directory: Inode, text: &str) -> Inode {
    files.create(directory, name(text), Kind::File, ACCESS).unwrap()
}

fn content(files: &FileSystem, directory: Inode, text: &str) -> Result<Vec<u8>, Refusal> {
    let inode = files.lookup(directory, name(text))?;
    files.read(inode, 0, usize::MAX)
}

#[derive(Clone, Debug)]
enum Operation {
    Create(usize, usize),
    Unlink(usize, usize),
    Rename((usize, usize), (usize, usize)),
    Link((usize, usize), (usize, usize)),
    Write((usize, usize), usize, Vec<u8>),
    SetSize((usize, usize), usize),
    FlushFile(usize, usize),
    FlushDirectory(usize),
}

fn place() -> impl Strategy<Value = (usize, usize)> {
    (0..DIRECTORIES, 0..NAMES.len())
}

fn operation() -> impl Strategy<Value = Operation> {
    let bytes = (any::<u8>(), 1..2 * PAGE_BYTES).prop_map(|(byte, length)| vec![byte; length]);
    prop_oneof![
        place().prop_map(|(directory, name)| Operation::Create(directory, name)),
        place().prop_map(|(directory, name)| Operation::Unlink(directory, name)),
        (place(), place()).prop_map(|(from, to)| Operation::Rename(from, to)),
        (place(), place()).prop_map(|(from, to)| Operation::Link(from, to)),
        (place(), 0..SIZE_MAX, bytes)
            .prop_map(|(place, offset, bytes)| Operation::Write(place, offset, bytes)),
        (place(), 0..SIZE_MAX).prop_map(|(place, size)| Operation::SetSize(place, size)),
        place().prop_map(|(directory, name)| Operation::FlushFile(directory, name)),
        (0..DIRECTORIES).prop_map(Operation::FlushDirectory),
    ]
}

/// The same operations on maps: names to numbers, numbers to bytes. `flushed` is what a power loss must leave of contents,
/// for each file that was flushed.
#[derive(Clone, Debug, Default)]
struct Plain {
    names: BTreeMap<(usize, usize), usize>,
    contents: Vec<Vec<u8>>,
    flushed: Vec<Vec<u8>>,
}

/// A file system with durable directories, and the plain model beside it.
#[derive(Clone)]
struct Pair {
    files: FileSystem,
    directories: Vec<Inode>,
    inodes: Vec<Inode>,
    plain: Plain,
}

impl Pair {
    fn new(new_names: NewNames) -> Pair {
        let mut files = FileSystem::new(new_names, CAPACITY);
        let create = |number: usize| {
            let text = OsString::from(format!("directory{number}"));
            files.create(ROOT, &text, Kind::Directory, ACCESS).unwrap()
        };
        let directories = (0..DIRECTORIES).map(create).collect();
        files.flush_all();
        Pair { files, directories, inodes: Vec::new(), plain: Plain::default() }
    }

    fn at(&self, (directory, name): (usize, usize)) -> (Inode, &'static OsStr) {
        (self.directories[directory], OsStr::new(NAMES[name]))
    }

    fn apply(&mut self, operation: &Operation) {
        match operation.clone() {
            Operation::Create(directory, name) => self.create((directory, name)),
            Operation::Unlink(directory, name) => {
                let (parent, text) = self.at((directory, name));
                let removed = self.plain.names.remove(&(directory, name));
                assert_eq!(self.files.unlink(parent, text).is_ok(), removed.is_some());
            }
            Operation::Rename(from, to) => {
                let renamed = self.files.rename(self.at(from), self.at(to), Replace::Allowed);
                let number = self.plain.names.get(&from).copied();
                assert_eq!(renamed.is_ok(), number.is_some());
                if let Some(number) = number
                    && self.plain.names.get(&to) != Some(&number)
                {
                    self.plain.names.remove(&from);
                    self.plain.names.insert(to, number);
                }
            }
            Operation::Link(from, to) => self.link(from, to),
            Operation::Write(place, offset, bytes) => {
                let Some(&number) = self.plain.names.get(&place) else { return };
                self.files.write(self.inodes[number], offset as u64, &bytes).unwrap();
                let content = &mut self.plain.contents[number];
                let (from, end) = (offset, offset + bytes.len());
                content.resize(content.len().max(end), 0);
                content[from..end].copy_from_slice(&bytes);
            }
            Operation::SetSize(place, size) => {
                let Some(&number) = self.plain.names.get(&place) else { return };
                self.files.set_size(self.inodes[number], size as u64).unwrap();
                self.plain.contents[number].resize(size, 0);
            }
            Operation::FlushFile(directory, name) => {
                let Some(&number) = self.plain.names.get(&(directory, name)) else { return };
                self.files.flush_file(self.inodes[number]).unwrap();
                self.plain.flushed[number] = self.plain.contents[number].clone();
            }
            Operation::FlushDirectory(directory) => {
                self.files.flush_directory(self.directories[directory]).unwrap();
            }
        }
    }

    fn create(&mut self, place: (usize, usize)) {
        let (parent, text) = self.at(place);
        let created = self.files.create(parent, text, Kind::File, ACCESS);
        if self.plain.names.contains_key(&place) {
            assert_eq!(created, Err(Refusal::Exists));
            return;
        }
        self.inodes.push(created.unwrap());
        self.plain.names.insert(place, self.plain.contents.len());
        self.plain.contents.push(Vec::new());
        self.plain.flushed.push(Vec::new());
    }

    fn link(&mut self, from: (usize, usize), to: (usize, usize)) {
        let Some(&number) = self.plain.names.get(&from) else { return };
        let (parent, text) = self.at(to);
        let linked = self.files.link(self.inodes[number], parent, text);
        match self.plain.names.entry(to) {
            Entry::Occupied(_) => assert_eq!(linked, Err(Refusal::Exists)),
            Entry::Vacant(vacant) => {
                linked.unwrap();
                vacant.insert(number);
            }
        }
    }

    /// The names of one directory: those that a process sees.
    fn names(&self, directory: usize) -> BTreeMap<OsString, Inode> {
        self.files.entries(self.directories[directory]).unwrap().into_iter().collect()
    }

    /// All names and what a process reads under them.
    fn state(&self) -> Vec<(usize, OsString, Vec<u8>)> {
        let names = (0..DIRECTORIES).flat_map(|directory| {
            self.names(directory).into_iter().map(move |(name, inode)| (directory, name, inode))
        });
        let read = |inode| self.files.read(inode, 0, usize::MAX).expect("a name has a file");
        names.map(|(directory, name, inode)| (directory, name, read(inode))).collect()
    }

    fn plain_names(&self, directory: usize) -> BTreeMap<OsString, Inode> {
        let of_directory = self.plain.names.iter().filter(|((of, _), _)| *of == directory);
        of_directory.map(|((_, name), number)| (OsString::from(NAMES[*name]), self.inodes[*number])).collect()
    }
}

proptest! {
    #[test]
    fn processes_see_what_they_did(operations in vec(operation(), 1..60)) {
        let mut pair = Pair::new(NewNames::WithDirectory);
        for operation in &operations {
            pair.apply(operation);
        }
        for directory in 0..DIRECTORIES {
            prop_assert_eq!(pair.names(directory), pair.plain_names(directory));
        }
        for number in pair.plain.names.values() {
            let attributes = pair.files.attributes(pair.inodes[*number]).unwrap();
            let expected = &pair.plain.contents[*number];
            prop_assert_eq!(attributes.size, expected.len() as u64);
            prop_assert_eq!(&pair.files.read(pair.inodes[*number], 0, usize::MAX).unwrap(), expected);
            let links = pair.plain.names.values().filter(|other| *other == number).count();
            prop_assert_eq!(attributes.links as usize, links);
        }
    }

    #[test]
    fn a_power_loss_leaves_contents_of_the_last_flush(operations in vec(operation(), 1..60)) {
        let mut pair = Pair::new(NewNames::WithDirectory);
        for operation in &operations {
            pair.apply(operation);
        }
        pair.files.lose_power(Survival::Nothing);
        for (number, inode) in pair.inodes.iter().enumerate() {
            match pair.files.read(*inode, 0, usize::MAX) {
                Ok(content) => prop_assert_eq!(&content, &pair.plain.flushed[number]),
                Err(refusal) => prop_assert_eq!(refusal, Refusal::NotFound),
            }
        }
    }

    #[test]
    fn names_of_a_flushed_directory_survive_and_later_changes_do_not(
        before in vec(operation(), 1..40),
        after in vec(operation(), 1..20),
        flushed in 0..DIRECTORIES,
        strict in any::<bool>(),
    ) {
        let new_names = if strict { NewNames::WithDirectory } else { NewNames::WithFile };
        let mut pair = Pair::new(new_names);
        for operation in &before {
            pair.apply(operation);
        }
        pair.apply(&Operation::FlushDirectory(flushed));
        let expected = pair.names(flushed);
        let flushes = |operation: &&Operation| {
            matches!(operation, Operation::FlushFile(..) | Operation::FlushDirectory(_))
        };
        for operation in after.iter().filter(|operation| !flushes(operation)) {
            pair.apply(operation);
        }
        pair.files.lose_power(Survival::Nothing);
        prop_assert_eq!(pair.names(flushed), expected);
    }

    #[test]
    fn a_second_power_loss_changes_nothing_and_one_after_flushing_all_loses_nothing(
        operations in vec(operation(), 1..60),
        survival in prop_oneof![Just(Survival::Nothing), any::<u64>().prop_map(Survival::Some)],
    ) {
        let mut pair = Pair::new(NewNames::WithDirectory);
        for operation in &operations {
            pair.apply(operation);
        }
        let mut saved = pair.clone();
        saved.files.flush_all();
        let before = saved.state();
        saved.files.lose_power(survival);
        prop_assert_eq!(saved.state(), before);

        pair.files.lose_power(survival);
        let once = pair.state();
        let (used, again) = (pair.files.usage(), pair.files.lose_power(survival));
        prop_assert_eq!(again, Loss::default());
        prop_assert_eq!(pair.files.usage(), used);
        prop_assert_eq!(pair.state(), once);
    }

    #[test]
    fn a_torn_page_has_its_old_or_its_new_bytes(
        old in 1..=SIZE_MAX,
        writes in vec((0..SIZE_MAX, 1..2 * PAGE_BYTES), 1..6),
        seed in any::<u64>(),
    ) {
        let mut files = FileSystem::new(NewNames::WithDirectory, CAPACITY);
        let inode = new_file(&mut files, ROOT, "a");
        files.write(inode, 0, &vec![1; old]).unwrap();
        files.flush_all();
        for (offset, length) in writes {
            files.write(inode, offset as u64, &vec![2; length]).unwrap();
        }
        let written = files.read(inode, 0, usize::MAX).unwrap();
        let loss = files.lose_power(Survival::Some(seed));
        let left = files.read(inode, 0, usize::MAX).unwrap();
        prop_assert!([old, written.len()].contains(&left.len()));
        let mut new_pages = 0;
        for (number, page) in left.chunks(PAGE_BYTES).enumerate() {
            let from = number * PAGE_BYTES;
            let end = from + page.len();
            let before: Vec<u8> = (from..end).map(|at| u8::from(at < old)).collect();
            let is_new = page == &written[from..end];
            prop_assert!(is_new || page == before.as_slice(), "page {}", number);
            new_pages += u64::from(is_new && page != before.as_slice());
        }
        prop_assert!(new_pages <= loss.pages.survived);
    }
}

#[test]
fn a_name_is_durable_after_its_directory_was_flushed() {
    let mut files = FileSystem::new(NewNames::WithDirectory, CAPACITY);
    let inode = new_file(&mut files, ROOT, "a");
    files.write(inode, 0, b"text").unwrap();
    files.flush_file(inode).unwrap();
    let mut strict = files.clone();
    strict.lose_power(Survival::Nothing);
    assert_eq!(content(&strict, ROOT, "a"), Err(Refusal::NotFound));
    files.flush_directory(ROOT).unwrap();
    files.lose_power(Survival::Nothing);
    assert_eq!(content(&files, ROOT, "a"), Ok(b"text".to_vec()));
}

#[test]
fn journaling_file_systems_keep_the_name_of_a_flushed_file() {
    let mut files = FileSystem::new(NewNames::WithFile, CAPACITY);
    let directory = files.create(ROOT, name("directory"), Kind::Directory, ACCESS).unwrap();
    files.flush_directory(directory).unwrap();
    let (kept, lost) = (new_file(&mut files, directory, "kept"), new_file(&mut files, directory, "lost"));
    files.write(lost, 0, b"text").unwrap();
    files.flush_file(kept).unwrap();
    let loss = files.lose_power(Survival::Nothing);
    assert_eq!(files.lookup(directory, name("kept")), Ok(kept));
    assert_eq!(files.lookup(directory, name("lost")), Err(Refusal::NotFound));
    assert_eq!((loss.changes_forgotten, loss.files_gone, loss.pages.forgotten), (1, 1, 1));
}

#[test]
fn a_file_in_a_directory_without_a_durable_name_is_gone() {
    let mut files = FileSystem::new(NewNames::WithDirectory, CAPACITY);
    let directory = files.create(ROOT, name("directory"), Kind::Directory, ACCESS).unwrap();
    let inode = new_file(&mut files, directory, "a");
    files.flush_directory(directory).unwrap();
    assert_eq!(files.lose_power(Survival::Nothing).files_gone, 2);
    assert_eq!(files.attributes(inode), Err(Refusal::NotFound));
}

#[test]
fn a_rename_that_replaces_a_file_is_never_half_done() {
    for flushed in [None, Some(0), Some(1)] {
        let mut files = FileSystem::new(NewNames::WithDirectory, CAPACITY);
        let places = ["0", "1"].map(|text| files.create(ROOT, name(text), Kind::Directory, ACCESS).unwrap());
        for (place, text) in places.into_iter().zip([b"new", b"old"]) {
            let inode = new_file(&mut files, place, "a");
            files.write(inode, 0, text).unwrap();
        }
        files.flush_all();
        files.rename((places[0], name("a")), (places[1], name("a")), Replace::Allowed).unwrap();
        if let Some(directory) = flushed {
            files.flush_directory(places[directory]).unwrap();
        }
        files.lose_power(Survival::Nothing);
        let left = places.map(|place| content(&files, place, "a").ok());
        let expected = match flushed {
            None => [Some(b"new".to_vec()), Some(b"old".to_vec())],
            Some(_) => [None, Some(b"new".to_vec())],
        };
        assert_eq!(left, expected, "{flushed:?}");
    }
}

#[test]
fn an_unlinked_file_comes_back_if_nobody_flushed_its_directory() {
    let mut files = FileSystem::new(NewNames::WithFile, CAPACITY);
    let inode = new_file(&mut files, ROOT, "a");
    files.write(inode, 0, b"text").unwrap();
    files.flush_all();
    files.unlink(ROOT, name("a")).unwrap();
    assert_eq!(content(&files, ROOT, "a"), Err(Refusal::NotFound));
    assert_eq!(files.read(inode, 1, 2), Ok(b"ex".to_vec()), "it is still open");
    files.lose_power(Survival::Nothing);
    assert_eq!(content(&files, ROOT, "a"), Ok(b"text".to_vec()));
    assert_eq!(files.attributes(inode).unwrap().links, 1);
}

#[test]
fn operations_are_refused_as_by_the_kernel() {
    let mut files = FileSystem::new(NewNames::WithFile, 10_000);
    let directory = files.create(ROOT, name("directory"), Kind::Directory, ACCESS).unwrap();
    let inode = new_file(&mut files, directory, "a");
    let at = |text| (ROOT, OsStr::new(text));
    assert_eq!(files.create(directory, name("a"), Kind::File, ACCESS), Err(Refusal::Exists));
    assert_eq!(files.create(inode, name("b"), Kind::File, ACCESS), Err(Refusal::NotDirectory));
    assert_eq!(files.remove_directory(ROOT, name("directory")), Err(Refusal::NotEmpty));
    assert_eq!(files.remove_directory(directory, name("a")), Err(Refusal::NotDirectory));
    assert_eq!(files.unlink(ROOT, name("directory")), Err(Refusal::IsDirectory));
    assert_eq!(files.link(directory, ROOT, name("b")), Err(Refusal::IsDirectory));
    assert_eq!(files.rename(at("absent"), at("b"), Replace::Allowed), Err(Refusal::NotFound));
    let file = new_file(&mut files, ROOT, "file");
    assert_eq!(files.rename(at("file"), at("directory"), Replace::Allowed), Err(Refusal::IsDirectory));
    assert_eq!(files.rename(at("directory"), at("file"), Replace::Allowed), Err(Refusal::NotDirectory));
    assert_eq!(files.rename(at("file"), (directory, name("a")), Replace::Never), Err(Refusal::Exists));
    let socket = files.create(ROOT, name("socket"), Kind::Socket, ACCESS).unwrap();
    assert_eq!(files.write(socket, 0, b"x"), Err(Refusal::NoContent));
    assert_eq!(files.read(directory, 0, 1), Err(Refusal::IsDirectory));
    files.write(file, 0, &[1; 6000]).unwrap();
    assert_eq!(files.write(inode, 0, &[1; 6000]), Err(Refusal::Full));
    assert_eq!(files.write(inode, u64::MAX, b"x"), Err(Refusal::Full));
    files.set_size(file, 1000).unwrap();
    files.write(inode, 0, &[1; 6000]).unwrap();
    assert_eq!(files.usage(), (10_000, 7000));
}
