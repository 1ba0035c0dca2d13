//! The messages of a scale and a seed, with a sample of them; `synthetic` makes each message. Called by `mod` for rows,
//! queries and checks.

use std::sync::{Arc, Mutex, PoisonError};

use stats::Scale;

use super::sample::{MESSAGES_MAX, Sample};
use super::synthetic::{BLOCK, Synthetic};
use super::vocabulary::{WORDS, word};
use crate::shelf::computed::table_of_units;
use loading::loader::execution::LoadTable;

/// Messages of a unit of scale.
const MESSAGES_PER_SCALE: f64 = 10_000.0;

/// The first so many messages of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Corpus {
    pub(super) synthetic: Synthetic,
    pub(super) messages: u64,
}

impl Corpus {
    pub(super) fn new(scale: Scale, seed: u64) -> Corpus {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "scales are positive; saturates"
        )]
        let messages = (scale.units() * MESSAGES_PER_SCALE).round().max(1.0) as u64;
        // Whole blocks, so that no thread is cut.
        Corpus { synthetic: Synthetic { seed }, messages: messages.div_ceil(BLOCK) * BLOCK }
    }

    /// Messages at equal distances, so that smaller and larger numbers of queries have the same sample.
    pub(super) fn sample(self) -> Sample {
        let count = self.messages.min(MESSAGES_MAX);
        let numbers = (0..count).map(|number| number * self.messages / count);
        Sample::new(
            numbers.map(|number| self.synthetic.words(number)).collect(),
            (0..WORDS).map(word).collect(),
        )
    }

    /// The rows.
    pub(super) fn table(self) -> LoadTable {
        let write = move |block, out: &mut Vec<u8>| self.synthetic.write_block(block, out);
        table_of_units("messages", (self.messages / BLOCK, BLOCK), write)
    }
}

/// A corpus with its sample. The last one is kept, because a command asks for its queries several times.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) corpus: Corpus,
    pub(super) sample: Sample,
}

impl Opened {
    pub(super) fn new(scale: Scale, seed: u64) -> Arc<Opened> {
        static LAST: Mutex<Option<Arc<Opened>>> = Mutex::new(None);
        let corpus = Corpus::new(scale, seed);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = last.as_ref().filter(|opened| opened.corpus == corpus) {
            return Arc::clone(opened);
        }
        let opened = Arc::new(Opened { corpus, sample: corpus.sample() });
        *last = Some(Arc::clone(&opened));
        opened
    }
}
