//! Records: any JSON is a record of today's schema or of an older one, or an error in one line. A record that is accepted
//! comes back the same when it is written and read, and can be shown in every format (one for each input): without a
//! panic, without NaN or infinity, and without text of others that steers a terminal or is taken for markup.

use std::path::Path;
use std::{fs, io};

use report::{Format, Run, Subject, TextStyle, document};
use results::{Record, steers};
use script::Random;

use super::digest::Digest;
use super::{Attempt, Target, allowance};
use crate::tree::{Tree, Vocabulary};

mod words;

pub const TARGET: Target = Target {
    name: "records",
    words: words::WORDS,
    generate: None,
    reshape: Some(reshape),
    length_max: 32 * 1024,
    short_round_divisor: 10,
    memory: |input| allowance(32 * 1024, 2048, input),
    prepare,
};

const VOCABULARY: Vocabulary = Vocabulary { bare: words::BARE, texts: words::TEXTS, keys: words::KEYS };

/// As wide as a terminal is by custom.
const STYLE: TextStyle = TextStyle { colour: false, width: 80 };
/// A record is shown in one format; the text has four turns of so many, the page one.
const FORMATS: u64 = 12;

pub(super) fn reshape(input: &[u8], other: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut tree = Tree::from_json(input)?;
    tree.change(Tree::from_json(other).as_ref(), &VOCABULARY, random);
    Some(tree.to_json().into_bytes())
}

/// What is held against a record under trial: one that nobody has changed, and its page.
struct Genuine {
    record: Record,
    /// Words in its page, the script's included, that would be numbers that are none.
    page: usize,
}

fn prepare() -> io::Result<Attempt> {
    let seed = TARGET.seeds().join("tpcb-like");
    let record = Record::from_json(&fs::read(&seed)?, &seed).map_err(io::Error::other)?;
    let page = no_numbers(&report::html(&document(&[Run { name: "1", record: &record }])));
    let genuine = Genuine { record, page };
    Ok(Box::new(move |input| attempt(&genuine, input)))
}

fn attempt(genuine: &Genuine, input: &[u8]) -> Result<u64, String> {
    let path = Path::new("r.json");
    let mut outcome = Digest::new();
    match Record::from_json(input, path) {
        Err(error) => {
            let said = error.to_string();
            if said.contains('\n') {
                return Err(format!("an error of several lines: {said}"));
            }
            outcome
                .show(&said.split(['"', '`']).step_by(2).collect::<String>().replace(char::is_numeric, ""));
        }
        Ok(record) => {
            let written = record.to_json();
            let again = Record::from_json(written.as_bytes(), path).map_err(|error| error.to_string())?;
            // Bytes of an unknown encoding are replaced when they are written.
            let is_decoded = !String::from_utf8_lossy(input).contains("\u{10ff}");
            if is_decoded && again.to_json() != written {
                return Err("written and read, it is another record".to_owned());
            }
            show(genuine, &record, input, &mut outcome)?;
        }
    }
    Ok(outcome.value())
}

/// Shows a record in one format, alone or beside another one.
fn show(genuine: &Genuine, record: &Record, input: &[u8], outcome: &mut Digest) -> Result<(), String> {
    let is_said = no_numbers(&String::from_utf8_lossy(input)) > 0;
    let (one, other) = (Run { name: "1", record }, Run { name: "2", record: &genuine.record });
    let mut check = |format: &str, shown: &str, allowed: usize| {
        if shown.contains(|character| steers(character) && !matches!(character, '\n' | '\t' | '\r')) {
            return Err(format!("{format} has a character that steers a terminal"));
        }
        if !is_said && no_numbers(shown) > allowed {
            return Err(format!("{format} has NaN or infinity: {}", around_no_number(shown)));
        }
        // Which sentences and lines there are, not which figures.
        let skeleton = shown.chars().filter(char::is_ascii_alphabetic).filter(char::is_ascii_uppercase);
        outcome.debug(&(skeleton.count() / 64));
        Ok(())
    };
    let mut digest = Digest::new();
    digest.add(input);
    // The input decides, so that it fails again by itself.
    let runs = if digest.value() & 1 == 0 { &[one][..] } else { &[other, one] };
    match digest.value() / 2 % FORMATS {
        0 => check("side by side", &report::text(&document(&[one, other]), &STYLE), 0),
        1 | 2 => check("markdown", &report::markdown(&document(runs)), 0),
        3 | 4 => check("CSV", &for_programs(runs, Format::Csv), 0),
        5 => check("JSON", &for_programs(runs, Format::Json), 0),
        6 => check("SVG", &report::svg(&document(runs)), 0),
        7 => report::png(&document(&[one])).map(drop).map_err(|error| format!("no picture: {error}")),
        8 => {
            let page = report::html(&document(runs));
            check("the page", &page, genuine.page)?;
            if page.contains(words::MARKUP) {
                return Err("the page has markup of others".to_owned());
            }
            Ok(())
        }
        _ => check("text", &report::text(&report::summary(record, true), &STYLE), 0),
    }
}

fn for_programs(runs: &[Run<'_>], format: Format) -> String {
    let runs: Vec<_> = runs.iter().map(|run| (run.name.to_owned(), run.record.clone())).collect();
    let text = report::formatted(Subject::Runs(&runs), format, &STYLE).expect("only a picture can fail");
    String::from_utf8(text).expect("it is text")
}

const NO_NUMBERS: [&str; 3] = ["NaN", "inf", "Infinity"];

/// How many words there are that stand for numbers that are none.
fn no_numbers(text: &str) -> usize {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| NO_NUMBERS.contains(word)).count()
}

/// The first line with such a word.
fn around_no_number(text: &str) -> String {
    let line = text.lines().find(|line| no_numbers(line) > 0).unwrap_or_default();
    let at = NO_NUMBERS.iter().filter_map(|word| line.find(word)).min().unwrap_or(0);
    line.chars().skip(at.saturating_sub(100)).take(200).collect()
}
