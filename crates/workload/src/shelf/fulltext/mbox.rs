//! Messages of mbox files: a line that begins with `From ` after an empty line begins a message (RFC 4155). A first pass
//! finds the place of each message and its thread; bodies are read and decoded when they are needed.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use mail_parser::{Address, MessageParser};

use super::changelogs::seconds;
use super::message::{Message, MessageSource};

/// The beginning of the line before a message.
const FROM: &[u8] = b"From ";
/// The part of a message that is read: attachments behind it do not count.
const MESSAGE_LENGTH_MAX: u64 = 4 << 20;
/// The part of a line that is looked at.
const LINE_LENGTH_MAX: usize = 64 << 10;

/// The files with the places of their messages.
#[derive(Debug)]
pub(super) struct Mbox {
    path: PathBuf,
    files: Vec<(PathBuf, File)>,
    places: Vec<Place>,
}

/// The place of a message.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    /// Of the first byte behind the line `From `.
    start: u64,
    length: u64,
    thread: u64,
    parent: Option<u64>,
}

impl Mbox {
    /// Finds the first so many messages of a file, or of the files of a directory in the order of their names.
    ///
    /// # Errors
    /// There are none, or a file cannot be read; a sentence.
    pub(super) fn open(path: &Path, messages_max: u64) -> Result<Mbox, String> {
        let unreadable = |path: &Path, error: io::Error| format!("cannot read {}: {error}", path.display());
        let mut paths = vec![path.to_owned()];
        if path.is_dir() {
            let entries = fs::read_dir(path).map_err(|error| unreadable(path, error))?;
            paths = entries.flatten().map(|entry| entry.path()).filter(|file| file.is_file()).collect();
            paths.sort();
        }
        let mut mbox = Mbox { path: path.to_owned(), files: Vec::new(), places: Vec::new() };
        let mut threads = Threads::default();
        for path in paths {
            if mbox.len() >= messages_max {
                break;
            }
            // Pipes and devices may never end.
            if !fs::metadata(&path).map_err(|error| unreadable(&path, error))?.is_file() {
                return Err(format!("cannot read {}: it is not a regular file", path.display()));
            }
            let file = File::open(&path).map_err(|error| unreadable(&path, error))?;
            mbox.add(&file, messages_max, &mut threads).map_err(|error| unreadable(&path, error))?;
            mbox.files.push((path, file));
        }
        if mbox.places.is_empty() {
            return Err(format!(
                "{} has no messages: in an mbox file, each message begins with a line such as \"From ann@example.org \
                 Mon Jan  2 15:04:05 2006\". Decompress archives first",
                path.display()
            ));
        }
        Ok(mbox)
    }

    fn add(&mut self, file: &File, messages_max: u64, threads: &mut Threads) -> io::Result<()> {
        let mut lines = Lines { reader: BufReader::with_capacity(1 << 20, file), line: Vec::new(), next: 0 };
        let mut is_after_empty = true;
        let mut headers: Option<Headers> = None;
        while let Some(start) = lines.advance()? {
            let line = lines.line.as_slice();
            if is_after_empty && line.starts_with(FROM) {
                self.end(start, &mut headers, threads);
                if self.len() >= messages_max {
                    return Ok(());
                }
                let place =
                    Place { file: self.files.len(), start: lines.next, length: 0, thread: 0, parent: None };
                self.places.push(place);
                headers = Some(Headers::default());
                is_after_empty = false;
                continue;
            }
            is_after_empty = matches!(line, b"" | b"\n" | b"\r\n");
            if let Some(headers) = &mut headers {
                headers.add(line, is_after_empty);
            }
        }
        self.end(lines.next, &mut headers, threads);
        Ok(())
    }

    /// Completes the last place.
    fn end(&mut self, at: u64, headers: &mut Option<Headers>, threads: &mut Threads) {
        let number = self.len().saturating_sub(1);
        if let (Some(headers), Some(place)) = (headers.take(), self.places.last_mut()) {
            place.length = at - place.start;
            (place.thread, place.parent) = threads.add(number, &headers);
        }
    }

    fn bytes(&self, place: &Place) -> Result<Vec<u8>, String> {
        let (path, file) = &self.files[place.file];
        let length = usize::try_from(place.length.min(MESSAGE_LENGTH_MAX)).unwrap_or(0);
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, place.start)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok(bytes)
    }
}

