//! Wait events under their newest names, so that runs on different versions of PostgreSQL have the same names: those of
//! `wait_event_names.txt` in PostgreSQL 19 for all events that were renamed since 9.6. A name that stands for two events in
//! different versions (`RecoveryWalStream`, of the startup process only) is left as it is.

/// Type and name of a wait event.
pub(crate) type WaitEvent = (String, String);

pub(crate) fn owned((event_type, event): (&str, &str)) -> WaitEvent {
    (event_type.to_owned(), event.to_owned())
}

/// Name in the record for a backend that does not wait.
pub(crate) const RUNNING: (&str, &str) = (CPU, "running");
/// Name for a backend that waits for a CPU, which only the kernel's accounting shows.
pub(crate) const RUNNABLE: (&str, &str) = (CPU, "runnable");
/// The type of what is no wait: running, and waiting for a CPU.
pub(crate) const CPU: &str = "CPU";
/// The newest type and name of an event.
pub(crate) fn newest(event_type: &str, event: &str) -> WaitEvent {
    // 9.6 has two types of these.
    let event_type =
        if matches!(event_type, "LWLockNamed" | "LWLockTranche") { "LWLock" } else { event_type };
    match (event_type, event) {
        // Before 13 an LWLock, before 17 in capitals.
        ("LWLock", "buffer_io" | "BufferIO") | ("IPC", "BufferIO") => owned(("IPC", "BufferIo")),
        // 19 has further events of this type.
        ("BufferPin", "BufferPin") => owned(("Buffer", "BufferCleanup")),
        ("LWLock", _) => owned((event_type, newest_lock(event))),
        _ => owned((event_type, renamed(&RENAMED_EVENTS, event))),
    }
}

/// The newest name of an LWLock. Before 13, the names of single locks ended in "Lock".
fn newest_lock(event: &str) -> &str {
    let single = event.strip_suffix("Lock").filter(|name| SINGLE_LOCKS.contains(name));
    single.unwrap_or_else(|| renamed(&RENAMED_LOCKS, event))
}

fn renamed<'a>(names: &[(&str, &'static str)], event: &'a str) -> &'a str {
    names.iter().find(|(old, _)| *old == event).map_or(event, |(_, new)| new)
}

/// Single locks that kept their name in 13 but for its end.
const SINGLE_LOCKS: [&str; 36] = [
    "AddinShmemInit",
    "AutoFile",
    "Autovacuum",
    "AutovacuumSchedule",
    "BackgroundWorker",
    "BtreeVacuum",
    "Checkpoint",
    "CheckpointerComm",
    "CommitTs",
    "ControlFile",
    "DynamicSharedMemoryControl",
    "LogicalRepWorker",
    "MultiXactGen",
    "MultiXactTruncation",
    "NotifyQueueTail",
    "OidGen",
    "OldSnapshotTimeMap",
    "ProcArray",
    "RelCacheInit",
    "RelationMapping",
    "ReplicationOrigin",
    "ReplicationSlotAllocation",
    "ReplicationSlotControl",
    "SInvalRead",
    "SInvalWrite",
    "SerializableFinishedList",
    "SerializableXactHash",
    "ShmemIndex",
    "SyncRep",
    "SyncScan",
    "TablespaceCreate",
    "TwoPhaseState",
    "WALBufMapping",
    "WALWrite",
    "WrapLimitsVacuum",
    "XidGen",
];

