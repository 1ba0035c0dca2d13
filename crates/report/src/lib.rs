//! What is shown: terminal text made from records.
