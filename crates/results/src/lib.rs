//! What is kept: the versioned record, the environment, the store.
