//! Objects that act on more than the workload's own ones: event triggers, casts, publications and default privileges. `init`
//! does not mark them, except casts, and does not drop them later. So it names new ones before their transaction is committed.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use connect::Session;

use crate::WorkloadError;
use crate::load::{InitProgress, Progress, query_catalogs};

/// The catalogs of such objects.
const CATALOGS: [&str; 4] = ["pg_event_trigger", "pg_cast", "pg_default_acl", "pg_publication"];
/// The first version with publications.
const PUBLICATIONS_FROM: u32 = 100_000;
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
    let parts: Vec<String> = parts.collect();
    let rows = query_catalogs(session, &parts.join(" union all "))?;
    let text = |row: &connect::Row, column| row.get(column).unwrap_or_default().to_owned();
    Ok(rows.iter().map(|row| sentence(&text(row, 0), &text(row, 1))).collect())
}

fn sentence(kind: &str, identity: &str) -> String {
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
