//! The workload `jsonb`: product reviews as jsonb, json and columns. `reviews` makes the rows, because directives cannot
//! describe documents.

mod reviews;

use loading::loader::generated::{OwnCode, OwnRows};

/// Its code.
pub(super) const CODE: OwnCode = OwnCode { rows: Some(OwnRows::new(reviews::tables)), queries: None };