/// LWLocks that were renamed in 13.
const RENAMED_LOCKS: [(&str, &str); 34] = [
    ("AsyncCtlLock", "NotifySLRU"),
    ("AsyncQueueLock", "NotifyQueue"),
    ("CLogControlLock", "XactSLRU"),
    ("CLogTruncationLock", "XactTruncation"),
    ("CommitTsControlLock", "CommitTsSLRU"),
    ("MultiXactMemberControlLock", "MultiXactMemberSLRU"),
    ("MultiXactOffsetControlLock", "MultiXactOffsetSLRU"),
    ("OldSerXidLock", "SerialSLRU"),
    ("SerializablePredicateLockListLock", "SerializablePredicateList"),
    ("SubtransControlLock", "SubtransSLRU"),
    ("async", "NotifyBuffer"),
    ("buffer_content", "BufferContent"),
    ("buffer_mapping", "BufferMapping"),
    ("clog", "XactBuffer"),
    ("commit_timestamp", "CommitTsBuffer"),
    ("lock_manager", "LockManager"),
    ("multixact_member", "MultiXactMemberBuffer"),
    ("multixact_offset", "MultiXactOffsetBuffer"),
    ("oldserxid", "SerialBuffer"),
    ("parallel_append", "ParallelAppend"),
    ("parallel_hash_join", "ParallelHashJoin"),
    ("parallel_query_dsa", "ParallelQueryDSA"),
    ("predicate_lock_manager", "PredicateLockManager"),
    ("proc", "LockFastPath"),
    ("replication_origin", "ReplicationOriginState"),
    ("replication_slot_io", "ReplicationSlotIO"),
    ("serializable_xact", "PerXactPredicateList"),
    ("session_dsa", "PerSessionDSA"),
    ("session_record_table", "PerSessionRecordType"),
    ("session_typmod_table", "PerSessionRecordTypmod"),
    ("shared_tuplestore", "SharedTupleStore"),
    ("subtrans", "SubtransBuffer"),
    ("tbm", "SharedTidBitmap"),
    ("wal_insert", "WALInsert"),
];

