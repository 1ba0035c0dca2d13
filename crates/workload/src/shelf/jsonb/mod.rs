//! The workload `jsonb`: product reviews as jsonb, json and columns. `reviews` makes the rows, because directives cannot
//! describe documents.

mod reviews;

use loading::loader::generated::{OwnCode, OwnRows};

use super::Shelved;

/// Its files and its code.
pub(super) const FOLDER: Shelved = Shelved {
    files: files![
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
    ],
    own: OwnCode { rows: Some(OwnRows::new(reviews::tables)), queries: None },
};