/// The lines of a file with their places.
struct Lines<'a> {
    reader: BufReader<&'a File>,
    /// The beginning of the line, with its end if it is short.
    line: Vec<u8>,
    /// The place of the next line.
    next: u64,
}

impl Lines<'_> {
    /// Reads the next line; returns its place, or `None` at the end of the file.
    fn advance(&mut self) -> io::Result<Option<u64>> {
        let start = self.next;
        self.line.clear();
        loop {
            let available = self.reader.fill_buf()?;
            let end = available.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let length = end.unwrap_or(available.len());
            if length == 0 {
                break;
            }
            let kept = length.min(LINE_LENGTH_MAX.saturating_sub(self.line.len()));
            self.line.extend_from_slice(&available[..kept]);
            self.reader.consume(length);
            self.next += length as u64;
            if end.is_some() {
                break;
            }
        }
        Ok((self.next > start).then_some(start))
    }
}

/// The headers of a message that say its thread.
#[derive(Default)]
struct Headers {
    is_complete: bool,
    /// Of the header to which a line that begins with a space belongs.
    current: Option<usize>,
    values: [Vec<u8>; 3],
}

impl Headers {
    const NAMES: [&[u8]; 3] = [b"message-id:", b"in-reply-to:", b"references:"];
    const VALUE_LENGTH_MAX: usize = 16 << 10;

    fn add(&mut self, line: &[u8], is_empty: bool) {
        self.is_complete |= is_empty;
        if self.is_complete {
            return;
        }
        if !matches!(line.first(), Some(b' ' | b'\t')) {
            let is_own =
                |name: &&[u8]| line.len() >= name.len() && line[..name.len()].eq_ignore_ascii_case(name);
            self.current = Self::NAMES.iter().position(is_own);
        }
        if let Some(header) = self.current {
            let value = &mut self.values[header];
            let room = Self::VALUE_LENGTH_MAX.saturating_sub(value.len());
            value.extend_from_slice(&line[..line.len().min(room)]);
        }
    }

    /// The identifiers in a header: `<a@b>`.
    fn identifiers(&self, header: usize) -> Vec<&[u8]> {
        let parts = self.values[header].split(|byte| *byte == b'<').skip(1);
        parts.filter_map(|part| part.split(|byte| *byte == b'>').next()).collect()
    }
}

/// The messages so far by their identifiers.
#[derive(Default)]
struct Threads {
    known: HashMap<Vec<u8>, (u64, u64)>,
}

impl Threads {
    /// The thread of a message, and the earlier message that it answers. An answer before its question begins a thread.
    fn add(&mut self, number: u64, headers: &Headers) -> (u64, Option<u64>) {
        // The last reference is the nearest.
        let references = headers.identifiers(2);
        let mut candidates = headers.identifiers(1).into_iter().chain(references.into_iter().rev());
        let found = candidates.find_map(|identifier| self.known.get(identifier)).copied();
        let (thread, parent) = found.map_or((number, None), |(parent, thread)| (thread, Some(parent)));
        if let Some(identifier) = headers.identifiers(0).first() {
            self.known.entry(identifier.to_vec()).or_insert((number, thread));
        }
        (thread, parent)
    }
}

/// Undoes the escapes of lines in a body: `>From ` becomes `From `.
fn without_escapes(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let marks = line.iter().take_while(|byte| **byte == b'>').count();
        let is_escaped = marks > 0 && line[marks..].starts_with(FROM);
        out.extend_from_slice(&line[usize::from(is_escaped)..]);
    }
    out
}

/// `Ann <ann@example.org>`.
fn author(address: Option<&Address<'_>>) -> String {
    let Some(address) = address.and_then(Address::first) else { return String::new() };
    match (address.name.as_deref(), address.address.as_deref()) {
        (Some(name), Some(mail)) => format!("{name} <{mail}>"),
        (name, mail) => name.or(mail).unwrap_or_default().to_owned(),
    }
}

impl fmt::Display for Mbox {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.path.display())
    }
}

impl MessageSource for Mbox {
    fn len(&self) -> u64 {
        self.places.len() as u64
    }

