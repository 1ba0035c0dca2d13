//! Where the blocks of a statement, a query or a transaction were found: in shared buffers, in the system's cache, or on
//! disk. The server counts the blocks that it asked the system for, the kernel the bytes that came from disks. Pure.

/// Blocks by the place where they were found.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct BlockSources {
    /// Found in shared buffers.
    pub shared_buffers: f64,
    /// Read from the operating system, which had them in its cache.
    pub system_cache: f64,
    /// Read from disk.
    pub disk: f64,
    /// What disks delivered beyond the blocks read, in blocks, so that it is in none of the others: the kernel's
    /// read-ahead, and reads of other files such as temporary ones.
    pub disk_excess: f64,
}

impl BlockSources {
    /// `hit` and `read`: blocks as the server counts them; `disk`: bytes from disks as the kernel counts them, in blocks.
    /// At most the blocks read count as from disk. `None` if no block was accessed, or a number is not one of blocks.
    pub fn new(hit: f64, read: f64, disk: f64) -> Option<BlockSources> {
        let is_known = [hit, read, disk].iter().all(|blocks| blocks.is_finite() && *blocks >= 0.0);
        let from_disk = disk.min(read);
        (is_known && hit + read > 0.0).then_some(BlockSources {
            shared_buffers: hit,
            system_cache: read - from_disk,
            disk: from_disk,
            disk_excess: disk - from_disk,
        })
    }

    /// Blocks accessed.
    pub fn all(&self) -> f64 {
        self.shared_buffers + self.system_cache + self.disk
    }

    /// The share of a number of blocks in all that were accessed.
    pub fn share(&self, blocks: f64) -> f64 {
        blocks / self.all()
    }

    /// The share of the disk in the blocks read from the operating system; `None` if none was.
    pub fn disk_share_of_reads(&self) -> Option<f64> {
        let read = self.system_cache + self.disk;
        (read > 0.0).then(|| self.disk / read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_in_one_place() {
        let found = BlockSources::new(600.0, 400.0, 100.0).unwrap();
        let expected =
            BlockSources { shared_buffers: 600.0, system_cache: 300.0, disk: 100.0, disk_excess: 0.0 };
        assert_eq!((found, found.all()), (expected, 1000.0));
        assert!((found.share(found.system_cache) - 0.3).abs() < 1e-12);
    }

    #[test]
    fn the_disk_has_at_most_the_blocks_read_and_the_rest_is_named() {
        let found = BlockSources::new(608.0, 26_059.0, 26_667.0).unwrap();
        assert_eq!((found.system_cache, found.disk, found.disk_excess), (0.0, 26_059.0, 608.0));
        let all_hit = BlockSources::new(5.0, 0.0, 2.0).unwrap();
        assert_eq!((found.disk_share_of_reads(), all_hit.disk_share_of_reads()), (Some(1.0), None));
        assert_eq!((all_hit.shared_buffers, all_hit.disk, all_hit.disk_excess), (5.0, 0.0, 2.0));
    }

    #[test]
    fn without_blocks_there_is_nothing_to_divide() {
        for [hit, read, disk] in
            [[0.0, 0.0, 3.0], [-1.0, 5.0, 0.0], [1.0, f64::NAN, 0.0], [1.0, 1.0, f64::INFINITY]]
        {
            assert_eq!(BlockSources::new(hit, read, disk), None);
        }
    }
}
