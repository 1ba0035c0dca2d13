//! The latencies of one command as a histogram in pages: the buckets of `histogram`, of which only those octaves have
//! memory that a latency has fallen into. A script may have very many commands, and most take about as long each time:
//! some 50 kB instead of 300 kB. Filled by `command_table`; for figures it becomes a whole [`Distribution`].

use crate::distribution::bucket_of;
use crate::histogram::{BUCKETS, Bucket, Histogram};
use crate::{Distribution, Moments};

/// Buckets of one power of two.
const PAGE_LEN: usize = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 10;
const PAGES: usize = BUCKETS.div_ceil(PAGE_LEN);

type Page = [u64; PAGE_LEN];

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLatencies {
    pages: [Option<Box<Page>>; PAGES],
}

impl CommandLatencies {
    pub(crate) fn new() -> CommandLatencies {
        CommandLatencies { pages: [const { None }; PAGES] }
    }

    /// Counts one latency. The first one of an octave allocates 8 kB, no other does.
    #[inline]
    pub(crate) fn record(&mut self, value_ns: u64) {
        let index = bucket_of(value_ns).index();
        let page = &mut self.pages[index >> PAGE_BITS];
        let page = match page {
            Some(page) => page,
            None => new_page(page),
        };
        page[index & (PAGE_LEN - 1)] += 1;
    }

    pub(crate) fn merge(&mut self, other: &CommandLatencies) {
        for (ours, theirs) in self.pages.iter_mut().zip(&other.pages) {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => {
                    ours.iter_mut().zip(theirs.iter()).for_each(|(ours, theirs)| *ours += theirs);
                }
                (ours @ None, Some(_)) => ours.clone_from(theirs),
                (_, None) => {}
            }
        }
    }

    /// The whole distribution; `moments` are of the same latencies.
    pub(crate) fn distribution(&self, moments: Moments) -> Distribution {
        let mut histogram = Histogram::new();
        let counts =
            self.pages.iter().zip(0u64..).filter_map(|(page, number)| Some((page.as_ref()?, number)));
        for (page, number) in counts {
            let first = number << PAGE_BITS;
            for (count, index) in page.iter().zip(first..).filter(|(count, _)| **count > 0) {
                let bucket = Bucket::at(index).expect("only buckets that there are were counted");
                histogram.record_many(bucket, *count);
            }
        }
        Distribution::of_parts(histogram, moments)
    }
}

#[cold]
fn new_page(page: &mut Option<Box<Page>>) -> &mut Box<Page> {
    page.insert(Box::new([0; PAGE_LEN]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HIGHEST_TRACKED_NS;

    #[test]
    fn pages_become_the_distribution_that_would_have_counted_the_same() {
        let values_ns = [0, 3, 2_047, 2_048, 150_000, 151_000, 90_000_000, HIGHEST_TRACKED_NS, u64::MAX];
        let (mut first, mut second) = (CommandLatencies::new(), CommandLatencies::new());
        let (mut whole, mut moments) = (Distribution::new(), Moments::default());
        for (at, value_ns) in values_ns.into_iter().enumerate() {
            let pages = if at % 2 == 0 { &mut first } else { &mut second };
            pages.record(value_ns);
            moments.record(value_ns);
            whole.record_ns(value_ns);
        }
        first.merge(&second);
        assert_eq!(first.distribution(moments), whole);
    }
}
