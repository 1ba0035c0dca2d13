//! Records as JSON: one as it is stored, several in a list.
//! Called by `cli`; the other formats show less.

use results::escaped_json;
use serde::Serialize;

use crate::Run;

/// Several records, in the order in which they were asked for.
#[derive(Serialize)]
struct Several<'a> {
    runs: Vec<&'a results::Record>,
}

/// The record, or `{"runs": […]}` of several; ends with a line end.
pub fn json(runs: &[Run<'_>]) -> String {
    if let [only] = runs {
        return escaped_json(only.record.to_json());
    }
    let several = Several { runs: runs.iter().map(|run| run.record).collect() };
    let mut json = serde_json::to_string_pretty(&several).expect("a record has string keys only");
    json.push('\n');
    escaped_json(json)
}
