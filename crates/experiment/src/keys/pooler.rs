//! The keys of `[pooler]`: a connection pooler between the clients of a trial and its embedded server. Conditions on a
//! pooler are in `compatibility`.

use std::collections::BTreeMap;

use config::{Complaint, Node};
use run::options::{self, Kind, Value as OptionValue, word_of};
use server::check_pooler_setting;
use stats::PoolMode;

use super::key::{Key, put};
use crate::fields::count;
use crate::values::pairs;

/// The values of `mode`.
const MODES: [(&str, Option<PoolMode>); 4] = [
    ("none", None),
    ("session", Some(PoolMode::Session)),
    ("transaction", Some(PoolMode::Transaction)),
    ("statement", Some(PoolMode::Statement)),
];

/// Maximum of connections to the server, and of prepared statements.
const POOL_SIZE_MAX: u64 = 10_000;
const PREPARED_STATEMENTS_MAX: u64 = 100_000;

/// The keys of `[pooler]`.
pub(crate) const KEYS: [Key; 5] = [
    Key::new(
        "pooler.mode",
        Kind::Choice(&options::words(&MODES)),
        (|it| word_of(&MODES, &it.pooler.mode), |it, value| put(&mut it.pooler.mode, value.one_of(&MODES))),
        "When a client's connection to the server returns to the pool: \"session\", when it disconnects; \"transaction\" or \
         \"statement\", at the end of each; \"none\": no pooler. In a file with [pooler], \"session\" if not set",
    ),
    Key::new(
        "pooler.pool_size",
        count(1, POOL_SIZE_MAX),
        (|it| it.pooler.pool_size.into(), |it, value| put(&mut it.pooler.pool_size, value.try_into())),
        "Maximum number of connections from the pooler to the server (default_pool_size)",
    ),
    Key::other(
        "pooler.program",
        "text",
        |it, node, folder| {
            let named = node.text()?;
            it.pooler.program = (!named.is_empty()).then(|| folder.path(named));
            Ok(())
        },
        "Program of PgBouncer, relative to the experiment file; \"\": the installed one",
    ),
    Key::new(
        "pooler.max_prepared_statements",
        count(0, PREPARED_STATEMENTS_MAX),
        (|_| OptionValue::Unset, |it, value| put(&mut it.pooler.max_prepared_statements, value.optional())),
        "Prepared statements that the pooler keeps for each connection to the server; PgBouncer 1.21 and newer; default there: 200",
    ),
    Key::other(
        "pooler.settings",
        "settings",
        |it, node, _| settings(&mut it.pooler.settings, node),
        "Further settings of PgBouncer, such as { server_reset_query_always = 1 }",
    ),
];

fn settings(settings: &mut BTreeMap<String, String>, node: &Node) -> Result<(), Complaint> {
    pairs(settings, node)?;
    let check = |(name, value): (&String, &String)| check_pooler_setting(name, value);
    settings.iter().try_for_each(check).map_err(|error| Complaint::at(node.place, error.to_string()))
}
