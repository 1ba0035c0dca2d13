//! The entries of installed Debian changelogs as messages: a package is a thread, and an entry answers the one before. The
//! format is that of Debian's policy manual, section 4.4.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use mail_parser::DateTime;

use super::message::{Message, MessageSource};

/// A changelog has less text than this.
const TEXT_LENGTH_MAX: u64 = 64 << 20;
/// Beginning of the line that ends an entry.
const TRAILER: &str = " -- ";

/// The messages.
#[derive(Debug)]
pub(super) struct Changelogs {
    folder: PathBuf,
    messages: Vec<Message>,
}

impl Changelogs {
    /// Reads the changelogs below a directory, until there are so many messages.
    ///
    /// # Errors
    /// There are none; a sentence.
    pub(super) fn read(folder: &Path, messages_max: u64) -> Result<Changelogs, String> {
        let entries =
            fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
        let mut packages: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        packages.sort();
        let mut collected = Collected::default();
        for package in packages {
            let mut files: Vec<PathBuf> = fs::read_dir(package)
                .map(|files| files.flatten().map(|file| file.path()).collect())
                .unwrap_or_default();
            files.retain(|file| is_changelog(file));
            files.sort();
            // A file that cannot be read is left out: the others are as good.
            files.iter().for_each(|file| collected.add(&text(file).unwrap_or_default()));
            if collected.messages.len() as u64 >= messages_max {
                break;
            }
        }
        let mut messages = collected.messages;
        messages.truncate(usize::try_from(messages_max).unwrap_or(usize::MAX));
        if messages.is_empty() {
            return Err(format!(
                "there are no messages: {} has no Debian changelogs (*/changelog.Debian.gz), which small images of \
                 containers leave out. Use -D corpus=synthetic or -D corpus=mbox:FILE",
                folder.display()
            ));
        }
        Ok(Changelogs { folder: folder.to_owned(), messages })
    }
}

fn is_changelog(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("changelog.Debian") && name.ends_with(".gz")
}

fn text(file: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    GzDecoder::new(BufReader::new(File::open(file)?)).take(TEXT_LENGTH_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Messages so far.
#[derive(Default)]
struct Collected {
    messages: Vec<Message>,
    /// Heading and trailer of each entry: packages of one source have the same changelog.
    known: BTreeSet<(String, String)>,
    /// The first and the last message of each source package.
    threads: HashMap<String, (u64, u64)>,
}

impl Collected {
    /// The newest entry of a changelog comes first; its messages begin with the oldest.
    fn add(&mut self, text: &str) {
        for (heading, lines, trailer) in entries(text).into_iter().rev() {
            if !self.known.insert((heading.to_owned(), trailer.to_owned())) {
                continue;
            }
            let number = self.messages.len() as u64;
            let source = heading.split(' ').next().unwrap_or_default().to_owned();
            let thread = self.threads.entry(source).or_insert((number, number));
            let parent = (thread.1 != number).then_some(thread.1);
            thread.1 = number;
            let (author, sent) = trailer.split_once(">  ").unwrap_or((trailer, ""));
            let author = if sent.is_empty() { author.to_owned() } else { format!("{author}>") };
            self.messages.push(Message {
                thread: thread.0,
                parent,
                sent: DateTime::parse_rfc822(sent).and_then(|date| seconds(&date)),
                author,
                subject: heading.split(';').next().unwrap_or_default().to_owned(),
                body: lines.join("\n"),
            });
        }
    }
}

/// The entries of a text: heading, lines, and the trailer without its beginning.
fn entries(text: &str) -> Vec<(&str, Vec<&str>, &str)> {
    let mut entries = Vec::new();
    let mut current: Option<(&str, Vec<&str>)> = None;
    for line in text.lines() {
        match (line.strip_prefix(TRAILER), &mut current) {
            (Some(trailer), open) => {
                let done = open.take().filter(|(_, lines)| lines.iter().any(|line| !line.is_empty()));
                entries.extend(done.map(|(heading, lines)| (heading, lines, trailer)));
            }
            _ if line.starts_with(|first: char| first.is_ascii_alphanumeric()) && line.contains(" (") => {
                current = Some((line, Vec::new()));
            }
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    entries
}

/// Seconds since 1970; `None` of a date that does not exist or is earlier.
pub(super) fn seconds(date: &DateTime) -> Option<u64> {
    date.is_valid().then(|| date.to_timestamp()).and_then(|seconds| u64::try_from(seconds).ok())
}

impl fmt::Display for Changelogs {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.folder.display())
    }
}

impl MessageSource for Changelogs {
    fn len(&self) -> u64 {
        self.messages.len() as u64
    }

    fn message(&self, number: u64) -> Result<Message, String> {
        let message = usize::try_from(number).ok().and_then(|number| self.messages.get(number));
        message.cloned().ok_or_else(|| format!("{self} has no message {number}"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const CHANGELOG: &str = "\
shop (2.0-1) unstable; urgency=medium

  * New upstream release.
  * Fix the index.

 -- Ann Author <ann@example.org>  Mon, 02 Jan 2006 15:04:05 +0000

shop (1.0-1) unstable; urgency=low

  * Initial release.

 -- Bob <bob@example.org>  no date
";

    fn folder(packages: &[(&str, &str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a directory");
        for (package, file, text) in packages {
            fs::create_dir_all(folder.path().join(package)).expect("a directory");
            let file = File::create(folder.path().join(package).join(file)).expect("a file");
            let mut out = GzEncoder::new(file, Compression::fast());
            out.write_all(text.as_bytes()).and_then(|()| out.finish().map(drop)).expect("a file");
        }
        folder
    }

    #[test]
    fn entries_are_messages_once_and_the_oldest_comes_first() {
        let file = "changelog.Debian.gz";
        let folder =
            folder(&[("shop", file, CHANGELOG), ("shop-doc", file, CHANGELOG), ("x", "NEWS.gz", "x")]);
        let changelogs = Changelogs::read(folder.path(), 100).expect("messages");
        assert_eq!(changelogs.len(), 2);
        let [first, second] = [0, 1].map(|number| changelogs.message(number).expect("a message"));
        assert_eq!((first.parent, first.sent, first.subject.as_str()), (None, None, "shop (1.0-1) unstable"));
        assert_eq!((second.parent, second.thread, second.sent), (Some(0), 0, Some(1_136_214_245)));
        assert_eq!(second.author, "Ann Author <ann@example.org>");
        assert!(second.body.contains("  * Fix the index."), "{}", second.body);
        assert_eq!(Changelogs::read(folder.path(), 1).expect("messages").len(), 1);
    }

    #[test]
    fn a_directory_without_changelogs_is_refused() {
        let folder = folder(&[("x", "changelog.Debian.gz", "no entry")]);
        let error = Changelogs::read(folder.path(), 100).expect_err("no messages");
        assert!(
            error.starts_with("there are no messages: ") && error.contains("corpus=synthetic"),
            "{error}"
        );
        let error = Changelogs::read(&folder.path().join("missing"), 100).expect_err("no directory");
        assert!(error.starts_with("cannot read "), "{error}");
    }
}
