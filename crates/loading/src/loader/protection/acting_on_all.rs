//! Objects that act on more than the workload's own ones: event triggers, casts, publications, default privileges and
//! replication slots. `init` does not mark them, except casts, and does not drop them later. So it names new ones before their
//! transaction is committed. Replication slots belong to no transaction.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use connect::Session;

use crate::WorkloadError;
use crate::contract::load::{InitProgress, Progress, query_catalogs_again, text};

/// The catalogs of such objects.
const CATALOGS: [&str; 4] = ["pg_event_trigger", "pg_cast", "pg_default_acl", "pg_publication"];
const NEW_SLOT: &str = "since the loading began, there is the replication slot ";
/// The first version with publications.
const PUBLICATIONS_FROM: u32 = 100_000;
const SLOT: &str = "replication slot";
/// Of objects without marks.
const NOT_DROPPED: &str = "; a later init does not drop it";

/// A sentence about each such object, which is new if the sentence was not among those of before. In an open transaction, it
/// changes the search path.
pub(crate) fn sentences(session: &mut Session) -> Result<Vec<String>, WorkloadError> {
    let is_known =
        |catalog: &&&str| **catalog != "pg_publication" || session.server_version_num() >= PUBLICATIONS_FROM;
    let parts = CATALOGS.iter().filter(is_known).map(|catalog| {
        format!(
            "select o.type, o.identity from {catalog} t cross join lateral \
             pg_identify_object('{catalog}'::regclass, t.oid, 0) o where t.oid >= 16384"
        )
    });
    // Since 10, a slot can be temporary, as that of pg_basebackup is.
    let is_kept = if session.server_version_num() >= PUBLICATIONS_FROM { "not temporary" } else { "true" };
    let slots = format!("select '{SLOT}', quote_ident(slot_name) from pg_replication_slots where {is_kept}");
    let parts: Vec<String> = parts.chain([slots]).collect();
    let rows = query_catalogs_again(session, &parts.join(" union all "))?;
    Ok(rows.iter().map(|row| sentence(&text(row, 0), &text(row, 1))).collect())
}

fn sentence(kind: &str, identity: &str) -> String {
    if kind == SLOT {
        return format!("{NEW_SLOT}{identity}, which keeps WAL until it is dropped{NOT_DROPPED}");
    }
    if kind == "default acl" {
        return format!(
            "the loading changes the default privileges {identity}: objects that the role creates later have other \
             privileges, also those of others; a later init does not restore them"
        );
    }
    let remains = if kind == "cast" { "" } else { NOT_DROPPED };
    format!(
        "the loading creates the {kind} {identity}, which can act on all tables of this database{remains}"
    )
}

/// Sentences about replication slots that are in a sentence of before, and in none of now.
pub(crate) fn dropped_slots(before: &BTreeSet<String>, now: &[String]) -> Vec<String> {
    let dropped = before.iter().filter(|sentence| !now.contains(sentence));
    let name =
        dropped.filter_map(|sentence| sentence.strip_prefix(NEW_SLOT)?.split_once(", which keeps WAL"));
    name.map(|(name, _)| format!("the replication slot {name} was dropped after the loading began")).collect()
}

/// Passes the progress on, each sentence about something found once, and not those that were known before.
pub(crate) fn once<'a>(
    mut known: BTreeSet<String>,
    progress: &'a mut Progress<'_>,
) -> impl FnMut(InitProgress<'_>) -> ControlFlow<()> + 'a {
    move |what| match what {
        InitProgress::Found(sentence) if !known.insert(sentence.to_owned()) => ControlFlow::Continue(()),
        other => progress(other),
    }
}
