//! The built-in workloads that are folders: their files, and the code that makes rows which directives cannot describe.
//! The folders are in `shelf/`; `registry` names them.

mod computed;
mod fields;
mod fulltext;
mod objects;
mod reviews;
mod tpcb2;
mod tpcc;

use std::sync::Arc;

use crate::generated::{OwnCode, OwnRows};
use crate::{Folder, Workload, WorkloadError, tpcds};

/// A built-in folder.
pub(crate) struct Shelved {
    /// Names and texts of its files.
    files: &'static [(&'static str, &'static str)],
    own: OwnCode,
}

/// The names and texts of the files of a folder.
macro_rules! files {
    ($folder:literal: $($file:literal),+ $(,)?) => {
        &[$(($file, include_str!(concat!("../../shelf/", $folder, "/", $file)))),+]
    };
}

pub(crate) const SYSBENCH_OLTP: Shelved = Shelved {
    files: files!(
        "sysbench-oltp":
        "workload.toml",
        "schema.sql",
        "scripts/oltp_read_write.sql",
        "scripts/oltp_read_only.sql",
        "scripts/oltp_write_only.sql",
        "scripts/oltp_point_select.sql",
        "scripts/oltp_update_index.sql",
        "scripts/oltp_update_non_index.sql",
        "scripts/oltp_insert.sql",
        "scripts/oltp_delete.sql",
    ),
    own: NO_CODE,
};

/// Directives describe the rows.
const NO_CODE: OwnCode = OwnCode { rows: None, queries: None };

pub(crate) const TPCDS: Shelved = Shelved {
    files: files!(
        "tpcds":
        "workload.toml",
        "schema.sql",
        "indexes/keys.sql",
        "scripts/sales_of_a_day.sql",
    ),
    own: OwnCode { rows: Some(tpcds::ROWS), queries: Some(tpcds::QUERIES) },
};

pub(crate) const JSONB: Shelved = Shelved {
    files: files!(
        "jsonb":
        "workload.toml",
        "schema.sql",
        "indexes/btree.sql",
        "indexes/gin.sql",
        "indexes/gin_path.sql",
        "queries/category.sql",
        "queries/category_json.sql",
        "queries/category_columns.sql",
        "queries/contains_category.sql",
        "queries/contains_similar.sql",
        "queries/contains_common_and_rare.sql",
        "queries/has_keys.sql",
        "queries/rating_by_title_length.sql",
        "queries/rating_by_title_length_json.sql",
        "queries/rating_by_title_length_columns.sql",
        "checks/documents.sql",
        "checks/columns.sql",
    ),
    own: OwnCode { rows: Some(OwnRows::new(reviews::tables)), queries: None },
};

pub(crate) const FULLTEXT: Shelved = Shelved {
    files: files!(
        "fulltext":
        "workload.toml",
        "schema.sql",
        "indexes/gin.sql",
        "indexes/gist.sql",
        "indexes/gin_present.sql",
        "indexes/gist_present.sql",
        "checks/threads.sql",
        "checks/tsvectors.sql",
    ),
    own: OwnCode { rows: Some(fulltext::ROWS), queries: Some(fulltext::QUERIES) },
};

pub(crate) const TPCC: Shelved = Shelved {
    files: files!(
        "tpcc":
        "workload.toml",
        "schema.sql",
        "indexes/foreign_keys.sql",
        "scripts/new_order.sql",
        "scripts/payment.sql",
        "scripts/order_status.sql",
        "scripts/delivery.sql",
        "scripts/stock_level.sql",
        "checks/condition_01.sql",
        "checks/condition_02.sql",
        "checks/condition_03.sql",
        "checks/condition_04.sql",
        "checks/condition_05.sql",
        "checks/condition_06.sql",
        "checks/condition_07.sql",
        "checks/condition_08.sql",
        "checks/condition_09.sql",
        "checks/condition_10.sql",
        "checks/condition_11.sql",
        "checks/condition_12.sql",
    ),
    own: OwnCode { rows: Some(tpcc::OWN_ROWS), queries: None },
};

