//! The content of one file: durable bytes, and over them the pages that were written since the last flush. A power loss
//! removes these pages, or a random half of them. Pure.

use std::collections::BTreeMap;

use crate::draws::Draws;

/// What reaches the disk whole or not at all. PostgreSQL's pages have two of them, so that they can be torn.
pub const PAGE_BYTES: usize = 4096;

type Page = [u8; PAGE_BYTES];

/// The content of a file.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    durable: Vec<u8>,
    /// Bytes at the begin of `durable` that were not cut off since the last flush; what is beyond reads as zeros.
    kept: u64,
    /// Pages written since the last flush, by number.
    unflushed: BTreeMap<u64, Box<Page>>,
    size: u64,
}

/// How many unflushed pages a power loss removed and spared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageLoss {
    /// Their content is as it was at the last flush.
    pub forgotten: u64,
    /// They reached the disk although nobody asked for it.
    pub survived: u64,
}

impl Pages {
    /// Size in bytes, as processes see it.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes from `offset` on, at most `length`; fewer at the end of the file.
    pub fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let end = self.size.min(offset.saturating_add(length as u64));
        let mut bytes = Vec::new();
        let mut at = offset;
        while at < end {
            let (number, within) = position(at);
            let page_end = end.min((number + 1) * PAGE_BYTES as u64);
            let count = index(page_end - at);
            match self.unflushed.get(&number) {
                Some(page) => bytes.extend_from_slice(&page[within..within + count]),
                None => bytes.extend_from_slice(&self.flushed_page(number)[within..within + count]),
            }
            at = page_end;
        }
        bytes
    }

    /// Writes bytes at `offset`; a gap behind the former end is filled with zeros.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) {
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (number, within) = position(at);
            let count = rest.len().min(PAGE_BYTES - within);
            let before = self.unflushed.remove(&number);
            let mut page = before.unwrap_or_else(|| Box::new(self.flushed_page(number)));
            page[within..within + count].copy_from_slice(&rest[..count]);
            self.unflushed.insert(number, page);
            at += count as u64;
            rest = &rest[count..];
        }
        if !bytes.is_empty() {
            self.size = self.size.max(at);
        }
    }

    /// Cuts the file off, or extends it by zeros.
    pub fn set_size(&mut self, size: u64) {
        if size < self.size {
            self.kept = self.kept.min(size);
            let (number, within) = position(size);
            self.unflushed.split_off(&(number + u64::from(within > 0)));
            if let Some(page) = self.unflushed.get_mut(&number) {
                page[within..].fill(0);
            }
        }
        self.size = size;
    }

    /// Makes the content and the size durable.
    pub fn flush(&mut self) {
        self.resize_durable();
        for (number, page) in std::mem::take(&mut self.unflushed) {
            overlay(&mut self.durable, number, &page);
        }
    }

    /// Goes back to the state of the last flush. With draws, each unflushed page and the unflushed size survive in half of
    /// the cases, independently: writes are torn and reordered.
    pub fn lose(&mut self, draws: Option<&mut Draws>) -> PageLoss {
        let mut loss = PageLoss::default();
        let unflushed = std::mem::take(&mut self.unflushed);
        match draws {
            None => loss.forgotten = unflushed.len() as u64,
            Some(draws) => {
                let has_new_size = self.size != self.durable.len() as u64 || self.kept < self.size;
                if has_new_size && draws.coin() {
                    self.resize_durable();
                }
                for (number, page) in unflushed {
                    if number * (PAGE_BYTES as u64) < self.durable.len() as u64 && draws.coin() {
                        overlay(&mut self.durable, number, &page);
                        loss.survived += 1;
                    } else {
                        loss.forgotten += 1;
                    }
                }
            }
        }
        self.size = self.durable.len() as u64;
        self.kept = self.size;
        loss
    }

    fn resize_durable(&mut self) {
        self.durable.truncate(index(self.kept));
        self.durable.resize(index(self.size), 0);
        self.kept = self.size;
    }

    /// A page without what was written since the last flush.
    fn flushed_page(&self, number: u64) -> Page {
        let mut page = [0; PAGE_BYTES];
        let from = number * PAGE_BYTES as u64;
        if from < self.kept {
            let bytes = &self.durable[index(from)..index(self.kept.min(from + PAGE_BYTES as u64))];
            page[..bytes.len()].copy_from_slice(bytes);
        }
        page
    }
}

/// Writes a page over the bytes, as far as they reach.
fn overlay(bytes: &mut [u8], number: u64, page: &Page) {
    let from = index(number * PAGE_BYTES as u64).min(bytes.len());
    let count = PAGE_BYTES.min(bytes.len() - from);
    bytes[from..from + count].copy_from_slice(&page[..count]);
}

/// The page of a byte, and the byte's place in it.
fn position(offset: u64) -> (u64, usize) {
    (offset / PAGE_BYTES as u64, index(offset % PAGE_BYTES as u64))
}

/// An index into memory; the file system's capacity is far below the address space.
fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("files are smaller than the memory")
}
