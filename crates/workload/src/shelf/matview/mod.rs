//! The workload `matview`: readers of a materialized view, to be refreshed during the run. Directives of its schema describe
//! the rows, so the folder has no code.

use super::{NO_CODE, Shelved};

/// Its files and its code.
pub(super) const FOLDER: Shelved = Shelved {
    files: files![
        "workload.toml",
        "schema.sql",
        "scripts/count_rows.sql",
        "scripts/one_customer.sql",
        "scripts/change_orders.sql",
        "checks/groups.sql",
        "checks/amounts.sql",
        "checks/readable.sql",
    ],
    own: NO_CODE,
};