    fn message(&self, number: u64) -> Result<Message, String> {
        let place = usize::try_from(number).ok().and_then(|number| self.places.get(number));
        let place = place.ok_or_else(|| format!("{self} has no message {number}"))?;
        let bytes = without_escapes(&self.bytes(place)?);
        let own = Message { thread: place.thread, parent: place.parent, ..Message::default() };
        // A message without headers has nothing but a body.
        let Some(parsed) = MessageParser::default().parse(&bytes) else {
            return Ok(Message { body: String::from_utf8_lossy(&bytes).into_owned(), ..own });
        };
        Ok(Message {
            sent: parsed.date().and_then(seconds),
            author: author(parsed.from()),
            subject: parsed.subject().unwrap_or_default().to_owned(),
            body: parsed.body_text(0).unwrap_or_default().into_owned(),
            ..own
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folded headers, an encoded subject, quoted-printable, base64, Latin-1, an escaped line, missing headers, and a date
    /// that does not exist.
    const ARCHIVE: &str = "\
From ann@example.org Mon Jan  2 15:04:05 2006
Message-ID: <1@example.org>
From: Ann Author <ann@example.org>
Date: Mon, 2 Jan 2006 15:04:05 +0100
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

An index for f=FCr words.
>From here on
From there not

From bob@example.org Tue Jan  3 15:04:05 2006
Message-ID:
 <2@example.org>
In-Reply-To:
\t<1@example.org>
From: bob@example.org
Date: Mon, 99 Foo 2006 99:99:99 +0000
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: base64

VGhlIGhlYXA=

From carl@example.org Wed Jan  4 15:04:05 2006
References: <1@example.org> <2@example.org>

A third message.
";

    fn mbox(text: &[u8], messages_max: u64) -> Result<Mbox, String> {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("archive.mbox");
        fs::write(&path, text).expect("a file");
        Mbox::open(&path, messages_max)
    }

    #[test]
    fn messages_are_decoded_and_have_their_threads() {
        let mbox = mbox(ARCHIVE.as_bytes(), 100).expect("messages");
        assert_eq!(mbox.len(), 3);
        let [first, second, third] = [0, 1, 2].map(|number| mbox.message(number).expect("a message"));
        assert_eq!(
            (first.author.as_str(), first.subject.as_str()),
            ("Ann Author <ann@example.org>", "Grüße")
        );
        assert_eq!((first.thread, first.parent, first.sent), (0, None, Some(1_136_210_645)));
        assert_eq!(first.body.trim_end(), "An index for für words.\nFrom here on\nFrom there not");
        assert_eq!((second.thread, second.parent, second.sent), (0, Some(0), None));
        assert_eq!(second.body.trim_end(), "The heap");
        assert_eq!((third.thread, third.parent, third.body.trim_end()), (0, Some(1), "A third message."));
        assert_eq!(self::mbox(ARCHIVE.as_bytes(), 2).expect("messages").len(), 2);
    }

    #[test]
    fn files_without_messages_are_refused_and_no_bytes_cause_a_panic() {
        for text in [&b""[..], b"not an mbox", b"\x1f\x8b\x08\x00"] {
            let error = mbox(text, 100).expect_err("no messages");
            assert!(error.contains("has no messages: in an mbox file"), "{error}");
        }
        let mut random = script::Random::from_seed(1);
        for _ in 0..300 {
            let mut bytes = ARCHIVE.as_bytes().to_vec();
            for _ in 0..10 {
                let at = usize::try_from(random.range(bytes.len() as u64 - 1)).expect("small");
                bytes[at] = random.next_u64().to_le_bytes()[0];
            }
            if let Ok(mbox) = mbox(&bytes, 100) {
                (0..mbox.len()).for_each(|number| drop(mbox.message(number)));
            }
        }
    }

    #[test]
    fn a_directory_has_the_messages_of_all_its_files() {
        let folder = tempfile::tempdir().expect("a directory");
        for name in ["2006-01", "2006-02"] {
            fs::write(folder.path().join(name), ARCHIVE).expect("a file");
        }
        assert_eq!(Mbox::open(folder.path(), 100).expect("messages").len(), 6);
        assert_eq!(Mbox::open(folder.path(), 4).expect("messages").len(), 4);
        let error = Mbox::open(Path::new("/dev/zero"), 4).expect_err("a device has no end");
        assert_eq!(error, "cannot read /dev/zero: it is not a regular file");
        let error = Mbox::open(&folder.path().join("missing"), 4).expect_err("no file");
        assert!(error.starts_with("cannot read "), "{error}");
    }
}