/// Events of the other types that were renamed: in 13 those with slashes, the Clog and the token, in 16 two of hash
/// tables, in 17 the others.
const RENAMED_EVENTS: [(&str, &str); 59] = [
    ("AutoVacuumMain", "AutovacuumMain"),
    ("BaseBackupRead", "BasebackupRead"),
    ("BaseBackupSync", "BasebackupSync"),
    ("BaseBackupWrite", "BasebackupWrite"),
    ("BgWorkerShutdown", "BgworkerShutdown"),
    ("BgWorkerStartup", "BgworkerStartup"),
    ("BgWriterHibernate", "BgwriterHibernate"),
    ("BgWriterMain", "BgwriterMain"),
    ("BufFileRead", "BuffileRead"),
    ("BufFileTruncate", "BuffileTruncate"),
    ("BufFileWrite", "BuffileWrite"),
    ("ClogGroupUpdate", "XactGroupUpdate"),
    ("DSMAllocate", "DsmAllocate"),
    ("DSMFillZeroWrite", "DsmFillZeroWrite"),
    ("GSSOpenServer", "GssOpenServer"),
    ("Hash/Batch/Allocating", "HashBatchAllocate"),
    ("Hash/Batch/Electing", "HashBatchElect"),
    ("Hash/Batch/Loading", "HashBatchLoad"),
    ("Hash/Build/Allocating", "HashBuildAllocate"),
    ("Hash/Build/Electing", "HashBuildElect"),
    ("Hash/Build/HashingInner", "HashBuildHashInner"),
    ("Hash/Build/HashingOuter", "HashBuildHashOuter"),
    ("Hash/GrowBatches/Allocating", "HashGrowBatchesReallocate"),
    ("Hash/GrowBatches/Deciding", "HashGrowBatchesDecide"),
    ("Hash/GrowBatches/Electing", "HashGrowBatchesElect"),
    ("Hash/GrowBatches/Finishing", "HashGrowBatchesFinish"),
    ("Hash/GrowBatches/Repartitioning", "HashGrowBatchesRepartition"),
    ("Hash/GrowBuckets/Allocating", "HashGrowBucketsReallocate"),
    ("Hash/GrowBuckets/Electing", "HashGrowBucketsElect"),
    ("Hash/GrowBuckets/Reinserting", "HashGrowBucketsReinsert"),
    ("HashGrowBatchesAllocate", "HashGrowBatchesReallocate"),
    ("HashGrowBucketsAllocate", "HashGrowBucketsReallocate"),
    ("LibPQWalReceiverConnect", "LibpqwalreceiverConnect"),
    ("LibPQWalReceiverReceive", "LibpqwalreceiverReceive"),
    ("LockFileAddToDataDirRead", "LockFileAddtodatadirRead"),
    ("LockFileAddToDataDirSync", "LockFileAddtodatadirSync"),
    ("LockFileAddToDataDirWrite", "LockFileAddtodatadirWrite"),
    ("LockFileReCheckDataDirRead", "LockFileRecheckdatadirRead"),
    ("ProcArrayGroupUpdate", "ProcarrayGroupUpdate"),
    ("SLRUFlushSync", "SlruFlushSync"),
    ("SLRURead", "SlruRead"),
    ("SLRUSync", "SlruSync"),
    ("SLRUWrite", "SlruWrite"),
    ("SSLOpenServer", "SslOpenServer"),
    ("SysLoggerMain", "SysloggerMain"),
    ("WALBootstrapSync", "WalBootstrapSync"),
    ("WALBootstrapWrite", "WalBootstrapWrite"),
    ("WALCopyRead", "WalCopyRead"),
    ("WALCopySync", "WalCopySync"),
    ("WALCopyWrite", "WalCopyWrite"),
    ("WALInitSync", "WalInitSync"),
    ("WALInitWrite", "WalInitWrite"),
    ("WALRead", "WalRead"),
    ("WALSenderTimelineHistoryRead", "WalsenderTimelineHistoryRead"),
    ("WALSync", "WalSync"),
    ("WALSyncMethodAssign", "WalSyncMethodAssign"),
    ("WALWrite", "WalWrite"),
    ("WalSenderWaitForWAL", "WalSenderWaitForWal"),
    ("speculative token", "spectoken"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use testkit::cluster::Cluster;

    use super::*;

    #[test]
    fn one_event_has_one_name_in_all_versions() {
        let check =
            |old: (&str, &str), new: (&str, &str)| assert_eq!(newest(old.0, old.1), owned(new), "{old:?}");
        for old in ["WALSync", "WalSync"] {
            check(("IO", old), ("IO", "WalSync"));
        }
        check(("LWLockNamed", "WALWriteLock"), ("LWLock", "WALWrite"));
        check(("LWLock", "WALWriteLock"), ("LWLock", "WALWrite"));
        check(("LWLock", "WALWrite"), ("LWLock", "WALWrite"));
        check(("IO", "WALWrite"), ("IO", "WalWrite"));
        check(("LWLockTranche", "buffer_content"), ("LWLock", "BufferContent"));
        for old in [("LWLockTranche", "buffer_io"), ("LWLock", "BufferIO"), ("IPC", "BufferIO")] {
            check(old, ("IPC", "BufferIo"));
        }
        check(("BufferPin", "BufferPin"), ("Buffer", "BufferCleanup"));
        check(("IPC", "HashGrowBucketsAllocate"), ("IPC", "HashGrowBucketsReallocate"));
        check(("Lock", "speculative token"), ("Lock", "spectoken"));
        // An extension's own lock keeps its name.
        check(("LWLock", "MyExtensionLock"), ("LWLock", "MyExtensionLock"));
    }

    /// Locks that 18 does not have any more.
    const REMOVED: [&str; 2] = ["Checkpoint", "OldSnapshotTimeMap"];

    #[test]
    fn the_newest_names_are_those_of_a_server() {
        let mut session = Cluster::session(&Cluster::shared("18").database("event_names"));
        let rows = session.query("select type, name from pg_wait_events").expect("17 and newer have it");
        let mut names = BTreeSet::new();
        for row in &rows {
            let (event_type, name) = (row.get(0).expect("a type"), row.get(1).expect("a name"));
            names.insert(name.to_owned());
            if event_type != "BufferPin" {
                assert_eq!(newest(event_type, name), owned((event_type, name)));
            }
        }
        let new = RENAMED_EVENTS.iter().chain(&RENAMED_LOCKS).map(|(_, new)| *new).chain(SINGLE_LOCKS);
        let unknown: Vec<_> = new.filter(|name| !names.contains(*name) && !REMOVED.contains(name)).collect();
        assert_eq!(unknown, [""; 0]);
    }
}
