//! The messages that the parameter `corpus` names: synthetic ones, Debian changelogs, or mbox files. Called by `mod` for
//! rows, queries and checks.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use stats::Scale;

use super::changelogs::Changelogs;
use super::mbox::Mbox;
use super::message::{MessageSource, write_row};
use super::sample::{MESSAGES_MAX, Sample};
use super::synthetic::{BLOCK, Synthetic};
use super::vocabulary::{WORDS, word};
use crate::WorkloadError;
use crate::loader::LoadTable;
use crate::shelf::computed::{table, table_of_units};

/// Messages of a unit of scale.
pub(super) const MESSAGES_PER_SCALE: f64 = 10_000.0;
/// The table.
const MESSAGES: &str = "messages";

/// The values of the parameter.
const SYNTHETIC: &str = "synthetic";
const CHANGELOGS: &str = "changelogs";
const MBOX: &str = "mbox";
/// Where Debian's packages have their changelogs.
const CHANGELOGS_FOLDER: &str = "/usr/share/doc";

/// Messages.
#[derive(Clone, Debug)]
pub(super) enum Corpus {
    Synthetic {
        synthetic: Synthetic,
        messages: u64,
    },
    /// The first so many messages of files.
    Files {
        source: Arc<dyn MessageSource>,
        messages: u64,
    },
}

impl Corpus {
    pub(super) fn synthetic(scale: Scale, seed: u64) -> Corpus {
        // Whole blocks, so that no thread is cut.
        Corpus::Synthetic { synthetic: Synthetic { seed }, messages: wanted(scale).div_ceil(BLOCK) * BLOCK }
    }

    /// Those that the parameter names.
    ///
    /// # Errors
    /// The value is unknown, or there are no such messages.
    pub(super) fn open(parameter: &str, scale: Scale, seed: u64) -> Result<Corpus, WorkloadError> {
        let (kind, path) = parameter.split_once(':').unwrap_or((parameter, ""));
        let source: Arc<dyn MessageSource> = match kind {
            SYNTHETIC if path.is_empty() => return Ok(Corpus::synthetic(scale, seed)),
            CHANGELOGS => {
                let folder = if path.is_empty() { CHANGELOGS_FOLDER } else { path };
                Arc::new(Changelogs::read(Path::new(folder), wanted(scale)).map_err(WorkloadError::Corpus)?)
            }
            MBOX if !path.is_empty() => {
                Arc::new(Mbox::open(Path::new(path), wanted(scale)).map_err(WorkloadError::Corpus)?)
            }
            _ => {
                return Err(WorkloadError::Corpus(format!(
                    "the parameter corpus is {SYNTHETIC}, {CHANGELOGS} or {MBOX}:FILE, not \"{parameter}\""
                )));
            }
        };
        Ok(Corpus::Files { messages: source.len(), source })
    }

    pub(super) fn messages(&self) -> u64 {
        let (Corpus::Synthetic { messages, .. } | Corpus::Files { messages, .. }) = self;
        *messages
    }

    /// The text search configuration of its language.
    pub(super) fn configuration(&self) -> &'static str {
        match self {
            Corpus::Synthetic { .. } => "pg_catalog.simple",
            Corpus::Files { .. } => "pg_catalog.english",
        }
    }

    /// Messages at equal distances, so that smaller and larger numbers of queries have the same sample.
    pub(super) fn sample(&self) -> Result<Sample, WorkloadError> {
        let messages = self.messages();
        let count = messages.min(MESSAGES_MAX);
        let numbers = (0..count).map(|number| number * messages / count);
        match self {
            Corpus::Synthetic { synthetic, .. } => Ok(Sample::new(
                numbers.map(|number| synthetic.words(number)).collect(),
                (0..WORDS).map(word).collect(),
            )),
            Corpus::Files { source, .. } => {
                let mut failure = None;
                let bodies = numbers.map_while(|number| match source.message(number) {
                    Ok(message) => Some(message.body),
                    Err(error) => {
                        failure = Some(error);
                        None
                    }
                });
                let sample = Sample::of_texts(bodies);
                match failure {
                    Some(error) => Err(WorkloadError::Corpus(error)),
                    None if !sample.has_words() => Err(WorkloadError::Corpus(format!(
                        "{source} has messages, but no words to search for: a word has at least three letters of ASCII"
                    ))),
                    None => Ok(sample),
                }
            }
        }
    }

    /// The rows.
    pub(super) fn tables(&self) -> Vec<LoadTable> {
        let (messages, configuration) = (self.messages(), self.configuration());
        let table = match self {
            Corpus::Synthetic { synthetic, .. } => {
                let synthetic = *synthetic;
                table_of_units(MESSAGES, (messages / BLOCK, BLOCK), move |block, out| {
                    synthetic.write_block(block, out)
                })
            }
            Corpus::Files { source, .. } => {
                let source = Arc::clone(source);
                table(MESSAGES, messages, move |number, out| {
                    write_row(number, source.message(number), configuration, out);
                })
            }
        };
        vec![table]
    }
}

/// The messages of a scale.
fn wanted(scale: Scale) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "scales are positive; saturates"
    )]
    let messages = (scale.units() * MESSAGES_PER_SCALE).round().max(1.0) as u64;
    messages
}

/// A corpus with its sample. The last one is kept, because a command asks for its queries several times.
pub(super) struct Opened {
    pub(super) corpus: Corpus,
    pub(super) sample: Sample,
}

impl Opened {
    /// As [`Corpus::open`], with a sample.
    pub(super) fn new(parameter: &str, scale: Scale, seed: u64) -> Result<Arc<Opened>, WorkloadError> {
        static LAST: Mutex<Option<(String, Arc<Opened>)>> = Mutex::new(None);
        let key = format!("{scale} {seed} {parameter}");
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, opened)) = last.as_ref().filter(|(known, _)| *known == key) {
            return Ok(Arc::clone(opened));
        }
        let corpus = Corpus::open(parameter, scale, seed)?;
        let sample = corpus.sample()?;
        let opened = Arc::new(Opened { corpus, sample });
        *last = Some((key, Arc::clone(&opened)));
        Ok(opened)
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.corpus)
    }
}