pub(crate) const TPCB2: Shelved = Shelved {
    files: files!(
        "tpcb2":
        "workload.toml",
        "schema.sql",
        "scripts/account_update.sql",
        "rules/accounts_of_the_branch.sql",
        "checks/amounts.sql",
        "checks/sizes.sql",
        "checks/totals.sql",
        "checks/branches.sql",
        "checks/history_branches.sql",
        "checks/history_tellers.sql",
        "checks/history_accounts.sql",
    ),
    own: OwnCode { rows: Some(tpcb2::OWN_ROWS), queries: None },
};

pub(crate) const OBJECTS: Shelved = Shelved {
    files: files!(
        "objects":
        "workload.toml",
        "schema.sql",
        "scripts/post_columns.sql",
        "scripts/post_row.sql",
        "scripts/post_json.sql",
        "scripts/invoice_queries.sql",
        "scripts/invoice_join.sql",
        "scripts/invoice_array.sql",
        "scripts/invoice_json.sql",
        "scripts/invoice_jsonb.sql",
        "scripts/bank_queries.sql",
        "scripts/bank_join.sql",
        "scripts/bank_array.sql",
        "scripts/bank_json.sql",
        "scripts/bank_jsonb.sql",
        "scripts/bank_nested.sql",
        "scripts/bank_document.sql",
        "checks/totals.sql",
        "checks/balances.sql",
        "checks/nested_banks.sql",
        "checks/document_banks.sql",
    ),
    own: OwnCode { rows: Some(objects::OWN_ROWS), queries: None },
};

pub(crate) const EVENTS: Shelved = Shelved {
    files: files!(
        "events":
        "workload.toml",
        "schema.sql",
        "rows.sql",
        "finish.sql",
        "scripts/insert_parent.sql",
        "scripts/insert_child.sql",
        "scripts/insert_spread.sql",
        "scripts/insert_parent_rows.sql",
        "scripts/insert_child_rows.sql",
        "scripts/select_day.sql",
        "scripts/select_all_days.sql",
        "checks/partitions.sql",
        "checks/rows.sql",
    ),
    own: NO_CODE,
};

pub(crate) const MATVIEW: Shelved = Shelved {
    files: files!(
        "matview":
        "workload.toml",
        "schema.sql",
        "scripts/count_rows.sql",
        "scripts/one_customer.sql",
        "scripts/change_orders.sql",
        "checks/groups.sql",
        "checks/amounts.sql",
        "checks/readable.sql",
    ),
    own: NO_CODE,
};

impl Shelved {
    /// Reads the workload.
    pub(crate) fn open(&self) -> Result<Arc<dyn Workload>, WorkloadError> {
        Ok(Arc::new(Folder::built_in(self.files, self.own)?))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::WorkloadName;

    /// The names of the files below a directory, relative to it.
    fn files_below(directory: &Path, prefix: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
            let name = format!("{prefix}{}", entry.file_name().display());
            if entry.path().is_dir() {
                found.extend(files_below(&entry.path(), &format!("{name}/")));
            } else {
                found.insert(name);
            }
        }
        found
    }

    #[test]
    fn all_files_of_the_folders_are_built_in() {
        let shelf = Path::new(env!("CARGO_MANIFEST_DIR")).join("shelf");
        for entry in std::fs::read_dir(&shelf).expect("a directory").flatten() {
            let name = entry.file_name();
            let shelved = match name.to_str() {
                Some("fulltext") => FULLTEXT,
                Some("jsonb") => JSONB,
                Some("matview") => MATVIEW,
                Some("sysbench-oltp") => SYSBENCH_OLTP,
                Some("tpcc") => TPCC,
                Some("tpcb2") => TPCB2,
                Some("tpcds") => TPCDS,
                Some("objects") => OBJECTS,
                Some("events") => EVENTS,
                _ => panic!("{} is not built in", name.display()),
            };
            let built_in: BTreeSet<String> =
                shelved.files.iter().map(|(name, _)| (*name).to_owned()).collect();
            assert_eq!(built_in, files_below(&entry.path(), ""), "{}", name.display());
        }
    }

    #[test]
    fn built_in_workloads_say_what_they_are_and_what_they_need() {
        for (name, about) in WorkloadName::about() {
            let workload = WorkloadName::stored(name).open().expect("it can be read");
            assert_eq!((workload.name(), workload.title()), (name, about));
            assert!(workload.bytes_per_scale().is_some(), "{name}");
            let is_of_pgbench = name == "tpcb";
            assert!(is_of_pgbench || (workload.licence().is_some() && workload.needs().is_some()), "{name}");
        }
    }
}
