//! Whether a record that comes from a file can be believed: every transaction has one ending, and the
//! parts add up to the whole. Called when a record is read; the writer's side asserts the same in `stats`.
